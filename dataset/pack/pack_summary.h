/* SPDX-License-Identifier: Apache-2.0 */
/* pack.json: the contents of a complete pack. */
#ifndef SLUICE_PACK_SUMMARY_H
#define SLUICE_PACK_SUMMARY_H

#include <sluice/pack.h>

#include "text_int.h"

enum { PACK_PROBLEMS_NAMED = 100, PACK_FIRST_SIZE = 320 };

/* Zero-initialise. */
typedef struct pack_summary {
    uint32_t count;                    /* of problems, at most PACK_PROBLEMS_NAMED */
    sli_text problems;                 /* as JSON objects */
    char first_why[PACK_FIRST_SIZE];   /* text of the first problem */
    char first_fault[PACK_FIRST_SIZE]; /* text of the first LEFT_FAULT; "": none */
} pack_summary;

void pack_summary_note(pack_summary *summary, const sluice_pack_problem *problem);

/* One JSON object and a newline; identical for identical packs. */
sluice_status pack_summary_print(const pack_summary *summary, const sluice_pack_stats *stats,
                                 char **text_out);

/*
 * The number of samples according to a summary; UINT64_MAX if the text (or NULL) is not a summary.
 */
uint64_t pack_summary_samples(const char *text);
void pack_summary_free(pack_summary *summary);

#endif
