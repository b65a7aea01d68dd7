/* SPDX-License-Identifier: Apache-2.0 */
#include "image_map_kit.h"

#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <sluice/plugin.h>

#include "list_kit.h"
#include "testing.h"

static map_telling telling;

static sluice_status tell(sluice_sample *sample, const double matrix[6])
{
    double other[6];

    memcpy(other, matrix, sizeof(other));
    other[0] = telling == MAP_TELLS_A_LINE ? 0 : telling == MAP_TELLS_NAN ? (double)NAN : other[0];
    return telling == MAP_KEEPS_SILENT ? SLUICE_OK : sluice_sample_warped(sample, other);
}

/* Copies a part of the image, reflected if `mirrors`. With odd samples it lends its room. */
static sluice_status copy_part(sluice_sample *sample, const sluice_sample_view *view, uint64_t x,
                               uint64_t y, uint64_t width, uint64_t height, bool mirrors)
{
    const uint64_t shape[] = {height, width, view->shape[2]};
    const uint8_t *from = view->data;
    const double matrix[6] = {mirrors ? -1 : 1, 0, mirrors ? (double)(x + width) : -(double)x, 0, 1,
                              -(double)y};
    void *room;
    sluice_status st = sluice_sample_room(sample, "image", shape, &room);

    for (uint64_t i = 0; i < height && st == SLUICE_OK; i++) {
        for (uint64_t k = 0; k < width; k++) {
            const uint64_t from_x = mirrors ? x + width - 1 - k : x + k;

            memcpy((uint8_t *)room + (i * width + k) * shape[2],
                   from + ((y + i) * view->shape[1] + from_x) * shape[2], shape[2]);
        }
    }
    if (st == SLUICE_OK && sluice_sample_number(sample) % 2 == 1) {
        st = sluice_sample_lend(sample, "image", shape, room, (size_t)(height * width * shape[2]));
    }
    return st == SLUICE_OK ? tell(sample, matrix) : st;
}

/* A part at random, of a size of its own. */
static sluice_status map_cut(sluice_sample *sample, void *user)
{
    sluice_sample_view view;
    sluice_status st = sluice_sample_get(sample, "image", &view);
    const uint64_t width = 12 + sluice_sample_random(sample, 0) % 7;
    const uint64_t height = 10 + sluice_sample_random(sample, 1) % 5;

    (void)user;
    return st == SLUICE_OK
               ? copy_part(sample, &view,
                           sluice_sample_random(sample, 2) % (view.shape[1] - width + 1),
                           sluice_sample_random(sample, 3) % (view.shape[0] - height + 1), width,
                           height, false)
               : st;
}

static sluice_status map_mirror(sluice_sample *sample, void *user)
{
    sluice_sample_view view;
    const sluice_status st = sluice_sample_get(sample, "image", &view);

    (void)user;
    return st == SLUICE_OK ? copy_part(sample, &view, 0, 0, view.shape[1], view.shape[0], true)
                           : st;
}

/* The upper left corner, 8x8; declared. */
static sluice_status map_corner(sluice_sample *sample, void *user)
{
    sluice_sample_view view;
    const sluice_status st = sluice_sample_get(sample, "image", &view);

    (void)user;
    return st == SLUICE_OK ? copy_part(sample, &view, 0, 0, 8, 8, false) : st;
}

/* Writes the image again, as it is, with the default shape; lends its input. */
static sluice_status map_again(sluice_sample *sample, void *user)
{
    sluice_sample_view view;
    const sluice_status st = sluice_sample_get(sample, "image", &view);

    (void)user;
    return st == SLUICE_OK ? sluice_sample_lend(sample, "image", NULL, view.data, view.bytes) : st;
}

/* Reads the image: its size and its first pixel. */
static sluice_status map_look(sluice_sample *sample, void *user)
{
    sluice_sample_view view;
    void *room;
    sluice_status st = sluice_sample_get(sample, "image", &view);

    (void)user;
    if (st == SLUICE_OK) {
        st = sluice_sample_room(sample, "seen", NULL, &room);
    }
    if (st == SLUICE_OK) {
        const uint8_t *pixel = view.data;
        const int32_t seen[] = {(int32_t)view.shape[1], (int32_t)view.shape[0], pixel[0], pixel[1]};

        memcpy(room, seen, sizeof(seen));
    }
    return st;
}

