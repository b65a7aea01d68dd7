#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# sluice show: the files of --npy hold the batches of a step, bit for bit; the table; the contact sheet, decoded again;
# errors. test_show.sh BUILD_DIR; a line for each check, and last `show: N passed, N failed, N skipped`.
set -u
build=$(cd "${1:?usage: test_show.sh BUILD_DIR}" && pwd)
title=show
. "$(dirname "$0")/shell_kit.sh"
sluice=$build/bin/sluice

cd "$tmp" || exit 1 # batch.png is written to
out_empty() { [ ! -s "$tmp/out" ]; }
out_lacks() { ! out_has "$1"; }
absent() { [ ! -e "$1" ]; }
# only FOLDER NAME...: it holds these and nothing else, temporary files neither.
only() {
    folder=$1
    shift
    [ "$(ls -A "$folder" | sort | tr '\n' ' ')" = "$(printf '%s\n' "$@" | sort | tr '\n' ' ')" ]
}

# values EXPRESSION FOLDER...: holds of load(FOLDER, COLUMN), a shape and values, and of the folders f.
cat >"$tmp/values.py" <<'PYTHON'
import array, ast, struct, sys
def load(folder, column):
    data = open(f"{folder}/{column}.npy", "rb").read()
    assert data[:8] == b"\x93NUMPY\x01\x00"
    start = 10 + struct.unpack("<H", data[8:10])[0]
    assert start % 64 == 0 and data[start - 1:start] == b"\n"
    header = ast.literal_eval(data[10:start].decode())
    assert sorted(header) == ["descr", "fortran_order", "shape"] and header["fortran_order"] is False
    kind = header["descr"]
    assert kind[0] == ("|" if kind[2] == "1" else "<" if sys.byteorder == "little" else ">")
    count = 1
    for n in header["shape"]:
        count *= n
    assert len(data) == start + count * int(kind[2])
    code = {"u1": "B", "i1": "b", "u2": "H", "u4": "I", "i4": "i", "i8": "q", "f2": "e", "f4": "f", "i2": "h", "u8": "Q", "f8": "d"}[kind[1:]]
    return header["shape"], list(struct.unpack(f"={count}{code}", data[start:]))
def f32(x):
    return struct.unpack("=f", struct.pack("=f", x))[0]
