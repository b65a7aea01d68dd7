#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# sluice inspect: counts, classes, sizes and kinds of each kind of source; what cannot be read; errors.
# test_inspect.sh BUILD_DIR; a line for each check, and last `inspect: N passed, N failed, N skipped`.
set -u
build=$(cd "${1:?usage: test_inspect.sh BUILD_DIR}" && pwd)
title=inspect
. "$(dirname "$0")/shell_kit.sh"
sluice=$build/bin/sluice

cd "$tmp" || exit 1
"$sluice" synth set --classes 3 --per-class 10 --size 48 >made || skip_rest "sluice synth makes none"
first=$(ls set/train | sed -n 1p)
for i in $(seq 10 34); do echo "no image" >"set/train/$first/bad$i.jpg"; done
: >"set/train/$first/empty.jpg"

# ---- a folder ---------------------------------------------------------------------------------------
expect "a folder with files that are no images" 1 inspect set/train
check "... its samples are counted" out_has '^50 samples; 26 cannot be read$'
check "... and its classes, with names" out_has '^3 classes in column label$'
check "... without those that cannot be read" out_has "^       0          8  $first$"
check "... columns have types and ranges" out_has '^  label            i32      0 to 2$'
check "... sizes are those of the files" out_has '^  width           48        48        48        48        48         48.0$'
check "... kinds of JPEG files are counted" out_has '^  24 JPEG: 24 4:2:0$'
check "... 20 bad samples are named" [ "$(grep -c "^  [0-9]* $first/bad[0-9]*.jpg: not an image" "$tmp/out")" -eq 20 ]
check "... in their order" out_has "^  8 $first/bad10.jpg"
check "... the others are counted" out_has '^  and 6 more$'
cp "$tmp/out" whole
expect "more threads give the same" 1 inspect set/train --workers 7
check "... every byte" cmp "$tmp/out" whole
expect "JSON has the same" 1 inspect set/train --json
check "... numbers" json "(j['samples'] == 50 and j['read'] == 50 and j['bad'] == 26 and j['class_column'] == 'label' and
    [c['count'] for c in j['classes']] == [8, 8, 8] and j['classes'][0]['name'] == '$first' and j['other_labels'] == 0)"
check "... columns" json "([(c['name'], c['dtype'], c['role']) for c in j['columns']] == [('image', 'encoded', 'image'),
    ('label', 'i32', 'plain')] and j['columns'][1]['max'] == 2)"
check "... and images" json "(j['width'] == j['height'] and j['width']['p50'] == 48 and j['formats']['jpeg'] == 24 and
    j['jpeg']['4:2:0'] == 24 and j['jpeg']['progressive'] == 0 and j['bytes']['min'] > 100)"
check "... and bad samples with reasons" json "(len(j['unreadable']) == 20 and j['unreadable'][0]['sample'] == 8 and
    'not an image' in j['unreadable'][0]['why'])"
expect "a part of the samples" 1 inspect set/train --max-samples 10
check "... is spaced evenly" out_has '^50 samples, 10 of them read; 5 cannot be read$'

# ---- findings ---------------------------------------------------------------------------------------
printf 'P6 8 6 255\n%144s' a >a.ppm
printf 'P6 8 6 255\n%144s' b >b.ppm
cp a.ppm c.ppm
printf 'P5 8 6 255\n%48s' a >fits.pgm
printf 'P5 9 6 255\n%54s' a >wide.pgm
printf 'image\tmask:mask\tlabel\na.ppm\tfits.pgm\t0\nb.ppm\tfits.pgm\t0\nc.ppm\tfits.pgm\t1\n' >equal.tsv
expect "equal images of a list" 0 inspect equal.tsv
check "... are counted" out_has '^1 images have the bytes of an earlier one$'
check "... and named" out_has '^  2 c.ppm as 0 a.ppm$'
check "... and the skew of classes" out_has '^  the largest class has 2.0 times the samples of the smallest, 2 and 1$'
expect "... as JSON" 0 inspect equal.tsv --json
check "... too" json "j['duplicates'] == {'count': 1, 'first': [{'sample': 2, 'name': 'c.ppm', 'of': 0}]}"
printf 'image\tmask:mask\na.ppm\twide.pgm\nb.ppm\ta.ppm\nc.ppm\tfits.pgm\n' >masks.tsv
expect "masks that do not fit" 1 inspect masks.tsv
check "... of another size are bad" out_has '^  0 a.ppm: mask: the mask is 9x6, its image 8x6$'
check "... and those with colours" out_has '^  1 b.ppm: mask: a mask in a PPM file: its values are colours'

# Each kind of mask is judged as a run judges it: by inspect, and by verify.
if [ -n "$python" ] && "$sluice" --version | grep -q 'png on'; then
    mkdir judged
    "$python" - <<'PYTHON'
