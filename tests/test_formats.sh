#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Format modules from outside: they are opened when a file of theirs is met and not before, and one message
# says what to do where a module is missing, of another version, or may not be opened.
# test_formats.sh BUILD_DIR; a line for each check, and last `formats: N passed, N failed, N skipped`.
set -u
build=$(cd "${1:?usage: test_formats.sh BUILD_DIR}" && pwd)
here=$(cd "$(dirname "$0")" && pwd)
title=formats
. "$here/shell_kit.sh"
sluice=$build/bin/sluice
cd "$tmp" || exit 1

built=$("$sluice" --version | sed -n 's/.*, modules \([a-z0-9 ]*\),.*/\1/p')
check "--version lists the modules" [ -n "$built" ]
case " $built " in
*" webp "*) ;;
*) skip_rest "format modules" "this build has no module webp" ;;
esac
set_of() { # set_of FILE: a list of this image
    printf 'image\tlabel\n%s\t0\n' "$1" >"list.tsv"
}
decode() { # decode FILE [ARGUMENTS OF DECODE [VARIABLE=VALUE]]
    set_of "$1"
    # shellcheck disable=SC2086
    run env ${3-} "$sluice" show "image_list list.tsv | decode ${2-} | batch 1" --npy pixels
}
cp "$here/data/formats/lossy.webp" a.webp
cp a.webp disguised.jpg
decode a.webp
check "a WebP file is decoded" [ "$code" -eq 0 ]
decode disguised.jpg
check "... told by its bytes" [ "$code" -eq 0 ]
decode a.webp "formats=jpeg,png"
check "formats= leaves it out" [ "$code" -ne 0 ]
check "... by name" err_has 'it is a WebP file, and may not be opened: formats= of decode must have webp'
decode a.webp formats=webp
check "... or allows it alone" [ "$code" -eq 0 ]
decode a.webp formats=jpg
check "names of formats are checked" err_has "formats='jpg' must be auto, all, or names with commas, of jpeg, png"

if [ -e "$build/lib/sluice/0/webp.so" ]; then # else modules are linked
    mkdir -p empty
    decode a.webp "" SLUICE_MODULE_DIR=empty
    check "a missing module is an error" [ "$code" -ne 0 ]
    check "... that names it and its package" err_has \
        "a WebP file, and its format module is missing (no empty/webp.so): install it, Debian's package is libsluice0-formats"
    # The policy for bad samples does not apply: it would leave out all files of the format.
    mkdir -p some/c
    cp a.webp some/c
    for i in 1 2 3; do cp "$here/data/torchvision/rgb-70x12.ppm" "some/c/$i.ppm"; done
    for policy in replace zero; do
        run env SLUICE_MODULE_DIR=empty "$sluice" bench "image_folder some | decode | resize 8,8 | batch 4" \
            --steps 1 --on-error $policy
        check "a missing module ends a run with --on-error $policy" [ "$code" -eq 1 ]
        check "... which names it" err_has 'c/a.webp: a WebP file, and its format module is missing'
    done
    printf 'image\tsegmentation:mask\n%s\ta.webp\n' "$here/data/torchvision/rgb-70x12.ppm" >masks.tsv
    run env SLUICE_MODULE_DIR=empty "$sluice" bench "image_list masks.tsv | decode | resize 8,8 | batch 1" \
        --steps 1 --on-error replace
    check "... for masks, too" sh -c 'grep -q "its format module is missing" "$1" && ! grep "no valid data" "$1"' - err
    run env SLUICE_MODULE_DIR=empty "$sluice" pack "image_folder some" lacking
    check "a missing module ends a pack" [ "$code" -eq 1 ]
    check "... which names it" err_has 'cannot pack c/a.webp: a WebP file, and its format module is missing'
    run env SLUICE_MODULE_DIR=empty "$sluice" inspect some
    check "a missing module ends inspect" err_has '^sluice: a WebP file, and its format module is missing'
    check "... without a list of all files" [ ! -s "$tmp/out" ]
    run env SLUICE_MODULE_DIR=empty "$sluice" inspect some --json
    check "... as JSON, too" json "j['status'] == 'E_UNSUPPORTED' and 'format module is missing' in j['error']"
    run env SLUICE_MODULE_DIR=empty "$sluice" verify some
    check "a missing module ends verify" err_has '^sluice: a WebP file, and its format module is missing'
    cc=$(cached CMAKE_C_COMPILER)
    mkdir -p other broken
    cat >other.c <<'PROGRAM'
#include <stddef.h>
struct { const char *version; size_t sizes[3]; const void *format; void (*set_host)(const void *); }
    sluice_format_module = {"0.1.9", {0, 0, 0}, NULL, NULL};
