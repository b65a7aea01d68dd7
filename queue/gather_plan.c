/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Plans GetNext's gather kernels on the host: source and destination of each column, path, number
 * of blocks.
 */
#include "getnext_int.h"

#include <string.h>

#include "status_int.h"

/* Bytes that a thread stores with one instruction. */
enum { COPY_BYTES = 16 };

void sli_getnext_state_init(sli_getnext_state *state)
{
    memset(state, 0, sizeof(*state));
    state->seq = 1;
    state->end = SLI_GETNEXT_DONE;
}

static bool is_aligned(const void *block, size_t bytes)
{
    return (uintptr_t)block % bytes == 0;
}

/* The path that converts pixel by pixel. */
static sli_gather_path any_path(sli_row_programs programs)
{
    return programs == SLI_PROGRAMS_NONE    ? SLI_GATHER_ANY
           : programs == SLI_PROGRAMS_ALONE ? SLI_GATHER_PROGRAM
                                            : SLI_GATHER_MIX;
}

/* The path for an image that divides into whole units, by its output type and layout. */
static sli_gather_path units_to(sluice_dtype to, bool planes, sli_row_programs programs)
{
    static const sli_gather_path paths[3][2][3] = {
        {{SLI_GATHER_PACKED_F32, SLI_GATHER_PACKED_F16, SLI_GATHER_PACKED_BF16},
         {SLI_GATHER_PLANES_F32, SLI_GATHER_PLANES_F16, SLI_GATHER_PLANES_BF16}},
        {{SLI_GATHER_PROGRAM_PACKED_F32, SLI_GATHER_PROGRAM_PACKED_F16,
          SLI_GATHER_PROGRAM_PACKED_BF16},
         {SLI_GATHER_PROGRAM_PLANES_F32, SLI_GATHER_PROGRAM_PLANES_F16,
          SLI_GATHER_PROGRAM_PLANES_BF16}},
        {{SLI_GATHER_MIX_PACKED_F32, SLI_GATHER_MIX_PACKED_F16, SLI_GATHER_MIX_PACKED_BF16},
         {SLI_GATHER_MIX_PLANES_F32, SLI_GATHER_MIX_PLANES_F16, SLI_GATHER_MIX_PLANES_BF16}}};

    switch (to) {
    case SLUICE_F32:
        return paths[programs][planes][0];
    case SLUICE_F16:
        return paths[programs][planes][1];
    case SLUICE_BF16:
        return paths[programs][planes][2];
    default:
        return any_path(programs);
    }
}

/*
 * Columns of a slot are aligned. If the width is a multiple of the unit, all lines and planes are
 * aligned, too; other images are converted pixel by pixel.
 */
static sli_gather_path path_of(const sli_conversion *conversion, sli_row_programs programs,
                               const void *to)
{
    const sli_gather_path path = units_to(conversion->to, conversion->to_chw, programs);
    const bool whole = conversion->from == SLUICE_U8 && !conversion->from_chw &&
                       conversion->channels == 3 &&
                       conversion->width % sli_gather_unit(path) == 0 && is_aligned(to, COPY_BYTES);

    return whole ? path : any_path(programs);
}

/*
 * Work items of one image. In a planar image, and with programs, an item is a unit of pixels, which
 * takes three stores.
 */
static uint32_t units_of(const sli_gather *gather)
{
    const uint32_t unit = sli_gather_unit((sli_gather_path)gather->path);

    return gather->path >= SLI_GATHER_PACKED_F32 && gather->path <= SLI_GATHER_PACKED_BF16
               ? gather->image.pixels / unit * 3
               : gather->image.pixels / unit;
}

