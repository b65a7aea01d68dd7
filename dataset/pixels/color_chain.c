/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Formulas of torchvision for uint8 tensors (transforms.v2.functional: adjust_brightness,
 * adjust_contrast, posterize, solarize, autocontrast, equalize), in single precision and in the
 * same order of operations.
 */
#include "color_chain.h"

#include <assert.h>
#include <math.h>
#include <string.h>

#include "color_kernels.h"
#include "color_pixel_int.h"
#include "cpu_int.h"

/* ---- tables ---------------------------------------------------------------------------------- */

/* Composes `after` into `table`: table[c][v] becomes after[c][table[c][v]]. */
static void compose(uint8_t table[COLOR_CHANNELS][COLOR_VALUES],
                    const uint8_t after[COLOR_CHANNELS][COLOR_VALUES])
{
    for (int c = 0; c < COLOR_CHANNELS; c++) {
        for (int v = 0; v < COLOR_VALUES; v++) {
            table[c][v] = after[c][table[c][v]];
        }
    }
}

static void make_identity(uint8_t table[COLOR_CHANNELS][COLOR_VALUES])
{
    for (int c = 0; c < COLOR_CHANNELS; c++) {
        for (int v = 0; v < COLOR_VALUES; v++) {
            table[c][v] = (uint8_t)v;
        }
    }
}

/* Finds out whether the tables of all channels are the same, and are two bitwise operations, as
 * those of invert and posterize are: look_up() then needs no loads from the table, and is
 * vectorized. */
static void find_bitwise(color_operation *operation)
{
    const uint8_t *table = operation->table[0];
    const uint8_t flip = table[0];
    const uint8_t keep = (uint8_t)(table[0] ^ table[COLOR_VALUES - 1]);
    uint32_t differences = 0;

    for (int v = 0; v < COLOR_VALUES; v++) {
        differences += table[v] != (uint8_t)((v & keep) ^ flip);
    }
    operation->keep = keep;
    operation->flip = flip;
    operation->same = memcmp(table, operation->table[1], COLOR_VALUES) == 0 &&
                      memcmp(table, operation->table[2], COLOR_VALUES) == 0;
    operation->bitwise = differences == 0 && operation->same;
}

static color_operation *add(color_chain *chain, color_kind kind, double factor)
{
    color_operation *operation = &chain->operations[chain->count];

    assert(chain->count < COLOR_MAX_OPERATIONS);
    chain->count++;
    operation->kind = kind;
    operation->factor = (float)factor;
    operation->rest = (float)(1.0 - factor);
    return operation;
}

/* Consecutive tables become one. */
void color_add_table(color_chain *chain, const uint8_t values[COLOR_VALUES])
{
    color_operation *last = chain->count > 0 ? &chain->operations[chain->count - 1] : NULL;
    uint8_t table[COLOR_CHANNELS][COLOR_VALUES];

    for (int c = 0; c < COLOR_CHANNELS; c++) {
        memcpy(table[c], values, COLOR_VALUES);
    }
    if (last != NULL && last->kind == COLOR_TABLE) {
        compose(last->table, (const uint8_t(*)[COLOR_VALUES])table);
    } else {
        last = add(chain, COLOR_TABLE, 0);
        memcpy(last->table, table, sizeof(table));
    }
    find_bitwise(last);
}

/* Adds (v & keep) ^ flip. */
static void add_bits(color_chain *chain, uint8_t keep, uint8_t flip)
{
    color_operation *operation = add(chain, COLOR_BITS, 0);

    operation->keep = keep;
    operation->flip = flip;
}

void color_add_brightness(color_chain *chain, double factor)
{
    uint8_t values[COLOR_VALUES];

    if (chain->numbers) {
        add(chain, COLOR_BRIGHTNESS, factor);
        return;
    }
    for (int v = 0; v < COLOR_VALUES; v++) {
        values[v] = sli_color_byte((float)v * (float)factor);
    }
    color_add_table(chain, values);
}

