/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the environment says in place of settings, and where it wants the report. Each variable that
 * is used is said in a warning, so that nobody wonders; one that is empty is not set.
 */
#ifndef SLUICE_OVERRIDES_H
#define SLUICE_OVERRIDES_H

#include <sluice/train.h>

enum { OVERRIDES_USED_SIZE = 200, OVERRIDES_PATH_SIZE = 4096 };

/*
 * SLUICE_WORKERS, SLUICE_SLOTS and SLUICE_MEMORY in place of what is there. used_out: those that
 * are, "SLUICE_WORKERS=4 SLUICE_SLOTS=8", or "". E_INVALID names variable, value and what is
 * allowed.
 */
sluice_status overrides_of_channel(uint32_t *workers, uint32_t *slots, uint64_t *memory_bytes,
                                   char used_out[OVERRIDES_USED_SIZE]);

/* The same for a run, with SLUICE_MODE. */
sluice_status overrides_of_run(sluice_train_config *config, char used_out[OVERRIDES_USED_SIZE]);

/* An E_INVALID of opening may be of a value that is not the program's: says whose it is, too. */
sluice_status overrides_explain(sluice_status st, const char *used);

/* Where SLUICE_REPORT wants the report, as it stands there; "": nowhere. */
sluice_status overrides_find_report(char path_out[OVERRIDES_PATH_SIZE]);

/* Writes the report there, or a warning why not; NULL: there was no memory for it. */
void overrides_write_report(const char *path, uint32_t rank, const sluice_report *report);

#endif
