/* SPDX-License-Identifier: Apache-2.0 */
/* The images of a split, by the layout of a folder or by an entry of data.yaml. */
#ifndef SLUICE_YOLO_IMAGES_H
#define SLUICE_YOLO_IMAGES_H

#include "image_files.h"

/* Returns E_INVALID: split= is missing. `path` is the folder of the set, or its data.yaml; `splits`
 * are those that it has, such as "train, val", or "". */
sluice_status yolo_fail_splits(const char *path, const char *splits);

/*
 * Adds the images of a split of the folder `dir`, open as root_fd: those in images/SPLIT or
 * SPLIT/images; of split "" those in images. E_INVALID: there is no such folder, or it has no
 * images, or split is "" and the set has splits. Also returns errors of image_files_find().
 */
sluice_status yolo_images_of_split(int root_fd, const char *dir, const char *split,
                                   image_files *images);

/*
 * Adds the images of an entry of data.yaml: a folder, or a list of images with a path on each line,
 * relative to the folder of the list. A path that does not exist and begins with ../ is looked for
 * in root_fd, as Ultralytics does. E_CORRUPT: a line has a path that leads out of the folder of its
 * list, or is too long; E_INVALID: there are no images; E_IO.
 */
sluice_status yolo_images_of_entry(int root_fd, const char *entry, image_files *images);

#endif
