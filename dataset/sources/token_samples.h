/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Windows of token files as the samples of a source. These functions implement source_ops for any
 * source whose struct begins with its token_shards. The columns are inputs and targets.
 */
#ifndef SLUICE_TOKEN_SAMPLES_H
#define SLUICE_TOKEN_SAMPLES_H

#include "source.h"
#include "stage.h"
#include "token_shards.h"

uint64_t token_samples_count(const void *source);
uint64_t token_samples_memory(const void *source);

/* Writes the name "FILE:FIRST+SEQ"; FIRST and SEQ count tokens. */
void token_samples_name(const void *source, uint64_t index, char *text, size_t size);
bool token_samples_locate(const void *source, uint64_t index, sample_location *location_out);
sluice_status token_samples_read(const void *source, uint64_t index, sample_io *io,
                                 void *const *row, sample_data *data_out);

/* Describes the stored windows of seq + 1 tokens. */
void token_samples_windows(const void *source, uint32_t offload, source_windows *windows_out);

/* Sets the columns inputs and targets; both are i32 of shape (seq). */
void token_samples_schema(uint64_t seq, stage_schema *schema);

#endif
