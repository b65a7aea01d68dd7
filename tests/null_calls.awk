# SPDX-License-Identifier: Apache-2.0
# null_calls.awk: reads public headers, writes a C program that calls each exported function, with each pointer
# argument NULL in turn, and with all of them NULL. tests/null_calls.h has what it calls; the values of the other
# arguments follow from their types.

# The file of arguments, which comes first: `FUNCTION ARGUMENT = EXPRESSION` where another value does not do.
FILENAME ~ /null_arguments/ {
    if ($3 == "=") {
        values[$1 " " $2] = substr($0, index($0, "=") + 2)
    }
    next
}

# Removes comments; `comment` is true between lines of one.
{
    line = $0
    while (match(line, /\/\*([^*]|\*+[^*\/])*\*+\//)) {
        line = substr(line, 1, RSTART - 1) substr(line, RSTART + RLENGTH)
    }
    if (comment) {
        if (line !~ /\*\//) {
            next
        }
        sub(/^.*\*\//, "", line)
        comment = 0
    }
    if (line ~ /\/\*/) {
        sub(/\/\*.*$/, "", line)
        comment = 1
    }
}

line ~ /^typedef struct sluice_[a-z0-9_]+ sluice_[a-z0-9_]+;/ {
    name = line
    sub(/^typedef struct /, "", name)
    sub(/ .*$/, "", name)
    opaque[name] = 1
}

line ~ /^static inline void sluice_[a-z0-9_]+_init\(/ {
    name = line
    sub(/^static inline void /, "", name)
    sub(/_init\(.*$/, "", name)
    inited[name] = 1
}

line ~ /^#/ { next }

line ~ /^SLUICE_API/ { declaration = "" ; inside = 1 }

inside {
    declaration = declaration " " line
    if (line ~ /;/) {
        inside = 0
        declarations[++count] = declaration
    }
}

# Writes the declaration of dummy `i` of a pointer to `type`, and returns the expression.
function dummy(type, i,   base) {
    base = type
    gsub(/const|\*|struct| /, "", base)
    if (type ~ /\*(const )?\*$/) {                     # an output, or an array of pointers
        if (type ~ /^const char/) {
            printf "    static const char *a%d[4] = {\"x\", \"x\", \"x\", \"x\"};\n", i
        } else if (type ~ /const \*$/ && base in opaque) {
            printf "    static %s *a%d[1];\n    a%d[0] = o->%s;\n", base, i, i, base
        } else if (base == "void") {
            printf "    static void *a%d[SLUICE_MAX_COLUMNS];\n", i
            printf "    for (int i = 0; i < SLUICE_MAX_COLUMNS; i++) {\n        a%d[i] = o->bytes;\n    }\n", i
        } else {
            sub(/ ?\*(const )?\*$/, "", type)
            printf "    static %s *a%d[4];\n", type, i
        }
        return "a" i
    }
    if (base in opaque) {
        return "o->" base
    }
    if (base in inited) {
        printf "    static %s a%d;\n    %s_init(&a%d);\n", base, i, base, i
        return "&a" i
    }
    if (base == "FILE") {
        return "stderr"
    }
    if (type == "const char *") {
        return "\"x\""
    }
    return "(void *)o->bytes"
}

function value(type) {
    return type ~ /_fn$/ ? "NULL" : type == "double" || type == "float" ? "0.5" : "1"
}

function generate(text,   head, name, result, params, n, p, i, type, argument, call, names, pointers, context, part) {
    sub(/^ *SLUICE_API(_CHECKED)? /, "", text)
    gsub(/[ \t]+/, " ", text)
    head = substr(text, 1, index(text, "(") - 1)
    params = substr(text, index(text, "(") + 1)
    sub(/\)( SLUICE_PRINTF\([^)]*\))? ?;.*$/, "", params)
    name = head
    sub(/^.*[ *]/, "", name)
    result = substr(head, 1, length(head) - length(name))
    sub(/ $/, "", result)
    printf "static int call_%s(const null_objects *o, uint32_t nulls)\n{\n", name
    printf "    (void)o;\n    (void)nulls;\n"
    n = params == "void" ? 0 : split(params, part, ", ?")
    for (i = 1; i <= n; i++) {
        p = part[i]
        if (p == "...") {
            break
        }
        type = p
        if (sub(/\[[0-9A-Z_]+\]$/, "", type)) {        # an array is a pointer
            sub(/[a-z0-9_]+$/, "*&", type)
            p = type
        }
        sub(/[a-z0-9_]+$/, "", type)
        argument = substr(p, length(type) + 1)
        sub(/ $/, "", type)
        if (type !~ /\*$/) {
            call = call (i > 1 ? ", " : "") ((name " " argument) in values ? values[name " " argument] : value(type))
            continue
        }
        if (type ~ /sluice_(sample|host_batch|builder) \*$/) {
            context = type
            gsub(/const|\*| /, "", context)
        }
        call = call (i > 1 ? ", " : "") "OR_NULL(" pointers + 0 ", " ((name " " argument) in values ? values[name " " argument] : dummy(type, i)) ")"
        names = names (pointers > 0 ? " " : "") argument
        pointers++
    }
    if (result == "sluice_status") {
        printf "    return (int)%s(%s);\n}\n\n", name, call
    } else {
        printf "    (void)%s(%s);\n    return 0;\n}\n\n", name, call
    }
    entries = entries sprintf("    {\"%s\", \"%s\", \"%s\", %d, %s, call_%s},\n", name, names, context, pointers,
                              result == "sluice_status" ? "true" : "false", name)
}

END {
    print "#include \"null_calls.h\"\n"
    print "#define OR_NULL(i, pointer) ((nulls >> (i)&1) != 0 ? NULL : (pointer))\n"
    for (d = 1; d <= count; d++) {
        generate(declarations[d])
    }
    printf "const null_call null_calls[] = {\n%s    {NULL, NULL, NULL, 0, false, NULL},\n};\n", entries
}
