/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The work of GetNext's grid: thread t of n converts its share of a batch from the slot into the
 * step's tensors, bit-identical to sli_convert_image(). Included by getnext.cu, and by tests that
 * run it on the CPU.
 *
 * The preceding kernel has read the batch's ready word, and no thread writes the slot until it is
 * released here. The loads may therefore use the non-coherent cache (__ldg).
 */
#ifndef SLUICE_GETNEXT_GATHER_H
#define SLUICE_GETNEXT_GATHER_H

#include "gather_access.h"
#include "gather_mixes.h"
#include "gather_programs.h"
#include "gather_values.h"
#include "getnext_int.h"

/* ---- unchanged columns ----------------------------------------------------------------------- */

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

/* Converts any types, layouts and widths, pixel by pixel. */
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
                                   ? gather_flipped(walk.unit, image->width)
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

/* Byte `at` of `words`, as a float. */
SLI_KERNEL_FN float gather_byte(const uint32_t *words, uint32_t at)
{
    return (float)(words[at / 4] >> 8 * (at % 4) & 0xFF);
}

/* Converts channel c of a unit of pixels, three bytes each in `words`; zeros if `zero`. */
SLI_KERNEL_FN void gather_channel(const uint32_t *words, uint32_t unit, uint32_t c, bool zero,
                                  bool flipped, float scale, float bias, float *v)
{
    SLI_UNROLL
    for (uint32_t i = 0; i < unit; i++) {
        v[i] = zero ? 0 : gather_fma(gather_byte(words, 3 * i + c), scale, bias);
    }
    SLI_UNROLL
    for (uint32_t i = 0; i < unit / 2; i++) {
        const float left = v[i];

        v[i] = flipped ? v[unit - 1 - i] : left;
        v[unit - 1 - i] = flipped ? left : v[unit - 1 - i];
    }
}

/*
 * Converts (H, W, 3) u8 to (3, H, W), one unit of pixels at a time, with one store per plane.
 * Without normalisation scale is 1 and bias 0, which keep every byte's value.
 */
SLI_KERNEL_FN void gather_planes(const sli_gather *g, const uint8_t *slot, uint32_t t, uint32_t n,
                                 uint32_t unit, sluice_dtype dtype)
{
    const sli_gather_image *image = &g->image;
    const uint32_t units = image->pixels / unit;
    const uint64_t plane_bytes = image->to_bytes / 3;
    gather_walk walk = gather_walk_begin(units, t, n);

    for (; walk.row < g->batch_size; gather_walk_next(&walk, units)) {
        const uint8_t *in = slot + image->from + walk.row * image->from_bytes;
        uint8_t *out = image->to + walk.row * image->to_bytes;
        const uint8_t flags = gather_load_8(slot + g->row_flags + walk.row);
        const bool zero = (flags & SLI_ROW_ZERO) != 0;
        const bool flipped = image->flip != 0 && (flags & SLI_ROW_FLIP) != 0;
        const uint32_t from = flipped ? gather_flipped(walk.unit, image->width / unit) : walk.unit;
        uint32_t words[6];

        gather_load_pixels(in + 3 * unit * (uint64_t)from, unit, words);
        SLI_UNROLL
        for (uint32_t c = 0; c < 3; c++) {
            float v[8];

            gather_channel(words, unit, c, zero, flipped, image->scale[c], image->bias[c], v);
            gather_store_unit(dtype, out + c * plane_bytes + 16 * (uint64_t)walk.unit, v);
        }
    }
}

/*
 * Loads the unit of values at index `at` of a flipped line; its first value is channel `phase`. The
 * unit is within four input pixels, which end at the flipped position of the unit's first pixel.
 * Their 12 bytes are loaded as aligned words. Near the beginning of a line some loaded bytes
 * precede the line; they are within the slot and are not used.
 */
