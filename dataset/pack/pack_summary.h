/* SPDX-License-Identifier: Apache-2.0 */
/* pack.json, the summary of a complete pack. */
#ifndef SLUICE_PACK_SUMMARY_H
#define SLUICE_PACK_SUMMARY_H

#include <sluice/pack.h>

#include "text_int.h"

enum { PACK_PROBLEMS_NAMED = 100, PACK_FIRST_SIZE = 320 };

/* Zero-initialise. */
typedef struct pack_summary {
    uint32_t count;                  /* number of problems in the list, up to PACK_PROBLEMS_NAMED */
    sli_text problems;               /* JSON objects, separated by commas */
    char first_why[PACK_FIRST_SIZE]; /* name and reason of the first problem */
    char first_fault[PACK_FIRST_SIZE]; /* name and reason of the first LEFT_FAULT, or "" */
} pack_summary;

void pack_summary_note(pack_summary *summary, const sluice_pack_problem *problem);

/* Writes one JSON object and a newline; identical for identical packs. */
sluice_status pack_summary_print(const pack_summary *summary, const sluice_pack_stats *stats,
                                 char **text_out);

/* Reads the number of samples from a summary. UINT64_MAX: the text is not a summary, or NULL. */
uint64_t pack_summary_samples(const char *text);
void pack_summary_free(pack_summary *summary);

#endif
