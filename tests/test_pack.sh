#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# sluice pack and sluice verify, from the outside: what is in the folder, the same bytes whatever
# happens on the way, and what is said of files and folders that are not as they should be.
# test_pack.sh BUILD_DIR; a line for each check, and last `pack: N passed, N failed, N skipped`.
set -u
build=${1:?usage: test_pack.sh BUILD_DIR}
title=pack
. "$(dirname "$0")/shell_kit.sh"
sluice=$build/bin/sluice
mounted=""
trap '[ -z "$mounted" ] || umount "$mounted"; chmod -R u+w "$tmp"; rm -rf "$tmp"' EXIT

same() { diff -r "$1" "$2"; }
differ() { ! diff -rq "$1" "$2"; }
gone() { [ ! -e "$1" ]; }
[ -n "$python" ] || skip "what JSON says" "no python3"

"$sluice" synth "$tmp/synth" --classes 4 --per-class 50 --size 96 >/dev/null || exit 1
src=$tmp/synth/train
count=$(find "$src" -name '*.jpg' | wc -l)
if ! "$sluice" --version | grep -q 'archive on'; then
    expect "without libarchive packing says so" 1 pack "$src" "$tmp/no"
    check "... and what is missing" err_has 'libarchive'
    finish
fi

expect "convert without a folder is refused" 2 convert "$src"
check "... and shows a command that converts" err_has 'sluice convert train train-converted --format webdataset'

# Other data of the same names is not taken for what is there.
if [ -n "$python" ]; then
    for n in 1 2; do
        mkdir "$tmp/npy$n"
        "$python" -c 'import struct, sys
head = "{\x27descr\x27: \x27<i4\x27, \x27fortran_order\x27: False, \x27shape\x27: (100,), }"
head += " " * (117 - len(head)) + "\n"
open(sys.argv[1], "wb").write(b"\x93NUMPY\x01\0" + struct.pack("<H", len(head)) + head.encode()
                              + struct.pack("<100i", *range(int(sys.argv[2]), int(sys.argv[2]) + 100)))' "$tmp/npy$n/x.npy" $n
    done
    for format in webdataset tfrecord; do
        expect "arrays are converted, $format" 0 convert "npy $tmp/npy1" "$tmp/arrays-$format" --format $format
        expect "... and are there then" 0 convert "npy $tmp/npy1" "$tmp/arrays-$format" --format $format
        expect "... and other values of the same names are refused" 1 convert "npy $tmp/npy2" "$tmp/arrays-$format" --format $format
        check "... by their contents" err_has 'contents'
    done
fi

# A record has no extension, by which TIFF and JPEG 2000 files are opened.
formats=$(cd "$(dirname "$0")/data/formats" && pwd)
printf 'image\n%s\n%s\n' "$formats/jp2-rgb.jp2" "$formats/alpha.ppm" >"$tmp/jp2.tsv"
if "$sluice" --version | grep -q "modules.* jp2"; then
    for format in tfrecord mindrecord; do
        "$sluice" --version | grep -q "sqlite on" || [ $format = tfrecord ] || continue
        expect "a JPEG 2000 file is left out of records, $format" 1 convert "image_list $tmp/jp2.tsv" "$tmp/jp2-$format" --format $format
        check "... as an error that names it" err_has 'convert: .* lacks 1 of 2 samples, the first: .*jp2-rgb.jp2: .*decoded only by its name'
        check "... and not as complete" out_has ': 1 of 2 samples in 1 shards, 1 left out$'
        check "... by name" grep -q 'jp2-rgb.jp2.*decoded only by its name' "$tmp/jp2-$format/pack.json"
    done
    expect "... and kept in shards" 0 convert "image_list $tmp/jp2.tsv" "$tmp/jp2-web" --format webdataset
    check "... with all samples" sh -c '"$1" verify "webdataset $2 fields=auto" | grep "2 samples"' - "$sluice" "$tmp/jp2-web"
else
    skip "JPEG 2000 files in records" "no module jp2"
fi

# ---- what is in the folder ------------------------------------------------------------------------

