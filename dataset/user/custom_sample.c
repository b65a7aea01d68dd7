/* SPDX-License-Identifier: Apache-2.0 */
#include "custom_sample.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "callback_int.h"
#include "log_int.h"
#include "point_range.h"
#include "status_int.h"
#include "zero_padding_int.h"

/* Number of guard bytes before and after an output's memory; a multiple of its alignment. */
enum { GUARD = 64 };
enum { GUARD_BYTE = 0xA7 };

void custom_sample_init(sluice_sample *sample, const char *owner, const custom_columns *columns,
                        bool guards)
{
    memset(sample, 0, sizeof(*sample));
    sample->owner = owner;
    sample->columns = columns;
    sample->guards = guards;
    sample->stop_fd = -1;
}

void custom_sample_fini(sluice_sample *sample)
{
    for (uint32_t i = 0; i < SLUICE_MAX_COLUMNS; i++) {
        image_buffer_free(&sample->outputs[i].buffer);
    }
}

bool custom_sample_guards(void)
{
    const char *value = getenv("SLUICE_GUARDS");

    if (value != NULL && (strcmp(value, "on") == 0 || strcmp(value, "off") == 0)) {
        return value[1] == 'n';
    }
    if (value != NULL && value[0] != '\0') {
        sli_log(SLUICE_LOG_WARN,
                "SLUICE_GUARDS=%.40s must be on or off; the default of this build is used", value);
    }
#ifdef NDEBUG
    return false;
#else
    return true;
#endif
}

void custom_sample_begin(sluice_sample *sample, uint64_t number, const sli_draws *draws)
{
    sample->number = number;
    sample->draws = *draws;
    sample->overran = false;
    sample->is_warped = false;
    atomic_store_explicit(&sample->drew, false, memory_order_relaxed);
    for (uint32_t i = 0; i < sample->columns->count; i++) {
        custom_output *output = &sample->outputs[i];

        output->row = NULL;
        output->length_row = NULL;
        output->bytes = NULL;
    }
}

uint64_t sluice_sample_number(const sluice_sample *sample)
{
    return sample != NULL ? sample->number : 0;
}

void *sluice_sample_worker(const sluice_sample *sample)
{
    return sample != NULL ? sample->worker : NULL;
}

int sluice_sample_stop_fd(const sluice_sample *sample)
{
    return sample != NULL ? sample->stop_fd : -1;
}

uint64_t sluice_sample_random(const sluice_sample *sample, uint32_t n)
{
    sluice_sample *own = (sluice_sample *)(uintptr_t)sample; /* no sample is a const object */
    uint32_t bits[4];

    if (sample == NULL) {
        return 0;
    }
    atomic_store_explicit(&own->drew, true, memory_order_relaxed);
    sli_draw(&sample->draws, n / 2, bits);
    return (uint64_t)bits[n % 2 * 2] << 32 | bits[n % 2 * 2 + 1];
}

/* ---- inputs ---------------------------------------------------------------------------------- */

sluice_status sluice_sample_get(const sluice_sample *sample, const char *column,
                                sluice_sample_view *view_out)
{
    char names[400] = "none";
    size_t length = 0;

    if (sample == NULL || column == NULL || view_out == NULL) {
        return sli_fail(SLUICE_E_INVALID, "sluice_sample_get: an argument is NULL");
    }
    for (uint32_t i = 0; i < sample->input_count; i++) {
        if (strcmp(sample->inputs[i].name, column) == 0) {
            *view_out = sample->inputs[i].view;
            return SLUICE_OK;
        }
    }
    for (uint32_t i = 0; i < sample->input_count && length < sizeof(names); i++) {
        length += (size_t)snprintf(names + length, sizeof(names) - length, "%s%s",
                                   i > 0 ? ", " : "", sample->inputs[i].name);
    }
    return sli_fail(SLUICE_E_INVALID, "%s: %.100s is not an input; the inputs: %s", sample->owner,
                    column, names);
}

/* ---- outputs --------------------------------------------------------------------------------- */

