/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Masks that are drawn from the shapes of objects when a sample is read: by class, or by instance.
 */
#ifndef SLUICE_OBJECT_MASKS_H
#define SLUICE_OBJECT_MASKS_H

#include "object_raster.h"
#include "source.h"

/* The argument masks= of sources of images with boxes. */
typedef enum mask_kind { MASKS_NONE, MASKS_SEMANTIC, MASKS_INSTANCE } mask_kind;

/* The texts of mask_kind. */
extern const char *const mask_kind_choices[];

/* Pixels that belong to several objects in a semantic mask, and the largest number in a mask of
 * objects. */
enum { MASK_OVERLAP = 255, MASK_MOST = 254 };

/* The drawing of one worker. It begins as zeros. */
typedef struct object_masks {
    object_raster raster; /* of the object that is drawn */
    image_buffer pixels;
    mask_kind kind;
    uint64_t areas[MASK_MOST + 1]; /* pixels of the instances */
} object_masks;

/* Returns the drawing of this worker; NULL: there is no memory. */
object_masks *object_masks_of(sample_io *io);

/* Begins a mask of a size. E_NO_MEMORY. */
sluice_status object_masks_begin(object_masks *masks, mask_kind kind, uint32_t width,
                                 uint32_t height);

/*
 * Adds the object in the raster, with its number from 1 to MASK_MOST, and clears the raster. Of a
 * semantic mask the number is that of a class; pixels that have an object get MASK_OVERLAP. Of a
 * mask of instances the object with fewer pixels is above the other; of two with as many the later.
 */
void object_masks_add(object_masks *masks, uint32_t number);

/* Returns the mask, borrowed. */
image_view object_masks_view(const object_masks *masks);

#endif
