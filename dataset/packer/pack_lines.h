/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The list of a shard, shard-000000.tsv. The first line has the names of the columns. Each sample
 * that was packed or left out has one line. The last line shows that the list is complete. Its
 * fields are "#end", the bytes of the archive, and the position of the next shard's first sample.
 *
 * The list maps each KEY to its source file, and a resumed pack continues from it.
 */
#ifndef SLUICE_PACK_LINES_H
#define SLUICE_PACK_LINES_H

#include "pack_sample.h"

/* A sample's line of the list. Texts are valid until the next line. */
typedef struct pack_line {
    uint64_t position;
    sluice_pack_fate fate;
    uint64_t bytes_in;
    uint64_t bytes_out; /* of the packed image; 0 for a sample that was left out */
    const char *name;
    const char *why;
} pack_line;

/* Adds the first line of a list. */
void pack_lines_begin(sli_text *text);

/* Adds a sample's line. key: the sample's key in the archive, which contains its position. */
void pack_lines_add(sli_text *text, const char *key, const packed_sample *sample);

void pack_lines_end(sli_text *text, uint64_t tar_bytes, uint64_t next);

/*
 * Parses a complete list in place, and calls each() for every sample's line. False: the list is
 * corrupt.
 */
bool pack_lines_read(char *text, void (*each)(void *arg, const pack_line *line), void *arg,
                     uint64_t *tar_bytes_out, uint64_t *next_out);

#endif
