#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Installs what is missing, builds, and trains a small network on pictures: about a minute and a
# half on two cores.
#
#   quickstart.sh        on a set of pictures that it makes
#   quickstart.sh DIR    on your own, DIR/CLASS/FILE; a fifth of them is held out for the test. The
#                        network is saved in NAME.network here, NAME being the last part of DIR; the
#                        same command resumes a training that was interrupted.
set -eu

case ${1-} in
-*)
    sed -n '3,9s/^# \{0,1\}//p' "$0"
    exit 0
    ;;
esac
if [ $# -gt 1 ]; then
    echo "quickstart.sh takes one folder at most; put a name with blanks in quotes" >&2
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
. "$root/tests/progress.sh"

say() {
    echo "[$(($(date +%s) - started)) s] $*"
}

# logged NAME COMMAND...: runs it and prints how far it is; its output goes to a log, and is shown when
# it fails.
logged() {
    logged_name=$1
    shift
    progress "$logged_name" "$build/log" "$@" || {
        tail -n 40 "$build/log" >&2
        echo "that failed: $*; all of it is in $build/log" >&2
        exit 1
    }
}

# ---- the pictures, before anything is installed or built --------------------------------------------

# survey DIR: lines `NAME VALUE` about what image_folder finds in it, and what it skips.
survey() {
    find -L "$1" -mindepth 1 -maxdepth 3 \( -type d -printf 'd %d %P\n' -o -printf 'f %d %P\n' \) 2>/dev/null |
        LC_ALL=C awk '
        $1 !~ /^[df]$/ || $2 !~ /^[123]$/ {next} # of a name with a line break
        {
            path = substr($0, 5)
            if (path ~ /^\./ || path ~ /\/\./) next
            depth = split(path, part, "/")
        }
        $1 == "d" {if (depth == 1) {folders++}; next}
        {
            extension = tolower(part[depth])
            if (!sub(/.*\./, "", extension)) extension = ""
            is_picture = extension ~ /^(jpg|jpeg|png)$/
            if (length(extension) > 10 || extension ~ /[^a-z0-9]/) extension = "other"
        }
        depth == 3 {if (is_picture) {deep++; below = part[1]}; next}
        depth == 2 && is_picture {count++; if (++class[part[1]] == 1) {classes++; name = part[1]}; next}
        is_picture {loose++; next}
        {skipped[extension]++}
        END {
            for (c in class) if (class[c] > most) most = class[c]
            for (c in class) if (class[c] == 1) single++
            gsub(/[^ -~]/, "?", name)
            gsub(/[^ -~]/, "?", below)
            printf "count %d\nclasses %d\nfolders %d\nmost %d\nsingle %d\nloose %d\ndeep %d\nname %s\nbelow %s\n",
                count, classes, folders, most, single, loose, deep, name, below
            for (e in skipped) printf "skipped %d %s\n", skipped[e], e == "" ? "without extension" : "." e
        }'
}

# found NAME: its value.
found() { printf '%s\n' "$survey" | sed -n "s/^$1 //p"; }

refuse() {
    printf '%s\n' "$*" >&2
    exit 1
}

# counted N ONE MORE: the count with its noun.
counted() {
    if [ "$1" -eq 1 ]; then echo "1 $2"; else echo "$1 $3"; fi
}

# look: prints what DIR holds and what is skipped; ends where there is nothing to learn.
look() {
    survey=$(survey "$pictures")
    count=$(found count)
    classes=$(found classes)
    say "$pictures: $(counted "$count" picture pictures) in $(counted "$classes" class classes)"
    skipped=$(found skipped | sort -k 1,1nr -k 2 | head -n 8 | paste -s -d, - | sed 's/,/, /g')
    [ -z "$skipped" ] || say "skipped: $skipped; they must be .jpg, .jpeg or .png"
    case $skipped in
    *.heic* | *.heif* | *.webp* | *.avif*)
        say "HEIC, WebP and AVIF are not supported; convert these files to JPEG to use them"
        ;;
    esac
    [ "$(found loose)" -eq 0 ] ||
        say "skipped: $(counted "$(found loose)" picture pictures) outside of class folders"
    [ "$(found deep)" -eq 0 ] ||
        say "skipped: $(counted "$(found deep)" picture pictures) in folders inside a class folder"

    if [ "$count" -eq 0 ] && [ "$(found deep)" -gt 0 ]; then
        refuse "no pictures in $pictures/CLASS; there are some one folder deeper: try $pictures/$(found below)"
    elif [ "$count" -eq 0 ]; then
        refuse "no pictures in $pictures: they must be in $pictures/CLASS/FILE, with .jpg, .jpeg or .png"
    elif [ "$classes" -eq 1 ]; then
        refuse "all pictures in $pictures are of one class, $(found name), so there is nothing to learn." \
            "Is it the right folder? There must be one folder per class, two or more: $pictures/CLASS/FILE"
    elif [ "$(found most)" -eq 1 ]; then
        refuse "every class in $pictures has one picture. Is it the right folder? Each class needs" \
            "pictures to train on and others to test on"
    fi
    [ "$(found single)" -eq 0 ] ||
        say "$(counted "$(found single)" "class has" "classes have") one picture: it is either in the" \
            "training or in the test"
    [ "$(found folders)" -eq "$classes" ] ||
        say "$(counted $(($(found folders) - classes)) "folder holds" "folders hold") no pictures; the" \
            "network cannot learn these classes"
}

network=
if [ -n "$pictures" ]; then
    look
    network=$PWD/$(basename "$pictures").network
    if [ -d "$network" ]; then
        say "resuming from the network in $network; to begin anew: rm -r $network"
    elif [ ! -w "$PWD" ]; then
        echo "cannot save the network in $PWD: no permission; run this in a folder of your own" >&2
        exit 2
    fi
fi

# ---- building -----------------------------------------------------------------------------------------

say "looking for the packages that building needs"
sh "$root/tests/deps.sh" build

say "building the library, the tool and the example in $build"
mkdir -p "$build"
: >"$build/log"
logged configure cmake -S "$root" -B "$build" -DCMAKE_BUILD_TYPE=Release -DSLUICE_CUDA=OFF \
    -DSLUICE_BUILD_TESTS=OFF -DSLUICE_BUILD_EXAMPLES=ON
logged build cmake --build "$build" -j "$(nproc)" --target sluice_tool train_image_folder

# ---- training -----------------------------------------------------------------------------------------

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

batch=32
[ "$count" -ge 100 ] || batch=4
[ "$count" -ge 10 ] || batch=1
# In a thousand steps, about a minute, but at least once and at most 24 times over the pictures.
steps=1000
[ $steps -ge $((count / batch)) ] || steps=$((count / batch))
[ $steps -le $((24 * count / batch)) ] || steps=$((24 * count / batch))
epochs=$(((steps + 24) / 25))
say "training on $count pictures in $pictures, in $epochs sinks of 25 steps"
exec "$build/bin/train_image_folder" "$pictures" --epochs $epochs --sink-size 25 --batch $batch \
    --checkpoints "$network"
