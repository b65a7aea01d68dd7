# SPDX-License-Identifier: Apache-2.0
# struct_fields.awk: reads public headers, writes a C program that prints a line for each struct and
# for each of its fields,
#
#     struct sluice_ranks 32 last 32
#     field sluice_ranks.rank 8 4 uint32_t rank
#
# its size and where its last field ends; a field's offset, size and declaration. A declaration has
# one field.

function flush_field(   text, declaration)
{
    text = field
    field = ""
    gsub(/[ \t]+/, " ", text)
    sub(/^ /, "", text)
    declaration = text
    sub(/ ?;.*$/, "", declaration)
    if (text ~ /\(\*/) {                 # a pointer to a function
        sub(/^.*\(\*/, "", text)
        sub(/\).*$/, "", text)
    } else {
        sub(/[[;].*$/, "", text)
        sub(/^.*[^A-Za-z0-9_]/, "", text)
    }
    printf "    printf(\"field %s.%s %%zu %%zu %s\\n\",\n", name, text, declaration
    printf "           offsetof(%s, %s), sizeof(((%s *)0)->%s));\n", name, text, name, text
    last = text
}

BEGIN {
    print "#include <stddef.h>"
    print "#include <stdio.h>"
    print "#include <sluice/sluice.h>"
    print "int main(void)"
    print "{"
}

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

line ~ /^typedef struct sluice_[a-z0-9_]+ \{/ {
    name = line
    sub(/^typedef struct /, "", name)
    sub(/ .*$/, "", name)
    field = last = ""
    next
}

name != "" && line ~ /^\}/ {
    printf "    printf(\"struct %s %%zu last %%zu\\n\", sizeof(%s),\n", name, name
    printf "           offsetof(%s, %s) + sizeof(((%s *)0)->%s));\n", name, last, name, last
    name = ""
    next
}

name != "" {
    field = field line
    if (field ~ /;/) {
        flush_field()
    }
}

END {
    print "    return 0;"
    print "}"
}
