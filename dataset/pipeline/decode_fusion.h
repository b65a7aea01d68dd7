/* SPDX-License-Identifier: Apache-2.0 */
/* What the geometry that is fused with the decoding of images does. */
#ifndef SLUICE_DECODE_FUSION_H
#define SLUICE_DECODE_FUSION_H

#include "dataset_state.h"

/* A resize determines the scale at which JPEG files are decoded, a crop which part is decoded. */
typedef struct decode_fusion {
    bool resizes;
    bool crops;
} decode_fusion;

/*
 * Looks at the stages up to the first that needs the result of an earlier one as a whole: the first
 * group of the plan, or its mosaic. A cache right after decode does not count: what it has no room
 * for is decoded as if there were none.
 */
decode_fusion dataset_decode_fusion(const sluice_dataset *dataset);

#endif