PROGRAM
    "$cc" -shared -fPIC -o other/webp.so other.c
    decode a.webp "" SLUICE_MODULE_DIR=other
    check "a module of another version is refused" err_has 'other/webp.so is of Sluice 0.1.9, and must be of '
    check "... with its package" err_has "Debian's package is libsluice0-formats"
    run env SLUICE_MODULE_DIR=other "$sluice" bench "image_folder some | decode | resize 8,8 | batch 4" --steps 1 \
        --on-error replace
    check "... and ends a run whatever the policy is" [ "$code" -eq 1 ]
    sed 's/"0.1.9"/"'"$("$sluice" --version | awk '{print $2; exit}')"'"/' other.c >same.c
    "$cc" -shared -fPIC -o other/webp.so same.c
    decode a.webp "" SLUICE_MODULE_DIR=other
    check "... and of another build" err_has 'other/webp.so is of another build of Sluice'
    echo text >broken/webp.so
    decode a.webp "" SLUICE_MODULE_DIR=broken
    check "a module that cannot be loaded is an error" err_has 'the format module broken/webp.so cannot be loaded'
    echo 'int nothing;' >nothing.c
    "$cc" -shared -fPIC -o broken/webp.so nothing.c
    decode a.webp "" SLUICE_MODULE_DIR=broken
    check "... and one without its symbol" err_has 'broken/webp.so is not a format module of Sluice'
fi

# What pixels of a pack do not have of their files is said once, with the number of images.
mkdir -p noted/c
cp "$here/data/formats/animation.webp" "$here/data/formats/lossless-alpha.webp" a.webp noted/c
run "$sluice" pack "image_folder noted" pixels_only --raw
check "a pack of pixels counts images with transparency" err_has '^sluice: warn: pack: 1 image with transparency: blended onto black$'
check "... and files with further frames" err_has '^sluice: warn: pack: 1 image in files with further images or frames: the first one is used$'
check "... each once" [ "$(grep -c 'warn: pack: ' err)" -eq 2 ]

# Which libraries a process has: those of a module only after a file of its format.
LD_DEBUG=files "$sluice" show "image_list list.tsv | decode | batch 1" --npy pixels >/dev/null 2>calls
if [ -e "$build/lib/sluice/0/webp.so" ] && grep -q 'sluice/0/webp.so' calls; then
    "$sluice" synth set --classes 2 --per-class 5 >/dev/null 2>&1
    LD_DEBUG=files "$sluice" show "image_folder set/train | decode | batch 2" --npy pixels >/dev/null 2>calls
    check "no module is opened for JPEG files" sh -c 'grep -q libjpeg calls && ! grep -q "sluice/0/\|libwebp\|libtiff" calls'
else
    skip "modules of JPEG files" "the loader has no LD_DEBUG, or modules are linked"
fi

case " $built " in
*" tiff "*) ;;
*) skip_rest "TIFF files" "this build has no module tiff" ;;
esac
cp "$here/fuzz/corpus/tiff/seed-00" a.tif
cp a.tif b.TIFF
cp a.tif disguised.jpg
for file in a.tif b.TIFF; do
    decode $file
    check "$file is decoded by its name" [ "$code" -eq 0 ]
done
decode disguised.jpg
check "a TIFF file with another name is refused" [ "$code" -ne 0 ]
check "... and formats=tiff is named" err_has \
    'it is a TIFF file, and may not be opened: formats= of decode must have tiff'
decode disguised.jpg formats=jpeg,tiff
check "... which opens it" [ "$code" -eq 0 ]
decode disguised.jpg formats=all
check "... as formats=all does" [ "$code" -eq 0 ]
decode a.tif formats=jpeg
check "a list without tiff has no TIFF files" [ "$code" -ne 0 ]

# What may be opened is a closed list for inspect, too, and for verify.
printf 'image\tlabel\ndisguised.jpg\t0\n' >disguised.tsv
run "$sluice" inspect "image_list disguised.tsv"
check "inspect does not open a TIFF file with another name" out_has '1 cannot be read$'
check "... and says why" out_has 'disguised.jpg.*it is a TIFF file, and may not be opened'
run "$sluice" inspect "image_list disguised.tsv | decode formats=jpeg,tiff"
check "... unless formats= of decode has it" out_has '^  1 TIFF'
ends "verify opens what decode does" 0 "$sluice" verify "image_list disguised.tsv | decode formats=all"
ends "... and no more" 1 "$sluice" verify "image_list disguised.tsv"
ends "... nor larger images" 1 "$sluice" verify "image_list disguised.tsv | decode formats=all max_pixels=2"

mkdir -p folder/c
cp a.webp a.tif b.TIFF folder/c
cp "$here/data/torchvision/rgb-70x12.ppm" folder/c/d.ppm
run "$sluice" pack "image_folder folder" left
check "a pack leaves out WebP and TIFF files" grep -q 'it is a WebP file, and a pack has JPEG, PNG and PNM files unchanged' out err
check "... of both formats" grep -q 'it is a TIFF file, and a pack has JPEG, PNG and PNM files unchanged' out err
run "$sluice" pack "image_folder folder" whole --raw
check "... and has their pixels with --raw" [ "$code" -eq 0 ]
run "$sluice" inspect folder
check "inspect counts WebP files" out_has '^  1 WebP$'
check "... and TIFF files" out_has '^  2 TIFF$'
ends "verify decodes both" 0 "$sluice" verify folder

