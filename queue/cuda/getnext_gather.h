/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What GetNext's grid does: thread t of n carries its share of a batch from the slot to the step's
 * tensors, with the bits of sli_convert_image(). Included by getnext.cu, and by whatever runs it on
 * the CPU.
 *
 * The kernel before this one saw the ring's word, and nobody writes the slot until it is released
 * here: so its bytes may come through the cache that is not coherent (__ldg).
 */
#ifndef SLUICE_GETNEXT_GATHER_H
#define SLUICE_GETNEXT_GATHER_H

#if !defined(__CUDACC__)
#include <assert.h>
#include <math.h>
#include <string.h>
#endif

#include "float16_int.h"
#include "getnext_int.h"

/* ---- loads, stores and arithmetic: the same meaning on both sides ---------------------------- */

#if defined(__CUDACC__)
SLI_KERNEL_FN uint8_t gather_load_8(const uint8_t *from)
{
    return __ldg(from);
}

SLI_KERNEL_FN uint16_t gather_load_16(const uint8_t *from)
{
    return __ldg((const uint16_t *)from);
}

SLI_KERNEL_FN float gather_load_f32(const uint8_t *from)
{
    return __ldg((const float *)from);
}

SLI_KERNEL_FN void gather_load_64(const uint8_t *from, uint32_t *words)
{
    const uint2 value = __ldg((const uint2 *)from);

    words[0] = value.x;
    words[1] = value.y;
}

SLI_KERNEL_FN void gather_load_128(const uint8_t *from, uint32_t *words)
{
    const uint4 value = __ldg((const uint4 *)from);

    words[0] = value.x;
    words[1] = value.y;
    words[2] = value.z;
    words[3] = value.w;
}

SLI_KERNEL_FN void gather_store_128(uint8_t *to, const uint32_t *words)
{
    *(uint4 *)to = make_uint4(words[0], words[1], words[2], words[3]);
}
#else
/* A device refuses a vector that is not aligned to its size. */
SLI_KERNEL_FN void gather_move(void *to, const void *from, size_t bytes, const void *in_slot)
{
    assert((uintptr_t)in_slot % bytes == 0);
    (void)in_slot;
    memcpy(to, from, bytes);
}

SLI_KERNEL_FN uint8_t gather_load_8(const uint8_t *from)
{
    return *from;
}

SLI_KERNEL_FN uint16_t gather_load_16(const uint8_t *from)
{
    uint16_t value;

    gather_move(&value, from, sizeof(value), from);
    return value;
}

SLI_KERNEL_FN float gather_load_f32(const uint8_t *from)
{
    float value;

    gather_move(&value, from, sizeof(value), from);
    return value;
}

SLI_KERNEL_FN void gather_load_64(const uint8_t *from, uint32_t *words)
{
    gather_move(words, from, 8, from);
}

SLI_KERNEL_FN void gather_load_128(const uint8_t *from, uint32_t *words)
{
    gather_move(words, from, 16, from);
}

SLI_KERNEL_FN void gather_store_128(uint8_t *to, const uint32_t *words)
{
    gather_move(to, words, 16, to);
}
#endif

SLI_KERNEL_FN float gather_fma(float value, float scale, float bias)
{
#if defined(__CUDA_ARCH__)
    return __fmaf_rn(value, scale, bias);
#else
    return fmaf(value, scale, bias);
#endif
}

/* Two values that are no NaN, rounded; the first is the lower half. */
SLI_KERNEL_FN uint32_t gather_pair_f16(float low, float high)
{
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 800
    uint32_t pair;

    asm("cvt.rn.f16x2.f32 %0, %1, %2;" : "=r"(pair) : "f"(high), "f"(low));
    return pair;
#elif defined(__CUDA_ARCH__)
    uint16_t halves[2];

    asm("cvt.rn.f16.f32 %0, %1;" : "=h"(halves[0]) : "f"(low));
    asm("cvt.rn.f16.f32 %0, %1;" : "=h"(halves[1]) : "f"(high));
    return halves[0] | (uint32_t)halves[1] << 16;
#else
    return sli_f16_of_f32(low) | (uint32_t)sli_f16_of_f32(high) << 16;
#endif
}