expect "a folder is packed" 0 pack "$src" "$tmp/one" --workers 1
check "... all of it, without loss" out_has "$count of $count samples in 1 shard.*complete, lossless"
check "... and it says what others pay" out_has 'decoders that do not use them'
check "... and nothing on stderr" [ ! -s "$tmp/err" ]
for file in shard-000000.tar shard-000000.tar.sluice shard-000000.tsv classes.txt pack.txt pack.json; do
    check "... $file is there" [ -s "$tmp/one/$file" ]
done
check "... and nothing else" [ "$(ls "$tmp/one" | wc -l)" -eq 6 ]
check "classes.txt is the folders in order" sh -c 'ls "$1" | LC_ALL=C sort | cmp - "$2"' - "$src" "$tmp/one/classes.txt"
tar tvf "$tmp/one/shard-000000.tar" >"$tmp/list"
check "tar lists an image and a label each" [ "$(wc -l <"$tmp/list")" -eq $((2 * count)) ]
check "... of nobody, at the beginning of time" sh -c '! grep -v "^-rw-r--r-- 0/0  *[0-9]* 19[67][0-9]-" "$1"' - "$tmp/list"
if command -v script >/dev/null; then
    for columns in 20 50 100; do
        rm -rf "$tmp/bar"
        TERM=xterm script -qec "stty cols $columns; '$sluice' pack '$src' '$tmp/bar' >'$tmp/out'" /dev/null \
            </dev/null >"$tmp/terminal"
        tr '\r' '\n' <"$tmp/terminal" | sed 's/\x1b\[K//' >"$tmp/bars"
        check "a terminal of $columns columns sees a bar" grep -q '^\[[#.]*' "$tmp/bars"
        check "... within a line" awk -v columns=$columns 'length($0) >= columns {exit 1}' "$tmp/bars"
        check "... that is wiped at the end" [ "$(tail -c 4 "$tmp/terminal" | od -An -c | tr -d ' ')" = '\r033[K' ]
    done
    check "a bar says how many, how long, how fast" grep -Eq '\] [0-9]+/[0-9]+, [0-9]+ s left, [0-9]+ images/s$' "$tmp/bars"
else
    skip "bars on terminals" "no script(1)"
fi
mkdir "$tmp/files"
check "tar takes them out" tar xf "$tmp/one/shard-000000.tar" -C "$tmp/files"

# Each is the file that the list says, by its pixels and by its label.
compare_all() { # compare_all LIST FILES
    grep -v '^key\|^#end' "$1" | while IFS=$(printf '\t') read -r key field label fate in out name why; do
        class=$(sed -n "$((label + 1))p" "$tmp/one/classes.txt")
        [ "${name%%/*}" = "$class" ] || echo "$key: label $label of $name"
        [ "$(cat "$2/$key.cls")" = "$label" ] || echo "$key: another label"
        [ "$(wc -c <"$2/$key.$field")" -eq "$out" ] || echo "$key: another size"
        [ "$fate" = transcoded ] || echo "$key: $fate $why $in"
        if command -v djpeg >/dev/null; then
            [ "$(djpeg -pnm "$2/$key.jpg" | md5sum)" = "$(djpeg -pnm "$src/$name" | md5sum)" ] ||
                echo "$key: other pixels than $name"
        fi
    done
}
compare_all "$tmp/one/shard-000000.tsv" "$tmp/files" >"$tmp/wrong"
check "every sample is what the list says" [ ! -s "$tmp/wrong" ]
command -v djpeg >/dev/null || skip "pixels by djpeg" "not installed"

pixels() { # pixels PIPELINE: the digest of a pass
    "$sluice" bench "$1 | batch 8" --digest --json 2>/dev/null |
        sed -n 's/.*"digest": *"\([0-9a-f]*\)".*/\1/p'
}
digest() { # digest SOURCE: of a pass of crops
    pixels "$1 | decode | random_resized_crop 48"
}
check "crops of the pack are those of the folder" \
    [ "$(digest "webdataset $tmp/one/shard-000000.tar")" = "$(digest "image_folder $src")" ]
check "... and there is a digest" [ -n "$(digest "image_folder $src")" ]
expect "it verifies" 0 verify "$tmp/one"
check "... all of it" out_has ": $count of $count samples read; 0 problems$"
check "... with every checksum" out_has "^1 shard, $count checksums compared$"

