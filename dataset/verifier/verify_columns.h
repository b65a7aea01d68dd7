/* SPDX-License-Identifier: Apache-2.0 */
/* The columns of a pack besides image and label, read as `webdataset FOLDER fields=auto` does. */
#ifndef SLUICE_VERIFY_COLUMNS_H
#define SLUICE_VERIFY_COLUMNS_H

#include "sample_writer.h"
#include "verify_shard.h"

typedef struct verify_columns {
    sluice_dataset *dataset; /* NULL: there are no other columns */
    kept_columns kept;
    const sample_writer *writer; /* the format of the files; NULL: that of packs */
} verify_columns;

/*
 * Opens the columns of a folder. always: also those of a folder with
 * image and label only. What is wrong is reported, not returned. E_NO_MEMORY.
 */
sluice_status verify_columns_open(verify_columns *columns, const char *folder, bool always,
                                  const verify_reporter *reporter);
void verify_columns_close(verify_columns *columns);

/* Reads the numbers, arrays and texts of a sample, and adds their bytes. Returns the error that a
 * run would have. */
sluice_status verify_columns_read(const verify_columns *columns, uint64_t sample, sample_io *io,
                                  image_buffer *rows, uint64_t *bytes);

#endif
