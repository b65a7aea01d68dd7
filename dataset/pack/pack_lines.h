/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The list beside a shard, shard-000000.tsv: a line for each sample that was packed or left out,
 * under a line of columns' names, and a last one that says that the list is whole:
 *
 *     #end  bytes of the archive  position of the first sample behind
 *
 * It maps each KEY to its source file. A resumed pack continues from it.
 */
#ifndef SLUICE_PACK_LINES_H
#define SLUICE_PACK_LINES_H

#include "pack_sample.h"

/* A line of the list. Texts are valid until the next line. */
typedef struct pack_line {
    uint64_t position;
    sluice_pack_fate fate;
    uint64_t bytes_in;
    uint64_t bytes_out; /* 0 for a sample that was left out */
    const char *name;
    const char *why;
} pack_line;

/* The list's first line. */
void pack_lines_begin(sli_text *text);

/* key of the sample, with its position. */
void pack_lines_add(sli_text *text, const char *key, const packed_sample *sample);

void pack_lines_end(sli_text *text, uint64_t tar_bytes, uint64_t next);

/*
 * Adds a name as a single field of a line: tab, newline, carriage return and backslash as \t,
 * \n, \r and \\.
 */
void pack_text_add(sli_text *text, const char *name);

/* Parses a whole list, in place; calls each() per line. False: it is damaged. */
bool pack_lines_read(char *text, void (*each)(void *arg, const pack_line *line), void *arg,
                     uint64_t *tar_bytes_out, uint64_t *next_out);

#endif
