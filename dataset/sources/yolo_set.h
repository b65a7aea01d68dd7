/* SPDX-License-Identifier: Apache-2.0 */
/* Reads the label files of images into a box_set. */
#ifndef SLUICE_YOLO_SET_H
#define SLUICE_YOLO_SET_H

#include "box_source.h"
#include "image_files.h"
#include "yolo_labels.h"

/* Limit on the bytes of a label file. */
enum { YOLO_LABELS_MOST = 1 << 24 };

/*
 * Adds the images, whose paths are relative to the source's folder, with the boxes of their label
 * files. The label file of an image has its path, with the last folder `images` replaced by
 * `labels`, and the extension .txt. An image without a label file has no boxes. The classes, if
 * they have names, were added before; else their numbers become their names. `about` is the path of
 * the set, for what is logged. E_INVALID: there are no images, or none has a label file; E_CORRUPT:
 * all images are bad; also E_IO and E_NO_MEMORY.
 */
sluice_status yolo_set_read(box_source *source, const image_files *images, yolo_labels *labels,
                            const char *about);

/* Writes the path of an image's label file. False: it has no room. */
bool yolo_label_path(const char *image, char *path, size_t size);

#endif