# ---- the same bytes ---------------------------------------------------------------------------------

for workers in 2 4; do
    expect "with $workers workers" 0 pack "$src" "$tmp/workers" --workers $workers --verify
    check "... it is the same, byte for byte" same "$tmp/one" "$tmp/workers"
    rm -rf "$tmp/workers"
done
expect "packing again does nothing" 0 pack "$src" "$tmp/one" --json
check "... and says so" json "j['complete'] and j['resumed'] == $count and j['done'] == $count and j['fates'] == {'transcoded': $count}"
expect "another name of the source is the same source" 0 pack "image_folder $src/../train" "$tmp/one"

expect "in small shards" 0 pack "$src" "$tmp/whole" --shard-size 100K
shards=$(ls "$tmp/whole" | grep -c 'tar$')
check "... there are several" [ "$shards" -gt 3 ]
check "... none is larger" sh -c '! find "$1" -name "*.tar" -size +200 | grep .' - "$tmp/whole"
check "... with the samples of one" sh -c 'for i in "$1"/*.tar; do tar tf "$i"; done | cmp - "$2"' - "$tmp/whole" \
    "$(tar tf "$tmp/one/shard-000000.tar" >"$tmp/members"; echo "$tmp/members")"
[ -z "$python" ] || check "... python reads them" [ 0 -eq "$("$python" -c 'import sys, tarfile
n = sum(len(tarfile.open(p).getnames()) for p in sys.argv[2:])
print(n - 2 * int(sys.argv[1]))' "$count" "$tmp"/whole/*.tar)" ]
expect "... verify" 0 verify "$tmp/whole"

expect "shuffled" 0 pack "$src" "$tmp/shuffle7" --shuffle=7
expect "... again" 0 pack "$src" "$tmp/shuffle7b" --shuffle=7 --workers 2
expect "... with another seed" 0 pack "$src" "$tmp/shuffle8" --shuffle=8
expect "... as a stage" 0 pack "image_folder $src | shuffle seed=7" "$tmp/shuffle7c"
check "the same seed is the same order" same "$tmp/shuffle7" "$tmp/shuffle7b"
check "... said either way" same "$tmp/shuffle7" "$tmp/shuffle7c"
check "another is another" differ "$tmp/shuffle7/shard-000000.tar" "$tmp/shuffle8/shard-000000.tar"
names() { cut -f7 "$1/shard-000000.tsv" | grep / | sort; }
names "$tmp/shuffle7" >"$tmp/a"
names "$tmp/one" >"$tmp/b"
check "... of the same samples" cmp "$tmp/a" "$tmp/b"
expect "a part of a set" 0 pack "image_folder $src | split train 0.5" "$tmp/half" --json
check "... is packed alone" json "0 < j['written'] < $count"

# ---- interrupted ------------------------------------------------------------------------------------

"$sluice" synth "$tmp/large" --classes 2 --per-class 100 --size 400 >/dev/null
expect "an unbroken run" 0 pack "$tmp/large/train" "$tmp/unbroken" --shard-size 1M

# interrupt SIGNAL SHARD: when that shard is there.
interrupt() {
    rm -rf "$tmp/broken"
    "$sluice" pack "$tmp/large/train" "$tmp/broken" --shard-size 1M --workers 1 --verify >"$tmp/out" 2>"$tmp/err" &
    pid=$!
    while [ ! -e "$tmp/broken/shard-00000$2.tar" ] && kill -0 $pid 2>/dev/null; do
        sleep 0.01
    done
    kill -"$1" $pid 2>/dev/null
    wait $pid
    code=$?
}
for shard in 0 1 2; do
    for signal in INT TERM KILL; do
        interrupt $signal $shard
        wants=$(case $signal in INT) echo 130 ;; TERM) echo 143 ;; KILL) echo 137 ;; esac)
        if [ "$code" -eq 0 ]; then
            skip "SIG$signal behind shard $shard" "it had ended before"
            continue
        fi
        check "SIG$signal behind shard $shard: exit $wants" [ "$code" -eq "$wants" ]
        if [ $signal != KILL ]; then
            check "... what to do is said" err_has 'run the same command again'
            check "... nothing unfinished stays" sh -c '! ls "$1" | grep "part$\|lock$"' - "$tmp/broken"
        fi
        check "... the finished shard stays" cmp "$tmp/broken/shard-000000.tar" "$tmp/unbroken/shard-000000.tar"
        run "$sluice" verify "$tmp/broken" --json
        check "... verify says that it is not complete" json "j['status'] == 'E_CORRUPT' and 'not complete' in j['problems'][-1]['why']"
        run "$sluice" pack "$tmp/large/train" "$tmp/broken" --shard-size 1M --json
        check "... the same command goes on" json "j['complete'] and j['resumed'] > 0"
        check "... and comes to the same bytes" same "$tmp/unbroken" "$tmp/broken"
    done
