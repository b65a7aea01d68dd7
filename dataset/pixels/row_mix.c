/* SPDX-License-Identifier: Apache-2.0 */
#include "row_mix.h"

#include <assert.h>
#include <math.h>
#include <string.h>

#include "cpu_int.h"
#include "mix_kernels.h"
#include "tensor_int.h"

/* How a pair of rows is mixed: sets `own`, of which `other` is the partner. */
typedef struct pair_mix {
    size_t bytes; /* of a row */
    float share;
    float rest;
    const mix_kernels *kernels;
    const sluice_column *type;
    bool is_chw;
    const mix_box *box; /* NULL: the rows are blended */
} pair_mix;

bool mix_can_blend(sluice_dtype dtype)
{
    return dtype == SLUICE_U8 || dtype == SLUICE_F32 || dtype == SLUICE_F16 || dtype == SLUICE_BF16;
}

static void blend_pair(const pair_mix *mix, uint8_t *own, const uint8_t *other)
{
    const size_t count = mix->bytes / sluice_dtype_size(mix->type->dtype);
    void *const to = own;
    const void *const from = other;

    switch (mix->type->dtype) {
    case SLUICE_F32:
        mix->kernels->blend_f32(to, from, mix->share, mix->rest, count);
        break;
    case SLUICE_F16:
        mix->kernels->blend_f16(to, from, mix->share, mix->rest, count);
        break;
    case SLUICE_BF16:
        mix->kernels->blend_bf16(to, from, mix->share, mix->rest, count);
        break;
    default:
        assert(mix->type->dtype == SLUICE_U8);
        mix->kernels->blend_u8(to, from, mix->share, mix->rest, count);
        break;
    }
}

static void paste_pair(const pair_mix *mix, uint8_t *own, const uint8_t *other)
{
    const uint64_t *shape = mix->type->shape;
    const uint64_t planes = mix->is_chw ? shape[0] : 1;
    const uint64_t height = shape[mix->is_chw ? 1 : 0];
    const uint64_t width = shape[mix->is_chw ? 2 : 1];
    const size_t pixel = sluice_dtype_size(mix->type->dtype) * (mix->is_chw ? 1 : shape[2]);
    const size_t bytes = (mix->box->x1 - mix->box->x0) * pixel;

    for (uint64_t c = 0; c < planes; c++) {
        for (uint64_t y = mix->box->y0; y < mix->box->y1; y++) {
            const size_t at = ((c * height + y) * width + mix->box->x0) * pixel;

            memcpy(own + at, other + at, bytes);
        }
    }
}

static void mix_pair(const pair_mix *mix, uint8_t *own, const uint8_t *other)
{
    if (mix->box == NULL) {
        blend_pair(mix, own, other);
    } else {
        paste_pair(mix, own, other);
    }
}

/* Mixes from the last row to the first, so that each row's partner is not mixed yet. */
static void mix_pairs(const mix_rows *rows, const pair_mix *mix)
{
    uint32_t i = rows->count - 1;

    memcpy(rows->saved, rows->data + rows->rows[i] * mix->bytes, mix->bytes);
    for (; i > 0; i--) {
        mix_pair(mix, rows->data + rows->rows[i] * mix->bytes,
                 rows->data + rows->rows[i - 1] * mix->bytes);
    }
    mix_pair(mix, rows->data + rows->rows[0] * mix->bytes, rows->saved);
}

static size_t row_bytes(const mix_rows *rows)
{
    size_t bytes = 0;
    const bool fits = sli_column_bytes(rows->type, &bytes);

    assert(fits);
    (void)fits;
    return bytes;
}

void mix_blend(const mix_rows *rows, double lambda)
{
    const pair_mix mix = {.bytes = row_bytes(rows),
                          .share = (float)lambda,
                          .rest = (float)(1 - lambda),
                          .kernels = SLI_CHOOSE(sli_mix_kernels),
                          .type = rows->type};

    mix_pairs(rows, &mix);
}

void mix_paste(const mix_rows *rows, bool is_chw, const mix_box *box)
{
    const pair_mix mix = {
        .bytes = row_bytes(rows), .type = rows->type, .is_chw = is_chw, .box = box};

    mix_pairs(rows, &mix);
}

/* Sets the ends of the box in one dimension, of `length` pixels. */
static void set_ends(uint32_t centre, uint32_t half, uint32_t length, uint32_t *low, uint32_t *high)
{
    *low = centre > half ? centre - half : 0;
    *high = length - centre > half ? centre + half : length;
}

mix_box mix_box_around(uint32_t x, uint32_t y, double lambda, uint32_t width, uint32_t height)
{
    const double half = 0.5 * sqrt(1 - lambda);
    mix_box box;

    set_ends(x, (uint32_t)(half * width), width, &box.x0, &box.x1);
    set_ends(y, (uint32_t)(half * height), height, &box.y0, &box.y1);
    return box;
}

double mix_share_beside(const mix_box *box, uint32_t width, uint32_t height)
{
    const double area = (double)(box->x1 - box->x0) * (box->y1 - box->y0);

    return 1 - area / ((double)width * height);
}
