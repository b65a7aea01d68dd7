/* SPDX-License-Identifier: Apache-2.0 */
/* pack.json: what a complete pack holds. */
#ifndef SLUICE_PACK_SUMMARY_H
#define SLUICE_PACK_SUMMARY_H

#include <sluice/pack.h>

#include "text_int.h"

enum { PACK_PROBLEMS_NAMED = 100 };

/* Starts zeroed. */
typedef struct pack_summary {
    uint32_t count;      /* of problems, at most PACK_PROBLEMS_NAMED */
    sli_text problems;   /* as JSON objects */
    char first_why[320]; /* of the first */
} pack_summary;

void pack_summary_note(pack_summary *summary, const sluice_pack_problem *problem);

/* One JSON object and a newline: the same for the same pack. */
sluice_status pack_summary_print(const pack_summary *summary, const sluice_pack_stats *stats,
                                 char **text_out);

/* The samples that a summary says it is of; UINT64_MAX where the text (or NULL) is none. */
uint64_t pack_summary_samples(const char *text);
void pack_summary_free(pack_summary *summary);

#endif