void color_add_invert(color_chain *chain)
{
    uint8_t values[COLOR_VALUES];

    if (chain->numbers) {
        add_bits(chain, 0xFF, 0xFF);
        return;
    }
    for (int v = 0; v < COLOR_VALUES; v++) {
        values[v] = (uint8_t)(255 - v);
    }
    color_add_table(chain, values);
}

void color_add_posterize(color_chain *chain, uint32_t bits)
{
    uint8_t values[COLOR_VALUES];

    if (chain->numbers) {
        add_bits(chain, (uint8_t) ~(0xFF >> bits), 0);
        return;
    }
    for (int v = 0; v < COLOR_VALUES; v++) {
        values[v] = (uint8_t)(v & ~(0xFF >> bits));
    }
    color_add_table(chain, values);
}

void color_add_solarize(color_chain *chain, double threshold)
{
    uint8_t values[COLOR_VALUES];

    if (chain->numbers) {
        add(chain, COLOR_SOLARIZE, threshold <= 0 ? 0 : threshold > 255 ? 256 : ceil(threshold));
        return;
    }
    for (int v = 0; v < COLOR_VALUES; v++) {
        values[v] = (uint8_t)(v >= threshold ? 255 - v : v);
    }
    color_add_table(chain, values);
}

void color_add_contrast(color_chain *chain, double factor)
{
    add(chain, COLOR_CONTRAST, factor);
}

void color_add_saturation(color_chain *chain, double factor)
{
    add(chain, COLOR_SATURATION, factor);
}

void color_add_hue(color_chain *chain, double shift)
{
    add(chain, COLOR_HUE, shift);
}

void color_add_twist(color_chain *chain, const color_twist *twist)
{
    /* DALI's constants; the second matrix is the inverse of the first. */
    static const double to_yiq[3][3] = {
        {0.299, 0.587, 0.114}, {0.596, -0.274, -0.321}, {0.211, -0.523, 0.311}};
    static const double to_rgb[3][3] = {
        {0.9996643205124055, 0.95654118965208534, 0.62086170205757296},
        {0.99962482323189594, -0.27227450319254148, -0.64745127129659796},
        {1.0028122537690161, -1.1068480906311551, 1.7054056783849885}};
    const double scale = twist->brightness * twist->contrast;
    color_operation *operation = add(chain, COLOR_TWIST, 0);
    double sine;
    double cosine;

    warp_turn(twist->hue, &sine, &cosine);
    for (int i = 0; i < 3; i++) {
        for (int j = 0; j < 3; j++) {
            const double turned_i = cosine * to_yiq[1][j] + sine * to_yiq[2][j];
            const double turned_q = cosine * to_yiq[2][j] - sine * to_yiq[1][j];

            operation->matrix[i][j] =
                (float)(scale *
                        (to_rgb[i][0] * to_yiq[0][j] +
                         twist->saturation * (to_rgb[i][1] * turned_i + to_rgb[i][2] * turned_q)));
        }
        operation->matrix[i][3] = (float)(128 * (1 - twist->contrast) * twist->brightness);
    }
}

void color_add_hsv(color_chain *chain, sli_hsv by)
{
    add(chain, COLOR_HSV, 0)->hsv = by;
}

void color_add_permutation(color_chain *chain, const uint32_t order[COLOR_CHANNELS])
{
    color_operation *operation = add(chain, COLOR_TWIST, 0);

    memset(operation->matrix, 0, sizeof(operation->matrix));
    for (int c = 0; c < COLOR_CHANNELS; c++) {
        operation->matrix[c][order[c]] = 1;
    }
}

void color_add_gray(color_chain *chain)
{
    add(chain, COLOR_GRAY, 0);
}

void color_add_autocontrast(color_chain *chain)
{
    add(chain, COLOR_AUTOCONTRAST, 0);
}

void color_add_equalize(color_chain *chain)
{
    add(chain, COLOR_EQUALIZE, 0);
}