SLI_KERNEL_FN uint32_t gather_pair_bf16(float low, float high)
{
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 800
    uint32_t pair;

    asm("cvt.rn.bf16x2.f32 %0, %1, %2;" : "=r"(pair) : "f"(high), "f"(low));
    return pair;
#else
    return sli_bf16_of_f32(low) | (uint32_t)sli_bf16_of_f32(high) << 16;
#endif
}

/* ---- columns that stay as they are ----------------------------------------------------------- */

SLI_KERNEL_FN void gather_bytes(uint8_t *to, const uint8_t *from, uint64_t begin, uint64_t end,
                                uint32_t n)
{
    for (uint64_t i = begin; i < end; i += n) {
        to[i] = gather_load_8(from + i);
    }
}

SLI_KERNEL_FN void gather_column(const sli_gather_copy *copy, const uint8_t *slot, uint32_t t,
                                 uint32_t n)
{
    const uint8_t *from = slot + copy->from;
    uint8_t *to = copy->to;
    uint64_t whole = 0;

    if ((((uintptr_t)from | (uintptr_t)to) & 15) == 0) {
        whole = copy->bytes / 16;
        for (uint64_t i = t; i < whole; i += n) {
            uint32_t words[4];

            gather_load_128(from + 16 * i, words);
            gather_store_128(to + 16 * i, words);
        }
    }
    gather_bytes(to, from, 16 * whole + t, copy->bytes, n);
}

/* ---- the image column ------------------------------------------------------------------------ */

/* Where a thread is: unit `unit` of image `row`. Divides once, not at each of its units. */
typedef struct gather_walk {
    uint32_t row;
    uint32_t unit;
    uint32_t rows_each;
    uint32_t units_each;
} gather_walk;

SLI_KERNEL_FN gather_walk gather_walk_begin(uint32_t units, uint32_t t, uint32_t n)
{
    gather_walk walk;

    walk.row = t / units;
    walk.unit = t % units;
    walk.rows_each = n / units;
    walk.units_each = n % units;
    return walk;
}

SLI_KERNEL_FN void gather_walk_next(gather_walk *walk, uint32_t units)
{
    const uint32_t rest = units - walk->unit;

    walk->row += walk->rows_each;
    if (walk->units_each >= rest) {
        walk->row++;
        walk->unit = walk->units_each - rest;
    } else {
        walk->unit += walk->units_each;
    }
}

/* The unit that stands where this one would, were its line of `line` units read backwards. */
SLI_KERNEL_FN uint32_t gather_mirrored(uint32_t unit, uint32_t line)
{
    return unit + line - 1 - 2 * (unit % line);
}

SLI_KERNEL_FN float gather_load(uint32_t dtype, const uint8_t *in, uint32_t index)
{
    switch (dtype) {
    case SLUICE_U8:
        return gather_load_8(in + index);
    case SLUICE_U16:
        return gather_load_16(in + 2 * (uint64_t)index);
    case SLUICE_F16:
        return sli_f32_of_f16(gather_load_16(in + 2 * (uint64_t)index));
    case SLUICE_BF16:
        return sli_f32_of_bf16(gather_load_16(in + 2 * (uint64_t)index));
    default:
        return gather_load_f32(in + 4 * (uint64_t)index);
    }
}

SLI_KERNEL_FN void gather_store(uint32_t dtype, uint8_t *out, uint32_t index, float value)
{
    switch (dtype) {
    case SLUICE_U8:
        out[index] = (uint8_t)value;
        break;
    case SLUICE_U16:
        ((uint16_t *)out)[index] = (uint16_t)value;
        break;
    case SLUICE_F16:
        ((uint16_t *)out)[index] = sli_f16_of_f32(value);
        break;
    case SLUICE_BF16:
        ((uint16_t *)out)[index] = sli_bf16_of_f32(value);
        break;
    default:
        ((float *)out)[index] = value;
        break;
    }
}

