#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Keeps the interface of a release: copies the public headers and tests/api/frozen_program.c, which are compiled
# together and run with every later library. At the release: tests/freeze.sh BUILD_DIR tests/frozen/VERSION
set -eu
tests=$(cd "$(dirname "$0")" && pwd)
build=${1:?usage: freeze.sh BUILD_DIR FOLDER}
folder=${2:?usage: freeze.sh BUILD_DIR FOLDER}
if [ -e "$folder" ]; then
    echo "freeze.sh: $folder exists: the interface of a release must never change" >&2
    exit 1
fi
mkdir -p "$folder/sluice"
cp "$tests"/../*/include/sluice/*.h "$build/include/sluice/version.h" "$folder/sluice"
cp "$tests/api/frozen_program.c" "$folder"
