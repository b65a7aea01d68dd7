/* SPDX-License-Identifier: Apache-2.0 */
/* The parser of pipelines. `table` lists the known stages; it ends with NULL. */
#ifndef SLUICE_PIPELINE_TEXT_H
#define SLUICE_PIPELINE_TEXT_H

#include "pipeline_args.h"
#include "stage.h"

/*
 * Makes a dataset from a zero-terminated text. Error messages begin with `file`, line and column,
 * unless `file` is NULL. The value of ${NAME} is taken from `args` (NULL: no arguments), else from
 * the environment.
 */
sluice_status pipeline_parse(const stage_def *const *table, const char *text, const char *file,
                             pipeline_args *args, sluice_dataset **dataset_out);

/*
 * Appends the stages of a text to a dataset. If one is wrong, those before it have been appended.
 */
sluice_status pipeline_add(const stage_def *const *table, const char *text,
                           sluice_dataset *dataset);

/*
 * Parses the stages after a source, in the format of dataset_print(), without checking that they
 * fit the source. `stages` has room for DATASET_MAX_STAGES. The caller frees their arguments by
 * stage_args_free(), also after an error. E_INVALID: an unknown stage or argument; E_NO_MEMORY.
 */
sluice_status pipeline_parse_stages(const stage_def *const *table, const char *text,
                                    dataset_stage *stages, uint32_t *count_out);

/*
 * Reads a pipeline file as text; the caller frees it by sli_free(). E_IO; E_INVALID: not a text
 * file, or larger than 1 MiB; E_NO_MEMORY.
 */
sluice_status pipeline_read_file(const char *path, char **text_out);

#endif