void color_add_warp(color_chain *chain, const image_warp *warp)
{
    const image_warp *last = chain->count > 0 ? &chain->operations[chain->count - 1].warp : NULL;
    image_warp next = *warp;

    if (chain->flipped_x || chain->flipped_y) {
        next.matrix = warp_mirror(&warp->matrix, chain->flipped_x ? chain->width : 0,
                                  chain->flipped_y ? chain->height : 0);
    }
    if (last != NULL && chain->operations[chain->count - 1].kind == COLOR_WARP &&
        last->shifts == NULL && last->nearest == next.nearest && last->constant == next.constant &&
        last->mask_fill == next.mask_fill &&
        memcmp(last->fill, next.fill, sizeof(next.fill)) == 0) {
        next.matrix = warp_compose(&last->matrix, &next.matrix);
        chain->operations[chain->count - 1].warp = next;
    } else {
        add(chain, COLOR_WARP, 0)->warp = next;
    }
}

void color_add_erase(color_chain *chain, const color_rectangle *erased)
{
    color_rectangle *own = &add(chain, COLOR_ERASE, 0)->erased;

    *own = *erased;
    if (chain->flipped_x) {
        own->x = chain->width - erased->x - erased->width;
    }
    if (chain->flipped_y) {
        own->y = chain->height - erased->y - erased->height;
    }
}

void color_add_noise(color_chain *chain, const image_noise *noise)
{
    add(chain, COLOR_NOISE, 0)->noise = *noise;
}

void color_add_jpeg(color_chain *chain, uint32_t quality)
{
    add(chain, COLOR_JPEG, 0)->jpeg = (image_jpeg){quality, chain->flipped_x, chain->flipped_y};
}

void color_add_blur(color_chain *chain, uint32_t taps, double sigma)
{
    blur_make(&add(chain, COLOR_BLUR, 0)->blur, taps, sigma);
}

void color_add_sharpness(color_chain *chain, double factor)
{
    add(chain, COLOR_SHARPEN, factor);
}

color_mix *color_add_mix(color_chain *chain)
{
    color_mix *mix = &chain->mixes[chain->mix_count];

    add(chain, COLOR_MIX, 0)->mix = chain->mix_count++;
    mix->count = 0;
    for (uint32_t i = 0; i < COLOR_MIX_CHAINS; i++) {
        color_chain *own = &mix->chains[i];

        own->width = chain->width;
        own->height = chain->height;
        own->flipped_x = chain->flipped_x;
        own->flipped_y = chain->flipped_y;
        own->count = 0;
        own->mix_count = 0;
        own->field_count = 0;
    }
    return mix;
}

/* ---- lines ----------------------------------------------------------------------------------- */

uint32_t color_next_whole(const color_chain *chain, uint32_t first)
{
    while (first < chain->count && chain->operations[first].kind < COLOR_CONTRAST) {
        first++;
    }
    return first;
}

static void look_up(const color_operation *operation, const uint8_t *from, uint8_t *to,
                    uint32_t pixels, uint32_t channels)
{
    const color_kernels *kernels = SLI_CHOOSE(sli_color_kernels);

    if (operation->bitwise) {
        const uint8_t keep = operation->keep;
        const uint8_t flip = operation->flip;

        for (size_t i = 0; i < (size_t)pixels * channels; i++) {
            to[i] = (uint8_t)((from[i] & keep) ^ flip);
        }
    } else if (channels == 1 || operation->same) {
        kernels->look_up(operation->table[0], from, to, (size_t)pixels * channels);
    } else {
        kernels->look_up_rgb(operation->table[0], from, to, pixels);
    }
}

/* Applies one operation. False: it has no effect, for example on an image of one channel. */
static bool apply_one(const color_operation *operation, const uint8_t *from, uint8_t *to,
                      uint32_t pixels, uint32_t channels)
{
    const color_kernels *kernels = SLI_CHOOSE(sli_color_kernels);

    if (operation->kind == COLOR_TABLE) {
        look_up(operation, from, to, pixels, channels);
        return true;
    }
    if (operation->kind == COLOR_HSV) {
        kernels->change_hsv(from, to, pixels, channels, operation->hsv);
        return true;
    }
    if (operation->kind == COLOR_NOTHING || channels == 1) {
        return false;
    }
    switch (operation->kind) {
    case COLOR_SATURATION:
        kernels->saturate(from, to, pixels, operation->factor, operation->rest);
        break;
    case COLOR_HUE:
        kernels->shift_hue(from, to, pixels, operation->factor);
        break;
    case COLOR_TWIST:
        kernels->twist(from, to, pixels, operation->matrix[0]);
        break;
    default:
        assert(operation->kind == COLOR_GRAY);
        kernels->gray(from, to, pixels);
        break;
    }
    return true;
}

