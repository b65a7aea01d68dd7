/* SPDX-License-Identifier: Apache-2.0 */
/* Shared by the stages center_crop, random_crop and random_resized_crop. */
#ifndef SLUICE_CROP_H
#define SLUICE_CROP_H

#include "stage.h"

/*
 * Sets the image's size in the schema to the size after the crop; a size of one number means a
 * square.
 */
sluice_status crop_infer(const param_size *size, const char *stage, stage_schema *schema);

static inline uint32_t crop_width(const param_size *size)
{
    return size->width != 0 ? size->width : size->height;
}

#endif