SLI_KERNEL_FN void gather_load_flipped(const uint8_t *in, uint32_t at, uint32_t phase,
                                       uint32_t line, uint32_t *values)
{
    const uint32_t left = at % line;
    const uint8_t *from = in + (at - left) + (line - (left - phase)) - 12; /* 12 bytes from here */
    const uint32_t odd = (uint32_t)((uintptr_t)from & 3);
    const uint8_t *words = from - odd;
    const uint32_t w0 = gather_load_32(words);
    const uint32_t w1 = gather_load_32(words + 4);
    const uint32_t w2 = gather_load_32(words + 8);
    const uint32_t w3 =
        gather_load_32(words + (odd != 0 ? 12 : 8)); /* does not read past the image */
    const uint32_t b0 = gather_funnel(w0, w1, 8 * odd);
    const uint32_t b4 = gather_funnel(w1, w2, 8 * odd);
    const uint32_t b8 = gather_funnel(w2, w3, 8 * odd);
    /* The pixels in reverse order: bytes 9 10 11 6, 7 8 3 4, 5 0 1 2. */
    const uint32_t r0 = b8 >> 8 | (b4 >> 16) << 24;
    const uint32_t r1 = b4 >> 24 | (b8 & 0xFF) << 8 | (b0 >> 24) << 16 | b4 << 24;
    const uint32_t r2 = (b4 >> 8 & 0xFF) | b0 << 8;

    values[0] = gather_funnel(r0, r1, 8 * phase);
    values[1] = gather_funnel(r1, r2, 8 * phase);
}

/* Rotates x[0] to x[2] so that channel `phase` comes first. */
SLI_KERNEL_FN void gather_rotate(const float *x, uint32_t phase, float *out)
{
    out[0] = phase == 0 ? x[0] : phase == 1 ? x[1] : x[2];
    out[1] = phase == 0 ? x[1] : phase == 1 ? x[2] : x[0];
    out[2] = phase == 0 ? x[2] : phase == 1 ? x[0] : x[1];
}

/*
 * Converts (H, W, 3) u8 to (H, W, 3), channels last, one unit of values at a time. A unit spans
 * parts of two or more pixels and begins with any channel.
 */
SLI_KERNEL_FN void gather_packed(const sli_gather *g, const uint8_t *slot, uint32_t t, uint32_t n,
                                 uint32_t unit, sluice_dtype dtype)
{
    const sli_gather_image *image = &g->image;
    const uint32_t units = image->pixels / unit * 3;
    gather_walk walk = gather_walk_begin(units, t, n);

    for (; walk.row < g->batch_size; gather_walk_next(&walk, units)) {
        const uint8_t *in = slot + image->from + walk.row * image->from_bytes;
        uint8_t *out = image->to + walk.row * image->to_bytes;
        const uint8_t flags = gather_load_8(slot + g->row_flags + walk.row);
        const uint32_t at = unit * walk.unit;
        const uint32_t phase = at % 3;
        uint32_t words[2];
        float scale[3];
        float bias[3];
        float v[8];

        if (image->flip != 0 && (flags & SLI_ROW_FLIP) != 0) {
            gather_load_flipped(in, at, phase, 3 * image->width, words);
        } else if (unit == 4) {
            words[0] = gather_load_32(in + at);
        } else {
            gather_load_64(in + at, words);
        }
        gather_rotate(image->scale, phase, scale);
        gather_rotate(image->bias, phase, bias);
        SLI_UNROLL
        for (uint32_t i = 0; i < unit; i++) {
            v[i] = gather_fma(gather_byte(words, i), scale[i % 3], bias[i % 3]);
            v[i] = (flags & SLI_ROW_ZERO) != 0 ? 0 : v[i];
        }
        gather_store_unit(dtype, out + 16 * (uint64_t)walk.unit, v);
    }
}

/* ---- windows of plain columns ---------------------------------------------------------------- */

/*
 * Loads four elements of 1 or 2 bytes from any element address, by the aligned words that contain
 * them: up to 2 words for bytes, up to 3 for 16-bit elements. Only words that contain an element
 * are read. They are in the slot, since its size is a multiple of the word size.
 */