/* scale and bias are finite. What is no number differs between processors, so it is made here, as
 * x86-64 makes it: a NaN goes through, quiet; infinity times 0 is the negative one. */
SLI_KERNEL_FN float gather_affine(float value, float scale, float bias)
{
    const float result = gather_fma(value, scale, bias);

    if (result == result) {
        return result;
    }
    return sli_f32_of_bits(value != value ? sli_f32_bits(value) | 0x400000 : 0xFFC00000);
}

/* Any types, layouts and widths: a pixel at a time. */
SLI_KERNEL_FN void gather_any(const sli_gather *g, const uint8_t *slot, uint32_t t, uint32_t n)
{
    const sli_gather_image *image = &g->image;
    const uint32_t pixels = image->pixels;
    const uint32_t channels = image->channels;
    gather_walk walk = gather_walk_begin(pixels, t, n);

    for (; walk.row < g->batch_size; gather_walk_next(&walk, pixels)) {
        const uint8_t *in = slot + image->from + walk.row * image->from_bytes;
        uint8_t *out = image->to + walk.row * image->to_bytes;
        const uint8_t flags = gather_load_8(slot + g->row_flags + walk.row);
        const uint32_t pixel = image->flip != 0 && (flags & SLI_ROW_FLIP) != 0
                                   ? gather_mirrored(walk.unit, image->width)
                                   : walk.unit;

        for (uint32_t c = 0; c < channels; c++) {
            const uint32_t from = image->from_chw != 0 ? c * pixels + pixel : pixel * channels + c;
            const uint32_t to =
                image->to_chw != 0 ? c * pixels + walk.unit : walk.unit * channels + c;
            float value = 0;

            if ((flags & SLI_ROW_ZERO) == 0) {
                value = gather_load(image->from_dtype, in, from);
                value = image->affine != 0 ? gather_affine(value, image->scale[c], image->bias[c])
                                           : value;
            }
            gather_store(image->to_dtype, out, to, value);
        }
    }
}

/* Eight values of a plane, at 8 * unit of it. */
SLI_KERNEL_FN void gather_store_plane(sli_gather_path path, uint8_t *plane, uint32_t unit,
                                      const float *v)
{
    uint32_t words[4];

    if (path == SLI_GATHER_PLANES_F32) {
        SLI_UNROLL
        for (int half = 0; half < 2; half++) {
            SLI_UNROLL
            for (int i = 0; i < 4; i++) {
                words[i] = sli_f32_bits(v[4 * half + i]);
            }
            gather_store_128(plane + 32 * (uint64_t)unit + 16 * half, words);
        }
        return;
    }
    SLI_UNROLL
    for (int i = 0; i < 4; i++) {
        words[i] = path == SLI_GATHER_PLANES_F16 ? gather_pair_f16(v[2 * i], v[2 * i + 1])
                                                 : gather_pair_bf16(v[2 * i], v[2 * i + 1]);
    }
    gather_store_128(plane + 16 * (uint64_t)unit, words);
}

/* Channel c of eight pixels, which are 24 bytes in six words; no pixels: zeros. */
SLI_KERNEL_FN void gather_channel(const uint32_t *words, int c, bool zero, bool mirrored,
                                  float scale, float bias, float *v)
{
    SLI_UNROLL
    for (int i = 0; i < 8; i++) {
        const int at = 3 * i + c;
        const uint32_t byte = words[at / 4] >> 8 * (at % 4) & 0xFF;

        v[i] = zero ? 0 : gather_fma((float)byte, scale, bias);
    }
    SLI_UNROLL
    for (int i = 0; i < 4; i++) {
        const float left = v[i];

        v[i] = mirrored ? v[7 - i] : left;
        v[7 - i] = mirrored ? left : v[7 - i];
    }
}

