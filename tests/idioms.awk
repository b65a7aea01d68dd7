# SPDX-License-Identifier: Apache-2.0
# awk -f idioms.awk FILE...: string literals of C and C++ whose words are not plain technical English,
# each as FILE:LINE: TEXT, and last `texts N`: the literals with several words. A message says what
# failed, the value, and what it "must be", in whole sentences: not "x=0: want 1 to 9", nor "is none of".
# Literals one after another are one text. Comments are not read.

# Prints the text that began at line `begun` if it has such words.
function end_text(  words) {
    if (!has_text) {
        return
    }
    has_text = 0
    words = tolower(text)
    several += words ~ /[a-z] [a-z]/
    gsub(/there (is|are) no |(is|are) no (longer|more) /, "", words)
    if (words ~ /(^|[^a-z_])wants?([^a-z_]|$)/ ||
        words ~ /(^|[^a-z])((is|are) no(ne of)? |finds? out|nobody|no such thing|to calculate with)/) {
        print name ":" begun ": " text
    }
}

FNR == 1 {
    end_text()
    in_comment = 0
}

{
    rest = $0
    while (rest != "") {
        if (in_comment) {
            at = index(rest, "*/")
            if (at == 0) {
                break
            }
            in_comment = 0
            rest = substr(rest, at + 2)
            continue
        }
        at = match(rest, /"|'|\/\*|\/\//)
        code = at == 0 ? rest : substr(rest, 1, at - 1)
        if (code ~ /[^ \t\\]/) {
            end_text()
        }
        if (at == 0) {
            break
        }
        if (substr(rest, at, 2) == "//") {
            break
        }
        if (substr(rest, at, 2) == "/*") {
            in_comment = 1
            rest = substr(rest, at + 2)
            continue
        }
        quote = substr(rest, at, 1)
        rest = substr(rest, at + 1)
        if (quote == "'") {
            found = match(rest, /^([^'\\]|\\.)*'/)
        } else {
            found = match(rest, /^([^"\\]|\\.)*"/)
        }
        if (!found) {
            break # an apostrophe of a number, or of #error
        }
        if (quote == "\"") {
            if (!has_text) {
                has_text = 1
                text = ""
                name = FILENAME
                begun = FNR
            }
            text = text substr(rest, 1, RLENGTH - 1)
        } else {
            end_text()
        }
        rest = substr(rest, RLENGTH + 1)
    }
}

END {
    end_text()
    print "texts " several + 0
}
