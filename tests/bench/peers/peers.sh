#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# CPU time for 1000 images, Sluice beside the loaders of other projects, on a folder of your own:
#
#     peers.sh BUILD_DIR FOLDER [PEER...]      FOLDER/CLASS/*.jpg; peers: dali mindspore tfdata
#                                              torchvision opencv; without one: all
#
# One worker on one core. Each peer comes from its package on PyPI into an environment of its own in
# $PEERS (~/.cache/sluice-peers), which takes some GB and minutes the first time. Rounds in turn
# ($ROUNDS, 3), medians. Prints a table in Markdown; U is what decoding alone takes (bench_decode).
set -eu
here=$(cd "$(dirname "$0")" && pwd)
[ $# -ge 2 ] || { sed -n '3,11s/^# \{0,1\}//p' "$0" >&2; exit 2; }
bin=$1/bin
folder=$(cd "$2" && pwd)
shift 2
[ $# -gt 0 ] || set -- dali mindspore tfdata torchvision opencv
rounds=${ROUNDS:-3}
seconds=${SECONDS_EACH:-8}
homes=${PEERS:-${XDG_CACHE_HOME:-$HOME/.cache}/sluice-peers}
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
[ -x "$bin/sluice" ] && [ -x "$bin/bench_decode" ] || { echo "no sluice and bench_decode in $bin" >&2; exit 1; }

packages() {
    case $1 in
    dali) echo "nvidia-dali-cuda120 numpy" ;;
    mindspore) echo "mindspore" ;;
    tfdata) echo "tensorflow-cpu" ;;
    torchvision) echo "torch torchvision" ;;
    opencv) echo "opencv-python-headless numpy" ;;
    *) echo "peers.sh: no peer '$1'" >&2; exit 2 ;;
    esac
}

# An environment is finished when its mark is there.
install() {
    [ ! -f "$homes/$1/installed" ] || return 0
    wanted=$(packages "$1")
    echo "installing $wanted in $homes/$1" >&2
    python3 -m venv "$homes/$1"
    # shellcheck disable=SC2086
    "$homes/$1/bin/pip" install -q $wanted >&2
    touch "$homes/$1/installed"
}

# sluice SOURCE: u8 and f32, milliseconds of CPU for 1000 images of passes after the first, so that
# nobody's start counts: what six take less what one takes.
seconds_of() { # PIPELINE EPOCHS: of CPU, and samples
    taskset -c 0 "$bin/sluice" bench "$1" --epochs "$2" --workers 1 --json 2>/dev/null |
        sed 's/.*"samples":\([0-9]*\).*"cpu_s_per_1000_samples":\([0-9.e-]*\).*/\1 \2/'
}
crop="shuffle seed=7 | decode | random_resized_crop 224 | random_horizontal_flip 0.5"
sluice() {
    for tail in "" "| normalize imagenet | to_chw"; do
        pipeline="$1 | $crop $tail | batch 64"
        echo "$(seconds_of "$pipeline" 1) $(seconds_of "$pipeline" 6)" |
            awk '{printf "%d ", ($3 * $4 - $1 * $2) / ($3 - $1) * 1000}'
    done
}

# note NAME VERSION U8 F32
note() { echo "$3 $4" >>"$tmp/figures-$1"; echo "$2" >"$tmp/version-$1"; }
median() { cut -d' ' -f"$2" "$tmp/figures-$1" | sort -n | awk '{v[NR] = $1} END {print v[int((NR + 1) / 2)]}'; }

peer() {
    u8=$(taskset -c 0 "$homes/$1/bin/python" "$here/peer.py" "$1" "$folder" u8 "$seconds" 2>>"$tmp/log")
    f32=$(taskset -c 0 "$homes/$1/bin/python" "$here/peer.py" "$1" "$folder" f32 "$seconds" 2>>"$tmp/log")
    note "$1" "$(echo "$u8" | cut -d' ' -f2)" "${u8##* }" "${f32##* }"
}

for name in "$@"; do
    packages "$name" >/dev/null
    install "$name" || { echo "peers.sh: $name cannot be installed; it is left out" >&2; continue; }
    peers="${peers-} $name"
done
"$bin/sluice" pack "$folder" "$tmp/pack" >/dev/null
"$bin/sluice" bench "image_folder $folder index=$tmp/index | $crop | batch 64" --epochs 1 >/dev/null 2>&1
version=$("$bin/sluice" --version | head -n 1 | cut -d' ' -f2)
for round in $(seq "$rounds"); do
    echo "round $round of $rounds" >&2
    unit=$(taskset -c 0 "$bin/bench_decode" "$folder" 1 | sed 's/.*out, \([0-9.]*\) .*/\1/')
    note unit - "$(echo "$unit" | awk '{print 1000000 / $1}')" 0
    # shellcheck disable=SC2046
    note sluice "$version" $(sluice "image_folder $folder")
    # shellcheck disable=SC2046
    note sluice-index "$version" $(sluice "image_folder $folder index=$tmp/index")
    # shellcheck disable=SC2046
    note sluice-pack "$version" $(sluice "webdataset $tmp/pack/*.tar")
    for name in ${peers-}; do
        peer "$name" || { echo "peers.sh: $name does not run:" >&2; tail -n 3 "$tmp/log" >&2; }
    done
done

unit=$(median unit 1)
echo "| loader | u8: ms for 1000 images | U | f32: ms | U |"
echo "| --- | --- | --- | --- | --- |"
for name in sluice-pack sluice-index sluice ${peers-}; do
    [ -f "$tmp/figures-$name" ] || continue
    echo "$(median "$name" 1) $(median "$name" 2) $unit" |
        awk -v name="$name $(cat "$tmp/version-$name")" '{printf "| %s | %d | %.2f | %d | %.2f |\n", name, $1, $3 / $1, $2, $3 / $2}'
done