def caption(folder, n, lines): # the pixels of the first letter below tile n
    (_, _, width, _), v = load(folder, "image")
    return ["".join(".#"[v[((4 + n // 3 * 90 + y) * width + 4 + n % 3 * 100 + x) * 3] > 128] for x in range(5)) for y in lines]
def is_sheet(folder):
    (_, _, width, _), v = load(folder, "image")
    def at(n, x, y):
        i = ((4 + n // 3 * 90 + y) * width + 4 + n % 3 * 100 + x) * 3
        return v[i:i + 3]
    labels = ["".join(".#"[at(n, x, 68)[0] > 128] for x in range(5)) for n in range(6)] # the first line of the digit
    return labels == [".###."] * 4 + ["..#.."] * 2 and all(
        at(n, x, y) == [7 * (9 * (y // 32) + 3 * (x // 32) + c) + n for c in range(3)]
        for n in range(6) for y in (0, 31, 32, 63) for x in (0, 31, 32, 95))
f = sys.argv[2:]
assert eval(sys.argv[1]), sys.argv[1]
PYTHON
values() { "$python" "$tmp/values.py" "$@"; }

# ---- values of --npy ------------------------------------------------------------------------------

if [ -n "$python" ]; then
    expect "--npy of 7 samples in batches of 3, 4 batches" 0 \
        show 'synthetic samples=7 shape=4,6,3 classes=5 | batch 3' --npy "$tmp/a" --steps 4
    check "... writes a file for every column" only "$tmp/a" image.npy label.npy
    check "... of 4 x 3 rows" values 'load(f[0], "image")[0] == (12, 4, 6, 3) and load(f[0], "label")[0] == (12,)' "$tmp/a"
    check "... in order, with the padding of the first pass, then the second pass" values \
        'load(f[0], "label")[1] == [0, 1, 2, 3, 4, 0, 1, 0, 0, 0, 1, 2]' "$tmp/a"
    check "... padded by zeros" values 'set(load(f[0], "image")[1][7 * 72:9 * 72]) == {0}' "$tmp/a"
    check "... the same samples in the second pass" values \
        '(lambda v: v[:3 * 72] == v[9 * 72:] and len(set(v[:72])) > 8)(load(f[0], "image")[1])' "$tmp/a"
    check "... of which the first labels are printed" out_has '^label: 0 1 2$'
    check "... which the table tells without the padding" out_has '^label *i32 *(12,) *0 *4 *1.4$'
    check "... and counts" out_has '^12 rows: steps 0 to 3, 2 rows are padding$'

    printf 'a:f32,label\n1.5,0\n-2,1\n' >"$tmp/table.csv"
    expect "--npy of a list without images" 0 show "image_list $tmp/table.csv | batch 2" --npy "$tmp/table"
    check "... has its numbers" values 'load(f[0], "a")[1] == [1.5, -2] and load(f[0], "label")[1] == [0, 1]' "$tmp/table"
    expect "a list without images is shown without a contact sheet" 0 show "image_list $tmp/table.csv | batch 2"
    check "... its first values are printed" out_has '^a: 1.5 -2$'
    check "... and no picture is written" absent batch.png

    "$python" - "$tmp/tree" <<'PYTHON'
import os, random, sys
top = sys.argv[1]
random.seed(7)
words = ["a", "b", "a b", "a.b", "A", "a-b", "aa", "\u00e4", "0", "10", "_"]
for k in range(60): # folders and files anywhere below two classes
    folder = os.path.join(top, random.choice(["x", "y"]), *[random.choice(words) for _ in range(random.randint(0, 4))])
    os.makedirs(folder, exist_ok=True)
    open(os.path.join(folder, random.choice(words) + random.choice([".pgm", ".PGM", ".x.pgm"])), "wb")
number = 0
for name in sorted(entry.name for entry in os.scandir(top) if entry.is_dir()): # as torchvision.datasets.folder.make_dataset()
    for root, _, names in sorted(os.walk(os.path.join(top, name), followlinks=True)):
        for name in sorted(names):
            open(os.path.join(root, name), "wb").write(b"P5 1 1 255 " + bytes([number]))
            number += 1
open(top + ".count", "w").write(str(number))
PYTHON
    count=$(cat "$tmp/tree.count")
    expect "image_folder recursive=true of $count files" 0 \
        show "image_folder $tmp/tree recursive=true | decode mode=gray | batch $count" --npy "$tmp/walk"
    check "... has the order of torchvision's ImageFolder" values 'load(f[0], "image")[1] == list(range(len(load(f[0], "label")[1])))' "$tmp/walk"

    random='synthetic samples=50 shape=9,8,3 classes=50 | shuffle | random_resized_crop 5 | random_horizontal_flip | batch 4'
    expect "a run of 30 steps" 0 show "$random" --npy "$tmp/long" --steps 30 --seed 3
    expect "its tail from step 11 on" 0 show "$random" --npy "$tmp/tail" --steps 19 --start-step 11 --seed 3
    check "... has the same rows" values \
        'all(load(f[0], c)[1][-len(load(f[1], c)[1]):] == load(f[1], c)[1] for c in ("image", "label")) and load(f[1], "label")[0] == (76,)' \
        "$tmp/long" "$tmp/tail"
    check "... each sample once in the first pass" values 'sorted(load(f[0], "label")[1][:50]) == list(range(50))' "$tmp/long"
    run "$sluice" bench "$random" --seed 3 --steps 30 --ids "$tmp/ids"
    cut -d ' ' -f 2- "$tmp/ids" | tr '\n' ' ' >"$tmp/samples"
    check "... the samples of a run" values \
        '[l for n, l in enumerate(load(f[0], "label")[1]) if n % 52 < 50] == list(map(int, open(f[1]).read().split()))' \
        "$tmp/long" "$tmp/samples"
    expect "another seed" 0 show "$random" --npy "$tmp/other" --steps 30 --seed 4
    check "... is another order" values 'load(f[0], "label")[1] != load(f[1], "label")[1]' "$tmp/long" "$tmp/other"
    for rank in 0 1; do
        expect "rank $rank of 2" 0 show "$random" --npy "$tmp/rank$rank" --steps 7 --seed 3 --rank $rank --world 2
    done
    check "... share a pass" values \
        'sorted(load(f[0], "label")[1][:25] + load(f[1], "label")[1][:25]) == list(range(50))' "$tmp/rank0" "$tmp/rank1"
    expect "one sample in 2 passes" 0 show "$random" --npy "$tmp/one" --sample 7 --times 2 --seed 3
    check "... is as in these passes of a run" values \
        '(lambda l, i, j: load(f[1], "label") == ((2,), [7, 7]) and load(f[1], "image")[1] == [v for n in (l.index(7), l.index(7, 52)) for v in i[n * 75:n * 75 + 75]])(load(f[0], "label")[1], load(f[0], "image")[1], 0)' \
        "$tmp/long" "$tmp/one"
    expect "... from the second pass on" 0 show "$random" --npy "$tmp/second" --sample 7 --times 1 --start-step 1 --seed 3
    check "... is its tail" values 'load(f[0], "image")[1][75:] == load(f[1], "image")[1]' "$tmp/one" "$tmp/second"
    expect "one sample before it is mixed" 0 \
        show "${random% | batch 4} | random_choice 0.5:(random_invert | rotate 9) 0.5:(rotate 3) | batch 4 | mixup 50" \
        --npy "$tmp/nested" --sample 7 --times 2 --seed 3
    check "... has its class number" values 'load(f[0], "label") == ((2,), [7, 7])' "$tmp/nested"
    expect "one sample of a mosaic" 1 show 'synthetic samples=50 shape=9,8,3 classes=50 | mosaic 9 | batch 4' --sample 7 --npy "$tmp/no"
    check "... is refused with the reason" err_has 'mosaic others of its pass, too; use --steps'
    run "$sluice" show "$random" --npy "$tmp/rank0" --steps 1 --seed 5
    check "files are replaced" values 'load(f[0], "label")[0] == (4,)' "$tmp/rank0"

    # Pictures of known pixels: image n is (2, 3, 3), its byte k is 7 k + n.
    mkdir -p "$tmp/set/a" "$tmp/set/b"
    "$python" -c 'import sys
for n in range(6):
    folder = "ab"[n // 4]
    open(f"{sys.argv[1]}/{folder}/{n}.ppm", "wb").write(b"P6 3 2 255\n" + bytes(7 * k + n for k in range(18)))' "$tmp/set"
    pictures="image_folder $tmp/set extensions=ppm | decode"
    pixels='[7 * k + n for n in range(6) for k in range(18)]'
    expect "u8" 0 show "$pictures | batch 3" --npy "$tmp/u8" --steps 2
    check "... are the pixels of the files" values "load(f[0], 'image') == ((6, 2, 3, 3), $pixels)" "$tmp/u8"
    check "... and the labels" values 'load(f[0], "label")[1] == [0, 0, 0, 0, 1, 1]' "$tmp/u8"
    for dtype in f32 f16; do
        expect "$dtype" 0 show "$pictures | to_dtype $dtype | batch 6" --npy "$tmp/$dtype"
        check "... are the same values" values "load(f[0], 'image')[1] == $pixels" "$tmp/$dtype"
    done
    check "... in the table, too" out_has '^image *f16 *(6, 2, 3, 3) *0 *124 *62$'
    expect "bf16" 0 show "$pictures | to_dtype bf16 | batch 6" --npy "$tmp/bf16"
    check "... is written as its bits" values \
        "[f32(struct.unpack('=f', struct.pack('=I', v << 16))[0]) for v in load(f[0], 'image')[1]] == $pixels" "$tmp/bf16"
    check "... with a warning" err_has 'column image is bf16'
    expect "CHW, normalized" 0 show "$pictures | normalize mean=0.5,0.25,0 std=0.5,0.25,1 | to_chw | batch 6" --npy "$tmp/chw"
    check "... is what the step gets" values \
        '(lambda s, v: s == (6, 3, 2, 3) and all(abs(v[n * 18 + c * 6 + p] - ((7 * (3 * p + c) + n) / 255 - m) / d) < 1e-5 for n in range(6) for c, m, d in ((0, .5, .5), (1, .25, .25), (2, 0, 1)) for p in range(6)))(*load(f[0], "image"))' \
        "$tmp/chw"
    echo broken >"$tmp/set/a/9.ppm"
    expect "--on-error zero" 0 show "$pictures | resize 2,3 | batch 7" --npy "$tmp/zero" --on-error zero
    check "... has the column mask" values 'load(f[0], "mask") == ((7,), [1, 1, 1, 1, 0, 1, 1])' "$tmp/zero"
    check "... counts bad samples" out_has '^bad samples: 0 replaced, 1 zeroed; the first:$'
    check "... names them" out_has '^  decode: .*9.ppm: '
    check "... and the rows" out_has '^zeroed rows, from 0: 4$'
    run "$sluice" bench "$pictures | resize 2,3 | batch 7" --steps 1 --on-error zero
    check "... with the words of bench" out_has '^bad samples: 0 replaced, 1 zeroed; the first:$'
    expect "--on-error replace" 0 show "$pictures | resize 2,3 | batch 7" --npy "$tmp/replace" --on-error replace
    check "... counts bad samples" out_has '^bad samples: 1 replaced, 0 zeroed; the first:$'
    check "... names them" out_has '^  decode: .*9.ppm: '
    expect "many bad samples" 0 show "$pictures | resize 2,3 | batch 7" --npy "$tmp/zero25" --on-error zero --steps 25
    check "... their first rows" out_has '^zeroed rows, from 0: 4 11 .* 137 \.\.\.$'
    expect "the rows before the bad one" 0 show "$pictures | resize 2,3 | batch 4" --npy "$tmp/good" --on-error zero
    check "... none is bad" out_lacks 'bad samples'
    expect "--on-error fail" 1 show "$pictures | resize 2,3 | batch 7" --npy "$tmp/fail"
    check "... names the file" err_has '9.ppm'
    check "... and leaves no folder" absent "$tmp/fail"
else
    skip "values of --npy" "no python3"
fi

# ---- the contact sheet -----------------------------------------------------------------------------

# decoded FILE: the pixels of a sheet, in $tmp/decoded.
decoded() {
    rm -rf "$tmp/png" "$tmp/decoded"
    mkdir -p "$tmp/png/a" && mv "$1" "$tmp/png/a/sheet.png" &&
        "$sluice" show "image_folder $tmp/png | decode | batch 1" --npy "$tmp/decoded"
}

small='synthetic samples=100 shape=8,8,3 | batch 5'
if ! "$sluice" --version | grep -q 'png on'; then
    expect "-o without libpng" 2 show "$small" -o "$tmp/sheet.png"
    check "... is refused with the reason" err_has 'built without libpng'
    skip "contact sheets" "built without libpng"
elif [ -z "$python" ]; then
    skip "contact sheets" "no python3"
else
    expect "a sheet with a bad sample" 0 show "$pictures | batch 7" --on-error zero -o "$tmp/sheet.png"
    check "... is a PNG file" decoded "$tmp/sheet.png"
    check "... with the caption zeroed" values \
        'caption(f[0], 4, range(68, 75)) == "..... ..... ##### ...#. ..#.. .#... #####".split()' "$tmp/decoded"
    rm "$tmp/set/a/9.ppm"
    # Image n is 96 x 64 pixels in column n % 3 and line n / 3; below it is its label, 0 or 1.
    for stages in 'take 6' 'to_chw' 'normalize imagenet | to_chw' 'normalize mean=100 std=50 range=255 dtype=f16' \
        'to_dtype f32 scale=true | normalize cifar10' 'to_dtype f16 scale=true' 'to_dtype f32' 'to_dtype bf16 | to_chw'; do
        expect "a sheet behind $stages" 0 show "$pictures | $stages | batch 4" --steps 2 -o "$tmp/sheet.png"
        check "... has 6 tiles" out_has 'sheet.png: 6 tiles of 96 x 64 pixels$'
        check "... is a PNG file" decoded "$tmp/sheet.png"
        check "... of the files' pixels, with their labels" values 'is_sheet(f[0])' "$tmp/decoded"
    done
    expect "a sheet of gray images" 0 show "image_folder $tmp/set extensions=ppm | decode mode=gray | batch 6" -o "$tmp/sheet.png"
    decoded "$tmp/sheet.png" >"$tmp/log"
    check "... is gray" values '(lambda v: v[0::3] == v[1::3] == v[2::3] and len(set(v)) > 6)(load(f[0], "image")[1])' "$tmp/decoded"
    expect "one sample" 0 show "$random" --sample 7 --times 3 -o "$tmp/sheet.png"
    check "... has a tile for each pass" out_has 'sheet.png: 3 tiles of 95 x 95 pixels$'
    cp -r "$tmp/set" "$tmp/it's | a set"
    expect "one sample of a path with a quote, a bar and blanks" 0 show "image_folder \"$tmp/it's | a set\" extensions=ppm | decode | shuffle | take 2 | batch 4" \
        --sample 5 --times 1 --npy "$tmp/one"
    check "... is that one" values 'load(f[0], "image")[1] == [7 * k + 5 for k in range(18)]' "$tmp/one"
    if "$sluice" --version | grep -q 'archive on'; then
        cp "$tmp/set/a/0.ppm" "$tmp/0.ppm" && cp "$tmp/set/b/5.ppm" "$tmp/1.ppm" && echo 6 >"$tmp/0.cls" && echo 7 >"$tmp/1.cls"
        tar -C "$tmp" -cf "$tmp/pictures.tar" 0.cls 0.ppm 1.cls 1.ppm
        expect "one sample of a stream" 0 show "webdataset $tmp/pictures.tar access=stream | decode | resize 2,3 | batch 4" \
            --sample 1 --times 2 --npy "$tmp/stream"
        check "... is that one" values 'load(f[0], "label")[1] == [7, 7] and load(f[0], "image")[1] == [7 * k + 5 for k in range(18)] * 2' "$tmp/stream"
        expect "a sample beyond the stream" 1 show "webdataset $tmp/pictures.tar access=stream | decode | resize 2,3 | batch 4" --sample 2
        check "... is an error" err_has 'no valid data'
    else
        skip "one sample of a stream" "built without libarchive"
    fi
    expect "more samples than tiles" 0 show 'synthetic samples=400 shape=8,8,3 | batch 200' --steps 2 -o "$tmp/sheet.png"
    check "... tells how many are left out" out_has 'sheet.png: 256 tiles of 96 x 96 pixels, 144 samples left out$'
    expect "without options" 0 show "$small"
    check "... prints the table" out_has '^image *u8 *(5, 8, 8, 3) '
    check "... and writes batch.png" decoded "$tmp/batch.png"
    run "$sluice" show "$small" --npy "$tmp/a"
    check "--npy alone writes none" absent "$tmp/batch.png"
    expect "a sheet in a folder that is not there" 1 show "$small" -o "$tmp/no/sheet.png"
    check "... is an error" err_has 'cannot write .*/no/sheet.png: No such file'
    mkfifo "$tmp/fifo"
    for path in "$tmp/fifo" "$tmp/png"; do # as would be /dev/null
        expect "a sheet in place of what is no file" 1 show "$small" -o "$path"
    done
    check "... leaves it there" [ -p "$tmp/fifo" ]
    (ulimit -f 1; exec "$sluice" show "synthetic shape=99,99,3 | batch 9" -o "$tmp/large.png" >"$tmp/out" 2>"$tmp/err")
    check "a sheet beyond the limit of a file's size is an error" err_has 'cannot write .*/large.png: File too large'
    check "... that leaves no file" sh -c '! ls -A "$1" | grep large' - "$tmp"
fi

# ---- other columns ---------------------------------------------------------------------------------

if [ -n "$python" ]; then
    mkdir "$tmp/in"
    cat >"$tmp/make.py" <<'PYTHON'
import struct, sys
def save(name, kind, shape, values):
    text = str({"descr": kind, "fortran_order": False, "shape": shape})
    text += " " * (-(11 + len(text)) % 64) + "\n"
    code = {"u1": "B", "i1": "b", "u2": "H", "u4": "I", "i4": "i", "i8": "q", "f2": "e", "f4": "f", "i2": "h", "u8": "Q", "f8": "d"}[kind[1:]]
    with open(f"{sys.argv[1]}/{name}.npy", "wb") as file:
        file.write(b"\x93NUMPY\x01\x00" + struct.pack("<H", len(text)) + text.encode() + struct.pack(f"<{len(values)}{code}", *values))
for kind, low in ("u1", 0), ("i1", -128), ("u2", 65000), ("u4", 4000000000), ("i4", -2000000000), ("i8", -9007199254740993), ("f2", -3), ("f4", -1000000), ("i2", -32768), ("u8", 2**64 - 15), ("f8", -0.1):
    save(kind, ("|" if kind[1] == "1" else "<") + kind, (5, 3), [low + i for i in range(15)])
save("floats", "<f4", (2, 5, 6, 3), [i / 10 - 3 for i in range(180)])
save("image", "|u1", (2, 5, 6, 3), [40] * 180)
save("mask", "|u1", (2, 5, 6), [2 if i == 8 else 0 for i in range(60)])
save("boxes", "<f4", (2, 2, 4), [1, 1, 4, 3, 0, 0, 2, 2] * 2)
save("boxes_length", "<i4", (2,), [1, 2])
save("right", "|u1", (2, 5, 6, 3), [90] * 180)
save("points", "<f4", (2, 2, 2), [2.5, 4.5, 6.5, 2, -1, 2, 0.5, 0.5])
PYTHON
    "$python" "$tmp/make.py" "$tmp/in"
    expect "columns of every type" 0 show "npy $tmp/in/u1.npy,$tmp/in/i1.npy,$tmp/in/u2.npy,$tmp/in/u4.npy,$tmp/in/i4.npy,$tmp/in/i8.npy,$tmp/in/f2.npy,$tmp/in/f4.npy,$tmp/in/i2.npy,$tmp/in/u8.npy,$tmp/in/f8.npy | batch 5" --npy "$tmp/types"
    for column in u1 i1 i2 u2 u4 i4 i8 u8 f2 f4 f8; do
        check "... are written as they are: $column" values 'load(f[0], f[2]) == load(f[1], f[2])' "$tmp/types" "$tmp/in" $column
    done
    check "... and in the table: i8" out_has '^i8 *i64 *(5, 3) *-9007199254740993 *-9007199254740979 '
    check "... f2" out_has '^f2 *f16 *(5, 3) *-3 *11 *4$'
    check "... and first values" out_has '^f2, first row: -3 -2 -1$'
    (cd "$tmp/in" && "$python" -m zipfile -c "$tmp/in.npz" i2.npy u8.npy f8.npy)
    expect "members of a .npz file" 0 show "npy $tmp/in.npz | cast f8 f32 | batch 5" --npy "$tmp/members"
    check "... are columns" only "$tmp/members" i2.npy u8.npy f8.npy
    for column in i2 u8; do
        check "... as they are: $column" values 'load(f[0], f[2]) == load(f[1], f[2])' "$tmp/members" "$tmp/in" $column
    done
    check "... and cast" values 'load(f[0], "f8")[1] == [f32(x) for x in load(f[1], "f8")[1]]' "$tmp/members" "$tmp/in"
    rm -f "$tmp/batch.png"
    expect "no column image" 0 show "npy $tmp/in/u1.npy | batch 5"
    check "... makes no sheet" absent "$tmp/batch.png"
    if "$sluice" --version | grep -q 'png on'; then
        expect "no column image and -o" 2 show "npy $tmp/in/u1.npy | batch 5" -o "$tmp/sheet.png"
        check "... is refused" err_has 'has no image, nor a column of that name'
        expect "floats of an unknown range" 0 show "npy $tmp/in/floats.npy names=image | batch 2" -o "$tmp/sheet.png"
        check "... are scaled, and that is said" out_has '^values are scaled by minimum and maximum of each batch$'
        decoded "$tmp/sheet.png" >"$tmp/log"
        check "... from the first to the last" values \
            '(lambda s, v: v[(4 * s[2] + 4) * 3] == 0 and v[(83 * s[2] + 199) * 3 + 2] == 255)(*load(f[0], "image"))' "$tmp/decoded"
        expect "masks and boxes" 0 show "npy $tmp/in/image.npy,$tmp/in/mask.npy,$tmp/in/boxes.npy,$tmp/in/boxes_length.npy | batch 2" -o "$tmp/sheet.png"
        decoded "$tmp/sheet.png" >"$tmp/log"
        # A pixel is 16 x 16; the second box belongs to the second image alone.
        check "... are drawn over the images" values \
            '(lambda s, v: (lambda at: at(0, 72, 72) == [40] * 3 and at(0, 40, 24) == [50, 120, 60] and at(0, 16, 16) == at(0, 63, 47) == [230, 60, 60] and at(0, 64, 47) == at(0, 0, 0) == [40] * 3 and at(1, 0, 0) == at(1, 31, 31) == [60, 200, 80])(lambda n, x, y: v[((4 + y) * s[2] + 4 + 100 * n + x) * 3:][:3]))(*load(f[0], "image"))' \
            "$tmp/decoded"
        expect "views" 0 show "npy $tmp/in/image.npy | views 3 | random_crop 3 | batch 2" -o "$tmp/sheet.png"
        check "... are side by side" out_has 'sheet.png: 2 tiles of 3 images of 96 x 96 pixels$'
        # Two images, a mask and boxes of other names, and points: the second one of the first image is outside.
        expect "roles of other names, and two images" 0 show "npy $tmp/in/image.npy,$tmp/in/mask.npy,$tmp/in/boxes.npy,$tmp/in/right.npy,$tmp/in/points.npy names=left,seg,b,right,p | column left image | column right image | column seg mask | column b boxes | column p points | batch 2" -o "$tmp/sheet.png"
        check "... are counted" out_has 'sheet.png: 2 tiles of 2 images of 96 x 80 pixels$'
        decoded "$tmp/sheet.png" >"$tmp/log"
        check "... are drawn: the mask, a box, a cross, none outside, and the second image without them" values \
            '(lambda s, v: (lambda at: at(0, 40, 24) == [50, 120, 60] and at(0, 16, 16) == [230, 60, 60] and at(0, 40, 72) == at(0, 37, 72) == at(0, 40, 75) == [230, 60, 60] and at(0, 38, 73) == [40] * 3 and at(0, 100 + 40, 72) == at(0, 100 + 16, 16) == [90] * 3 and at(1, 8, 8) == [60, 200, 80])(lambda n, x, y: v[((4 + y) * s[2] + 4 + 200 * n + x) * 3:][:3]))(*load(f[0], "image"))' \
            "$tmp/decoded"
    fi
else
    skip "other columns" "no python3"
fi

# ---- errors ----------------------------------------------------------------------------------------

# bad NAME TEXT ARGUMENTS...: an error of words, which makes no folder.
bad() {
    name=$1
    text=$2
    shift 2
    run "$sluice" show "$@"
    if [ "$code" -eq 2 ] && err_has "$text" && out_empty && absent "$tmp/no"; then
        pass "$name"
    else
        fail "$name" "want exit 2 and '$text' on stderr"
    fi
}
bad "no pipeline" 'show: the pipeline is missing'
bad "an unknown option" 'unknown option --frobnicate' "$small" --npy "$tmp/no" --frobnicate
bad "no batch stage" 'no batch stage' synthetic --npy "$tmp/no"
bad "--steps 0" '--steps 0 must be from 1 to' "$small" --npy "$tmp/no" --steps 0
bad "--world 0" '--world 0' "$small" --npy "$tmp/no" --world 0
bad "--rank 2 --world 2" '--rank 2 must be from 0 to 1' "$small" --npy "$tmp/no" --rank 2 --world 2
bad "--on-error ignore" 'must be one of fail replace zero' "$small" --npy "$tmp/no" --on-error ignore
bad "a pipeline that cannot be parsed" 'nearest is shuffle' 'synthetic | shufle | batch 2' --npy "$tmp/no"

bad "--sample beyond the source" '--sample 100 must be less than the number of samples' "$small" --sample 100
bad "--times without --sample" '--times is of --sample' "$small" --times 2
bad "--sample and --steps" '--steps and --sample exclude' "$small" --sample 1 --steps 2
bad "--times 0" '--times 0 must be from 1' "$small" --sample 1 --times 0

expect "a source that is not there" 1 show "image_folder $tmp/nowhere | decode | resize 8,8 | batch 5" --npy "$tmp/no"
check "... makes no folder" absent "$tmp/no"
expect "--npy in a folder that is not there" 1 show "$small" --npy "$tmp/no/where"
check "... names it" err_has 'cannot make the folder .*/no/where: No such file'
: >"$tmp/file"
expect "--npy where a file is" 1 show "$small" --npy "$tmp/file"
check "... names it" err_has 'cannot make the folder .*/file'
mkdir "$tmp/closed" && chmod a-w "$tmp/closed"
if [ -w "$tmp/closed" ]; then
    skip "a folder without write permission" "root may write everywhere"
else
    expect "--npy in a folder without write permission" 1 show "$small" --npy "$tmp/closed"
    check "... says so" err_has 'cannot write .*closed/image.npy: Permission denied'
fi
expect "--npy again" 0 show "$small" --npy "$tmp/kept"
cp "$tmp/kept/image.npy" "$tmp/before"
for where in kept new; do # 5 kB for each file are too few for the images
    (ulimit -f 10; exec "$sluice" show "$small" --npy "$tmp/$where" --steps 100 >"$tmp/out" 2>"$tmp/err")
    code=$?
    check "files beyond the limit of their size, $where" [ "$code" -eq 1 ]
    check "... are one error" [ "$(grep -c 'cannot write .*image.npy: File too large' "$tmp/err")" -eq 1 ]
    check "... alone" [ "$(wc -l <"$tmp/err")" -eq 1 ]
done
check "... keep the older files" cmp "$tmp/before" "$tmp/kept/image.npy"
check "... and those only" only "$tmp/kept" image.npy label.npy
check "... or leave nothing" absent "$tmp/new"
expect "a pipe that ends" 1 show "webdataset - | decode | resize 4,4 | batch 1" --npy "$tmp/no" </dev/null

# The temporary file is there once signals are caught.
"$sluice" show "$small" --npy "$tmp/stopped" --steps 1000000000 >"$tmp/out" 2>"$tmp/err" &
pid=$!
while ! ls "$tmp/stopped"/.label.npy.* >"$tmp/log" 2>&1 && kill -0 $pid; do sleep 0.01; done
kill -s TERM $pid
wait $pid
code=$?
check "SIGTERM ends it" [ "$code" -eq 143 ]
check "... with a text" err_has 'stopped after [0-9]* of 1000000000 batches'
check "... without files" absent "$tmp/stopped"

finish
