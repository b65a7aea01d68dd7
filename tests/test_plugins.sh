#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Plugins: the examples in the tool, and files that are no plugins or have a fault. test_plugins.sh BUILD_DIR; a line
# for each check, and last `plugins: N passed, N failed, N skipped`.
set -u
build=$(cd "${1:?usage: test_plugins.sh BUILD_DIR}" && pwd)
here=$(cd "$(dirname "$0")" && pwd)
title=plugins
. "$here/shell_kit.sh"
sluice=$build/bin/sluice
map=$build/lib/plugin_map.so
source=$build/lib/plugin_source.so
unset SLUICE_PLUGINS
small="synthetic 60 8,8,3 10"
differ() { ! cmp -s "$1" "$2"; }

# ---- the examples --------------------------------------------------------------------------------

# digest NAME OPTIONS...: the digest of a run, kept as $tmp/NAME.
digest() {
    name=$1
    shift
    run "$sluice" bench "$@" --digests "$tmp/$name" --epochs 2
}

ends "a map of a plugin runs" 0 "$sluice" bench --plugin "$map" "$small | my_solarize | batch 7"
check "... with a row of the report" out_has '^my_solarize '
digest first --plugin "$map" "$small | shuffle | my_solarize threshold=100 | batch 7" --workers 1
digest second "$small | shuffle | my_solarize 100 | batch 7" --workers 3 "--plugin=$map"
check "... and gives the same batches with other workers" cmp "$tmp/first" "$tmp/second"
digest plain "$small | shuffle | batch 7"
check "... which are changed ones" differ "$tmp/first" "$tmp/plain"
digest none --plugin "$map" "$small | shuffle | my_solarize 256 | batch 7"
check "... unless no value is from the threshold on" cmp "$tmp/none" "$tmp/plain"
ends "explain describes it" 0 "$sluice" --plugin "$map" explain "$small | my_solarize | batch 7"
check "... with all arguments" out_has '| my_solarize threshold=128 version=1$'
ends "help describes it" 0 "$sluice" help my_solarize --plugin "$map"
check "... with its parameters" out_has '^    threshold      the first value to invert \[0\.\.256\]$'
ends "without the plugin it is unknown" 2 "$sluice" explain "$small | my_solarize | batch 7"
ends "an argument out of bounds" 2 "$sluice" explain --plugin "$map" "$small | my_solarize 300 | batch 7"
check "... is refused with a caret" err_has '^ *\^$'

head -c 78400 "$sluice" >"$tmp/records"
ends "a source of a plugin runs" 0 "$sluice" bench --plugin "$source" "my_records $tmp/records | batch 10" --epochs 1
check "... with all its samples" err_has '100 samples'
ends "its file may be missing" 1 "$sluice" bench --plugin "$source" "my_records $tmp/nowhere | batch 10"
check "... and is named" err_has 'nowhere cannot be opened'
ends "two plugins, one of them twice" 0 "$sluice" explain --plugin "$source" --plugin "$map" --plugin "$map" \
    "my_records $tmp/records | batch 10"

# ---- where it looks ------------------------------------------------------------------------------

ends "SLUICE_PLUGINS is a list" 0 env "SLUICE_PLUGINS=$source::$map:" "$sluice" explain \
    "my_records $tmp/records | batch 10"
ends "... with its errors" 1 env "SLUICE_PLUGINS=$map:$tmp/nowhere.so" "$sluice" explain "$small | batch 7"
check "... that name it" err_has 'SLUICE_PLUGINS: plugin .*/nowhere\.so: No such file'
cp "$map" "$tmp/here.so"
ends "a name without a slash is in this folder" 0 sh -c 'cd "$1" && "$2" explain --plugin here.so "$3"' \
    sh "$tmp" "$sluice" "$small | my_solarize | batch 7"
ends "--plugin wants a value" 2 "$sluice" bench "$small | batch 7" --plugin
ends "a value of --arg is not the option" 0 "$sluice" explain "$small | batch \${N}" --arg N 7
ends "... whatever it is" 2 "$sluice" explain "$small | batch \${N}" --arg N --plugin
check "... it is that value" err_has 'n=--plugin must be a whole number'
ends "after -- it is a word" 2 "$sluice" explain -- --plugin

# ---- what is refused -----------------------------------------------------------------------------

# refused WORDS FILE [STATUS]
refused() {
    run "$sluice" explain --plugin "$2" "$small | batch 7"
    check "$(basename "$2"): exit status ${3-2}" [ "$code" -eq "${3-2}" ]
    check "... $1" err_has "$1"
}
wrong() { refused "$2" "$build/lib/wrong_plugin_$1.so"; }

wrong 0 'a shared library without the symbol sluice_plugin_1: export it'
wrong 1 'built for interface 3 of a later Sluice.* update Sluice'
wrong 2 'built with the headers of a later Sluice'
for k in 3 4 5; do wrong $k 'is not a sluice_plugin with host_size and init'; done
run "$sluice" explain --plugin "$build/lib/wrong_plugin_6.so" "$small | batch 7"
check "an error of init is the error" err_has 'init() returned E_UNSUPPORTED: wants a machine with 3 wheels'
wrong 7 'resize is a stage of Sluice; choose another name'
wrong 8 'left_over is taken by plugin'
echo "no library" >"$tmp/text.so"
refused 'text.so: not a shared library' "$tmp/text.so"
strip -o "$tmp/stripped.so" "$map" || cp "$map" "$tmp/stripped.so" # segments reach to its end
size=$(wc -c <"$tmp/stripped.so")
for part in 1 3 10 30 50 64 100 500 1000 2000 4096 5000 8000 $((size / 2)); do # the loader would crash
    head -c "$part" "$tmp/stripped.so" >"$tmp/short.so"
    refused 'short.so: \(truncated\|not a shared library\)' "$tmp/short.so"
done
for at in 4 16 32 54 56; do # class, kind, and the offset, size and number of the program headers
    cp "$map" "$tmp/odd.so"
    printf '\377\377' | dd of="$tmp/odd.so" bs=1 seek=$at conv=notrunc 2>/dev/null
    refused 'odd.so: ' "$tmp/odd.so"
done
: >"$tmp/empty.so"
refused 'empty.so: not a shared library' "$tmp/empty.so"
mkfifo "$tmp/pipe.so"
refused 'not a file; name a shared library' "$tmp/pipe.so"
refused 'not a file; name a shared library' "$tmp"
refused 'No such file' "$tmp/nowhere.so" 1
expect_json() { "$sluice" explain --json --plugin "$tmp/text.so" "$small" | grep -q '"status":"E_INVALID"'; }
check "with --json the error is an object" expect_json
finish
