#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# docs/guide/tutorial.md: its commands, run in a temporary folder with the installed library and tool, print what
# the page shows. test_tutorial.sh BUILD_DIR; a line for each command, and last `tutorial: N passed, ...`.
#
# In a block ```console, `$ ` begins a command and `> ` continues it; the lines after it are its output, stdout and
# stderr together. `...` stands for any text within a line, a line `...` for any lines. In a block
# ```console varies, each number stands for any number with any unit of time, `-` for one that is not given, and
# white space for any white space: reports are wrapped by the length of their numbers.
set -u
build=$(cd "${1:?usage: test_tutorial.sh BUILD_DIR}" && pwd)
here=$(cd "$(dirname "$0")" && pwd)
title=tutorial
. "$here/shell_kit.sh"

"$build/bin/sluice" --version | grep -q 'archive on' || skip_rest "everything" "it packs, which needs libarchive"
install_build
export PATH="$prefix/bin:$PATH" OMP_WAIT_POLICY=passive LC_ALL=C
unset SLUICE_LOG SLUICE_REPORT

# Each command of the page as a file NUMBER.sh, what it prints as NUMBER.want, its kind of block as NUMBER.kind.
mkdir "$tmp/parts" "$tmp/work"
awk -v to="$tmp/parts/" '
    /^```console/ {inside = 1; kind = $2; next}
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
    {print >(name ".want")}' "$here/../docs/guide/tutorial.md"

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
    sed 's/\.\.\. *$/.../; s/^ *//' "$tmp/want" >"$tmp/want_line"
    matches "$tmp/want_line" "$tmp/got"
}

check "the page has commands" [ -s "$tmp/parts/001.sh" ] || finish
cd "$tmp/work" || finish
for script in "$tmp/parts"/*.sh; do
    part=${script%.sh}
    sh "$script" >"$tmp/out" 2>&1 </dev/null
    code=$?
    name=$(head -n 1 "$script")
    : >"$tmp/err"
    check "$name" [ "$code" -eq 0 ] || finish
    if [ -s "$part.kind" ] && [ "$(cat "$part.kind")" = varies ]; then
        check "... prints what the page shows" varies "$part.want" "$tmp/out"
    else
        check "... prints what the page shows" matches "$part.want" "$tmp/out"
    fi
done
finish