SLI_KERNEL_FN void gather_load_narrow(const uint8_t *from, uint32_t bytes, uint32_t *v)
{
    const uint32_t odd = (uint32_t)((uintptr_t)from & 3);
    const uint8_t *words = from - odd;
    const uint32_t last = 4 * bytes - 4 + (odd != 0 ? 4 : 0);
    const uint32_t w0 = gather_load_32(words);
    const uint32_t w1 = gather_load_32(words + (bytes == 1 ? last : 4));
    const uint32_t low = gather_funnel(w0, w1, 8 * odd);

    if (bytes == 1) {
        SLI_UNROLL
        for (uint32_t i = 0; i < 4; i++) {
            v[i] = low >> 8 * i & 0xFF;
        }
    } else {
        const uint32_t high = gather_funnel(w1, gather_load_32(words + last), 8 * odd);

        v[0] = low & 0xFFFF;
        v[1] = low >> 16;
        v[2] = high & 0xFFFF;
        v[3] = high >> 16;
    }
}

SLI_KERNEL_FN uint32_t gather_load_element(uint32_t dtype, const uint8_t *from)
{
    return dtype == SLUICE_U8    ? gather_load_8(from)
           : dtype == SLUICE_U16 ? gather_load_16(from)
                                 : gather_load_32(from);
}

SLI_KERNEL_FN uint32_t gather_element_bytes(uint32_t dtype)
{
    return dtype == SLUICE_U8 ? 1 : dtype == SLUICE_U16 ? 2 : 4;
}

/* The upper 32 bits of an element that is widened to 64 bits. */
SLI_KERNEL_FN uint32_t gather_upper(uint32_t dtype, uint32_t value)
{
    return dtype == SLUICE_I32 && value >> 31 != 0 ? 0xFFFFFFFF : 0;
}

/* Makes unit `unit` of a row of a window: 16 bytes of its tensor. */
SLI_KERNEL_FN void gather_window_unit(const sli_gather_window *window, const uint8_t *row,
                                      uint8_t *out, uint32_t unit)
{
    const uint32_t bytes = gather_element_bytes(window->from_dtype);
    uint32_t v[4];

    if (window->to_dtype == SLUICE_I64) {
        const uint8_t *from = row + 2 * bytes * (uint64_t)unit;

        v[0] = gather_load_element(window->from_dtype, from);
        v[1] = gather_upper(window->from_dtype, v[0]);
        v[2] = gather_load_element(window->from_dtype, from + bytes);
        v[3] = gather_upper(window->from_dtype, v[2]);
    } else if (bytes == 4) {
        SLI_UNROLL
        for (uint32_t i = 0; i < 4; i++) {
            v[i] = gather_load_32(row + 16 * (uint64_t)unit + 4 * i);
        }
    } else if (bytes == 2) {
        gather_load_narrow(row + 8 * (uint64_t)unit, 2, v);
    } else {
        gather_load_narrow(row + 4 * (uint64_t)unit, 1, v);
    }
    gather_store_128(out + 16 * (uint64_t)unit, v);
}

/* Makes one element, for rows that do not consist of whole units. */
SLI_KERNEL_FN void gather_window_element(const sli_gather_window *window, const uint8_t *row,
                                         uint8_t *out, uint32_t at)
{
    const uint32_t bytes = gather_element_bytes(window->from_dtype);
    const uint32_t value = gather_load_element(window->from_dtype, row + bytes * (uint64_t)at);

    if (window->to_dtype == SLUICE_I64) {
        ((uint32_t *)out)[2 * (uint64_t)at] = value;
        ((uint32_t *)out)[2 * (uint64_t)at + 1] = gather_upper(window->from_dtype, value);
    } else {
        ((uint32_t *)out)[at] = value;
    }
}

/*
 * Makes the windows of a group, `step` elements of each window at a time. The windows overlap, so
 * the bytes that a thread loads for the next window are mostly in the L1 cache.
 */
