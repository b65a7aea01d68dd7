#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# States that earlier versions have written (tests/resume/states_VERSION.txt): each run goes on with the batches that
# followed then, or is refused with the message of the table.
#
# test_resume.sh BUILD_DIR; last line `resume: N passed, N failed, N skipped`.
set -u
programs=${1:?usage: test_resume.sh BUILD_DIR}/bin
title=resume
here=$(cd "$(dirname "$0")" && pwd)
. "$here/shell_kit.sh"

mkdir "$tmp/data"
check "the data are written" "$programs/pipeline_digests" data "$tmp/data"
for table in "$here"/resume/states_*.txt; do
    version=${table##*/states_}
    version=${version%.txt}
    "$programs/resume_states" names "$table" >"$tmp/names" || exit 1
    while read -r state; do
        check "$version: $state" "$programs/resume_states" check "$table" "$tmp/data" "$state"
        rm -rf "$tmp/data/states-$state"
    done <"$tmp/names"
done
finish
