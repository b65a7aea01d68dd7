/* SPDX-License-Identifier: Apache-2.0 */
/* Placement of a run's threads and memory, for reports. */
#ifndef SLUICE_REPORT_PLACES_H
#define SLUICE_REPORT_PLACES_H

#include "report_data.h"
#include "report_run.h"
#include "text_int.h"

/* Collects the placement, including the calling thread's. Returns E_NO_MEMORY if an allocation
 * fails. */
sluice_status report_collect_places(const report_run *run, sluice_report *report);

/* The length of a thread's name without its number, e.g. the length of "sluice/w/" for
 * "sluice/w/12"; 0 if the name has no number. */
size_t report_pool_stem(const char *name);

/* Adds a line about the rank's cores, what it shares with other ranks, and the memory policy. */
void report_add_cores(const sluice_report *report, sli_text *text);

/* Adds warnings and a table with a row for each thread or group of similar threads. */
void report_add_places(const sluice_report *report, sli_text *text);

#endif
