/* SPDX-License-Identifier: Apache-2.0 */
/* Outcomes of the image indexes that a source stores (image_decoder.h). */
#ifndef SLUICE_INDEX_COUNTS_INT_H
#define SLUICE_INDEX_COUNTS_INT_H

#include <stdint.h>

typedef struct sli_index_counts {
    uint64_t asked;   /* samples whose index was looked up */
    uint64_t used;    /* samples decoded by an index */
    uint64_t made;    /* indexes built and stored */
    uint64_t refused; /* stored indexes that were damaged, or of other image bytes */
    /*
     * JPEG images that were decoded from their beginning, for lack of an index or restart markers;
     * without those of a pack, and small ones, which gain nothing:
     */
    uint64_t lacking; /* their number */
    uint64_t above;   /* pixels of their lines down to the lower edge of the needed region */
    uint64_t needed;  /* pixels of the needed regions */
} sli_index_counts;

#endif