/*
 * An output that the callback is writing or lending: its column, and its shape and size for this
 * sample.
 */
typedef struct giving {
    const custom_column *column;
    custom_output *output;
    uint64_t shape[SLUICE_MAX_RANK];
    size_t size;
} giving;

static void print_shape(const uint64_t *shape, uint32_t rank, char *text, size_t size)
{
    size_t length = (size_t)snprintf(text, size, "(");

    for (uint32_t i = 0; i < rank && length < size; i++) {
        length += (size_t)snprintf(text + length, size - length, "%s%" PRIu64, i > 0 ? ", " : "",
                                   shape[i]);
    }
    snprintf(text + length, size - length, ")");
}

static sluice_status wrong_shape(const sluice_sample *sample, const giving *g)
{
    const sluice_column *spec = &g->column->spec;
    const bool too_long = g->column->ragged && g->shape[0] > spec->shape[0] &&
                          memcmp(g->shape + 1, spec->shape + 1, (spec->rank - 1) * 8) == 0;
    char got[150];
    char want[150];

    print_shape(g->shape, spec->rank, got, sizeof(got));
    print_shape(spec->shape, spec->rank, want, sizeof(want));
    return sli_fail(too_long ? SLUICE_E_CORRUPT : SLUICE_E_INVALID,
                    "%s: %s has the shape %s, and must have %s%s", sample->owner, spec->name, got,
                    want,
                    g->column->ragged   ? ", or less in the first dimension"
                    : g->column->varies ? " with sides from 1 to 65535 for the first two"
                                        : "");
}

/* True if this is a valid length for a dimension of the column. */
static bool fits(const custom_column *column, uint32_t dimension, uint64_t length)
{
    const uint64_t declared = column->spec.shape[dimension];

    if (column->varies && dimension < 2) {
        return length >= 1 && length <= 65535;
    }
    return column->ragged && dimension == 0 ? length <= declared : length == declared;
}

/*
 * Determines and checks the shape and size of an output. *size is the size of lent bytes; with size
 * NULL, the output is not lent.
 */
static sluice_status measure(const sluice_sample *sample, giving *g, const uint64_t *shape,
                             const size_t *size)
{
    const sluice_column *spec = &g->column->spec;

    if (spec->dtype == SLUICE_ENCODED) {
        if (shape == NULL && size == NULL) {
            return sli_fail(SLUICE_E_INVALID,
                            "%s: %s is encoded, so sluice_sample_room() must be given the shape "
                            "{bytes}, not NULL",
                            sample->owner, spec->name);
        }
        g->shape[0] = shape != NULL ? shape[0] : *size;
        g->size = (size_t)g->shape[0];
        return SLUICE_OK;
    }
    if (shape == NULL || spec->rank == 0) {
        memcpy(g->shape, spec->shape, sizeof(g->shape));
        if (g->column->varies) {
            g->shape[SCHEMA_H] = sample->image_height;
            g->shape[SCHEMA_W] = sample->image_width;
        }
    } else {
        memcpy(g->shape, shape, spec->rank * sizeof(*shape));
    }
    g->size = sluice_dtype_size(spec->dtype);
    for (uint32_t i = 0; i < spec->rank; i++) {
        if (!fits(g->column, i, g->shape[i])) {
            return wrong_shape(sample, g);
        }
        /* No overflow: the product is up to the declared bytes, or 65535 * 65535 * 4. */
        g->size *= (size_t)g->shape[i];
    }
    return SLUICE_OK;
}

/* Finds the column of an output, and determines its shape and size. */
static sluice_status prepare(sluice_sample *sample, const char *call, const char *column,
                             const uint64_t *shape, const size_t *size, giving *g)
{
    char names[400];
    int at;

    if (sample == NULL || column == NULL) {
        return sli_fail(SLUICE_E_INVALID, "%s: sample or column is NULL", call);
    }
    at = custom_columns_find(sample->columns, column);
    if (at < 0) {
        custom_columns_list(sample->columns, names, sizeof(names));
        return sli_fail(SLUICE_E_INVALID, "%s: there is no column %.100s to write; declared: %s",
                        sample->owner, column, names);
    }
    g->column = &sample->columns->columns[at];
    g->output = &sample->outputs[at];
    return measure(sample, g, shape, size);
}

