/* SPDX-License-Identifier: Apache-2.0 */
/* Parses pipelines. `table` is the NULL-terminated list of known stages. */
#ifndef SLUICE_PIPELINE_TEXT_H
#define SLUICE_PIPELINE_TEXT_H

#include "pipeline_args.h"
#include "stage.h"

/*
 * Builds a dataset from a zero-terminated text. Error messages begin with `file`, line and column,
 * unless `file` is NULL. The value of ${NAME} is taken from `args` (NULL: no arguments), otherwise
 * from the environment.
 */
sluice_status pipeline_parse(const stage_def *const *table, const char *text, const char *file,
                             pipeline_args *args, sluice_dataset **dataset_out);

/*
 * Appends the stages of a text to a dataset. If a stage is invalid, the stages before it have been
 * appended.
 */
sluice_status pipeline_add(const stage_def *const *table, const char *text,
                           sluice_dataset *dataset);

/*
 * Parses the stages after a source, in the format of dataset_print(), without checking that they
 * fit the source. `stages` must have space for DATASET_MAX_STAGES. The caller frees their arguments
 * by stage_args_free(), also after an error. E_INVALID: a stage or argument is unknown. Also
 * returns E_NO_MEMORY.
 */
sluice_status pipeline_parse_stages(const stage_def *const *table, const char *text,
                                    dataset_stage *stages, uint32_t *count_out);

/*
 * Reads a pipeline file as text; the caller frees it by sli_free(). E_INVALID: the file is not a
 * text file, or is larger than 1 MiB. Also returns E_IO and E_NO_MEMORY.
 */
sluice_status pipeline_read_file(const char *path, char **text_out);

#endif