done

# Files that are cut or lost are made anew.
for file in shard-000001.tar shard-000001.tsv; do
    cp -r "$tmp/unbroken" "$tmp/lost"
    head -c 5000 "$tmp/unbroken/$file" >"$tmp/lost/$file"
    expect "with a cut $file it goes on before it" 0 pack "$tmp/large/train" "$tmp/lost" --shard-size 1M
    check "... to the same bytes" same "$tmp/unbroken" "$tmp/lost"
    rm -rf "$tmp/lost"
done

cp -r "$tmp/unbroken" "$tmp/lost"
rm "$tmp/lost/shard-000000.tar"
(
    trap '' XFSZ
    ulimit -f 600
    "$sluice" pack "$tmp/large/train" "$tmp/lost" --shard-size 1M >"$tmp/out" 2>"$tmp/err"
)
check "a pack that lost a shard is not complete while that is made anew" gone "$tmp/lost/pack.json"

# ---- disks and folders ------------------------------------------------------------------------------

mkdir "$tmp/disk"
if mount -t tmpfs -o size=2500k none "$tmp/disk" 2>/dev/null; then
    mounted=$tmp/disk
    expect "a full disk ends the run" 1 pack "$tmp/large/train" "$tmp/disk/pack" --shard-size 1M
    check "... with the file's name and what to do" err_has 'disk/pack/shard-000.*No space left.*make room\|disk/pack/shard-000.*make room.*No space left'
    check "... finished shards stay" cmp "$tmp/disk/pack/shard-000000.tar" "$tmp/unbroken/shard-000000.tar"
    check "... nothing unfinished does" sh -c '! ls "$1" | grep "part$"' - "$tmp/disk/pack"
    mount -o remount,size=64m "$tmp/disk"
    expect "... with room made it goes on" 0 pack "$tmp/large/train" "$tmp/disk/pack" --shard-size 1M
    check "... to the same bytes" same "$tmp/unbroken" "$tmp/disk/pack"
    umount "$mounted"
    mounted=""
else
    skip "a full disk" "no tmpfs can be mounted"
fi
(
    trap '' XFSZ
    ulimit -f 600
    "$sluice" pack "$tmp/large/train" "$tmp/limit" --shard-size 1M >"$tmp/out" 2>"$tmp/err"
)
code=$?
check "a write that fails ends the run" [ "$code" -eq 1 ]
check "... with the file's name" err_has 'cannot write .*/limit/shard-000000.tar.part.*too large'
check "... and the file is gone" gone "$tmp/limit/shard-000000.tar.part"

# limited FILES ARGUMENTS...: the tool with so many file descriptors.
limited() {
    files=$1
    shift
    run sh -c 'ulimit -n "$0" && exec "$@"' "$files" "$sluice" "$@"
}
limited 8 pack "$src" "$tmp/few" --workers 4
check "with room for few open files a pack is whole, or an error" \
    sh -c '[ "$1" -eq 0 ] && grep -q complete "$2/out" || grep -q "Too many open files" "$2/err"' - "$code" "$tmp"
expect "... and goes on without that limit" 0 pack "$src" "$tmp/few"
check "... to the same bytes" same "$tmp/one" "$tmp/few"
limited 7 pack "$src" "$tmp/fewer" --leave-out-unreadable
check "with room for none it is an error" [ "$code" -eq 1 ]
check "... that says so" err_has 'Too many open files (ulimit -n is 7; raise it)'
check "... and leaves out no sample" sh -c '! ls "$1" | grep tsv' - "$tmp/fewer"