# What a file's name allows stays known: to a cache, of masks, and to verify.
run "$sluice" show "image_folder folder extensions=tif,tiff | cache 1G | decode | resize 8,8 | batch 2" --steps 2 --npy twice
check "a TIFF file is decoded from a cache" [ "$code" -eq 0 ]
printf 'image\tother:image\nb.TIFF\ta.tif\n' >others.tsv
run "$sluice" verify "image_list others.tsv"
check "a TIFF file beside an image is verified" out_has ': 1 of 1 samples read; 0 problems$'

# What raw pixels cannot have, and a pack has no file for, is left out by name.
mkdir -p kept/c
cp "$here/fuzz/corpus/tiff/seed-36" kept/c/deep.tif
cp "$here/fuzz/corpus/tiff/seed-39" kept/c/oriented.tif
cp "$here/data/torchvision/rgb-70x12.ppm" kept/c
run "$sluice" pack "image_folder kept" packed --raw
check "a pack leaves out a TIFF file of 16 bits" out_has 'c/deep.tif: left out: .*a TIFF file of more than 8 bits per channel'
check "... and one with an orientation" out_has 'c/oriented.tif: left out: .*a TIFF file with an Exif orientation'
check "... and has no member without an extension" sh -c 'ls packed/*.tar && ! tar tf packed/*.tar | grep null'
run "$sluice" inspect kept
check "inspect says how 16 bits of TIFF are kept" out_has '^  1 of 16 bits per channel: decode mode=u16 or u16_rgb keeps them'
check "... in the line of TIFF, too" out_has '^  2 TIFF: 1 16 bits$'
run "$sluice" show "image_folder kept extensions=tif | take 1 | decode mode=u16 | batch 1" --npy words
check "... and it is true" [ "$code" -eq 0 ]

# Floats: inspect, show and verify.
mkdir -p floats/c
cp "$here/fuzz/corpus/tiff/seed-38" floats/c/a.tif
cp "$here/fuzz/corpus/tiff/seed-40" floats/c/b.tif
run "$sluice" inspect floats
check "inspect counts TIFF files of floats" out_has '^  2 TIFF: 2 floats$'
check "... and says how they are kept" out_has '^  2 of floats: decode mode=f32 or f32_rgb keeps them$'
ends "verify decodes floats" 0 "$sluice" verify floats
run "$sluice" show "image_folder floats | decode mode=f32 | batch 2" --steps 1
check "show has pictures of floats" [ "$code" -eq 0 ]
run "$sluice" show "image_folder floats | decode | batch 2" --npy words
check "floats as bytes are an error" err_has 'c/a.tif: the TIFF file has floating-point numbers, .*decode mode=f32 keeps them'
run "$sluice" pack "image_folder floats" packed-floats --raw
check "a pack leaves out floats" err_has 'c/a.tif: it is a TIFF file of more than 8 bits .*make a .npy file of these images'

case " $built " in
*" jp2 "*) ;;
*) skip_rest "JPEG 2000 files" "this build has no module jp2" ;;
esac
cp "$here/data/formats/jp2-rgb.jp2" c.jp2
cp c.jp2 disguised.png
decode c.jp2
check "a JPEG 2000 file is decoded by its name" [ "$code" -eq 0 ]
decode disguised.png
check "... and refused by another" err_has 'it is a JPEG 2000 file, and may not be opened: formats= of decode must have jp2'
mkdir -p more/c
cp c.jp2 more/c
run "$sluice" inspect "image_folder more extensions=jp2"
check "inspect counts JPEG 2000 files" out_has '^  1 JPEG 2000$'
run "$sluice" show "image_folder more extensions=jp2 | cache 1G | decode | resize 8,8 | batch 1" --steps 2 --npy twice
check "a JPEG 2000 file is decoded from a cache" [ "$code" -eq 0 ]
run "$sluice" verify "image_folder more extensions=jp2"
check "... and verified" out_has ': 1 of 1 samples read; 0 problems$'
cp "$here/data/formats/jp2-wide16.jp2" more/c/c.jp2
run "$sluice" inspect "image_folder more extensions=jp2"
check "inspect counts those of 16 bits as JPEG 2000" out_has '^  1 JPEG 2000: 1 16 bits$'
run "$sluice" inspect "image_folder more extensions=jp2" --json
check "... and not as PNM" json "j['jp2']['16 bits'] == 1 and j['pnm']['16 bits'] == 0"
run "$sluice" show "image_folder more extensions=jp2 | decode | batch 1"
check "16 bits end the run" err_has 'the JPEG 2000 file has 16 bits per channel'
run "$sluice" show "image_folder more extensions=jp2 | decode mode=u16 | batch 1"
check "... but with mode=u16" out_has '^image .*u16'

finish