/* Plans the image column, and its row programs, which are the last column. */
static sluice_status plan_image(const sli_layout *layout, const sli_conversion *conversion,
                                uint32_t column, sli_row_programs programs, void *to,
                                sli_gather *gather)
{
    sli_gather_image *image = &gather->image;
    const uint64_t pixels = (uint64_t)conversion->height * conversion->width;

    if (pixels > UINT32_MAX / conversion->channels) {
        return sli_fail(SLUICE_E_INVALID, "GetNext converts no image of %ux%ux%u on this device",
                        conversion->height, conversion->width, conversion->channels);
    }
    image->from = layout->offsets[column];
    image->from_bytes = layout->row_bytes[column];
    image->to = to;
    image->to_bytes = sli_conversion_out_bytes(conversion);
    image->programs = programs != SLI_PROGRAMS_NONE ? layout->offsets[layout->column_count - 1] : 0;
    image->pixels = (uint32_t)pixels;
    image->width = conversion->width;
    image->channels = conversion->channels;
    image->from_dtype = conversion->from;
    image->to_dtype = conversion->to;
    if (sli_conversion_is_identity(conversion) && sluice_dtype_size(conversion->to) == 2) {
        /*
         * NaNs must keep their bits. So values are copied as u16 integers, which an f32 represents
         * exactly.
         */
        image->from_dtype = SLUICE_U16;
        image->to_dtype = SLUICE_U16;
    }
    image->from_chw = conversion->from_chw;
    image->to_chw = conversion->to_chw;
    image->flip = conversion->flip;
    image->affine = conversion->affine;
    memcpy(image->scale, conversion->scale, sizeof(image->scale));
    memcpy(image->bias, conversion->bias, sizeof(image->bias));
    gather->path = path_of(conversion, programs, to);
    return SLUICE_OK;
}

static void add_copy(sli_gather *gather, uint64_t from, uint64_t bytes, void *to)
{
    gather->copies[gather->copy_count++] = (sli_gather_copy){from, bytes, to};
}

/* Adds ragged column i. Rows of the slot are aligned to 16 bytes; those of the tensor may not be.
 */
static sluice_status add_ragged(const sli_layout *layout, uint32_t i, void *to, sli_gather *gather)
{
    const size_t bytes = layout->row_bytes[i];
    const uint32_t unit = bytes % COPY_BYTES == 0 && is_aligned(to, COPY_BYTES) ? COPY_BYTES
                          : bytes % 4 == 0 && is_aligned(to, 4)                 ? 4
                                                                                : 1;

    if (bytes / unit > UINT32_MAX) {
        return sli_fail(SLUICE_E_INVALID, "GetNext makes no rows of %zu bytes on this device",
                        bytes);
    }
    gather->ragged[gather->ragged_count++] =
        (sli_gather_ragged){.before = layout->entry_before[i],
                            .entry_bytes = layout->entry_bytes[i],
                            .to = to,
                            .units = (uint32_t)(bytes / unit),
                            .unit = unit};
    return SLUICE_OK;
}

sluice_status sli_gather_plan(const sli_layout *layout, const sli_conversion *conversion,
                              uint32_t column, sli_row_programs programs,
                              const sluice_tensor *outputs, sli_batch_header *header,
                              sli_gather *gather_out)
{
    const uint32_t columns = layout->column_count - (programs != SLI_PROGRAMS_NONE ? 1 : 0);
    sli_gather gather;
    sluice_status st = SLUICE_OK;

    memset(&gather, 0, sizeof(gather));
    gather.batch_size = layout->batch_size;
    gather.row_flags = layout->row_flags_offset;
    gather.path = SLI_GATHER_COPY;
    gather.ragged_offset = layout->ragged_offset;
    for (uint32_t i = 0; i < columns && st == SLUICE_OK; i++) {
        if (conversion != NULL && i == column) {
            st = plan_image(layout, conversion, i, programs, outputs[i].data, &gather);
        } else if (layout->entry_bytes[i] > 0) {
            st = add_ragged(layout, i, outputs[i].data, &gather);
            gather.path = SLI_GATHER_RAGGED;
        } else {
            add_copy(&gather, layout->offsets[i], layout->row_bytes[i] * layout->batch_size,
                     outputs[i].data);
        }
    }
    if (st != SLUICE_OK) {
        return st;
    }
    add_copy(&gather, 0, sizeof(*header), header);
    *gather_out = gather;
    return SLUICE_OK;
}

/* The number of elements of the tensor's type that a thread stores at once. */
static uint32_t window_unit(const sli_gather_window *window)
{
    return COPY_BYTES / (uint32_t)sluice_dtype_size((sluice_dtype)window->to_dtype);
}

static sluice_status plan_window(const sli_layout *layout, const sli_output *output, void *to,
                                 sli_gather_window *window)
{
    const sluice_dtype from = layout->columns[output->column].dtype;
    const uint64_t count = sli_output_count(output);

    if (count > UINT32_MAX) {
        return sli_fail(SLUICE_E_INVALID, "GetNext makes no rows of %llu elements on this device",
                        (unsigned long long)count);
    }
    *window = (sli_gather_window){.from = layout->offsets[output->column] +
                                          output->offset * (uint64_t)sluice_dtype_size(from),
                                  .from_bytes = layout->row_bytes[output->column],
                                  .to = to,
                                  .count = (uint32_t)count,
                                  .from_dtype = from,
                                  .to_dtype = output->type.dtype};
    window->whole = window->count % window_unit(window) == 0 && is_aligned(to, COPY_BYTES);
    return SLUICE_OK;
}

