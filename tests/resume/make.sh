#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Prints a table of cases with the states that an older Sluice writes for them, and the digests of the batches that
# follow there. The older one is built from git into build/baseline-COMMIT, once. Cases that are in the table already
# must stay as they are.
#
#     make.sh BUILD_DIR COMMIT TABLE >NEW_TABLE       resume_states.c describes the lines
set -eu
usage="usage: make.sh BUILD_DIR COMMIT TABLE"
build=$(cd "${1:?$usage}" && pwd)
commit=${2:?$usage}
table=$(realpath "${3:?$usage}")
here=$(cd "$(dirname "$0")" && pwd)
root=$(cd "$here/../.." && pwd)
. "$root/tests/baseline.sh"
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT

build_baseline "$commit"
compile_for_baseline "$tmp/make" "$here/resume_states.c"
mkdir "$tmp/data"
"$build/bin/pipeline_digests" data "$tmp/data"
"$tmp/make" make "$table" "$tmp/data" >"$tmp/table"
sed '${/^$/d;}' "$tmp/table"
