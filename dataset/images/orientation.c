/* SPDX-License-Identifier: Apache-2.0 */
#include "orientation.h"

#include <assert.h>
#include <string.h>

#include "cpu_int.h"
#include "exif.h"
#include "flip_rgb_int.h"
#include "thread_interrupt_int.h"

/* Sides of the blocks in which axes are exchanged: 16 lines of 16 pixels stay in the first cache.
 */
enum { BLOCK = 16 };

orientation_axes orientation_axes_of(uint32_t orientation)
{
    assert(orientation >= 1 && orientation <= 8);
    return (orientation_axes){
        .mirrors_x = orientation == 2 || orientation == 3 || orientation == 7 || orientation == 8,
        .mirrors_y = orientation == 3 || orientation == 4 || orientation == 6 || orientation == 7,
        .exchanges = exif_exchanges_sides(orientation),
    };
}

image_box orientation_stored_box(uint32_t orientation, const image_box *upright,
                                 uint32_t stored_width, uint32_t stored_height)
{
    const orientation_axes axes = orientation_axes_of(orientation);
    image_box box = axes.exchanges
                        ? (image_box){upright->y, upright->x, upright->height, upright->width}
                        : *upright;

    box.x = axes.mirrors_x ? stored_width - (box.x + box.width) : box.x;
    box.y = axes.mirrors_y ? stored_height - (box.y + box.height) : box.y;
    return box;
}

void orientation_point(uint32_t orientation, double stored_width, double stored_height,
                       const double from[2], double to[2])
{
    const orientation_axes axes = orientation_axes_of(orientation);
    const double x = axes.mirrors_x ? stored_width - from[0] : from[0];
    const double y = axes.mirrors_y ? stored_height - from[1] : from[1];

    to[0] = axes.exchanges ? y : x;
    to[1] = axes.exchanges ? x : y;
}

/* The stored image, as the upright one reads it. */
typedef struct upright_pixels {
    const uint8_t *first; /* upright pixel (0, 0) */
    ptrdiff_t across;     /* bytes to the next pixel of an upright line */
    ptrdiff_t down;       /* bytes to the next upright line */
} upright_pixels;

static upright_pixels upright_of(const orientation_axes *axes, const image_view *stored)
{
    const ptrdiff_t size = (ptrdiff_t)image_pixel_bytes(stored);
    const ptrdiff_t pixel = axes->mirrors_x ? -size : size;
    const ptrdiff_t line = axes->mirrors_y ? -(ptrdiff_t)stored->stride : (ptrdiff_t)stored->stride;
    const size_t x = axes->mirrors_x ? stored->width - 1 : 0;
    const size_t y = axes->mirrors_y ? stored->height - 1 : 0;

    return (upright_pixels){stored->pixels + y * stored->stride + x * (size_t)size,
                            axes->exchanges ? line : pixel, axes->exchanges ? pixel : line};
}

/* Copies pixels of this size, `step` bytes apart, to consecutive ones. */
static inline __attribute__((always_inline)) void
copy_pixels(const uint8_t *from, ptrdiff_t step, uint8_t *to, uint32_t count, size_t size)
{
    for (uint32_t i = 0; i < count; i++) {
        memcpy(to + i * size, from + (ptrdiff_t)i * step, size);
    }
}

/* The same for pixels of three bytes. Each is moved as four: the next one overwrites the fourth
 * byte, and may be read past the end of a line (IMAGE_SLACK). */
static void copy_rgb(const uint8_t *from, ptrdiff_t step, uint8_t *to, uint32_t count)
{
    uint32_t i = 0;

    for (; i + 1 < count; i++) {
        memcpy(to + (size_t)i * 3, from + (ptrdiff_t)i * step, 4);
    }
    memcpy(to + (size_t)i * 3, from + (ptrdiff_t)i * step, 3);
}

/* Copies `count` pixels of an upright line; of the common sizes by code of that size. */
static void copy_part(const upright_pixels *from, uint32_t x, uint32_t y, uint8_t *to,
                      uint32_t count, size_t size)
{
    const uint8_t *first = from->first + x * from->across + y * from->down;

    if (from->across == (ptrdiff_t)size) {
        memcpy(to, first, count * size);
    } else if (size == 3 && from->across == -3) {
        SLI_CHOOSE(sli_flip_rgb)(first - (size_t)(count - 1) * 3, to, count);
    } else if (size == 3) {
        copy_rgb(first, from->across, to, count);
    } else if (size == 1) {
        copy_pixels(first, from->across, to, count, 1);
    } else {
        copy_pixels(first, from->across, to, count, size);
    }
}

/* Copies an upright image of whole lines of blocks. */
static void copy_blocks(const upright_pixels *from, uint32_t block, const image_view *to,
                        uint8_t *pixels)
{
    const size_t size = image_pixel_bytes(to);

    for (uint32_t top = 0; top < to->height && !sli_is_interrupted_at(top); top += BLOCK) {
        const uint32_t end = to->height - top < BLOCK ? to->height : top + BLOCK;

        for (uint32_t x = 0; x < to->width; x += block) {
            const uint32_t count = to->width - x < block ? to->width - x : block;

            for (uint32_t y = top; y < end; y++) {
                copy_part(from, x, y, pixels + y * to->stride + x * size, count, size);
            }
        }
    }
}

sluice_status orientation_apply(uint32_t orientation, const image_view *stored, image_buffer *to,
                                image_view *upright_out)
{
    const orientation_axes axes = orientation_axes_of(orientation);
    const upright_pixels from = upright_of(&axes, stored);
    image_view upright = {.width = axes.exchanges ? stored->height : stored->width,
                          .height = axes.exchanges ? stored->width : stored->height,
                          .channels = stored->channels,
                          .element = stored->element};
    sluice_status st;

    upright.stride = upright.width * image_pixel_bytes(&upright);
    st = image_buffer_reserve(to, upright.stride * upright.height);
    if (st != SLUICE_OK) {
        return st;
    }
    upright.pixels = to->data;
    copy_blocks(&from, axes.exchanges ? BLOCK : upright.width, &upright, to->data);
    *upright_out = upright;
    return sli_is_interrupted() ? SLUICE_CLOSED : SLUICE_OK;
}