static void give(const giving *g, const void *bytes, bool in_buffer)
{
    memcpy(g->output->shape, g->shape, sizeof(g->shape));
    g->output->size = g->size;
    g->output->bytes = bytes;
    g->output->in_buffer = in_buffer;
}

/* Reserves the output's buffer; adds guard bytes around `size` bytes if the sample has guards. */
static sluice_status reserve(const sluice_sample *sample, custom_output *output, size_t size,
                             uint8_t **bytes_out)
{
    const size_t guard = sample->guards ? GUARD : 0;
    sluice_status st = size <= SIZE_MAX / 4
                           ? image_buffer_reserve(&output->buffer, size + 2 * guard)
                           : sli_fail(SLUICE_E_NO_MEMORY, "%zu bytes of a sample", size);

    if (st != SLUICE_OK) {
        return st;
    }
    *bytes_out = output->buffer.data + guard;
    memset(output->buffer.data, GUARD_BYTE, guard);
    memset(*bytes_out + size, GUARD_BYTE, guard);
    return SLUICE_OK;
}

sluice_status sluice_sample_room(sluice_sample *sample, const char *column, const uint64_t *shape,
                                 void **room_out)
{
    giving g = {.column = NULL};
    uint8_t *bytes;
    sluice_status st = room_out != NULL
                           ? prepare(sample, "sluice_sample_room", column, shape, NULL, &g)
                           : sli_fail(SLUICE_E_INVALID, "sluice_sample_room: room_out is NULL");

    if (st != SLUICE_OK) {
        return st;
    }
    if (g.output->row != NULL && !sample->guards) {
        give(&g, g.output->row, false);
        *room_out = g.output->row;
        return SLUICE_OK;
    }
    st = reserve(sample, g.output, g.size, &bytes);
    if (st == SLUICE_OK) {
        give(&g, bytes, true);
        *room_out = bytes;
    }
    return st;
}

sluice_status sluice_sample_lend(sluice_sample *sample, const char *column, const uint64_t *shape,
                                 const void *bytes, size_t size)
{
    static const uint8_t nothing = 0;
    char text[150];
    giving g = {.column = NULL};
    sluice_status st = bytes != NULL || size == 0
                           ? prepare(sample, "sluice_sample_lend", column, shape, &size, &g)
                           : sli_fail(SLUICE_E_INVALID, "sluice_sample_lend: bytes is NULL");

    if (st != SLUICE_OK) {
        return st;
    }
    if (size != g.size) {
        print_shape(g.shape, g.column->spec.dtype == SLUICE_ENCODED ? 1 : g.column->spec.rank, text,
                    sizeof(text));
        return sli_fail(SLUICE_E_INVALID, "%s: %s: the size is %zu bytes, and must be %zu: %s %s",
                        sample->owner, g.column->spec.name, size, g.size,
                        sluice_dtype_name(g.column->spec.dtype), text);
    }
    give(&g, bytes != NULL ? bytes : &nothing, false);
    return SLUICE_OK;
}

sluice_status sluice_sample_warped(sluice_sample *sample, const double matrix[6])
{
    if (sample == NULL || matrix == NULL) {
        return sli_fail(SLUICE_E_INVALID, "sluice_sample_warped: an argument is NULL");
    }
    if (sample->image_width == 0) {
        return sli_fail(SLUICE_E_INVALID,
                        "%s: sluice_sample_warped() is for a map that writes the image, and that a "
                        "crop, resize or colour stage comes after, or whose images differ in size; "
                        "after these stages a map reads boxes, masks and points, and writes them "
                        "itself",
                        sample->owner);
    }
    for (int i = 0; i < 6; i++) {
        if (!isfinite(matrix[i])) {
            return sli_fail(SLUICE_E_INVALID,
                            "%s: sluice_sample_warped(): matrix[%d] is %g, and must be finite",
                            sample->owner, i, matrix[i]);
        }
    }
    if (!warp_invert(&(warp_matrix){{matrix[0], matrix[1], matrix[2], matrix[3], matrix[4],
                                     matrix[5], 0, 0, 1}},
                     &sample->warp)) {
        return sli_fail(SLUICE_E_INVALID,
                        "%s: sluice_sample_warped(): the matrix (%g, %g, %g, %g, %g, %g) maps the "
                        "image to a line; the matrix must have an inverse",
                        sample->owner, matrix[0], matrix[1], matrix[2], matrix[3], matrix[4],
                        matrix[5]);
    }
    sample->is_warped = true;
    return SLUICE_OK;
}