/* Sets the pixels of line y that are in the rectangle. False: there are none. */
static bool erase(const color_rectangle *erased, uint32_t y, const uint8_t *from, uint8_t *to,
                  uint32_t pixels, uint32_t channels)
{
    uint8_t *pixel = to + (size_t)erased->x * channels;
    const size_t bytes = (size_t)erased->width * channels;

    if (y < erased->y || y - erased->y >= erased->height) {
        return false;
    }
    if (from != to) {
        memcpy(to, from, (size_t)pixels * channels);
    }
    for (size_t i = 0; i < bytes && i < channels; i++) {
        pixel[i] = erased->value[i];
    }
    for (size_t done = channels; done < bytes; done *= 2) { /* what is set already is copied */
        memcpy(pixel + done, pixel, done < bytes - done ? done : bytes - done);
    }
    return true;
}

void color_apply(const color_chain *chain, uint32_t first, uint32_t end, uint32_t y,
                 const uint8_t *from, uint8_t *to, uint32_t pixels, uint32_t channels)
{
    for (uint32_t i = first; i < end; i++) {
        const color_operation *operation = &chain->operations[i];

        if (operation->kind == COLOR_NOISE) {
            noise_line(&operation->noise, y, from, to, pixels * channels);
            from = to;
        } else if (operation->kind == COLOR_ERASE
                       ? erase(&operation->erased, y, from, to, pixels, channels)
                       : apply_one(operation, from, to, pixels, channels)) {
            from = to;
        }
    }
    if (from != to) {
        memcpy(to, from, (size_t)pixels * channels);
    }
}

/* ---- operations on the pixels of the whole image -----------------------------------------------
 */

bool color_needs_pixels(const color_operation *operation)
{
    return operation->kind >= COLOR_WARP;
}

size_t color_line_bytes(const color_chain *chain, uint32_t channels)
{
    const image_view image = {NULL, 0, chain->width, chain->height, channels, IMAGE_U8};
    size_t most = 0;

    for (uint32_t i = 0; i < chain->count; i++) {
        if (chain->operations[i].kind == COLOR_BLUR) {
            const size_t bytes = blur_bytes(&chain->operations[i].blur, &image);

            most = bytes > most ? bytes : most;
        }
    }
    return most;
}

void color_line(const color_operation *operation, const image_view *from, uint32_t y, void *memory,
                uint8_t *to)
{
    switch (operation->kind) {
    case COLOR_BLUR:
        blur_line(&operation->blur, from, y, memory, to);
        break;
    case COLOR_SHARPEN:
        sharpen_line(operation->factor, from, y, to);
        break;
    default:
        assert(operation->kind == COLOR_WARP);
        warp_line(&operation->warp, from, y, to);
        break;
    }
}

/* ---- statistics of the whole image ------------------------------------------------------------
 */

static inline void count_values(const uint8_t *line, uint32_t pixels, uint32_t channels,
                                color_statistics *statistics)
{
    const uint8_t *end = line + (size_t)(pixels & ~1U) * channels;

    for (; line < end; line += (size_t)2 * channels) {
        for (uint32_t c = 0; c < channels; c++) {
            statistics->counts[0][c][line[c]]++;
            statistics->counts[1][c][line[channels + c]]++;
        }
    }
    for (uint32_t c = 0; c < channels && pixels % 2 != 0; c++) {
        statistics->counts[0][c][line[c]]++;
    }
}

void color_count(const color_operation *operation, const uint8_t *line, uint32_t pixels,
                 uint32_t channels, color_statistics *statistics)
{
    statistics->pixels += pixels;
    if (color_needs_pixels(operation)) {
        return;
    }
    if (operation->kind == COLOR_CONTRAST && channels == COLOR_CHANNELS) {
        statistics->gray += SLI_CHOOSE(sli_color_kernels)->sum_gray(line, pixels);
        return;
    }
    if (channels == 1) {
        count_values(line, pixels, 1, statistics);
    } else {
        count_values(line, pixels, COLOR_CHANNELS, statistics);
    }
}

