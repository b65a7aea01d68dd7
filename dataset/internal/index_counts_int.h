/* SPDX-License-Identifier: Apache-2.0 */
/* What came of the indexes that a source keeps of its images (image_decoder.h). */
#ifndef SLUICE_INDEX_COUNTS_INT_H
#define SLUICE_INDEX_COUNTS_INT_H

#include <stdint.h>

typedef struct sli_index_counts {
    uint64_t asked;   /* samples whose index was looked for */
    uint64_t used;    /* samples decoded by theirs */
    uint64_t made;    /* and kept */
    uint64_t refused; /* kept ones that were damaged, or of other bytes than the image's */
} sli_index_counts;

#endif
