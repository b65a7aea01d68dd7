#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Names of files and of members of shards may hold escape sequences, line breaks and bytes of any
# encoding: none of them reaches a terminal as it is, and JSON gives them back.
# test_names.sh BUILD_DIR; a line for each check, and last `names: N passed, N failed, N skipped`.
set -u
build=${1:?usage: test_names.sh BUILD_DIR}
title=names
. "$(dirname "$0")/shell_kit.sh"
sluice=$build/bin/sluice

escape=$(printf '\033[31m')
c1=$(printf '\302\233')   # CSI as UTF-8 has it
byte=$(printf '\233')     # CSI in one byte, which is no UTF-8
break=$(printf '\nsluice: forged')
nasty="a${escape}b${c1}c${byte}d$(printf '\177')$break"

# Is there no control character in the files, but line breaks and tabs? Nor a line that a name began.
is_printable() {
    LC_ALL=C tr -cd '\001-\010\013-\037\177' <"$1" >"$tmp/controls"
    [ ! -s "$tmp/controls" ] && ! LC_ALL=C grep -q "$c1\|$byte\|^sluice: forged" "$1"
}

# printable NAME CODE COMMAND...
printable() {
    ends "$@"
    check "... with stdout that is printable" is_printable "$tmp/out"
    check "... and stderr, too" is_printable "$tmp/err"
}

"$sluice" synth "$tmp/set" --classes 2 --per-class 5 --size 32 >/dev/null || skip_rest "sluice synth makes none"
good=$(find "$tmp/set/train" -name '*.jpg' | sort | head -n 1)
mkdir -p "$tmp/$nasty/1$nasty" "$tmp/$nasty/2$nasty" || skip_rest "no such names on this file system"
for class in 1 2; do
    cp "$good" "$tmp/$nasty/$class$nasty/good$nasty.jpg"
    echo "no image" >"$tmp/$nasty/$class$nasty/bad$nasty.jpg"
    mkdir "$tmp/$nasty/$class$nasty/folder$nasty.jpg"
    ln -s "nowhere$nasty" "$tmp/$nasty/$class$nasty/link$nasty.jpg"
done
pipeline() { printf "image_folder '%s' | decode | %s | batch 1" "$tmp/$nasty" "$1"; }

printable "a run that ends with a bad sample" 1 "$sluice" bench "$(pipeline 'resize 8,8')"
check "... shows what is in its name" err_has 'bad.*a\\x1b\[31mb\\u009bc\\x9bd\\x7f\\nsluice: forged.jpg'
printable "a run that replaces bad samples" 0 "$sluice" bench "$(pipeline 'resize 8,8')" --on-error replace
check "... shows them in its report" out_has '^  decode: 1a.*\\x1b\[31m.*bad'
printable "a run with its log" 0 env SLUICE_LOG=debug "$sluice" bench "$(pipeline 'resize 8,8')" --on-error replace
check "... shows them there" err_has 'sample .*bada\\x1b\[31m'
printable "explain of sizes that a file tells" 0 "$sluice" explain "$(pipeline 'resize 9')"
check "... names the file" out_has 'gooda\\x1b\[31mb'
printable "a path that is not there" 1 "$sluice" bench "image_folder '$tmp/not$nasty' | decode | batch 1"
printable "a word that is no stage" 2 "$sluice" bench "image_folder x | $escape | batch 1"
printable "a command that there is not" 2 "$sluice" "x$nasty"
printable "an option that there is not" 2 "$sluice" bench "--x$nasty" synthetic
printable "verify of a folder" 1 "$sluice" verify "$tmp/$nasty"
check "... names what is bad" out_has 'bada\\x1b\[31mb'
printable "the names of classes" 0 "$sluice" classes "$tmp/$nasty"
check "... on a line each" [ "$(wc -l <"$tmp/out")" -eq 2 ]
printable "inspect of a folder" 1 "$sluice" inspect "$tmp/$nasty"
check "... names what is bad" out_has 'bada\\x1b\[31mb'
printable "show with a bad sample" 1 "$sluice" show "$(pipeline 'resize 8,8')" --npy "$tmp/npy" --steps 9
printable "a sheet in such a folder" 0 "$sluice" show "synthetic | batch 2" -o "$tmp/$nasty/sheet.png"
printable "arrays in such a folder" 0 "$sluice" show "synthetic | batch 2" --npy "$tmp/npy$nasty"
printable "verify of what is not there" 1 "$sluice" verify "$tmp/not$nasty"
printable "synth in such a folder" 0 "$sluice" synth "$tmp/synth$nasty" --classes 1 --per-class 5 --size 8
printable "topo of a file that is not there" 1 "$sluice" topo --xml "$tmp/$nasty.xml"
for command in "bench" "verify"; do
    what=$(pipeline 'resize 8,8')
    [ $command = bench ] || what=$tmp/$nasty
    run "$sluice" $command "$what" --json
    check "$command --json is printable, too" is_printable "$tmp/out"
done
run "$sluice" bench "$(pipeline 'resize 8,8')" --on-error replace --json
check "JSON gives the names back" json \
    "any('bada\x1b[31mb\x9bc' in e['name'] and 'd\x7f\nsluice: forged' in e['name'] for e in j['errors']['first'])"
if "$sluice" --version | grep -q 'archive on'; then
    printable "pack" 1 "$sluice" pack "$tmp/$nasty" "$tmp/pack$nasty"
    check "... names what it left out" out_has 'bada\\x1b\[31mb'
    printable "verify of the pack" 0 "$sluice" verify "$tmp/pack$nasty"
    printable "pack into a folder in use" 1 "$sluice" pack "$tmp/$nasty" "$tmp/$nasty"
else
    skip "packs" "built without libarchive"
fi
if [ -n "$python" ]; then
    "$python" -c 'import io, os, sys, tarfile
good = open(sys.argv[2], "rb").read()
with tarfile.open(sys.argv[1], "w", format=tarfile.GNU_FORMAT, encoding="latin-1") as tar:
    for name, data in ("good", good), ("bad", b"no image"):
        for end, content in (".jpg", data), (".cls", b"1"):
            info = tarfile.TarInfo(name + "a\033[31mb\x9bc\n" + end)
            info.size = len(content)
            tar.addfile(info, io.BytesIO(content))
    info = tarfile.TarInfo("text\033[31m.txt")
    tar.addfile(info, io.BytesIO(b""))' "$tmp/x$nasty.tar" "$good"
    for access in auto stream; do
        shard="webdataset '$tmp/x$nasty.tar' access=$access | decode | resize 8,8 | batch 1"
        printable "a shard with such members, access=$access" 1 "$sluice" bench "$shard"
        check "... names the bad one" err_has 'bada\\x1b\[31mb\\x9bc\\n'
    done
    printable "verify of the shard" 1 "$sluice" verify "$tmp/x$nasty.tar"
    check "... names the bad one" out_has 'bada\\x1b\[31mb\\x9bc\\n'
else
    skip "members of shards" "no python3 to write one with"
fi

finish