/* (H, W, 3) u8 to (3, H, W), W a multiple of 8: eight pixels at a time. Without a normalisation
 * scale is 1 and bias 0, which changes no byte's value. */
SLI_KERNEL_FN void gather_planes(const sli_gather *g, const uint8_t *slot, uint32_t t, uint32_t n,
                                 sli_gather_path path)
{
    const sli_gather_image *image = &g->image;
    const uint32_t units = image->pixels / 8;
    const uint64_t plane_bytes = image->to_bytes / 3;
    gather_walk walk = gather_walk_begin(units, t, n);

    for (; walk.row < g->batch_size; gather_walk_next(&walk, units)) {
        const uint8_t *in = slot + image->from + walk.row * image->from_bytes;
        uint8_t *out = image->to + walk.row * image->to_bytes;
        const uint8_t flags = gather_load_8(slot + g->row_flags + walk.row);
        const bool zero = (flags & SLI_ROW_ZERO) != 0;
        const bool mirrored = image->flip != 0 && (flags & SLI_ROW_FLIP) != 0;
        const uint32_t unit = mirrored ? gather_mirrored(walk.unit, image->width / 8) : walk.unit;
        uint32_t words[6];

        SLI_UNROLL
        for (int i = 0; i < 3; i++) {
            gather_load_64(in + 24 * (uint64_t)unit + 8 * i, words + 2 * i);
        }
        SLI_UNROLL
        for (int c = 0; c < 3; c++) {
            float v[8];

            gather_channel(words, c, zero, mirrored, image->scale[c], image->bias[c], v);
            gather_store_plane(path, out + (uint64_t)c * plane_bytes, walk.unit, v);
        }
    }
}

/* ---- a batch --------------------------------------------------------------------------------- */

/* The slot to gather; NULL when the launch has ended, in a graph without a loop. */
SLI_KERNEL_FN const uint8_t *gather_slot(const sli_getnext *getnext)
{
    const sli_getnext_state *s = getnext->state;

    if (s->end != SLI_GETNEXT_GOES_ON) {
        return NULL;
    }
    return getnext->slots + sli_ring_slot(&getnext->ring, s->seq) * getnext->slot_bytes;
}

/* What thread t of n does. path is a constant where it is called, so each kernel holds one. */
SLI_KERNEL_FN void gather_thread(const sli_gather *g, const uint8_t *slot, uint32_t t, uint32_t n,
                                 sli_gather_path path)
{
    for (uint32_t i = 0; i < g->copy_count; i++) {
        gather_column(&g->copies[i], slot, t, n);
    }
    if (path == SLI_GATHER_ANY) {
        gather_any(g, slot, t, n);
    } else if (path != SLI_GATHER_COPY) {
        gather_planes(g, slot, t, n, path);
    }
}

/*
 * One thread of each block, once the block has read all it reads: the last of `blocks` releases the
 * slot, before the step runs, and is told so. The counter goes back to 0 for the next batch.
 */
SLI_KERNEL_FN bool gather_block_done(const sli_getnext *getnext, uint32_t blocks)
{
    sli_getnext_state *s = getnext->state;
    bool last;

    /* Each vote is released to the next, so the last one has every block's reads before it. */
#if defined(__CUDA_ARCH__)
    __threadfence();
    last = atomicInc(&s->votes, blocks - 1) == blocks - 1;
    if (last) {
        __threadfence_system(); /* only here: it waits for all that is under way to the host */
    }
#else
    last = __atomic_add_fetch(&s->votes, 1, __ATOMIC_ACQ_REL) == blocks;
    if (last) {
        __atomic_store_n(&s->votes, 0, __ATOMIC_RELAXED);
    }
#endif
    if (last) {
        sli_ring_release(&getnext->ring, s->seq);
    }
    return last;
}

#endif