expect "another interval in the same folder" 1 pack "$src" "$tmp/one" --interval 64
check "... is refused by its name" err_has 'interval "32", this is one with "64"'
expect "other samples in the same folder" 1 pack "$tmp/synth/test" "$tmp/one"
check "... are refused" err_has 'samples "160", this is one with "40"'
cp -r "$src" "$tmp/renamed"
mv "$(find "$tmp/renamed" -name '*.jpg' | sort | head -1)" "$tmp/renamed/$(ls "$src" | head -1)/x.jpg"
expect "other names in the same folder" 1 pack "$tmp/renamed" "$tmp/one"
check "... too" err_has 'their names differ'
check "... and nothing has changed" same "$tmp/one" "$(cp -r "$tmp/one" "$tmp/copy"; echo "$tmp/copy")"
mkdir "$tmp/foreign"
echo mine >"$tmp/foreign/notes"
expect "a folder that holds something else" 1 pack "$src" "$tmp/foreign"
check "... is refused" err_has 'is neither empty nor a pack: it holds notes'
check "... and left as it was" [ "$(ls "$tmp/foreign")" = notes ]
expect "a folder that cannot be made" 1 pack "$src" "$tmp/none/none"
check "... is named" err_has 'cannot make the folder .*/none/none'
mkdir "$tmp/readonly"
chmod a-w "$tmp/readonly"
if (: >"$tmp/readonly/x") 2>/dev/null; then
    rm -f "$tmp/readonly/x"
    expect "a folder that cannot be written" 1 pack "$src" /proc/self/fdinfo
else
    expect "a folder that cannot be written" 1 pack "$src" "$tmp/readonly"
fi
check "... is named" err_has 'pack.lock'
if command -v flock >/dev/null; then
    mkdir "$tmp/busy"
    flock "$tmp/busy/pack.lock" "$sluice" pack "$src" "$tmp/busy" >"$tmp/out" 2>"$tmp/err"
    code=$?
    check "a second packer is refused" [ "$code" -eq 1 ]
    check "... and says why" err_has 'another process writes to'
    check "... and leaves the lock" [ -e "$tmp/busy/pack.lock" ]
    expect "a lock that nobody holds is no obstacle" 0 pack "$src" "$tmp/busy"
    check "... and goes away" gone "$tmp/busy/pack.lock"
else
    skip "a second packer" "no flock"
fi

# ---- files of all kinds -------------------------------------------------------------------------------

odd=$tmp/odd
tab=$(printf 'b\tc')
mkdir -p "$odd/a.b" "$odd/$tab"
good=$(find "$src" -name '*.jpg' | sort | head -1)
cp "$good" "$odd/a.b/v1.2.final.jpg"
cp "$good" "$odd/a.b/with blank.JPEG"
head -c 900 "$good" >"$odd/a.b/cut.jpg"
: >"$odd/a.b/empty.jpg"
echo 'this is text' >"$odd/a.b/text.jpg"
printf 'GIF89a\001\000\001\000\000\000\000;' >"$odd/a.b/small.gif.jpg"
ln -s nowhere "$odd/a.b/dangling.jpg"
head -c 900 "$good" >"$odd/$tab/$(printf 'new\nline').jpg"
if command -v cjpeg >/dev/null && command -v djpeg >/dev/null; then
    djpeg "$good" | cjpeg -progressive >"$odd/a.b/progressive.jpg"
    djpeg "$good" | cjpeg -arithmetic >"$odd/a.b/arithmetic.jpg" 2>/dev/null || rm -f "$odd/a.b/arithmetic.jpg"
    djpeg "$good" | cjpeg -grayscale -restart 1 >"$odd/a.b/gray.jpg"
fi
[ -z "$python" ] || "$python" -c 'import struct, sys, zlib
def chunk(n, d): return struct.pack(">I", len(d)) + n + d + struct.pack(">I", zlib.crc32(n + d))
open(sys.argv[1], "wb").write(b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", struct.pack(">IIBBBBB", 60, 40, 8, 2, 0, 0, 0)) +
    chunk(b"IDAT", zlib.compress((b"\0" + b"\x10\x80\xff" * 60) * 40)) + chunk(b"IEND", b""))' "$odd/a.b/flat.png"
