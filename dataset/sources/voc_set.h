/* SPDX-License-Identifier: Apache-2.0 */
/* Reads a set in the layout of PASCAL VOC into a box_set. */
#ifndef SLUICE_VOC_SET_H
#define SLUICE_VOC_SET_H

#include "box_source.h"

typedef struct voc_options {
    const char *dir;   /* path of the set, for what is logged */
    const char *split; /* "": all images with annotations */
    const char *names; /* the classes, with commas; "": classes.txt, or all names that occur */
    bool has_masks;    /* the split is one of ImageSets/Segmentation, else of ImageSets/Main */
    bool keeps_difficult;
} voc_options;

/*
 * Adds the images of a split of the source's folder with their boxes. E_INVALID: there are no
 * images, or no such split; E_CORRUPT: a line of the split is wrong, or all images are bad;
 * E_UNSUPPORTED: the build has no expat, or it cannot be loaded; also E_IO and E_NO_MEMORY.
 */
sluice_status voc_set_read(box_source *source, const voc_options *options);

#endif