import struct, zlib
def png(name, width, height, kind, bits=8, orientation=0):
    def chunk(tag, data):
        return struct.pack(">I", len(data)) + tag + data + struct.pack(">I", zlib.crc32(tag + data))
    line = b"\0" + b"\1" * (width * {0: 1, 2: 3, 4: 2, 6: 4}[kind] * bits // 8)
    exif = b"II*\0\x08\0\0\0\1\0" + struct.pack("<HHIHH", 0x112, 3, 1, orientation, 0) + b"\0\0\0\0"
    open("judged/" + name, "wb").write(b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", struct.pack(">IIBBBBB", width, height, bits, kind, 0, 0, 0)) +
        (chunk(b"eXIf", exif) if orientation else b"") + chunk(b"IDAT", zlib.compress(line * height)) + chunk(b"IEND", b""))
png("wide.png", 9, 6, 2)
png("turned.png", 9, 6, 2, orientation=6)   # 6x9 upright
png("high.png", 6, 9, 2)
png("gray.png", 9, 6, 0)
png("rgb.png", 9, 6, 2)
png("alpha.png", 9, 6, 4)
png("deep.png", 9, 6, 0, 16)
png("small.png", 8, 6, 0)
png("own.png", 9, 6, 0, orientation=6)
png("upright.png", 6, 9, 0)
PYTHON
    cp "set/train/$(ls set/train | sed -n 1p)/000000.jpg" judged/lossy.jpg 2>/dev/null || cp $(ls set/train/*/*.jpg | sed -n 3p) judged/lossy.jpg
    printf 'image\tmask:mask\n' >judged.tsv
    for pair in wide.png:gray.png wide.png:rgb.png wide.png:alpha.png wide.png:deep.png wide.png:small.png wide.png:own.png \
        wide.png:upright.png wide.png:lossy.jpg high.png:own.png high.png:gray.png turned.png:gray.png turned.png:upright.png; do
        printf 'judged/%s\tjudged/%s\n' "${pair%:*}" "${pair#*:}" >>judged.tsv
    done
    for i in $(seq 0 11); do
        "$sluice" show "image_list judged.tsv | decode | resize 4,4 | batch 1" --sample "$i" --times 1 --npy "one$i" >/dev/null 2>one ||
            sed -n "s/^sluice: decode: sample 0, [^:]*: mask: \(.*\)/$i mask: \1/p; s/^sluice: decode: sample $i, [^:]*: mask: \(.*\)/$i mask: \1/p" one
    done | sed 's/; on_error replace or zero continues without such samples$//' >run_says
    check "a run refuses masks of each kind" [ "$(wc -l <run_says)" -eq 8 ]
    expect "inspect judges masks" 1 inspect judged.tsv
    sed -n 's/^  \([0-9]*\) judged[^:]*: mask: /\1 mask: /p' out >inspect_says
    check "... as a run does" diff run_says inspect_says
    expect "verify judges masks" 1 verify judged.tsv
    sed -n 's/^judged[^:]*: mask: /mask: /p' out >verify_says
    check "... as a run does" sh -c 'sed "s/^[0-9]* //" run_says | diff - verify_says'
    check "... and counts the others as read" out_has ': 4 of 12 samples read; 8 problems$'
else
    skip "kinds of masks" "no python, or built without libpng"
fi

expect "the images and masks of a list are verified" 0 verify "image_list equal.tsv | decode"
check "... are counted" out_has ': 3 of 3 samples read; 0 problems$'
echo x >broken.pgm
printf 'image\tmask:mask\na.ppm\tbroken.pgm\nnone.ppm\tfits.pgm\nb.ppm\tfits.pgm\n' >broken.tsv
expect "a list with defects is verified" 1 verify "image_list broken.tsv"
check "... a mask that cannot be decoded is named" out_has '^a.ppm: mask: not an image of a supported format'
check "... and a file that is missing" out_has '^none.ppm: none.ppm: cannot open'

# ---- other sources ----------------------------------------------------------------------------------
good=set/train/$first/$(ls "set/train/$first" | grep -v bad | sed -n 1p)
printf 'image\tboxes:boxes[4]\tc:i32[4]@boxes\tcaption:text[9]\n%s\t0,0,9,9;1,1,5,5\t1,3\thi\n%s\t0,0,9,9\t70000\t\n' "$good" "$good" >list.tsv
expect "a list is inspected" 0 inspect list.tsv
check "... classes are those of boxes" out_has '^4 classes in column c, 2 of them without a sample$'
check "... others are counted" out_has '^  1 labels are not from 0 to 65535$'
check "... columns have shapes and roles" out_has '^  boxes            f32      (4, 4) boxes$'
check "... and what they belong to" out_has '^  c                i32      (4) of each of boxes$'
check "... the lengths of ragged ones have a range" out_has '^  boxes_length     i32      1 to 2$'
printf 'x:f32,label\n1,0\n2,3\n' >table.csv
expect "a list without images is inspected" 0 inspect table.csv
check "... its classes are counted" out_has '^4 classes in column label, 2 of them without a sample$'
{
    printf 'image\tboxes:boxes[2]\n%s\t-9,0,90,9;3,3,3,9\n' "$good"
    for i in $(seq 1 25); do printf '%s\t50,50,60,60\n%s\t0,0,1,1;0,0,1,1;0,0,1,1\n' "$good" "$good"; done
} >bad.tsv
expect "a list with bad records is inspected" 1 inspect bad.tsv
check "... all of them are counted" out_has '^51 samples; 50 cannot be read$'
check "... and listed, of the records" out_has '^  2 .*: 4:[0-9]*: more than 2 boxes'
check "... and of the images" out_has '^  1 .*: boxes: box 1, 50,50,60,60, is wholly outside its image of 48x48$'
check "... up to a bound" out_has '^  and 30 more$'
check "... boxes that were changed are said once" [ "$(grep -c 'is clipped to it\|is dropped; further' "$tmp/err")" -eq 2 ]
check "... and counted" out_has '^1 boxes reach beyond their image, and are clipped to it$'
check "... those without an area, too" out_has '^1 boxes have no area, and are dropped$'
check "... with their number" grep -q 'boxes: 1 were clipped to their image, and 1 without an area were dropped' "$tmp/err"
expect "... as JSON" 1 inspect bad.tsv --json
check "... too" json "j['findings'] == {'boxes_clipped': 1, 'boxes_dropped': 1, 'sizes_differ': 0, 'labels_stored': 0}"
mkdir -p mixed/c/sub
cp "$good" mixed/c/a.jpg
cp "$good" mixed/c/b.JFIF
for i in 1 2 3; do echo x >"mixed/c/$i.avif"; done
expect "a folder with other files is inspected" 0 inspect mixed
check "... all extensions of JPEG are read" out_has '^2 samples; 0 cannot be read$'
check "... what is left out is counted" err_has 'image_folder mixed: left out: 3 .avif (first c/[123].avif), 1 folder (first c/sub);'
expect "... by verify, too" 0 verify mixed
check "... in the same words" err_has 'image_folder mixed: left out: 3 .avif (first c/[123].avif), 1 folder (first c/sub);'
expect "arrays without images are inspected" 0 inspect "synthetic 100 4,5,1 7 | batch 3" --json
check "... raw images have no format" json "j['formats']['jpeg'] == 0 and j['width']['max'] == 5 and len(j['classes']) == 7"
if "$sluice" --version | grep -q 'jansson on'; then
    printf '{"images":[{"id":1,"file_name":"%s"}],"annotations":[{"image_id":1,"category_id":4,"bbox":[1,2,3,4]}],
        "categories":[{"id":4,"name":"cat"},{"id":2,"name":"dog"}]}' "$good" >coco.json
    expect "COCO's JSON is inspected" 0 inspect coco.json
    check "... its classes have names" out_has '^       1          1  cat$'
    printf '{"images":[{"id":1,"file_name":"%s","width":48,"height":40}],"annotations":[],
        "categories":[{"id":4,"name":"cat"}]}' "$good" >sizes.json
    expect "an image of another size than its annotations" 1 inspect sizes.json
    check "... is named" out_has 'the image is 48x48, and its annotations are for 48x40$'
    check "... and counted" out_has '^1 images have another size than their annotations, and are bad samples$'
    expect "... by verify, too" 1 verify sizes.json
    check "... in the same words" out_has 'the image is 48x48, and its annotations are for 48x40$'
    sed 's/"annotations":\[\]/"annotations":[{"image_id":1,"category_id":4,"bbox":[9,9,90,9]},{"image_id":1,"category_id":4,"bbox":[1,1,0,9]}]/
        s/"height":40/"height":48/' sizes.json >beyond.json
    expect "boxes that were changed at opening" 0 inspect beyond.json --json
    check "... are counted" json "j['findings'] == {'boxes_clipped': 1, 'boxes_dropped': 1, 'sizes_differ': 0, 'labels_stored': 0}"
    if [ -e judged/turned.png ]; then
        echo '{"images":[{"id":1,"file_name":"judged/turned.png","width":9,"height":6}],"annotations":[],
            "categories":[{"id":4,"name":"cat"}]}' >turned.json
        expect "annotations for the pixels as stored" 0 inspect turned.json --workers 2
        check "... are counted" out_has '^1 images have annotations that fit only the pixels as stored, and are turned with them'
        check "... and so is the tag" out_has '^  1 with an Exif orientation other than 1'
    else
        skip "annotations for the pixels as stored" "no python, or built without libpng"
    fi
else
    skip "COCO's JSON" "built without jansson"
fi
if "$sluice" --version | grep -q 'archive on'; then
    "$sluice" pack set/test packed --interval 16 >made
    expect "a folder of shards is inspected" 0 inspect packed
    check "... restart markers are counted" out_has '^  6 JPEG: 6 4:2:0, 6 restart markers$'
    expect "a pack has all columns" 0 pack "image_list list.tsv" all
    expect "... verify reads them" 0 verify all
    expect "... inspect, too" 0 inspect all
    check "... by their names" out_has '^ *caption  '
    expect "columns that others need cannot be left out" 2 pack "image_list list.tsv" bare --drop boxes
    check "... which are named" grep -q 'the rows of c belong to boxes' "$tmp/err"
    check "... and nothing is written" [ ! -e bare ]
    expect "a pack may lack them by agreement" 0 pack "image_list list.tsv" bare --drop boxes,c,caption
    check "... which it says" out_has '^bare: 2 of 2 samples in 1 shards, complete, lossless, without the columns boxes,c,caption (--drop)$'
    expect "a pack without labels is inspected" 0 inspect bare
    check "... its images" out_has '^2 samples; 0 cannot be read$'
    check "... which is said" grep -q 'no sample has a label' "$tmp/err"
    expect "a shard is inspected" 0 inspect packed/shard-000000.tar --json
    check "... whose pack has the names of classes" json "[c['name'] for c in j['classes']] == '$(tr '\n' ' ' <packed/classes.txt)'.split()"
    expect "the classes of a pack" 0 classes packed
    check "... are those of its classes.txt" [ "$(cut -f2 out)" = "$(cat packed/classes.txt)" ]
    printf 'a\\tb\\\\c\n d\n' >packed/classes.txt
    expect "names with a tab and blanks" 0 classes packed --json
    check "... are as they were" json "j['classes'] == ['a\\tb\\\\c', ' d']"
    mkdir alone && cp packed/shard-000000.tar alone
    expect "a shard without its pack" 1 classes alone
    check "... has no names" err_has 'has no names of classes$'
    printf 'ant\nb\0ee\n' >packed/classes.txt
    expect "a name with a zero byte" 1 classes packed
    check "... is a warning, not a name that is cut" err_has 'packed/classes.txt: line 2 has a zero byte, which no name may have; classes have no names'
    head -c 2000000 /dev/zero >packed/classes.txt
    expect "names that cannot be read" 1 classes packed
    check "... are a warning" err_has 'packed/classes.txt: it has 2000000 bytes, and must have at most 1048576; classes have no names'
    expect "a conversion has the names of classes, too" 0 convert "image_folder set/test" records --format tfrecord
    expect "... which classes prints" 0 classes records
    check "... as its classes.txt has them" [ "$(cut -f2 out)" = "$(cat records/classes.txt)" ]
    expect "... and inspect" 0 inspect records --json
    check "... at their labels" json "[c['name'] for c in j['classes']] == '$(tr '\n' ' ' <records/classes.txt)'.split()"
else
    skip "shards" "built without libarchive"
fi

# ---- errors -----------------------------------------------------------------------------------------
expect "nothing to inspect is an error" 2 inspect
expect "a missing folder is an error" 2 inspect absent
expect "no samples are an error" 2 inspect set/train --max-samples 0
expect "a missing file is an error, as JSON" 1 inspect "image_folder absent" --json
check "... with its text" json "j['status'] == 'E_IO' and 'absent' in j['error']"
expect "a stream is refused" 1 inspect "webdataset -"
check "... with a reason" err_has 'stream'
check "... in the words of the tool" err_has '^sluice: webdataset is a stream here, which has no numbers of samples; give it plain files'
mkdir pipes
if mkfifo pipes/x.tar 2>/dev/null; then
    expect "a folder with a FIFO is refused" 1 inspect pipes
    check "... which is named" err_has '^sluice: inspect: pipes/x.tar is not a regular file, and its samples cannot be read by'
    expect "a FIFO is refused" 1 inspect pipes/x.tar
    check "... which is named" err_has '^sluice: inspect: pipes/x.tar is not a regular file'
else
    skip "FIFOs" "mkfifo makes none"
fi
expect "a folder of splits is no folder of classes" 1 inspect set
check "... and a split of it is advised" err_has '; try image_folder set/train$'
tar cf plain.tar -C set/test .
if gzip -k plain.tar 2>/dev/null; then
    expect "verify refuses a compressed shard" 1 verify plain.tar.gz
    check "... and advises what verify can do" out_has '; decompress it to a plain .tar; a run can read it as it is, in sequence'
    expect "... which works" 0 verify plain.tar
else
    skip "compressed shards" "no gzip"
fi
finish