expect "odd files are packed but for those that cannot be" 1 pack "$odd" "$tmp/odd-pack" --json --verify
check "... which is an error" json "j['status'] == 'E_CORRUPT' and j['complete'] and 'lacks 4 of' in j['error']"
check "... each with its fate" json "j['fates'].get('left_no_image') == 3 and j['fates'].get('left_unreadable') == 1 and j['fates'].get('kept_corrupt') == 2 and j['fates']['transcoded'] >= 2 and len(j['problems']) >= 5"
sed 's/.*"problems"://' "$tmp/out" >"$tmp/problems"
check "... and its name" json "any(p['name'] == 'a.b/cut.jpg' and p['fate'] == 'kept_corrupt' and 'remature' in p['why'] for p in j['problems'])"
[ -z "$python" ] || check "... a PNG file is kept" json "j['fates'].get('kept_format') == 1 or not any('flat.png' in p['name'] for p in j['problems'])"
[ -z "$python" ] || check "... its format is said" json "all(p['why'] == 'it is a PNG file' for p in j['problems'] if p['fate'] == 'kept_format')"
check "... the list has a line for each" [ "$(wc -l <"$tmp/odd-pack/shard-000000.tsv")" -eq $(($(find "$odd" ! -type d -print0 | tr -cd '\000' | wc -c) + 2)) ]
check "... with names that keep their lines" grep -q 'b\\tc/new\\nline.jpg' "$tmp/odd-pack/shard-000000.tsv"
check "classes.txt, too" grep -qx 'b\\tc' "$tmp/odd-pack/classes.txt"
tar tf "$tmp/odd-pack/shard-000000.tar" >"$tmp/list"
check "dots in names do not part samples" sh -c '! grep -v "^[0-9]\{9\}\.\(jpg\|png\|cls\)$" "$1"' - "$tmp/list"
tar xOf "$tmp/odd-pack/shard-000000.tar" "$(awk -F'\t' '$7 == "a.b/cut.jpg" {print $1 ".jpg"}' "$tmp/odd-pack/shard-000000.tsv")" >"$tmp/cut.jpg"
check "a damaged file is kept as it was" cmp "$tmp/cut.jpg" "$odd/a.b/cut.jpg"
expect "verify finds both that are" 1 verify "$tmp/odd-pack"
check "... and none besides" out_has '; 2 problems'
expect "and in the folder" 1 verify "$odd" --json
check "... all that are bad" json "j['problem_count'] == 6"
expect "resumed, the counts are the same" 1 pack "$odd" "$tmp/odd-pack" --json
sed 's/.*"problems"://' "$tmp/out" >"$tmp/problems2"
check "... and so are all names and causes" cmp "$tmp/problems" "$tmp/problems2"
check "... and the problems" json "j['resumed'] == j['done'] and len(j['problems']) >= 5 and j['fates']['left_no_image'] == 3"
mkdir -p "$tmp/bad/x"
echo text >"$tmp/bad/x/y.jpg"
expect "verify finds a file that is no image" 1 verify "$tmp/bad"
check "... and does not count it as decoded" out_has ': 0 of 1 samples read; 1 problem$'
check "... nor as several" err_has ': 1 problem$'
expect "verify --json finds it, too" 1 verify "$tmp/bad" --json
check "... and counts it as bad" json "j['done'] == 1 and j['bad'] == 1"
expect "nothing that can be packed" 1 pack "$tmp/bad" "$tmp/bad-pack"
check "... is said" err_has 'none of 1 samples can be packed.*x/y.jpg'

# ---- lossy ----------------------------------------------------------------------------------------

