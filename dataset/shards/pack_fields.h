/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What pack.json and pack.txt of a pack say. The columns are the argument fields= of the source
 * that reads the pack: pack.json has them as "fields", and pack.txt, which exists before the pack
 * is complete, in a line that begins with "fields ".
 */
#ifndef SLUICE_PACK_FIELDS_H
#define SLUICE_PACK_FIELDS_H

#include <stdbool.h>
#include <stdint.h>

#include <sluice/status.h>

#define PACK_FIELDS "fields"

/*
 * Finds the columns of the pack that a shard is in; the caller frees the text by sli_free(). NULL:
 * the shard is in no pack, or in one of an earlier version, which has the first image and a label.
 * Returns E_IO, E_UNSUPPORTED or E_NO_MEMORY on failure.
 */
sluice_status pack_fields_find(const char *shard, char **fields_out);

/* The same of a folder. */
sluice_status pack_fields_read(const char *folder, char **fields_out);

/*
 * Finds whether a folder of shards has columns besides image and label, or images of any format, as
 * a conversion has, so that `webdataset` needs fields=auto. Returns the errors of
 * pack_fields_find().
 */
sluice_status pack_fields_are_more(const char *folder, bool *more_out);

/* Finds the format of the files in the folder of a conversion, which is the name of the source that
 * reads them; the caller frees the text by sli_free(). NULL: the folder does not say. */
sluice_status pack_fields_format(const char *folder, char **format_out);

/* What pack.json counts. */
typedef struct pack_counts {
    uint64_t samples; /* of the source */
    uint64_t written; /* samples in all files */
    uint64_t shards;  /* files of samples */
} pack_counts;

/* Finds the counts in the text of pack.json, which may be NULL. False: it is not a summary. */
bool pack_counts_parse(const char *text, pack_counts *counts_out);

/*
 * Finds those of a folder whose files the source `format` reads. *is_known_out is false, and the
 * counts are not set, if it has no pack.json, or its files are of another format. Returns the
 * errors of pack_fields_find().
 */
sluice_status pack_counts_read(const char *folder, const char *format, pack_counts *counts_out,
                               bool *is_known_out);

#endif
