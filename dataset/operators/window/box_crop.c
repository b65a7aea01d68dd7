/* SPDX-License-Identifier: Apache-2.0 */
#include "box_crop.h"

#include "status_int.h"

sluice_status box_crop_check(const char *stage, const char *argument, const param_reals *options)
{
    for (uint32_t i = 0; i < options->count; i++) {
        if (!(options->values[i] >= 0 && options->values[i] <= 1)) {
            return sli_fail(SLUICE_E_INVALID, "%s: %s=%g must be from 0 to 1", stage, argument,
                            options->values[i]);
        }
    }
    return options->count > 0 && options->name[0] == '\0'
               ? SLUICE_OK
               : sli_fail(SLUICE_E_INVALID, "%s: %s must be 1 to %d numbers from 0 to 1", stage,
                          argument, PARAM_MAX_REALS);
}

sluice_status box_crop_infer(const char *stage, stage_schema *schema)
{
    const int boxes = schema_find_boxes(schema);
    sluice_status st = schema_check_pixels(schema, stage);

    if (st == SLUICE_OK && boxes < 0) {
        st = sli_fail(SLUICE_E_INVALID, "%s: %s", stage,
                      boxes == -1 ? "there is no column of boxes, as coco and image_list have"
                                  : "there are several columns of boxes; drop all but one");
    }
    if (st == SLUICE_OK) {
        schema_unset_size(schema, stage);
    }
    return st;
}

static double least(double a, double b)
{
    return a < b ? a : b;
}

static double most(double a, double b)
{
    return a > b ? a : b;
}

double box_crop_shared(const double a[4], const double b[4])
{
    const double width = most(least(a[2], b[2]) - most(a[0], b[0]), 0);
    const double height = most(least(a[3], b[3]) - most(a[1], b[1]), 0);

    return width * height;
}

double box_crop_joined(const double a[4], const double b[4])
{
    return (a[2] - a[0]) * (a[3] - a[1]) + (b[2] - b[0]) * (b[3] - b[1]) - box_crop_shared(a, b);
}

/* True if the crop keeps at least one box. */
static bool keeps_some(const box_crop_search *search, const double crop[4],
                       const stage_boxes *boxes)
{
    for (uint32_t i = 0; i < boxes->count; i++) {
        if (boxes->dropped[i] == 0 && search->keeps(crop, boxes->corners[i])) {
            return true;
        }
    }
    return false;
}

static uint32_t count_boxes(const stage_boxes *boxes)
{
    uint32_t count = 0;

    for (uint32_t i = 0; i < boxes->count; i++) {
        count += boxes->dropped[i] == 0;
    }
    return count;
}

/* The best crop so far; below 0: there is none. */
typedef struct best_crop {
    double measure;
    double crop[4];
} best_crop;

/* Draws `trials` crops until one has the measure. *best: changed if a crop is better. */
static bool find_crop(const box_crop_search *search, const sli_draws *draws, uint32_t block,
                      uint32_t trials, double option, const stage_boxes *boxes, uint32_t width,
                      uint32_t height, best_crop *best)
{
    for (uint32_t i = 0; i < trials; i++) {
        uint32_t bits[4];
        best_crop drawn;

        sli_draw(draws, block + i, bits);
        if (!search->draw(search->args, bits, width, height, drawn.crop) ||
            !keeps_some(search, drawn.crop, boxes)) {
            continue;
        }
        drawn.measure = search->measure(search->args, drawn.crop, boxes);
        if (drawn.measure >= option || drawn.measure > best->measure) {
            *best = drawn;
        }
        if (drawn.measure >= option) {
            return true;
        }
    }
    return false;
}

static void take_crop(const box_crop_search *search, const double crop[4], const stage_boxes *boxes,
                      stage_window *out)
{
    for (uint32_t i = 0; i < boxes->count; i++) {
        boxes->dropped[i] |= !search->keeps(crop, boxes->corners[i]);
    }
    out->crops = true;
    out->x = (int64_t)crop[0];
    out->y = (int64_t)crop[1];
    out->width = (uint32_t)(crop[2] - crop[0]);
    out->height = (uint32_t)(crop[3] - crop[1]);
}

void box_crop_find(const box_crop_search *search, const sli_draws *draws, const stage_boxes *boxes,
                   uint32_t width, uint32_t height, stage_window *out)
{
    uint32_t left = count_boxes(boxes) > 0 ? search->most_trials : 0;
    best_crop best = {.measure = -1};

    for (uint32_t block = 0; left > 0; block += 1 + search->trials) {
        const uint32_t trials = left < search->trials ? left : search->trials;
        double option;
        uint32_t bits[4];

        sli_draw(draws, block, bits);
        option = search->options[sli_below(bits[0], search->option_count)];
        if (option == BOX_CROP_NONE) {
            return;
        }
        if (find_crop(search, draws, block + 1, trials, option, boxes, width, height, &best)) {
            take_crop(search, best.crop, boxes, out);
            return;
        }
        left -= trials;
    }
    if (search->takes_best && best.measure >= 0) {
        take_crop(search, best.crop, boxes, out);
    }
}
