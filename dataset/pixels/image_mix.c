/* SPDX-License-Identifier: Apache-2.0 */
#include "image_mix.h"

#include "thread_interrupt_int.h"

#include <string.h>

/* ---- memory ---------------------------------------------------------------------------------- */

sluice_status mix_reserve(mix_buffers *buffers, const color_chain *chain, uint32_t channels)
{
    const size_t values = (size_t)chain->width * chain->height * channels;
    size_t line_bytes = 0;
    sluice_status st = SLUICE_OK;

    if (chain->mix_count == 0) {
        return SLUICE_OK;
    }
    for (uint32_t i = 0; i < chain->mix_count; i++) {
        for (uint32_t k = 0; k < chain->mixes[i].count; k++) {
            const size_t bytes = color_line_bytes(&chain->mixes[i].chains[k], channels);

            line_bytes = bytes > line_bytes ? bytes : line_bytes;
        }
    }
    st = image_buffer_reserve(&buffers->sums, values * sizeof(float));
    for (uint32_t i = 0; i < 2 && st == SLUICE_OK; i++) {
        st = image_buffer_reserve(&buffers->copies[i], values);
    }
    return st == SLUICE_OK ? image_buffer_reserve(&buffers->memory, line_bytes) : st;
}

void mix_free(mix_buffers *buffers)
{
    image_buffer_free(&buffers->sums);
    image_buffer_free(&buffers->copies[0]);
    image_buffer_free(&buffers->copies[1]);
    image_buffer_free(&buffers->memory);
}

/* ---- one copy -------------------------------------------------------------------------------- */

static size_t line_size(const image_view *image)
{
    return (size_t)image->width * image->channels;
}

/* Turns an operation that needs statistics into a table. */
static void settle(color_chain *chain, uint32_t number, const image_view *copy)
{
    color_statistics statistics;

    memset(&statistics, 0, sizeof(statistics));
    for (uint32_t y = 0; y < copy->height; y++) {
        color_count(&chain->operations[number], copy->pixels + y * copy->stride, copy->width,
                    copy->channels, &statistics);
    }
    color_settle(chain, number, &statistics);
}

/* Applies a chain to the image; returns the buffer with the copy. */
static const uint8_t *make_copy(mix_buffers *buffers, color_chain *chain, const image_view *image)
{
    image_view from = *image;
    uint32_t next = color_next_whole(chain, 0);
    uint32_t number = 0;
    uint8_t *to = buffers->copies[0].data;

    for (uint32_t y = 0; y < image->height; y++) {
        color_apply(chain, 0, next, y, image->pixels + y * image->stride, to + y * line_size(image),
                    image->width, image->channels);
    }
    from.stride = line_size(image);
    while (next < chain->count) {
        const bool moves = color_needs_pixels(&chain->operations[next]);

        from.pixels = to;
        number = next;
        if (moves) {
            to = to == buffers->copies[0].data ? buffers->copies[1].data : buffers->copies[0].data;
        } else {
            settle(chain, number, &from);
        }
        next = color_next_whole(chain, number + 1);
        for (uint32_t y = 0; y < image->height && !sli_is_interrupted_at(y); y++) {
            uint8_t *line = to + y * line_size(image);

            if (moves) {
                color_line(&chain->operations[number], &from, y, buffers->memory.data, line);
            }
            color_apply(chain, moves ? number + 1 : number, next, y, line, line, image->width,
                        image->channels);
        }
    }
    return to;
}

/* ---- the sum --------------------------------------------------------------------------------- */

void mix_run(mix_buffers *buffers, color_mix *mix, const image_view *image)
{
    float *sums = (float *)(void *)buffers->sums.data;
    const size_t size = line_size(image);

    for (uint32_t y = 0; y < image->height; y++) {
        const uint8_t *line = image->pixels + y * image->stride;

        for (size_t i = 0; i < size; i++) {
            sums[y * size + i] = mix->share * (float)line[i];
        }
    }
    for (uint32_t k = 0; k < mix->count; k++) {
        const uint8_t *copy = make_copy(buffers, &mix->chains[k], image);
        const float weight = mix->weights[k];

        for (size_t i = 0; i < size * image->height; i++) {
            sums[i] += weight * (float)copy[i];
        }
    }
}

void mix_line(const mix_buffers *buffers, const image_view *image, uint32_t y, uint8_t *to)
{
    const size_t size = line_size(image);
    const float *sums = (const float *)(const void *)buffers->sums.data + y * size;

    for (size_t i = 0; i < size; i++) {
        to[i] = (uint8_t)(int32_t)(sums[i] > 255 ? 255 : sums[i]);
    }
}
