/* SPDX-License-Identifier: Apache-2.0 */
/* The reports of the ranks of one run as one report. */
#ifndef SLUICE_REPORT_MERGE_H
#define SLUICE_REPORT_MERGE_H

#include "report_reader.h"

/* The most ranks of a merge. */
enum { MERGE_MOST_RANKS = 1024 };

/*
 * Merges reports, and sorts them by rank. Returns NULL after sluice_fail() if the reports are of
 * different runs, of one rank twice, or without a rank.
 */
json_t *report_merge(saved_report *reports, size_t count);

/*
 * Sets the key "merge" of a merged report: ranks, those that are missing, and the rank that others
 * wait for with its cause; and the verdict and the advice of that rank. Returns 0, or -1 if out of
 * memory.
 */
int report_set_ranks(json_t *merged, const saved_report *reports, size_t count);

#endif
