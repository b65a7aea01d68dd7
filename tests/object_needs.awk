# SPDX-License-Identifier: Apache-2.0
# Which file of a module needs which other one: reads `OBJECT SOURCE` lines from the file in `sources`,
# and `nm -A -P -g` of the objects. Prints `FILE FILE SYMBOL` for each reference inside a module.
BEGIN {
    while ((getline line < sources) > 0) {
        split(line, word, " ")
        source[word[1]] = word[2]
    }
}
{
    sub(/:$/, "", $1)
    file = source[$1]
    if ($3 == "U") {
        needs[++count] = file " " $2
    } else if ($3 ~ /^[A-Z]$/) {
        defines[$2] = file
    }
}
END {
    for (i = 1; i <= count; i++) {
        split(needs[i], word, " ")
        from = word[1]
        provider = defines[word[2]]
        if (provider != "" && module(provider) == module(from)) {
            print from, provider, word[2]
        }
    }
}
function module(path) { return substr(path, 1, index(path, "/") - 1) }
