# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=sh disable=SC2154
# Pages whose commands are run: what tests of them share. Sourced after shell_kit.sh.
#
# In a block ```console, `$ ` begins a command and `> ` continues it; the lines after it are its output, stdout and
# stderr together. `...` stands for any text within a line, a line `...` for any lines. In a block
# ```console varies, each number stands for any number with any unit of time, `-` for one that is not given, and
# white space for any white space: reports are wrapped by the length of their numbers. `...` may be nothing. Words after
# `varies` are for the test.

# commands_of PAGE: each command as a file $tmp/parts/NUMBER.sh, what it prints as NUMBER.want, and the words after
# ```console as NUMBER.kind.
commands_of() {
    mkdir -p "$tmp/parts"
    awk -v to="$tmp/parts/" '
        /^```console/ {inside = 1; kind = $0; sub(/^```console */, "", kind); next}
        /^```/ {inside = 0; next}
        !inside {next}
        /^\$ / {
            name = sprintf("%s%03d", to, ++n)
            print substr($0, 3) >(name ".sh")
            print kind >(name ".kind")
            printf "" >(name ".want")
            next
        }
        /^> / {print substr($0, 3) >(name ".sh"); next}
        {print >(name ".want")}' "$1"
}

# numbers FILE: in one line, numbers as 0 without a unit of time. (Neighbouring ` - ` share a blank: twice.)
numbers() {
    tr -s ' \n' ' ' <"$1" |
        sed -E 's/ - / 0 /g; s/ - / 0 /g; s/[0-9]+(\.[0-9]+)?( (ns|us|ms|s)([ :,]))?/0\4/g; s/(0)([ :,])/\1\2/g'
    echo
}

# matches WANT GOT: each line of WANT, in which `...` is anything, matches the next of GOT; a line `...` skips to it.
matches() {
    awk -v want="$1" '
        BEGIN {
            while ((getline line <want) > 0) {
                anything[++n] = line == "..."
                gsub(/[][(){}.*+?^$|\\]/, "\\\\&", line)
                gsub(/\\\.\\\.\\\./, ".*", line)
                pattern[n] = "^" line "$"
            }
            at = 1
        }
        {
            skips = 0
            while (at <= n && anything[at]) {skips = 1; at++}
            if (at <= n && $0 ~ pattern[at]) {at++; next}
            if (skips) {at--; next}
            print "line " NR " is \"" $0 "\", want " (at <= n ? "\"" pattern[at] "\"" : "no more lines")
            wrong = 1
            exit 1
        }
        END {
            while (at <= n && anything[at]) at++
            if (!wrong && at <= n) {print "nothing like \"" pattern[at] "\""; exit 1}
            exit wrong
        }' "$2"
}

# The same of a block that varies, whose text is one line.
varies() {
    numbers "$1" >"$tmp/want"
    numbers "$2" >"$tmp/got"
    sed 's/ \.\.\. / .../g; s/\.\.\. *$/.../; s/^ *//' "$tmp/want" >"$tmp/want_line"
    matches "$tmp/want_line" "$tmp/got"
}