expect "smaller images" 0 pack "$src" "$tmp/small" --max-side 40 --verify --json
check "... are encoded anew" json "j['lossy'] and j['fates'] == {'encoded': $count} and j['ratio'] < 0.8"
expect "... in a summary" 0 pack "$src" "$tmp/small" --max-side 40
check "... that says lossy" out_has 'complete, lossy'
expect "a side that no image has" 0 pack "$src" "$tmp/nosmaller" --max-side 96 --json
check "... changes nothing" json "not j['lossy'] and j['fates'] == {'transcoded': $count}"
expect "a quality encodes all" 0 pack "$src" "$tmp/quality" --quality 50 --subsampling 444 --json
check "... anew" json "j['fates'] == {'encoded': $count}"
run "$sluice" pack "$src" "$tmp/quality420" --quality 50
check "... 4:2:0 is smaller than 4:4:4" \
    [ "$(wc -c <"$tmp/quality420/shard-000000.tar")" -lt "$(wc -c <"$tmp/quality/shard-000000.tar")" ]
expect "pixels" 0 pack "$src" "$tmp/raw" --raw --max-side 50 --verify --json
check "... are stored" json "j['lossy'] and j['fates'] == {'raw': $count} and j['bytes_out'] == $count * (50 * 50 * 3 + 13)"
tar xOf "$tmp/raw/shard-000000.tar" 000000000.ppm | head -c 13 >"$tmp/head"
check "... as PPM" sh -c 'printf "P6\n50 50\n255\n" | cmp - "$1"' - "$tmp/head"
check "... as resize has them" \
    [ "$(pixels "webdataset $tmp/raw/shard-000000.tar | decode")" = "$(pixels "image_folder $src | decode | resize 50")" ]
for pack in small quality raw; do
    expect "$pack verifies" 0 verify "$tmp/$pack"
done
expect "pixels of a set that has no files" 0 pack "synthetic samples=9 shape=8,9,3" "$tmp/synthetic" --raw
expect "... verify" 0 verify "$tmp/synthetic"
expect "pixels as they are" 0 pack "$src" "$tmp/raw1" --raw
check "... are without loss" out_has 'complete, lossless'
check "whole raw pixels give the same crops" \
    [ "$("$sluice" pack "$src" "$tmp/raw2" --raw >/dev/null && digest "webdataset $tmp/raw2/shard-000000.tar")" = "$(digest "image_folder $src")" ]

# ---- words ----------------------------------------------------------------------------------------

expect "no folder to make" 2 pack "$src"
expect "a folder that is not there" 2 pack "$tmp/nothing" "$tmp/x"
check "... is what it says first" err_has "pack: there is no folder $tmp/nothing, and it is not a pipeline"
expect "a stage that has no place" 2 pack "image_folder $src | decode" "$tmp/x"
check "... is named" err_has 'and the dataset has decode'
for words in "--quality 0" "--quality 101" "--subsampling 422" "--raw --quality 5" "--raw --interval 8" "--interval 65536" \
    "--max-side 0" "--workers 0" "--shard-size 0" "--shuffle=x" "--frobnicate"; do
    # shellcheck disable=SC2086
    expect "pack $words" 2 pack "$src" "$tmp/x" $words
done
check "nothing was made" gone "$tmp/x"
expect "an error is one JSON object" 2 pack "$src" "$tmp/x" --quality 0 --json
check "... with its words" json "j['status'] == 'E_INVALID' and 'quality' in j['error']"
expect "verify wants a path" 2 verify
expect "verify of nothing" 1 verify "$tmp/nothing" --json
check "... is one JSON object" json "j['status'] == 'E_IO' and 'nothing' in j['error']"

# ---- what verify finds ------------------------------------------------------------------------------

# broken NAME WORDS COMMAND...: of a copy that the command changes.
broken() {
    name=$1
    words=$2
    shift 2
    rm -rf "$tmp/v"
    cp -rp "$tmp/whole" "$tmp/v"
    (cd "$tmp/v" && "$@") || fail "$name" "cannot be made"
    expect "verify finds $name" 1 verify "$tmp/v"
    check "... in these words: $words" out_has "$words"
}
poke() { printf '\125\252' | dd of="$1" bs=1 seek="$2" conv=notrunc 2>/dev/null; }
broken "a changed byte" 'the checksum differs' poke shard-000001.tar 2000
broken "a shard that is missing" 'an earlier one is missing' rm shard-000001.tar
broken "a list that is missing" 'shard-000002.tsv: the list is missing' rm shard-000002.tsv
broken "a list with zeros after its end" 'shard-000002.tsv: the list is missing, corrupt' sh -c 'head -c 300 /dev/zero >>shard-000002.tsv'
broken "a list that was cut" 'the list is missing, corrupt' sh -c 'head -c 300 shard-000002.tsv >x; mv x shard-000002.tsv'
broken "an index that is missing" 'the index is missing' rm shard-000000.tar.sluice
for command in show explain "bench --seconds 1"; do
    # shellcheck disable=SC2086
    expect "... ${command%% *} does not rebuild it" 1 $command "webdataset $tmp/v | decode | center_crop 32 | batch 4"
    check "... and names it" err_has 'v/shard-000000.tar.sluice is missing'
