# SPDX-License-Identifier: Apache-2.0
# Writes each C and C++ snippet of a page to a file that a compiler takes: OUT/NAME-LINE.c or .cpp, where NAME is
# the page's and LINE that of the snippet. docs/CONTRIBUTING.md has the convention for fragments.
# awk -v out=OUT -f snippets.awk PAGE...

# The declaration of a struct that this line initializes, in the scope around the fragment's own.
function declaration(text,    parts) {
    if (text !~ /^ *sluice_[a-z_]*_init\(&[a-z_]*\);/) {
        return ""
    }
    split(text, parts, /_init\(&|\);/)
    sub(/^ */, "", parts[1])
    return "    " parts[1] " " parts[2] ";\n"
}

function flush_snippet(    name, suffix, i, in_body, has_function, is_program, is_cuda, in_rest, file, declared, begins) {
    name = FILENAME
    gsub(/.*\/|\.md$/, "", name)
    suffix = language == "c" ? "c" : "cpp"
    for (i = 1; i <= lines; i++) {
        is_program = is_program || line[i] ~ /^int main\(/
        is_cuda = is_cuda || line[i] ~ /<<<|cudaStream_t/
        has_function = has_function || line[i] == "{" || (line[i] ~ /^static .*\).*;/ && !in_rest)
        in_rest = in_rest || line[i] == "..."
        declared = declared declaration(line[i])
    }
    if (is_cuda) {
        printf "cuda %s:%d\n", FILENAME, first
        return
    }
    file = out "/" name "-" first "." suffix
    printf "%s %s\n", is_program ? "program" : "fragment", file
    if (!is_program) {
        gsub(/-/, "_", name)
        printf "#define SNIPPET_OF_%s\n", name >file
        print "#include \"snippet_context.h\"" >file
    }
    begins = head "\n{\n" declared "    {\n"
    in_body = !is_program && !has_function
    printf "%s", in_body ? begins : "" >file
    printf "#line %d \"%s\"\n", first + 1, FILENAME >file
    for (i = 1; i <= lines; i++) {
        if (line[i] == "..." && in_body) {
            print "" >file
        } else if (line[i] == "...") {
            printf "%s#line %d \"%s\"\n", begins, first + i + 1, FILENAME >file
            in_body = 1
        } else if (in_body && line[i] ~ /^\/\* (wrong|right|or)/) {
            print "    }\n    {" >file
            printf "#line %d \"%s\"\n", first + i, FILENAME >file
            print line[i] >file
        } else {
            print line[i] >file
        }
    }
    if (in_body) {
        print "    }\n    return SLUICE_OK;\n}" >file
    }
    close(file)
}

BEGIN {
    head = "sluice_status fragment(void);\nsluice_status fragment(void)"
}

/^```/ {
    if (language != "") {
        flush_snippet()
        language = ""
        inside = 0
    } else if (inside) {
        inside = 0
    } else {
        inside = 1
        language = $0 == "```c" ? "c" : $0 ~ /^```(cpp|c\+\+)$/ ? "c++" : ""
        first = FNR
        lines = 0
    }
    next
}
language != "" {
    gsub(/\{ \.\.\. \}/, "{ }")
    line[++lines] = $0
}