/* ---- after the call -------------------------------------------------------------------------- */

sluice_status custom_status(const char *owner, const char *callback, uint64_t before,
                            sluice_status status)
{
    const sluice_status st = sli_callback_status(status, before, "%s: %s()", owner, callback);

    return st < SLUICE_OK ? st : SLUICE_OK;
}

static bool is_guard(const uint8_t *bytes)
{
    for (int i = 0; i < GUARD; i++) {
        if (bytes[i] != GUARD_BYTE) {
            return false;
        }
    }
    return true;
}

sluice_status custom_sample_guarded(sluice_sample *sample, const char *callback)
{
    for (uint32_t i = 0; i < sample->columns->count && sample->guards; i++) {
        const custom_output *output = &sample->outputs[i];

        if (output->bytes == NULL || !output->in_buffer ||
            (is_guard(output->bytes - GUARD) && is_guard(output->bytes + output->size))) {
            continue;
        }
        sample->overran = true;
        return sli_fail(SLUICE_E_CALLBACK,
                        "%s: %s() wrote %s the %zu bytes of %s: other memory may be corrupted",
                        sample->owner, callback,
                        is_guard(output->bytes - GUARD) ? "past" : "in front of", output->size,
                        sample->columns->columns[i].spec.name);
    }
    return SLUICE_OK;
}

/* Copies an output into the batch's row, unless it was written there directly. */
static void fill_row(const custom_column *column, const custom_output *output)
{
    if (output->row != NULL) {
        if (output->bytes != output->row) {
            memmove(output->row, output->bytes, output->size); /* it may lend a part of its room */
        }
        if (column->ragged) {
            sli_zero_padding((uint8_t *)output->row + output->size, column->bytes - output->size);
        }
    }
    if (output->length_row != NULL) {
        *output->length_row = (int32_t)output->shape[0];
    }
}

/* Checks that boxes of a map are x0 y0 x1 y1 with a positive area, without NaN. */
static sluice_status check_boxes(const sluice_sample *sample, const custom_column *column,
                                 const custom_output *output)
{
    for (uint64_t i = 0; i < output->shape[0] && sample->has_checked_boxes; i++) {
        float box[4];

        memcpy(box, output->bytes + i * sizeof(box), sizeof(box));
        if (!(box[0] >= 0 && box[1] >= 0 && box[0] < box[2] && box[1] < box[3])) {
            return sli_fail(SLUICE_E_CORRUPT,
                            "%s: %s: box %" PRIu64 ", %g,%g,%g,%g, must be x0,y0,x1,y1 with "
                            "0 <= x0 < x1 and 0 <= y0 < y1",
                            sample->owner, column->spec.name, i + 1, (double)box[0], (double)box[1],
                            (double)box[2], (double)box[3]);
        }
    }
    return SLUICE_OK;
}

/* Checks that all coordinates are finite. Points may be outside the image. */
static sluice_status check_points(const sluice_sample *sample, const custom_column *column,
                                  const custom_output *output)
{
    const uint64_t count = output->size / (2 * sizeof(float));

    for (uint64_t i = 0; i < count; i++) {
        float point[2];

        memcpy(point, output->bytes + i * sizeof(point), sizeof(point));
        if (!point_is_valid(point)) {
            return sli_fail(SLUICE_E_CORRUPT,
                            "%s: %s: point %" PRIu64 ", %g,%g, must be x,y with numbers from -1e6 "
                            "to 1e6",
                            sample->owner, column->spec.name, i + 1, (double)point[0],
                            (double)point[1]);
        }
    }
    return SLUICE_OK;
}