/* Twice the first number that `look` has seen, and the label. */
static sluice_status map_sum(sluice_sample *sample, void *user)
{
    sluice_sample_view seen;
    sluice_sample_view label;
    sluice_sample_view image;
    void *room;
    sluice_status st = sluice_sample_get(sample, "seen", &seen);

    (void)user;
    st = st == SLUICE_OK ? sluice_sample_get(sample, "label", &label) : st;
    st = st == SLUICE_OK ? sluice_sample_get(sample, "image", &image) : st;
    st = st == SLUICE_OK ? sluice_sample_room(sample, "sum", NULL, &room) : st;
    if (st == SLUICE_OK) {
        *(int32_t *)room = 2 * *(const int32_t *)seen.data + *(const int32_t *)label.data;
    }
    return st;
}

/* Mirrors the samples of even numbers; the others stay, and it tells nothing. */
static sluice_status map_even(sluice_sample *sample, void *user)
{
    return sluice_sample_number(sample) % 2 == 0 ? map_mirror(sample, user)
                                                 : map_again(sample, user);
}

/* Writes one byte more than its room has. */
static sluice_status map_overrun(sluice_sample *sample, void *user)
{
    sluice_sample_view view;
    void *room;
    sluice_status st = sluice_sample_get(sample, "image", &view);

    (void)user;
    if (st == SLUICE_OK) {
        st = sluice_sample_room(sample, "image", NULL, &room);
    }
    if (st == SLUICE_OK) {
        memset(room, 0, view.bytes + 1);
    }
    return st;
}

/* As map_cut(), and then fails for sample 5. */
static sluice_status map_fail(sluice_sample *sample, void *user)
{
    const sluice_status st = map_cut(sample, user);

    return st == SLUICE_OK && sluice_sample_number(sample) == 5
               ? sluice_fail(SLUICE_E_CORRUPT, "no image of ours")
               : st;
}

static sluice_status keep_wide(sluice_sample *sample, uint32_t *keep_out, void *user)
{
    sluice_sample_view view;
    const sluice_status st = sluice_sample_get(sample, "image", &view);

    (void)user;
    T_STATUS(sluice_sample_warped(sample, (double[6]){1, 0, 0, 0, 1, 0}), SLUICE_E_INVALID);
    *keep_out = view.shape[1] > 30;
    return st;
}

static const char *const image_input[] = {"image"};
static const char *const sum_inputs[] = {"seen", "label", "image"};
static const char *const boxes_inputs[] = {"image", "boxes"};
static const char *const label_input[] = {"label"};
static const sluice_column_spec own_image[] = {{.name = "image",
                                                .role = SLUICE_ROLE_IMAGE,
                                                .dtype = SLUICE_U8,
                                                .rank = 3,
                                                .shape = {0, 0, 3}}};
static const sluice_column_spec corner_image[] = {{.name = "image",
                                                   .role = SLUICE_ROLE_IMAGE,
                                                   .dtype = SLUICE_U8,
                                                   .rank = 3,
                                                   .shape = {8, 8, 3}}};
static const sluice_column_spec other_image[] = {
    {.name = "view", .role = SLUICE_ROLE_IMAGE, .dtype = SLUICE_U8, .rank = 3, .shape = {0, 0, 3}}};
static const sluice_column_spec seen[] = {
    {.name = "seen", .dtype = SLUICE_I32, .rank = 1, .shape = {4}}};
static const sluice_column_spec own_mask[] = {
    {.name = "mask", .dtype = SLUICE_I32, .rank = 1, .shape = {4}}};
static const sluice_column_spec image_and_marks[] = {
    {.name = "image", .role = SLUICE_ROLE_IMAGE, .dtype = SLUICE_U8, .rank = 3, .shape = {0, 0, 3}},
    {.name = "marks",
     .role = SLUICE_ROLE_BOXES,
     .dtype = SLUICE_F32,
     .rank = 2,
     .shape = {2, 4},
     .ragged = 1}};
