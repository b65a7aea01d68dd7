/* SPDX-License-Identifier: Apache-2.0 */
/* Statistics of the image indexes that a source stores (image_decoder.h). */
#ifndef SLUICE_INDEX_COUNTS_INT_H
#define SLUICE_INDEX_COUNTS_INT_H

#include <stdint.h>

typedef struct sli_index_counts {
    uint64_t asked;   /* samples whose index was looked up */
    uint64_t used;    /* samples decoded by an index */
    uint64_t made;    /* indexes built and stored */
    uint64_t refused; /* stored indexes that were corrupt or belonged to another image */
    /*
     * JPEG images that were decoded from their beginning, since they have neither an index nor
     * restart markers. Images of a pack and small images do not count: an index would gain nothing.
     */
    uint64_t lacking; /* number of these images */
    uint64_t above;   /* pixels in these images' lines, from the top down to the lower edge of the
                         needed region */
    uint64_t needed;  /* pixels in these images' needed regions */
} sli_index_counts;

#endif
