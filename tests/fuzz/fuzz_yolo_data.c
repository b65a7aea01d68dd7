/* SPDX-License-Identifier: Apache-2.0 */
/* Fuzz target: any bytes as data.yaml of a set of YOLO. libyaml is not instrumented, so that a
 * fuzzer sees the branches of our reader of its events only. */
#include <string.h>

#include "fuzz_target.h"
#include "yolo_data.h"

static void check_texts(const image_files *files)
{
    for (size_t i = 0; i < files->count; i++) {
        if (files->files[i] >= files->names_size || files->names[files->files[i]] == '\0') {
            fuzz_fail("a path without a text");
        }
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    yolo_data described = {.nc = 0};
    box_set set = {.max_boxes = 3};
    const sluice_status st =
        yolo_data_read((const char *)data, size, size % 3 == 0 ? NULL : "train", &described, &set);

    if (st == SLUICE_OK) {
        check_texts(&described.folder);
        check_texts(&described.images);
        if (size % 3 != 0 && described.images.count == 0) {
            fuzz_fail("a split without images");
        }
        for (size_t i = 0; i < set.class_count; i++) {
            if (set.classes[i] >= set.names_size || strlen(set.names + set.classes[i]) == 0) {
                fuzz_fail("a class without a name");
            }
        }
        if (described.nc > 0 && set.class_count > 0 && set.class_count != described.nc) {
            fuzz_fail("another number of names");
        }
    }
    yolo_data_free(&described);
    box_set_free(&set);
    return 0;
}
