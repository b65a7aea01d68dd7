#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# inspect, verify and classes of the data of each source, by its path alone: the source is chosen by names; show
# of what has no image.
# test_paths.sh BUILD_DIR; a line for each check, and last `paths: N passed, N failed, N skipped`.
set -u
build=$(cd "${1:?usage: test_paths.sh BUILD_DIR}" && pwd)
here=$(cd "$(dirname "$0")" && pwd)
title=paths
. "$here/shell_kit.sh"
sluice=$build/bin/sluice
cd "$tmp" || exit 1
"$sluice" synth set --classes 2 --per-class 5 --size 48 >made || skip_rest "sluice synth makes none"
version=$("$sluice" --version)

# reads PATH SAMPLES [CLASS]: all three commands read it, as samples that are all good; the first class.
reads() {
    expect "inspect $1" 0 inspect "$1"
    check "... has its samples" out_has "^$2 samples; 0 cannot be read$"
    expect "verify $1" 0 verify "$1"
    check "... reads them" out_has "^$1: $2 of $2 samples read; 0 problems$"
    if [ -n "${3-}" ]; then
        expect "classes $1" 0 classes "$1"
        check "... has their names" out_has "^0	$3$"
    else
        expect "classes $1" 1 classes "$1"
        check "... says that it has none" err_has 'has no names of classes$'
    fi
}

first=$(ls set/train | sed -n 1p)
reads set/train 8 "$first"
mkdir flat
n=0
for file in set/train/*/*.jpg; do
    n=$((n + 1))
    cp "$file" flat/$n.jpg
done
reads flat 8

# ---- lists and arrays ---------------------------------------------------------------------------------
printf 'image\tlabel:class\nflat/1.jpg\tcat\nflat/2.jpg\tant\n' >list.tsv
reads list.tsv 2 ant
printf 'a:f32,label\n1.5,0\n-2,1\n0,1\n' >table.csv
reads table.csv 3
"$sluice" show "image_folder set/train | decode | batch 8" --npy arrays >made
reads arrays/image.npy 8
reads arrays 8
if [ -n "$python" ]; then
    "$python" -c 'import zipfile; z = zipfile.ZipFile("all.npz", "w"); z.write("arrays/image.npy", "image.npy"); z.write("arrays/label.npy", "label.npy")'
    reads all.npz 8
    expect "inspect of an .npz has its members" 0 inspect all.npz --json
    check "... as columns" json '([(c["name"], c["dtype"]) for c in j["columns"]] == [("image", "u8"), ("label", "i32")] and
        [c["count"] for c in j["classes"]] == [4, 4] and j["width"]["max"] == 48)'
else
    skip ".npz files" "no python"
fi

# ---- detection sets -------------------------------------------------------------------------------------
mkdir -p yolo/images yolo/labels voc/JPEGImages voc/Annotations voc/ImageSets/Main
for i in 1 2 3; do
    cp flat/$i.jpg yolo/images
    cp flat/$i.jpg voc/JPEGImages
    echo "0 0.5 0.5 0.25 0.25" >yolo/labels/$i.txt
    echo "<annotation><size><width>48</width><height>48</height><depth>3</depth></size><object><name>bee</name><bndbox>
        <xmin>2</xmin><ymin>2</ymin><xmax>9</xmax><ymax>9</ymax></bndbox></object></annotation>" >voc/Annotations/$i.xml
    echo $i >>voc/ImageSets/Main/train.txt
done
echo bee >yolo/classes.txt
reads yolo 3 bee
mkdir -p folders/labels folders/others
cp flat/1.jpg folders/labels
reads folders 1 labels
case $version in
*"expat on"*) reads voc 3 bee ;;
*) skip "voc" "built without expat" ;;
esac
case $version in
*"jansson on"*)
    printf '{"images":[{"id":1,"file_name":"flat/1.jpg"}],"annotations":[],"categories":[{"id":4,"name":"cat"}]}' >coco.json
    reads coco.json 1 cat
    for end in jsonl ndjson; do
        printf '{"image":"flat/1.jpg","label":1}\n{"image":"flat/2.jpg","label":0}\n' >lines.$end
        reads lines.$end 2
    done
    ;;
*) skip "JSON" "built without jansson" ;;
esac

# ---- shards and records -----------------------------------------------------------------------------------
mkdir shards wds cifar
for i in 1 2; do
    cp flat/$i.jpg shards
    echo $i >shards/$i.cls
    for batch in 1 2 3 4 5; do head -c 3073 /dev/zero >cifar/data_batch_$batch.bin; done
    head -c 3073 /dev/zero >cifar/test_batch.bin
done
tar --sort=name -cf wds/a.tar -C shards . 2>made || skip "shards" "tar has no --sort"
[ -s wds/a.tar ] && reads wds 2 && reads wds/a.tar 2
reads cifar 5 airplane
case $version in
*"archive on"*)
    "$sluice" pack set/train packed >made
    reads packed 8 000-disc-stripes
    ;;
*) skip "packs" "built without libarchive" ;;
esac

mkdir records
cp "$here/data/recordio/whole.rec" records
cp -r "$here/data/lmdb/caffe" .
reads records 5
reads records/whole.rec 5
reads caffe 5
reads caffe/data.mdb 5

# ---- a pipeline in quotes ----------------------------------------------------------------------------------
reads "synthetic 10 8,8,3 4 | batch 2" 10
reads "image_list list.tsv | shuffle | decode | resize 8,8 | batch 2" 2 ant

# ---- show without an image ----------------------------------------------------------------------------------
expect "show of a table" 0 show "image_list table.csv | batch 3"
check "... prints the values of columns" out_has '^a: 1.5 -2 0$'
check "... and their range" out_has '^a  *f32  *(3,)  *-2  *1.5  *-0.16'
check "... and draws nothing" [ ! -e batch.png ]
expect "show -o of a table is an error" 2 show "image_list table.csv | batch 3" -o sheet.png
check "... that says what to do" err_has 'the pipeline has no image, nor a column of that name; use --npy DIR'

# ---- what no source reads ------------------------------------------------------------------------------------
echo text >notes
expect "inspect of a file of no source" 2 inspect notes
check "... names it" err_has 'no source reads a file of this name: notes; give a pipeline'
expect "... classes, too" 2 classes notes
head -c 100 /dev/zero >tokens.bin
expect "a source that needs arguments" 2 inspect tokens.bin
check "... is asked for them" err_has '^sluice: tokens.bin: a path alone does not say all that tokens must know; .*tokens FILE seq=1024'
mkdir nothing
expect "an empty folder" 1 inspect nothing
check "... is one without classes" err_has 'image_folder nothing has no class folders in it'
finish