done
expect "... inspect neither" 1 inspect "$tmp/v"
expect "... verify still finds it" 1 verify "$tmp/v"
expect "... the same pack writes it" 0 pack "$src" "$tmp/v" --shard-size 100K
check "... and says so" err_has 'shard-000000.tar and all shards after it are packed again'
check "... to the same bytes" same "$tmp/whole" "$tmp/v"
broken "an index that is damaged" 'tar.sluice: ' poke shard-000000.tar.sluice 90
broken "an index of another shard" 'tar.sluice: ' cp shard-000000.tar.sluice shard-000001.tar.sluice
for seed in 1 2; do # as large, with other labels
    "$sluice" pack "synthetic samples=40 shape=8,9,3 classes=9" "$tmp/same$seed" --raw --shuffle=$seed >/dev/null
done
cp "$tmp/same1/shard-000000.tar.sluice" "$tmp/same2/shard-000000.tar.sluice"
expect "verify finds an index of an archive as large" 1 verify "$tmp/same2"
check "... by what it says" out_has 'the index is not that of the archive'
broken "a shard that was cut" 'shard-000000.tar: ' sh -c 'head -c 3000 shard-000000.tar >x; mv x shard-000000.tar'
blocks=$((($(tar tRf "$tmp/whole/shard-000000.tar" | sed -n '3s/^block \([0-9]*\):.*/\1/p')) * 512))
broken "a shard that was cut between members" 'it may be truncated' sh -c 'head -c "$1" shard-000000.tar >x; mv x shard-000000.tar' - "$blocks"
broken "a last shard that is missing" 'shards, and the folder has .*write those that are missing' sh -c 'rm "$(ls shard-*.tar | tail -1)"'
broken "a pack of a corrupt stream" 'pack.corrupt: .*delete the whole pack' sh -c 'echo why >pack.corrupt'
for command in show explain "bench --seconds 1"; do
    # shellcheck disable=SC2086
    expect "... ${command%% *} does not read it" 1 $command "webdataset $tmp/v | decode | center_crop 32 | batch 4"
    check "... and names the mark" err_has 'v/pack.corrupt: .*delete the whole pack'
done
expect "... inspect neither" 1 inspect "$tmp/v"
expect "... pack neither" 1 pack "webdataset $tmp/v" "$tmp/v-packed"
check "... before it makes a folder" gone "$tmp/v-packed"
broken "a pack that is not complete" 'the pack is not complete' rm pack.json
for command in show inspect explain pack; do
    case $command in
    inspect) set -- "$tmp/v" ;;
    pack) set -- "webdataset $tmp/v" "$tmp/v-packed" ;;
    show) set -- "webdataset $tmp/v | decode | center_crop 32 | batch 4" -o "$tmp/sheet.png" ;;
    *) set -- "webdataset $tmp/v | decode | center_crop 32 | batch 4" ;;
    esac
    expect "... $command reads it" 0 $command "$@"
    check "... with one warning" [ "$(grep -c 'not complete (pack.txt without pack.json)' "$tmp/err")" -eq 1 ]
done
expect "... the same pack completes it" 0 pack "$src" "$tmp/v" --shard-size 100K
expect "... it verifies" 0 verify "$tmp/v"
broken "a list that says less is there" 'not as many samples as the archive' \
    sed -i '3s/transcoded/left_no_image/' shard-000001.tsv
broken "a list that lacks its first line" 'does not continue' sed -i 2d shard-000001.tsv
broken "a list of another shard" 'does not continue\|not of this archive' cp shard-000000.tsv shard-000001.tsv

finish
