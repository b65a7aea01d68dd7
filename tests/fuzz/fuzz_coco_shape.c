/* SPDX-License-Identifier: Apache-2.0 */
/* Fuzz target: any bytes as the segmentation of an annotation of COCO. The first two bytes are the
 * size of the image. */
#include <string.h>

#include "coco_shape.h"
#include "fuzz_target.h"

/* Pixels must be 0 or 1, and 0 beside the columns that have pixels. */
static void check_pixels(const object_raster *raster)
{
    uint64_t area = 0;

    for (size_t i = 0; i < (size_t)raster->width * raster->height; i++) {
        const size_t column = i / raster->height;
        const uint8_t pixel = raster->covered.data[i];

        if (pixel > 1 || (pixel == 1 && (column < raster->first || column >= raster->end))) {
            fuzz_fail("a pixel that the raster does not have");
        }
        if (raster->crossings.data[i] != 0) {
            fuzz_fail("a crossing of no polygon");
        }
        area += pixel;
    }
    if (area != raster_area(raster)) {
        fuzz_fail("another number of pixels");
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    object_raster raster = {.width = 0};

    if (size < 2 || raster_begin(&raster, data[0] % 64 + 1, data[1] % 64 + 1) != SLUICE_OK) {
        return 0;
    }
    if (coco_shape_add(&raster, (const char *)data + 2, size - 2) == SLUICE_OK) {
        check_pixels(&raster);
    }
    raster_clear(&raster);
    check_pixels(&raster);
    if (raster_area(&raster) != 0) {
        fuzz_fail("pixels of the last object");
    }
    raster_free(&raster);
    return 0;
}