/* True if one thread can make both windows from the same part of a row. */
static bool are_a_group(const sli_output *a, const sli_gather_window *in_a, const sli_output *b,
                        const sli_gather_window *in_b)
{
    return a->column == b->column && in_a->count == in_b->count &&
           in_a->to_dtype == in_b->to_dtype && in_a->whole == in_b->whole;
}

/* Sorts the windows into groups that a thread makes together; a group is stored consecutively. */
static void group_windows(const sli_output *const *outputs, sli_gather_window *windows,
                          sli_gather *gather)
{
    bool done[SLUICE_MAX_COLUMNS] = {false};
    const uint32_t count = gather->window_count;

    gather->window_count = 0;
    for (uint32_t i = 0; i < count; i++) {
        sli_gather_window *first = &gather->windows[gather->window_count];

        if (done[i]) {
            continue;
        }
        for (uint32_t k = i; k < count; k++) {
            if (!done[k] && are_a_group(outputs[i], &windows[i], outputs[k], &windows[k])) {
                gather->windows[gather->window_count++] = windows[k];
                first->group++;
                done[k] = true;
            }
        }
    }
}

sluice_status sli_gather_plan_outputs(const sli_layout *layout, const sli_output *outputs,
                                      uint32_t count, const sluice_tensor *tensors,
                                      sli_batch_header *header, sli_gather *gather_out)
{
    const sli_output *made[SLUICE_MAX_COLUMNS];
    sli_gather_window windows[SLUICE_MAX_COLUMNS];
    sluice_status st = SLUICE_OK;
    sli_gather gather;

    memset(&gather, 0, sizeof(gather));
    gather.batch_size = layout->batch_size;
    gather.row_flags = layout->row_flags_offset;
    for (uint32_t i = 0; i < count && st == SLUICE_OK; i++) {
        const uint32_t column = outputs[i].column;

        if (sli_output_is_copy(&outputs[i], layout)) {
            add_copy(&gather, layout->offsets[column],
                     layout->row_bytes[column] * layout->batch_size, tensors[i].data);
        } else {
            st = plan_window(layout, &outputs[i], tensors[i].data, &windows[gather.window_count]);
            made[gather.window_count++] = &outputs[i];
        }
    }
    if (st != SLUICE_OK) {
        return st;
    }
    gather.path = gather.window_count > 0 ? SLI_GATHER_WINDOWS : SLI_GATHER_COPY;
    group_windows(made, windows, &gather);
    add_copy(&gather, 0, sizeof(*header), header);
    *gather_out = gather;
    return SLUICE_OK;
}

/* The number of work items per row in the largest window. */
static uint64_t units_of_windows(const sli_gather *gather)
{
    uint64_t most = 0;

    for (uint32_t i = 0; i < gather->window_count; i++) {
        const sli_gather_window *window = &gather->windows[i];
        const uint64_t units =
            (uint64_t)window->count / (window->whole != 0 ? window_unit(window) : 1);

        most = units > most ? units : most;
    }
    return most;
}

uint32_t sli_gather_blocks(const sli_gather *gather)
{
    uint64_t work = 1;
    uint64_t blocks;

    if (gather->path == SLI_GATHER_WINDOWS) {
        work = units_of_windows(gather) * gather->batch_size;
    } else if (gather->path != SLI_GATHER_COPY && gather->path != SLI_GATHER_RAGGED) {
        work = (uint64_t)units_of(gather) * gather->batch_size;
    }
    for (uint32_t i = 0; i < gather->copy_count; i++) {
        const uint64_t units = gather->copies[i].bytes / COPY_BYTES;

        work = units > work ? units : work;
    }
    for (uint32_t i = 0; i < gather->ragged_count; i++) {
        const uint64_t units = (uint64_t)gather->ragged[i].units * gather->batch_size;

        work = units > work ? units : work;
    }
    blocks = (work + SLI_GATHER_THREADS - 1) / SLI_GATHER_THREADS;
    return (uint32_t)(blocks < INT32_MAX ? blocks : INT32_MAX); /* the largest grid */
}