/* Sums the counts of even and odd pixels of a channel. */
static void sum_counts(const color_statistics *statistics, int channel,
                       uint32_t counts[COLOR_VALUES])
{
    for (int v = 0; v < COLOR_VALUES; v++) {
        counts[v] = statistics->counts[0][channel][v] + statistics->counts[1][channel][v];
    }
}

static uint64_t sum_values(const uint32_t counts[COLOR_VALUES])
{
    uint64_t sum = 0;

    for (uint32_t v = 0; v < COLOR_VALUES; v++) {
        sum += (uint64_t)v * counts[v];
    }
    return sum;
}

static void settle_contrast(color_operation *operation, const color_statistics *statistics)
{
    /* For one channel color_count() counts the histogram instead; the luma is the value. */
    const uint64_t sum = statistics->gray + sum_values(statistics->counts[0][0]) +
                         sum_values(statistics->counts[1][0]);
    const float mean = (float)sum / (float)statistics->pixels;
    const float rest = mean * operation->rest;

    for (int v = 0; v < COLOR_VALUES; v++) {
        operation->table[0][v] = sli_color_byte((float)v * operation->factor + rest);
    }
    memcpy(operation->table[1], operation->table[0], COLOR_VALUES);
    memcpy(operation->table[2], operation->table[0], COLOR_VALUES);
}

static void settle_autocontrast(uint8_t table[COLOR_VALUES], const uint32_t counts[COLOR_VALUES])
{
    int low = 0;
    int high = COLOR_VALUES - 1;
    float scale;

    while (low < high && counts[low] == 0) {
        low++;
    }
    while (high > low && counts[high] == 0) {
        high--;
    }
    if (low == high) {
        return; /* one value only: the channel does not change */
    }
    scale = (float)(high - low) * (float)(1.0 / 255);
    for (int v = 0; v < COLOR_VALUES; v++) {
        table[v] = sli_color_byte((float)(v - low) / scale);
    }
}

/* The same as Pillow's ImageOps.equalize(). */
static void settle_equalize(uint8_t table[COLOR_VALUES], const uint32_t counts[COLOR_VALUES],
                            uint64_t pixels)
{
    int last = COLOR_VALUES - 1;
    uint64_t step;
    uint64_t sum;

    while (last > 0 && counts[last] == 0) {
        last--;
    }
    step = (pixels - counts[last]) / 255;
    if (step == 0) {
        return;
    }
    sum = step / 2;
    for (int v = 0; v < COLOR_VALUES; v++) {
        const uint64_t value = sum / step;

        table[v] = (uint8_t)(value > 255 ? 255 : value);
        sum += counts[v];
    }
}

void color_settle(color_chain *chain, uint32_t number, const color_statistics *statistics)
{
    color_operation *operation = &chain->operations[number];
    color_operation *next = number + 1 < chain->count ? operation + 1 : NULL;

    assert(operation->kind >= COLOR_CONTRAST && !color_needs_pixels(operation) &&
           statistics->pixels > 0);
    make_identity(operation->table);
    if (operation->kind == COLOR_CONTRAST) {
        settle_contrast(operation, statistics);
    } else {
        for (int c = 0; c < COLOR_CHANNELS; c++) {
            uint32_t counts[COLOR_VALUES];

            sum_counts(statistics, c, counts);
            if (operation->kind == COLOR_AUTOCONTRAST) {
                settle_autocontrast(operation->table[c], counts);
            } else {
                settle_equalize(operation->table[c], counts, statistics->pixels);
            }
        }
    }
    operation->kind = COLOR_TABLE;
    if (next != NULL && next->kind == COLOR_TABLE) {
        compose(operation->table, (const uint8_t(*)[COLOR_VALUES])next->table);
        next->kind = COLOR_NOTHING;
    }
    find_bitwise(operation);
}
