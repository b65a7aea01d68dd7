/* SPDX-License-Identifier: Apache-2.0 */
#include "object_masks.h"

#include <string.h>

#include "alloc_int.h"

const char *const mask_kind_choices[] = {"none", "semantic", "instance", NULL};

static void free_masks(void *opaque)
{
    object_masks *masks = opaque;

    raster_free(&masks->raster);
    image_buffer_free(&masks->pixels);
    sli_free(masks);
}

object_masks *object_masks_of(sample_io *io)
{
    if (io->state == NULL) {
        io->state = sli_calloc(1, sizeof(object_masks));
        io->state_free = free_masks;
    }
    return io->state;
}

sluice_status object_masks_begin(object_masks *masks, mask_kind kind, uint32_t width,
                                 uint32_t height)
{
    const size_t pixels = (size_t)width * height;
    sluice_status st = raster_begin(&masks->raster, width, height);

    if (st == SLUICE_OK) {
        st = image_buffer_reserve(&masks->pixels, pixels);
    }
    if (st == SLUICE_OK) {
        memset(masks->pixels.data, 0, pixels);
        memset(masks->areas, 0, sizeof(masks->areas));
        masks->kind = kind;
    }
    return st;
}

void object_masks_add(object_masks *masks, uint32_t number)
{
    object_raster *raster = &masks->raster;
    const uint64_t area = raster_area(raster);
    const bool is_semantic = masks->kind == MASKS_SEMANTIC;

    for (uint32_t x = raster->first; x < raster->end; x++) {
        const uint8_t *column = raster->covered.data + (size_t)x * raster->height;
        uint8_t *pixel = masks->pixels.data + x;

        for (uint32_t y = 0; y < raster->height; y++, pixel += raster->width) {
            if (column[y] == 0) {
                continue;
            }
            if (*pixel == 0 || (!is_semantic && masks->areas[*pixel] >= area)) {
                *pixel = (uint8_t)number;
            } else if (is_semantic) {
                *pixel = MASK_OVERLAP;
            }
        }
    }
    masks->areas[number] = area;
    raster_clear(raster);
}

image_view object_masks_view(const object_masks *masks)
{
    const object_raster *raster = &masks->raster;

    return (image_view){
        masks->pixels.data, raster->width, raster->width, raster->height, 1, IMAGE_U8};
}
