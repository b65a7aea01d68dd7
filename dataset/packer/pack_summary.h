/* SPDX-License-Identifier: Apache-2.0 */
/* pack.json, the summary of a complete pack. */
#ifndef SLUICE_PACK_SUMMARY_H
#define SLUICE_PACK_SUMMARY_H

#include <sluice/pack.h>

#include "pack_folder.h"
#include "sample_writer.h"

enum { PACK_PROBLEMS_NAMED = 100, PACK_FIRST_SIZE = 320 };

/* The contents of a summary; zero-initialise. */
typedef struct pack_summary {
    const char
        *dropped;   /* names of the columns that were dropped, with commas; NULL: none. Borrowed */
    uint32_t count; /* number of problems in `problems`, up to PACK_PROBLEMS_NAMED */
    sli_text problems;                 /* comma-separated JSON objects, one per problem */
    char first_why[PACK_FIRST_SIZE];   /* name and reason of the first problem */
    char first_fault[PACK_FIRST_SIZE]; /* name and reason of the first LEFT_FAULT sample; "": no
                                          such sample */
} pack_summary;

void pack_summary_note(pack_summary *summary, const sluice_pack_problem *problem);

/*
 * Writes the summary as one JSON object and a newline; identical packs give identical texts. It
 * lists the columns, and has the argument fields= by which the source of
 * the format reads them.
 */
sluice_status pack_summary_print(const pack_summary *summary, const sluice_pack_stats *stats,
                                 const kept_columns *kept, const pack_folder *folder,
                                 char **text_out);

void pack_summary_free(pack_summary *summary);

#endif