static const sluice_column_spec sum[] = {{.name = "sum", .dtype = SLUICE_I32}};

static const struct made {
    const char *name;
    sluice_status (*map)(sluice_sample *sample, void *user); /* NULL: keep_wide() */
    const sluice_column_spec *output;
    const char *const *inputs;
    uint32_t input_count;
} made[] = {
    {"cut_map", map_cut, own_image, image_input, 1},
    {"mirror_map", map_mirror, own_image, image_input, 1},
    {"corner_map", map_corner, corner_image, image_input, 1},
    {"again_map", map_again, own_image, image_input, 1},
    {"look_map", map_look, seen, image_input, 1},
    {"sum_map", map_sum, sum, sum_inputs, 3},
    {"boxes_map", map_look, seen, boxes_inputs, 2},
    {"other_map", map_cut, other_image, image_input, 1},
    {"even_map", map_even, own_image, image_input, 1},
    {"count_map", map_look, sum, boxes_inputs + 1, 1},
    {"label_map", map_look, sum, label_input, 1},
    {"paint_map", map_look, corner_image, NULL, 0},
    {"over_map", map_look, own_mask, image_input, 1},
    {"marks_map", map_look, image_and_marks, image_input, 1},
    {"view_map", map_look, other_image, label_input, 1},
    {"fail_map", map_fail, own_image, image_input, 1},
    {"overrun_map", map_overrun, own_image, image_input, 1},
    {"keep_wide_ones", NULL, NULL, image_input, 1},
};

static sluice_status build(sluice_builder *builder, void *user)
{
    const struct made *of = user;
    sluice_filter filter;
    sluice_map map;

    sluice_filter_init(&filter);
    sluice_map_init(&map);
    filter.inputs = map.inputs = of->inputs;
    filter.input_count = map.input_count = of->input_count;
    filter.filter = keep_wide;
    map.version = 1;
    map.outputs = of->output;
    map.output_count = of->output == image_and_marks ? 2 : 1;
    map.map = of->map;
    return of->map != NULL ? sluice_builder_map(builder, &map)
                           : sluice_builder_filter(builder, &filter);
}

void image_map_kit_begin(map_telling tells)
{
    static bool is_done;

    telling = tells;
    for (size_t i = 0; i < sizeof(made) / sizeof(made[0]) && !is_done; i++) {
        sluice_stage stage;

        sluice_stage_init(&stage);
        stage.name = made[i].name;
        stage.kind = made[i].map != NULL ? SLUICE_STAGE_MAP : SLUICE_STAGE_FILTER;
        stage.version = made[i].map != NULL;
        stage.build = build;
        stage.user = (void *)(uintptr_t)&made[i];
        T_OK(sluice_stage_register(&stage));
    }
    is_done = true;
}

void write_sized(const char *folder, const char *name, uint32_t width, uint32_t height)
{
    const size_t pixels = (size_t)width * height;
    uint8_t *bytes = malloc(30 + 3 * pixels);
    size_t at;

    T_TRUE(bytes != NULL);
    at = (size_t)snprintf((char *)bytes, 30, "P6 %u %u 255\n", width, height);
    for (size_t i = 0; i < pixels; i++) {
        bytes[at++] = (uint8_t)(i % width);
        bytes[at++] = (uint8_t)(i / width);
        bytes[at++] = (uint8_t)(width + height);
    }
    t_write_file(t_path(folder, name), bytes, at);
    free(bytes);
}

sluice_dataset *sized_dataset(const char *folder, const char *stages)
{
    char list[400] = "image\tlabel\n";

    for (uint32_t i = 0; i < 8; i++) {
        char name[20];

        snprintf(name, sizeof(name), "i%u.ppm", i);
        write_sized(folder, name, 24 + 3 * i, 20 + i);
        snprintf(list + strlen(list), sizeof(list) - strlen(list), "%s\t%u\n", name, i);
    }
    return list_dataset(folder, list, stages);
}
