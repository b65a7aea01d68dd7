/* SPDX-License-Identifier: Apache-2.0 */
/* The parser of pipelines. The stages that it knows are a table, which ends with NULL. */
#ifndef SLUICE_PIPELINE_TEXT_H
#define SLUICE_PIPELINE_TEXT_H

#include "pipeline_args.h"
#include "stage.h"

/*
 * Makes a dataset of a text, which ends with a zero. Errors name `file`, where it is not NULL, with
 * line and column. ${NAME} is taken from `args` (NULL: none), then from the environment.
 */
sluice_status pipeline_parse(const stage_def *const *table, const char *text, const char *file,
                             pipeline_args *args, sluice_dataset **dataset_out);

/* Adds the stages of a text to a dataset. After an error those before the wrong one are added. */
sluice_status pipeline_add(const stage_def *const *table, const char *text,
                           sluice_dataset *dataset);

/*
 * Parses stages that stand behind a source, as dataset_print() writes them, without checking that
 * they fit it: at most DATASET_MAX_STAGES. The caller frees their arguments by stage_args_free(),
 * also after an error. E_INVALID an unknown stage or argument; E_NO_MEMORY.
 */
sluice_status pipeline_parse_stages(const stage_def *const *table, const char *text,
                                    dataset_stage *stages, uint32_t *count_out);

/* Reads a pipeline file as a text, freed by sli_free(). E_IO; E_INVALID not a text file, or larger
 * than 1 MB; E_NO_MEMORY. */
sluice_status pipeline_read_file(const char *path, char **text_out);

#endif
