/* SPDX-License-Identifier: Apache-2.0 */
#include "scene_kit.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include <sluice/arrays.h>

#include "list_kit.h"
#include "testing.h"

#define ROLES "column m mask | column b boxes | column s image"

void scene_fill(scene *s)
{
    *s = (scene){.width = SCENE_WIDTH, .height = SCENE_HEIGHT};
    for (uint32_t i = 0; i < SCENE_SAMPLES; i++) {
        for (uint32_t k = 0; k < SCENE_WIDTH * SCENE_HEIGHT; k++) {
            const uint32_t x = k % SCENE_WIDTH;
            const uint32_t y = k / SCENE_WIDTH;

            for (uint32_t c = 0; c < 3; c++) {
                s->image[i][3 * k + c] = (uint8_t)(40 + 9 * x + 5 * y + 30 * c + (x * y + i) % 17);
                s->second[i][3 * k + c] = (uint8_t)(200 - 7 * x + 3 * y + 20 * c * i);
            }
            s->mask[i][k] = (uint8_t)(x / 5 + y / 4);
        }
        s->boxes[i][0][0] = 2 + (float)i;
        s->boxes[i][0][1] = 3;
        s->boxes[i][0][2] = 9 + (float)i;
        s->boxes[i][0][3] = 12;
        memcpy(s->boxes[i][1], (float[4]){10, 1, 19, 8}, sizeof(s->boxes[i][1]));
        s->lengths[i] = (int32_t)(i % 3);
    }
}

/* Rows of a column without the room behind them, in memory of its own. */
static void *packed(const uint8_t (*rows)[SCENE_ROW], size_t bytes)
{
    uint8_t *to = malloc(SCENE_SAMPLES * bytes);

    T_TRUE(to != NULL);
    for (size_t i = 0; i < SCENE_SAMPLES; i++) {
        memcpy(to + i * bytes, rows[i], bytes);
    }
    return to;
}

/* The result of stages on a scene; it has no mask and boxes if image_only is true. */
void scene_run(const scene *from, const char *stages, bool image_only, scene *to)
{
    const size_t pixels = (size_t)from->width * from->height;
    void *const images[] = {packed(from->image, 3 * pixels), packed(from->second, 3 * pixels),
                            packed(from->mask, pixels)};
    const sluice_array arrays[] = {
        {"image", images[0], SLUICE_U8, 4, {SCENE_SAMPLES, from->height, from->width, 3}},
        {"s", images[1], SLUICE_U8, 4, {SCENE_SAMPLES, from->height, from->width, 3}},
        {"m", images[2], SLUICE_U8, 3, {SCENE_SAMPLES, from->height, from->width}},
        {"b", from->boxes, SLUICE_F32, 3, {SCENE_SAMPLES, SCENE_BOXES, 4}},
        {"b_length", from->lengths, SLUICE_I32, 1, {SCENE_SAMPLES}},
    };
    sluice_dataset *dataset = NULL;
    const sluice_column *image;
    engine_run run;
    size_t size;

    T_OK(sluice_dataset_memory(arrays, image_only ? 1 : 5, &dataset));
    if (!image_only) {
        T_OK(sluice_dataset_add(dataset, ROLES));
    }
    T_OK(sluice_dataset_add(dataset, stages));
    T_OK(sluice_dataset_add(dataset, "batch 1"));
    open_own(&run, dataset, &(run_options){.workers = 1, .settings = {.seed = 3}});
    memset(to, 0, sizeof(*to));
    for (uint32_t i = 0; i < SCENE_SAMPLES; i++) {
        T_OK(next_batch(&run));
        image = &run.plan->wire[sli_layout_find(&run.layout, "image")];
        to->height = (uint32_t)image->shape[image->rank - 3];
        to->width = (uint32_t)image->shape[image->rank - 2];
        size = (size_t)to->width * to->height * (image->rank == 4 ? (size_t)image->shape[0] : 1);
        T_TRUE(3 * size <= SCENE_ROW);
        memcpy(to->image[i], column_row(&run, "image", 0), 3 * size);
        if (image_only) {
            continue;
        }
        memcpy(to->second[i], column_row(&run, "s", 0), 3 * size);
        memcpy(to->mask[i], column_row(&run, "m", 0), size);
        memcpy(to->boxes[i], column_row(&run, "b", 0), sizeof(to->boxes[i]));
        memcpy(&to->lengths[i], column_row(&run, "b_length", 0), sizeof(to->lengths[i]));
    }
    close_run(&run);
    for (int i = 0; i < 3; i++) {
        free(images[i]);
    }
}

static bool boxes_equal(const scene *a, const scene *b, uint32_t i)
{
    bool same = a->lengths[i] == b->lengths[i];

    for (uint32_t k = 0; k < SCENE_BOXES * 4; k++) {
        same = same && fabsf((&a->boxes[i][0][0])[k] - (&b->boxes[i][0][0])[k]) < 1e-3F;
    }
    return same;
}

bool scene_equal(const scene *a, const scene *b, uint32_t i)
{
    return a->width == b->width && a->height == b->height &&
           memcmp(a->image[i], b->image[i], SCENE_ROW) == 0 &&
           memcmp(a->second[i], b->second[i], SCENE_ROW) == 0 &&
           memcmp(a->mask[i], b->mask[i], SCENE_ROW) == 0 && boxes_equal(a, b, i);
}

void scene_check_halves(const char *first, const char *second, bool image_only)
{
    static scene begin;
    static scene between;
    static scene want;
    static scene got;
    char both[600];

    scene_fill(&begin);
    snprintf(both, sizeof(both), "%s | %s", first, second);
    scene_run(&begin, first, image_only, &between);
    scene_run(&between, second, image_only, &want);
    scene_run(&begin, both, image_only, &got);
    if (memcmp(got.image, want.image, sizeof(got.image)) != 0 ||
        memcmp(got.second, want.second, sizeof(got.second)) != 0) {
        T_FAIL_("%s: the images differ", both);
    }
    if (memcmp(got.mask, want.mask, sizeof(got.mask)) != 0) {
        T_FAIL_("%s: the masks differ", both);
    }
    T_EQ(memcmp(got.lengths, want.lengths, sizeof(got.lengths)), 0);
    for (uint32_t i = 0; i < SCENE_SAMPLES * SCENE_BOXES * 4; i++) {
        T_TRUE(fabsf((&got.boxes[0][0][0])[i] - (&want.boxes[0][0][0])[i]) < 1e-3F);
    }
}
