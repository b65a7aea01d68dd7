/* SPDX-License-Identifier: Apache-2.0 */
/* Parses the text of sluice_dataset_describe(), stage by stage. */
#ifndef SLUICE_DESCRIBED_TEXT_H
#define SLUICE_DESCRIBED_TEXT_H

#include <stdbool.h>
#include <stddef.h>

/*
 * Finds the end of the stage at the beginning of `text`; bars within quotes and parentheses do not
 * end a stage. Returns the next stage; NULL after the last one.
 */
const char *text_next_stage(const char *text, size_t *length_out);

/* True if the stage has this name. */
bool text_stage_is(const char *stage, const char *name);

/* Returns the value of `key=` in a stage of `length` bytes, or NULL if the stage has no such key.
 * The value ends at a blank or at the end of the stage. */
const char *text_stage_value(const char *stage, size_t length, const char *key);

#endif
