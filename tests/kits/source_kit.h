/* SPDX-License-Identifier: Apache-2.0 */
/* Sources by themselves: their samples, read one by one. */
#ifndef SLUICE_SOURCE_KIT_H
#define SLUICE_SOURCE_KIT_H

#include "dataset_state.h"

/* A second folder for a test; call it first, the text of t_folder() is good until its next call. */
const char *other_folder(void);

/* Good until the next call. */
const char *name_of(const sluice_dataset *dataset, uint64_t index);

/* label may be NULL. */
sluice_status read_sample(const sluice_dataset *dataset, uint64_t index, sample_io *io,
                          int32_t *label, sample_data *data);
int32_t label_of(const sluice_dataset *dataset, uint64_t index);
void check_read_fails(const sluice_dataset *dataset, uint64_t index, sluice_status want,
                      const char *words);

/* The name of a class. */
void check_class(sluice_dataset *dataset, int32_t label, const char *want);

/* Checks that two sources give the same columns, with their roles. */
void check_same_columns(const sluice_dataset *want, const sluice_dataset *got);

/* Parses a pipeline and opens its source. */
sluice_status open_pipeline(const char *text);

/* Checks that opening "SOURCE PATH ARGUMENTS | batch 1" fails with `want` and a message that
 * contains the words, and leaves no file open. */
void check_source_fails(const char *source, const char *path, const char *arguments,
                        sluice_status want, const char *words);

/* Checks that opening a pipeline fails with E_NO_MEMORY for each of its allocations that fails. */
void check_open_memory(const char *text);

/* True if the build decodes PNG files, which fixtures of record files have. */
bool can_decode_png(void);

/* Opens a dataset, and returns what was logged; good until the next call. */
const char *log_of_opening(sluice_dataset *dataset);

/* Files as somebody who is not root sees them; false when this process cannot be anybody else. */
bool become_nobody(void);
void become_oneself(void);

/* How many files this process has open. */
int open_files(void);

#endif
