#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# docs/pictures.sh: docs/guide/operators.md has every stage of images with its help, and its pictures are what `sluice show` makes.
# test_pictures.sh BUILD_DIR; a line for each check, and last `pictures: N passed, N failed, N skipped`.
set -u
build=$(cd "${1:?usage: test_pictures.sh BUILD_DIR}" && pwd)
title=pictures
. "$(dirname "$0")/shell_kit.sh"
sluice=$build/bin/sluice
docs=$(cd "$(dirname "$0")/../docs" && pwd)
guide=$docs/guide

# ---- the page -------------------------------------------------------------------------------------

sh "$docs/pictures.sh" --page "$sluice" >"$tmp/page.md"
check "operators.md is what docs/pictures.sh writes (sh docs/pictures.sh build/bin/sluice)" diff "$tmp/page.md" "$guide/operators.md"
"$sluice" help stages | awk '/^== / { images = / of images ==$/; next } images && !last && NF { print $1 } { last = NF }' >"$tmp/names"
check "stages are found in the help" grep -qx center_crop "$tmp/names"
while read -r name; do
    grep -qx "### $name" "$guide/operators.md" || echo "no $name"
done <"$tmp/names" >"$tmp/missing"
check "operators.md has every stage of images" empty "$tmp/missing"
sh "$docs/pictures.sh" --stages "$sluice" | sed 's/$/.png/' | LC_ALL=C sort >"$tmp/wanted"
ls "$guide/operators" | LC_ALL=C sort >"$tmp/pictures"
check "there is a picture for each, and no other" diff "$tmp/wanted" "$tmp/pictures"
check "pictures have less than 450 KB" [ "$(cat "$guide"/operators/*.png | wc -c)" -lt 450000 ]

# A tool with one more stage, `blend`.
cat >"$tmp/other" <<'SH'
#!/bin/sh
printf '\n== Colours and warps of images ==\n\nblend %s\n    Blends.\n    strength  how much\n    gives image u8\n' "$BLEND"
SH
chmod +x "$tmp/other"
BLEND=strength=1 sh "$docs/pictures.sh" --page "$tmp/other" >"$tmp/other.md"
check "a new stage is in the page by itself" grep -qx '### blend' "$tmp/other.md"
BLEND=strength sh "$docs/pictures.sh" --page "$tmp/other" >"$tmp/other.md" 2>"$tmp/other.err"
check "... and without an example for its required arguments an error" \
    grep -q 'stage blend has required arguments: add an example' "$tmp/other.err"

# ---- the pictures ---------------------------------------------------------------------------------

if "$sluice" --version | grep -q 'png on'; then
    sh "$docs/pictures.sh" "$sluice" "$tmp/made" >"$tmp/log" 2>&1
    check "pictures are made" empty "$tmp/log"
    check "... with the page" cmp "$tmp/made/operators.md" "$guide/operators.md"
    # pixels FOLDER NAME: those of all pictures, in one size; the bytes of PNG files depend on the version of zlib.
    pixels() {
        mkdir -p "$tmp/$2.set" && rm -rf "$tmp/$2.set/a" && cp -r "$1" "$tmp/$2.set/a"
        "$sluice" show "image_folder $tmp/$2.set extensions=png | decode | resize 96,96 | batch 64" --npy "$tmp/$2.npy"
    }
    pixels "$guide/operators" old >"$tmp/log" 2>&1
    pixels "$tmp/made/operators" new >>"$tmp/log" 2>&1
    check "... and are those of the guide" cmp "$tmp/old.npy/image.npy" "$tmp/new.npy/image.npy"
else
    skip "pictures" "built without libpng"
fi

finish