/* Checks that the column has one row for each of its boxes or points. */
static sluice_status check_rows(const sluice_sample *sample, const custom_column *column,
                                const custom_output *output)
{
    const custom_output *boxes = &sample->outputs[column->boxes];

    return output->shape[0] == boxes->shape[0]
               ? SLUICE_OK
               : sli_fail(SLUICE_E_CORRUPT, "%s: %s has %" PRIu64 " rows for %" PRIu64 " %s",
                          sample->owner, column->spec.name, output->shape[0], boxes->shape[0],
                          sample->columns->columns[column->boxes].role == SLUICE_ROLE_BOXES
                              ? "boxes"
                              : "points");
}

static sluice_status check_output(const sluice_sample *sample, const custom_column *column,
                                  const custom_output *output)
{
    if (column->role == SLUICE_ROLE_BOXES) {
        return check_boxes(sample, column, output);
    }
    if (column->boxes >= 0) {
        const sluice_status st = check_rows(sample, column, output);

        if (st != SLUICE_OK) {
            return st;
        }
    }
    return column->role == SLUICE_ROLE_POINTS ? check_points(sample, column, output) : SLUICE_OK;
}

static sluice_status take_outputs(sluice_sample *sample, const char *callback, uint64_t before)
{
    for (uint32_t i = 0; i < sample->columns->count; i++) {
        const custom_column *column = &sample->columns->columns[i];
        const custom_output *output = &sample->outputs[i];
        sluice_status st;

        if (output->bytes == NULL) {
            return sli_fail_from(SLUICE_E_INVALID, before,
                                 "%s: %s() did not write %s; it must call sluice_sample_room() or "
                                 "sluice_sample_lend() for each declared column",
                                 sample->owner, callback, column->spec.name);
        }
        st = check_output(sample, column, output);
        if (st != SLUICE_OK) {
            return st;
        }
        fill_row(column, output);
    }
    return SLUICE_OK;
}

sluice_status custom_sample_end(sluice_sample *sample, const char *callback, uint64_t before,
                                sluice_status status)
{
    sluice_status st = custom_sample_guarded(sample, callback); /* even if the call has failed */

    if (st == SLUICE_OK) {
        st = custom_status(sample->owner, callback, before, status);
    }
    return st == SLUICE_OK ? take_outputs(sample, callback, before) : st;
}

/* True if an output is in its buffer, with IMAGE_SLACK bytes after it: the callback has written it
 * there, or lends (a part of) that room. */
static bool is_in_buffer(const custom_output *output)
{
    const uintptr_t begin = (uintptr_t)output->buffer.data;
    const uintptr_t at = (uintptr_t)output->bytes;

    return at >= begin && at - begin + output->size + IMAGE_SLACK <= output->buffer.capacity;
}

sluice_status custom_sample_pixels(sluice_sample *sample, uint32_t output, image_view *image_out)
{
    const custom_column *column = &sample->columns->columns[output];
    custom_output *given = &sample->outputs[output];
    const uint64_t channels = column->spec.rank == 3 ? given->shape[SCHEMA_C] : 1;

    if (!is_in_buffer(given)) { /* up to IMAGE_SLACK bytes after the end of lent memory may not be
                                   readable */
        sluice_status st = image_buffer_reserve(&given->buffer, given->size);

        if (st != SLUICE_OK) {
            return st;
        }
        given->bytes = memcpy(given->buffer.data, given->bytes, given->size);
    }
    *image_out = (image_view){given->bytes,
                              (size_t)(given->shape[SCHEMA_W] * channels),
                              (uint32_t)given->shape[SCHEMA_W],
                              (uint32_t)given->shape[SCHEMA_H],
                              (uint32_t)channels,
                              IMAGE_U8};
    return SLUICE_OK;
}