SLI_KERNEL_FN void gather_group(const sli_gather *g, const sli_gather_window *group,
                                const uint8_t *slot, uint32_t t, uint32_t n)
{
    const uint32_t step = group->whole == 0 ? 1 : group->to_dtype == SLUICE_I64 ? 2 : 4;
    const uint64_t row_bytes = (uint64_t)group->count * (group->to_dtype == SLUICE_I64 ? 8 : 4);
    const uint32_t units = group->count / step;
    gather_walk walk = gather_walk_begin(units, t, n);

    for (; walk.row < g->batch_size; gather_walk_next(&walk, units)) {
        for (uint32_t i = 0; i < group->group; i++) {
            const sli_gather_window *window = &group[i];
            const uint8_t *row = slot + window->from + walk.row * window->from_bytes;
            uint8_t *out = window->to + walk.row * row_bytes;

            if (step == 1) {
                gather_window_element(window, row, out, walk.unit);
            } else {
                gather_window_unit(window, row, out, walk.unit);
            }
        }
    }
}

SLI_KERNEL_FN void gather_windows(const sli_gather *g, const uint8_t *slot, uint32_t t, uint32_t n)
{
    for (uint32_t i = 0; i < g->window_count; i += g->windows[i].group) {
        gather_group(g, &g->windows[i], slot, t, n);
    }
}

/* ---- ragged columns -------------------------------------------------------------------------- */

/* Stores a unit: bytes of the slot if `in` is not NULL, else zeros. */
SLI_KERNEL_FN void gather_ragged_unit(uint8_t *to, const uint8_t *in, uint32_t unit)
{
    if (unit == 16) {
        uint32_t words[4] = {0, 0, 0, 0};

        if (in != NULL) {
            gather_load_128(in, words);
        }
        gather_store_128(to, words);
    } else if (unit == 4) {
        *(uint32_t *)to = in != NULL ? gather_load_32(in) : 0;
    } else {
        *to = in != NULL ? gather_load_8(in) : 0;
    }
}

/* Makes the tensors of ragged columns. The extent is a multiple of 16, so the entries of a row in
 * the slot are whole units. */
SLI_KERNEL_FN void gather_ragged(const sli_gather *g, const uint8_t *slot, uint32_t t, uint32_t n)
{
    const uint64_t extent = gather_load_32(slot + offsetof(sli_batch_header, extent));

    for (uint32_t i = 0; i < g->ragged_count; i++) {
        const sli_gather_ragged *column = &g->ragged[i];
        const uint64_t row_bytes = (uint64_t)column->units * column->unit;
        const uint64_t stride = extent * column->entry_bytes;
        const uint8_t *first = slot + g->ragged_offset + extent * column->before;
        gather_walk walk = gather_walk_begin(column->units, t, n);

        for (; walk.row < g->batch_size; gather_walk_next(&walk, column->units)) {
            const uint64_t at = (uint64_t)walk.unit * column->unit;

            gather_ragged_unit(column->to + walk.row * row_bytes + at,
                               at < stride ? first + walk.row * stride + at : NULL, column->unit);
        }
    }
}

/* ---- a batch --------------------------------------------------------------------------------- */

/* The slot to gather. NULL: the launch has already ended, but its graph still runs this kernel (a
 * graph without a loop, or with an unrolled one). */
SLI_KERNEL_FN const uint8_t *gather_slot(const sli_getnext *getnext)
{
    const sli_getnext_state *s = getnext->state;

    if (s->end != SLI_GETNEXT_GOES_ON) {
        return NULL;
    }
    return getnext->slots + sli_ring_slot(&getnext->ring, s->seq) * getnext->slot_bytes;
}

/*
 * The work of thread t of n. path is a constant at each call, so that each kernel contains the code
 * of one path only.
 */
