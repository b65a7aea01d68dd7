# SPDX-License-Identifier: Apache-2.0
# other_names.awk STAGES COMING_FROM: the tables of coming-from.md against the names in other libraries that
# stages.md has from the table of stages: the cell `here` of a row must have the stage of each name in its cell
# `there`, or dots for it. A line for each that lacks it, and last `names N`, how many were found.

FNR == 1 { page++; in_table = 0 }
page == 1 && /^## Names in other libraries/ { in_table = 1 }
page == 1 && in_table && /^\| .* \| \[`/ {
    split($0, cell, " [|] ")
    stage = cell[2]
    gsub(/^\[`|`\].*$/, "", stage)
    sub(/^\| /, "", cell[1])
    count = split(cell[1], name, ", ")
    for (i = 1; i <= count; i++) here[name[i]] = stage
}
page == 2 && /^\| / {
    split($0, cell, " [|] ")
    rest = cell[1]
    while (match(rest, /`[A-Za-z0-9_.]+[`(]/)) {
        word = substr(rest, RSTART + 1, RLENGTH - 2)
        rest = substr(rest, RSTART + RLENGTH)
        sub(/^.*\./, "", word)
        if (word in here) {
            found++
            if (cell[2] !~ ("(^|[^a-z0-9_])" here[word] "([^a-z0-9_]|$)") && cell[2] !~ /\.\.\./)
                print word " is " here[word] " here, and its row has " cell[2]
        }
    }
}
END { print "names " found }
