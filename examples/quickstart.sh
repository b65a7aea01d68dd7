#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Installs what is missing, builds, and trains a small network on pictures: about a minute and a
# half on two cores.
#
#   quickstart.sh        on a set of pictures that it makes
#   quickstart.sh DIR    on your own, DIR/CLASS/FILE; a fifth of them is held out for the test
set -eu

case ${1-} in
-*)
    sed -n '3,7s/^# \{0,1\}//p' "$0"
    exit 0
    ;;
esac
if [ $# -gt 1 ]; then
    echo "quickstart.sh takes one folder at most; a name with blanks wants quotes" >&2
    exit 2
fi
if [ $# -eq 1 ] && [ ! -d "$1" ]; then
    echo "there is no folder $1" >&2
    exit 2
fi
pictures=
[ $# -eq 0 ] || pictures=$(CDPATH='' cd -- "$1" && pwd)
root=$(CDPATH='' cd -- "$(dirname -- "$0")/.." && pwd)
build=$root/build/quickstart
started=$(date +%s)

say() {
    echo "[$(($(date +%s) - started)) s] $*"
}

# logged COMMAND...: runs it; its output goes to a log, and is shown when it fails.
logged() {
    "$@" >>"$build/log" 2>&1 || {
        tail -n 40 "$build/log" >&2
        echo "that failed: $*; all of it is in $build/log" >&2
        exit 1
    }
}

say "looking for the packages that building needs"
sh "$root/tests/deps.sh"

say "building the library, the tool and the example in $build"
mkdir -p "$build"
: >"$build/log"
logged cmake -S "$root" -B "$build" -DCMAKE_BUILD_TYPE=Release -DSLUICE_CUDA=OFF \
    -DSLUICE_BUILD_TESTS=OFF -DSLUICE_BUILD_EXAMPLES=ON
logged cmake --build "$build" -j "$(nproc)" --target sluice_tool train_image_folder

# Threads of OpenMP would spin while they wait, on the cores that decode pictures.
export OMP_WAIT_POLICY="${OMP_WAIT_POLICY-passive}"

if [ -z "$pictures" ]; then
    pictures=$build/pictures
    if [ -d "$pictures" ]; then
        say "taking the pictures that are in $pictures already"
    else
        say "making 5000 pictures of 10 classes: sluice synth $pictures"
        rm -rf "$pictures.part"
        "$build/bin/sluice" synth "$pictures.part" >/dev/null
        mv "$pictures.part" "$pictures"
    fi
    say "training in 40 sinks of 25 steps"
    exec "$build/bin/train_image_folder" "$pictures/train" "$pictures/test" \
        --epochs 40 --sink-size 25 --batch 32
fi

count=$(find -L "$pictures" -mindepth 2 -maxdepth 2 -type f \
    \( -iname '*.jpg' -o -iname '*.jpeg' -o -iname '*.png' \) | wc -l)
if [ "$count" -eq 0 ]; then
    echo "no pictures in $pictures: want $pictures/CLASS/FILE, with .jpg, .jpeg or .png" >&2
    exit 1
fi
batch=32
[ "$count" -ge 100 ] || batch=4
# In a thousand steps, about a minute, but at least once and at most 24 times over the pictures.
steps=1000
[ $steps -ge $((count / batch)) ] || steps=$((count / batch))
[ $steps -le $((24 * count / batch)) ] || steps=$((24 * count / batch))
epochs=$(((steps + 24) / 25))
say "training on $count pictures in $pictures, in $epochs sinks of 25 steps"
exec "$build/bin/train_image_folder" "$pictures" --epochs $epochs --sink-size 25 --batch $batch