SLI_KERNEL_FN void gather_thread(const sli_gather *g, const uint8_t *slot, uint32_t t, uint32_t n,
                                 sli_gather_path path)
{
    for (uint32_t i = 0; i < g->copy_count; i++) {
        gather_column(&g->copies[i], slot, t, n);
    }
    switch (path) {
    case SLI_GATHER_COPY:
        break;
    case SLI_GATHER_WINDOWS:
        gather_windows(g, slot, t, n);
        break;
    case SLI_GATHER_RAGGED:
        gather_ragged(g, slot, t, n);
        break;
    case SLI_GATHER_PLANES_F32:
        gather_planes(g, slot, t, n, sli_gather_unit(path), SLUICE_F32);
        break;
    case SLI_GATHER_PLANES_F16:
        gather_planes(g, slot, t, n, sli_gather_unit(path), SLUICE_F16);
        break;
    case SLI_GATHER_PLANES_BF16:
        gather_planes(g, slot, t, n, sli_gather_unit(path), SLUICE_BF16);
        break;
    case SLI_GATHER_PACKED_F32:
        gather_packed(g, slot, t, n, sli_gather_unit(path), SLUICE_F32);
        break;
    case SLI_GATHER_PACKED_F16:
        gather_packed(g, slot, t, n, sli_gather_unit(path), SLUICE_F16);
        break;
    case SLI_GATHER_PACKED_BF16:
        gather_packed(g, slot, t, n, sli_gather_unit(path), SLUICE_BF16);
        break;
    case SLI_GATHER_PROGRAM:
        gather_program_any(g, slot, t, n);
        break;
    case SLI_GATHER_PROGRAM_PLANES_F32:
        gather_program_units(g, slot, t, n, sli_gather_unit(path), SLUICE_F32, true);
        break;
    case SLI_GATHER_PROGRAM_PLANES_F16:
        gather_program_units(g, slot, t, n, sli_gather_unit(path), SLUICE_F16, true);
        break;
    case SLI_GATHER_PROGRAM_PLANES_BF16:
        gather_program_units(g, slot, t, n, sli_gather_unit(path), SLUICE_BF16, true);
        break;
    case SLI_GATHER_PROGRAM_PACKED_F32:
        gather_program_units(g, slot, t, n, sli_gather_unit(path), SLUICE_F32, false);
        break;
    case SLI_GATHER_PROGRAM_PACKED_F16:
        gather_program_units(g, slot, t, n, sli_gather_unit(path), SLUICE_F16, false);
        break;
    case SLI_GATHER_PROGRAM_PACKED_BF16:
        gather_program_units(g, slot, t, n, sli_gather_unit(path), SLUICE_BF16, false);
        break;
    case SLI_GATHER_MIX:
        gather_mix_any(g, slot, t, n);
        break;
    case SLI_GATHER_MIX_PLANES_F32:
        gather_mix_units(g, slot, t, n, sli_gather_unit(path), SLUICE_F32, true);
        break;
    case SLI_GATHER_MIX_PLANES_F16:
        gather_mix_units(g, slot, t, n, sli_gather_unit(path), SLUICE_F16, true);
        break;
    case SLI_GATHER_MIX_PLANES_BF16:
        gather_mix_units(g, slot, t, n, sli_gather_unit(path), SLUICE_BF16, true);
        break;
    case SLI_GATHER_MIX_PACKED_F32:
        gather_mix_units(g, slot, t, n, sli_gather_unit(path), SLUICE_F32, false);
        break;
    case SLI_GATHER_MIX_PACKED_F16:
        gather_mix_units(g, slot, t, n, sli_gather_unit(path), SLUICE_F16, false);
        break;
    case SLI_GATHER_MIX_PACKED_BF16:
        gather_mix_units(g, slot, t, n, sli_gather_unit(path), SLUICE_BF16, false);
        break;
    default:
        gather_any(g, slot, t, n);
        break;
    }
}

/*
 * Called by one thread of each block, after all reads of the block. The last of `blocks` releases
 * the slot, before the step runs, and returns true.
 *
 * The order, in the PTX memory model: a thread's loads of the slot are before __syncthreads() in
 * program order, which synchronizes with its block's voter. The votes are a chain of
 * acquire-release operations at gpu scope, so the loads of all blocks happen before the operations
 * of the last voter after its vote. The last voter stores `consumed` with release at system scope,
 * and a release is cumulative: a thread that loads that value with acquire (sli_ring_may_fill() on
 * the host) comes after these loads, and so do its later writes and copies into the slot. This
 * store is the only operation of a step that waits for pending writes to the host.
 */
SLI_KERNEL_FN bool gather_block_done(const sli_getnext *getnext, uint32_t blocks)
{
    const bool last = sli_ring_vote(&getnext->state->votes, blocks);

    if (last) {
        sli_ring_release(&getnext->ring, getnext->state->seq);
    }
    return last;
}

#endif
