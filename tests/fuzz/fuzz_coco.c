/* SPDX-License-Identifier: Apache-2.0 */
/* Fuzz target: any bytes as a file of COCO's annotations. */
#include <string.h>
#include <unistd.h>

#include "coco_file.h"
#include "fuzz_file.h"
#include "fuzz_target.h"

enum { MOST = 3 };

static void check_image(const box_set *set, const box_image *image)
{
    if (image->count > MOST || image->first + image->count > set->box_count) {
        fuzz_fail("boxes that are not there");
    }
    if (image->name >= set->names_size || set->names[image->name] == '\0') {
        fuzz_fail("an image without a file");
    }
    for (size_t i = image->first; i < image->first + image->count; i++) {
        const set_box *box = &set->boxes[i];

        if (!(box->corners[0] > -1e31F && box->corners[0] < box->corners[2] &&
              box->corners[1] > -1e31F && box->corners[1] < box->corners[3] &&
              box->corners[2] > 0 && box->corners[2] < 1e31F && box->corners[3] > 0 &&
              box->corners[3] < 1e31F)) {
            fuzz_fail("a box without an area");
        }
        if (box->label < 0 || (size_t)box->label >= set->class_count) {
            fuzz_fail("a class that is none");
        }
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const coco_options options = {.keep_crowds = size % 2 == 0,
                                  .has_shapes = size % 3 == 0,
                                  .max_boxes = MOST,
                                  .points = size % 5 == 0 ? 2 : 0};
    const int fd = fuzz_file(data, size);
    box_set set;
    coco_found found;
    size_t boxes = 0;

    if (lseek(fd, 0, SEEK_SET) != 0 || coco_file_read(fd, &options, &set, &found) != SLUICE_OK) {
        return 0;
    }
    for (size_t i = 0; i < set.image_count; i++) {
        check_image(&set, &set.images[i]);
        boxes += set.images[i].count;
    }
    for (size_t i = 0; i < set.class_count; i++) {
        if (set.classes[i] >= set.names_size || strlen(set.names + set.classes[i]) == 0) {
            fuzz_fail("a class without a name");
        }
    }
    if (boxes != set.box_count) {
        fuzz_fail("boxes of no image");
    }
    box_set_free(&set);
    return 0;
}
