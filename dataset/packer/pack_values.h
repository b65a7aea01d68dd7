/* SPDX-License-Identifier: Apache-2.0 */
/* The values of the columns of a sample, as a pack keeps them. */
#ifndef SLUICE_PACK_VALUES_H
#define SLUICE_PACK_VALUES_H

#include "fault_int.h"
#include "kept_columns.h"

/* All values; zero-initialise. */
typedef struct pack_values {
    kept_value values[SLUICE_MAX_COLUMNS]; /* indexed as kept_columns */
    uint8_t *rows;                         /* the memory of all values that are no files */
    uint8_t *files[SLUICE_MAX_COLUMNS];    /* the memory of each file */
    size_t bytes;                          /* of all values */
} pack_values;

struct pack_worker;

/* Sets the pointers through which a source writes a row: into a buffer, which is reserved.
 * E_NO_MEMORY. */
sluice_status pack_values_begin(const kept_columns *kept, image_buffer *rows, void **row);

/* Finds the label in a row. False: there is no such column. */
bool pack_values_label(const kept_columns *kept, const uint8_t *rows, int32_t *label_out);

/* Checks the numbers of rows that a source has written, and adds the bytes of all values to
 * *bytes. E_CORRUPT: a number is beyond its column. */
sluice_status pack_values_check_rows(const kept_columns *kept, const uint8_t *rows,
                                     uint64_t *bytes);

/* Copies the values of a row that a source has written. Fails as pack_values_check_rows(), or with
 * E_NO_MEMORY. */
sluice_status pack_values_take_rows(const kept_columns *kept, const uint8_t *rows,
                                    pack_values *values);

/*
 * Keeps the first image of a sample as it is: the bytes of a file, whose header must be good, or
 * pixels. Returns the errors of opening it, or E_NO_MEMORY.
 */
sluice_status pack_values_add_image(struct pack_worker *worker, const sample_data *data,
                                    pack_values *values);

/*
 * Reads the masks and further images of a sample, whose first image is `image`. A failure is that
 * of the column, which its text names: E_CORRUPT, E_UNSUPPORTED or another error of reading or
 * opening it. *unread_out: it could not be read, perhaps by the fault *fault_out of the machine.
 */
sluice_status pack_values_add_files(struct pack_worker *worker, uint64_t index,
                                    const sample_data *image, pack_values *values, bool *unread_out,
                                    sli_fault *fault_out);

void pack_values_free(pack_values *values);

#endif
