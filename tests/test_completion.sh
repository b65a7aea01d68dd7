#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Completion in bash and zsh: what it offers is what the tool lists. test_completion.sh BUILD_DIR; a line for each
# check, and last `completion: N passed, N failed, N skipped`.
set -u
build=$(cd "${1:?usage: test_completion.sh BUILD_DIR}" && pwd)
here=$(cd "$(dirname "$0")" && pwd)
title=completion
. "$here/shell_kit.sh"
files=$here/../packaging/completions
PATH=$build/bin:$PATH
export PATH

# What the tool lists.
sluice help | sed -n 's/^  \([a-z][a-z]*\) .*/\1/p' | sort >"$tmp/commands"
sluice help stages | grep '^[a-z]' | cut -d ' ' -f 1 | sort >"$tmp/stages"
check "the tool lists commands" grep -qx bench "$tmp/commands"
check "... and stages" grep -qx image_folder "$tmp/stages"

# offers WORD...: what bash offers for the last word of a command line, a line each.
offers() {
    bash -c '. "$1"; shift; COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); _sluice; printf "%s\n" "${COMPREPLY[@]}"' \
        bash "$files/sluice.bash" "$@" | sed '/^$/d' | sort >"$tmp/out"
}
offered() { cmp -s "$tmp/out" "$1"; }
only() { [ "$(cat "$tmp/out")" = "$1" ]; }

if command -v bash >/dev/null; then
    offers sluice ''
    grep -v '^--' "$tmp/out" >"$tmp/some" && mv "$tmp/some" "$tmp/out"
    check "bash: all commands" offered "$tmp/commands"
    offers sluice be
    check "bash: bench for be" only bench
    while read -r command; do
        [ "$command" != help ] || continue
        sluice help "$command" | sed -n 's/^  \(-[-a-z]*\).*/\1/p' | sort >"$tmp/options"
        offers sluice "$command" -
        grep -v -e '^--help$' -e '^--plugin$' "$tmp/out" >"$tmp/some" && mv "$tmp/some" "$tmp/out"
        check "bash: all options of $command" offered "$tmp/options"
    done <"$tmp/commands"
    offers sluice bench --micro
    check "bash: --micro-batches for --micro" only --micro-batches
    offers sluice bench --plug
    check "bash: --plugin for --plug" only --plugin
    offers sluice bench --plugin ./
    check "bash: file names after --plugin" only ''
    offers sluice help stages ''
    check "bash: all stages" offered "$tmp/stages"
    offers sluice bench '"'
    check "bash: stages at the beginning of a pipeline" offered "$tmp/stages"
    offers sluice bench "'image_folder a b |  center"
    check "bash: stages behind a bar" only "image_folder a b |  center_crop"
    offers sluice bench '"image_folder tra'
    check "bash: no stage in place of an argument" only ''
    offers sluice explain -f tra
    check "bash: file names behind -f" only ''
else
    skip "bash" "is not installed"
fi

# listed NAME FUNCTION ARGUMENTS...: a list of the zsh file.
listed() { zsh -f -c 'source "$1"; shift; "$@"' zsh "$files/_sluice" "$@" | sort >"$tmp/out"; }
if command -v zsh >/dev/null; then
    check "zsh: the file is one of its" zsh -n "$files/_sluice"
    listed _sluice_commands sluice
    check "zsh: all commands" offered "$tmp/commands"
    listed _sluice_stages sluice
    check "zsh: all stages" offered "$tmp/stages"
    while read -r command; do
        sluice help "$command" | sed -n 's/^  \(-[-a-z]*\).*/\1/p' | sort >"$tmp/options"
        listed _sluice_options sluice "$command"
        check "zsh: all options of $command" offered "$tmp/options"
    done <"$tmp/commands"
else
    skip "zsh" "is not installed"
fi

# Options that take a file: the scripts name them, the tool's pages do, too.
for command in $(cat "$tmp/commands"); do
    sluice help "$command" | sed -n 's/^  \(-[-a-z]*\) FILE .*/\1/p'
done | sort -u >"$tmp/file_options"
while read -r option; do
    check "bash knows that $option takes a file" grep -q -e "[ |]*$option [|)]\|$option)" "$files/sluice.bash"
    check "zsh knows that $option takes a file" grep -q -e "$option[|)]" "$files/_sluice"
done <"$tmp/file_options"

finish
