/* SPDX-License-Identifier: Apache-2.0 */
/* Images of which decoding or a stage of boxes changes, leaves out or guesses something: counted,
 * and logged once. */
#ifndef SLUICE_IMAGE_NOTES_INT_H
#define SLUICE_IMAGE_NOTES_INT_H

#include <stdint.h>

typedef enum sli_image_note {
    SLI_IMAGE_ORIENTED,
    SLI_IMAGE_AS_STORED,
    SLI_IMAGE_LABELS_STORED,
    SLI_IMAGE_TRANSPARENT,
    SLI_IMAGE_CMYK,
    SLI_IMAGE_FURTHER,
    SLI_IMAGE_BOXES_BELOW,
    SLI_IMAGE_WITHOUT_BOXES,
    SLI_IMAGE_BOXES_LEFT_OUT,
    SLI_IMAGE_NOTES
} sli_image_note;

/* Images of each kind; an image counts again in each pass. */
typedef struct sli_image_counts {
    uint64_t of[SLI_IMAGE_NOTES];
} sli_image_counts;

/* The key in reports, such as "exif_orientation", and the text after "images" or "image". */
extern const char *const sli_image_note_keys[SLI_IMAGE_NOTES];
extern const char *const sli_image_note_texts[SLI_IMAGE_NOTES];

#endif
