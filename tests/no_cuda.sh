#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# In place of the CUDA device's suites, where it was not built.
echo "SKIP fake_cuda: THE CUDA DEVICE WAS NEITHER BUILT NOR TESTED: no CUDA toolkit, or SLUICE_CUDA=OFF"
echo "fake_cuda: 0 passed, 0 failed, 1 skipped"
