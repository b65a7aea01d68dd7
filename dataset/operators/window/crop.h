/* SPDX-License-Identifier: Apache-2.0 */
/* Shared by the stages that crop. */
#ifndef SLUICE_CROP_H
#define SLUICE_CROP_H

#include "geometry_ops.h"
#include "stage.h"

/*
 * Sets the image's size in the schema to the size after the crop; a size of one number means a
 * square.
 */
sluice_status crop_infer(const param_size *size, const char *stage, stage_schema *schema);

/*
 * Returns the start of a centred range of length `want` within length `have`, as in torchvision:
 * half of the difference, rounded half to even. If `want` is larger, the result is negative, and
 * the smaller half of the padding comes first.
 */
int64_t centred_start(uint32_t have, uint32_t want);

/* geometry_ops.padding: the crop may extend beyond the image, where it is zeros. */
bool crop_padding(const void *args, stage_padding *padding_out);

static inline uint32_t crop_width(const param_size *size)
{
    return size->width != 0 ? size->width : size->height;
}

#endif
