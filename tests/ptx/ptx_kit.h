/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The PTX of our kernels for one target, for suites that run it. Where it is: $SLUICE_PTX, else the
 * folder of the build; the target: $SLUICE_PTX_TARGET, else the first of the build.
 * $SLUICE_PTX_EDIT is FROM=>TO, texts that are exchanged before it is decoded: a mutant, which a
 * suite must find.
 */
#ifndef SLUICE_TEST_PTX_KIT_H
#define SLUICE_TEST_PTX_KIT_H

#include "getnext_int.h"
#include "ptx_machine.h"

/* The kernel of this name in any file; ends the process if there is none. */
const ptx_kernel *ptx_kit_kernel(const char *name);

/* Loads the PTX file that has this kernel, with an edit (ptx_module_load()). The caller frees the
 * module. */
ptx_module *ptx_kit_mutant(const char *kernel, const char *edit);

/* The name of the kernel of a path, as in queue/cuda/getnext.cu. */
const char *ptx_kit_gather_name(sli_gather_path path);

/* Runs a launch, and counts it among those of the process, which prints them at its end. */
void ptx_kit_run(const ptx_launch *launch);

/* In place of gather_thread(): thread t of n, of the kernel of the path. access: see ptx_host. */
void ptx_kit_gather_thread(const sli_gather *gather, const uint8_t *slot, uint32_t t, uint32_t n,
                           sli_gather_path path, ptx_access_hook *access);

/* Makes a whole batch by one thread; adds what it has done. */
void ptx_kit_gather_counts(const sli_gather *gather, const uint8_t *slot, ptx_counts *counts);

/* In place of getnext_begin() and getnext_next(): the kernel of this name. */
bool ptx_kit_control(const char *kernel, const sli_getnext *getnext, const ptx_host *host);

#endif
