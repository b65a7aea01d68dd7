/* SPDX-License-Identifier: Apache-2.0 */
/* The error of a stage that works on an image, where there is none or it is still encoded. */
#ifndef SLUICE_MISSING_IMAGE_H
#define SLUICE_MISSING_IMAGE_H

#include "stage.h"

/*
 * Fails with E_INVALID. If a plain column may be meant as the image, such as the rows of an array,
 * the message says how it becomes one, or of which type it must be.
 */
sluice_status fail_missing_image(const stage_schema *schema, const char *stage);

/* Describes the type of a column for messages, "f32 (5, 4)". Returns `text`. */
const char *column_type_text(const sluice_column *column, char *text, size_t size);

#endif
