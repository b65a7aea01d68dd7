/* SPDX-License-Identifier: Apache-2.0 */
/* Several images a sample: what is done to the first one is done to all. */
#include <stdlib.h>

#include "custom_kit.h"
#include "dataset_kit.h"
#include "list_kit.h"
#include "testing.h"

static const char *const all_stages[] = {
    "center_crop 20",
    "random_crop 33 padding=3 | random_horizontal_flip",
    "random_resized_crop 16 | random_horizontal_flip 0.5 | normalize imagenet | to_chw",
    "random_resized_crop 16 | random_horizontal_flip offload=host | to_dtype f16 scale=true",
    "random_crop 25 | resize 20 filter=bicubic | random_crop 20 padding=2 | to_chw",
    "resize 50,60 filter=area | center_crop 44 | random_horizontal_flip | to_dtype f32",
    "resize 12,9 | random_horizontal_flip 1",
};

/* Both images, and a mask and boxes besides. */
#define PAIR_LIST                                                                                  \
    "left:image\tright:image\tm:mask\tboxes:boxes[2]\n"                                            \
    "a.ppm\tb.ppm\tm.pgm\t0,0,40,30;3,4,9,20\n"

/* Two images that differ in each pixel, the mask of the first one, and two photographs. */
static const char *pair_folder(void)
{
    const char *folder = t_folder();
    uint8_t bytes[20 + LIST_WIDTH * LIST_HEIGHT * 3];
    size_t at = (size_t)snprintf((char *)bytes, 20, "P6 %d %d 255\n", LIST_WIDTH, LIST_HEIGHT);

    write_pair(folder, "a.ppm", "m.pgm");
    for (uint32_t i = 0; i < LIST_WIDTH * LIST_HEIGHT * 3; i++) {
        bytes[at++] = (uint8_t)(255 - i * 7 % 251);
    }
    t_write_file(t_path(folder, "b.ppm"), bytes, at);
    make_jpeg(folder, "l.jpg", 320, 200, 1);
    make_jpeg(folder, "r.jpg", 320, 200, 2);
    return folder;
}

/* A run of one batch of one row, of a list. */
static void open_pair(engine_run *run, sluice_dataset **dataset, const char *folder,
                      const char *list, const char *stages, const run_options *options)
{
    char text[400];

    snprintf(text, sizeof(text), "| %s | batch 1", stages);
    *dataset = list_dataset(folder, list, text);
    open_run(run, *dataset, options);
    T_OK(next_batch(run));
}

/* Column `name` of one run has the bits of column `other` of another run. */
static void check_column(const engine_run *got, const char *name, const engine_run *want,
                         const char *other)
{
    const uint32_t a = (uint32_t)sli_layout_find(&got->layout, name);
    const uint32_t b = (uint32_t)sli_layout_find(&want->layout, other);
    const sluice_tensor *x = &got->input.tensors[a];
    const sluice_tensor *y = &want->input.tensors[b];

    T_EQ(x->dtype, y->dtype);
    T_EQ(x->rank, y->rank);
    T_EQ(memcmp(x->shape, y->shape, x->rank * sizeof(x->shape[0])), 0);
    T_EQ(memcmp(row_of(got, a, 0), row_of(want, b, 0), row_bytes(want, b)), 0);
}

/* The pair, and the pair the other way round: the same size and draws, so the same pixels. */
static void check_swapped(const char *folder, const char *list, const char *swapped,
                          const char *stages)
{
    for (uint64_t seed = 0; seed < 8; seed++) {
        const run_options options = {.workers = 1,
                                     .device = devices[seed % 2],
                                     .settings = {.seed = seed, .prefer_device = seed % 4 == 1}};
        sluice_dataset *datasets[2];
        engine_run runs[2];

        open_pair(&runs[0], &datasets[0], folder, list, stages, &options);
        open_pair(&runs[1], &datasets[1], folder, swapped, stages, &options);
        check_column(&runs[0], "left", &runs[1], "left");
        check_column(&runs[0], "right", &runs[1], "right");
        for (int i = 0; i < 2; i++) {
            close_run(&runs[i]);
            sluice_dataset_destroy(datasets[i]);
        }
    }
}

static void all_images_go_through_the_same_stages(void)
{
    const char *folder = pair_folder();

    for (size_t i = 0; i < sizeof(all_stages) / sizeof(all_stages[0]); i++) {
        char stages[200];

        snprintf(stages, sizeof(stages), "decode | %s", all_stages[i]);
        check_swapped(folder, PAIR_LIST, "right:image\tleft:image\nb.ppm\ta.ppm\n", stages);
        snprintf(stages, sizeof(stages), "decode mode=gray fast_scale=true | resize 40 | %s",
                 i == 2 ? "center_crop 40" : all_stages[i]);
        check_swapped(folder, "left:image\tright:image\nl.jpg\tr.jpg\n",
                      "right:image\tleft:image\nr.jpg\tl.jpg\n", stages);
    }
}

static void masks_and_boxes_follow_as_of_one_image(void)
{
    const char *folder = pair_folder();

    for (size_t i = 0; i < sizeof(all_stages) / sizeof(all_stages[0]); i++) {
        const run_options options = {.workers = 1, .settings = {.seed = i}};
        sluice_dataset *datasets[2];
        engine_run runs[2];
        char stages[200];

        snprintf(stages, sizeof(stages), "decode | %s", all_stages[i]);
        open_pair(&runs[0], &datasets[0], folder, PAIR_LIST, stages, &options);
        open_pair(&runs[1], &datasets[1], folder,
                  "left:image\tm:mask\tboxes:boxes[2]\na.ppm\tm.pgm\t0,0,40,30;3,4,9,20\n", stages,
                  &options);
        check_column(&runs[0], "left", &runs[1], "left");
        check_column(&runs[0], "m", &runs[1], "m");
        check_column(&runs[0], "boxes", &runs[1], "boxes");
        check_column(&runs[0], "boxes_length", &runs[1], "boxes_length");
        for (int k = 0; k < 2; k++) {
            close_run(&runs[k]);
            sluice_dataset_destroy(datasets[k]);
        }
    }
}

/* The warps of the first image are fused; those of the second one have a colour between them. */
static void masks_follow_the_warps_of_the_first_image(void)
{
    const char *folder = pair_folder();
    const run_options options = {.workers = 1};
    sluice_dataset *datasets[2];
    engine_run runs[2];

    open_pair(&runs[0], &datasets[0], folder, PAIR_LIST,
              "decode | affine 0 4,0 | random_invert 1 columns=right | affine 0 -4,0", &options);
    open_pair(&runs[1], &datasets[1], folder, "left:image\tm:mask\na.ppm\tm.pgm\n",
              "decode | affine 0 4,0 | affine 0 -4,0", &options);
    check_column(&runs[0], "left", &runs[1], "left");
    check_column(&runs[0], "m", &runs[1], "m");
    for (int k = 0; k < 2; k++) {
        close_run(&runs[k]);
        sluice_dataset_destroy(datasets[k]);
    }
}

static void the_first_image_may_be_dropped(void)
{
    const char *folder = pair_folder();
    const char *stages = "decode | random_crop 10 | random_horizontal_flip | to_dtype f32";
    const run_options options = {.workers = 1, .settings = {.seed = 3}};
    char dropped[200];
    sluice_dataset *datasets[2];
    engine_run runs[2];

    snprintf(dropped, sizeof(dropped), "%s | project right", stages);
    open_pair(&runs[0], &datasets[0], folder, PAIR_LIST, dropped, &options);
    open_pair(&runs[1], &datasets[1], folder, PAIR_LIST, stages, &options);
    T_EQ(runs[0].layout.column_count, 1);
    check_column(&runs[0], "right", &runs[1], "right");
    for (int i = 0; i < 2; i++) {
        close_run(&runs[i]);
        sluice_dataset_destroy(datasets[i]);
    }
}

/* ---- sources of pixels ----------------------------------------------------------------------- */

enum { H = 12, W = 9 };

typedef struct views {
    const char *column; /* of one channel; NULL: none */
} views;

/* A colour image, and its depth in one channel. */
static sluice_status read_views(sluice_sample *sample, uint64_t index, void *user)
{
    static const char *const names[] = {"colour", "depth"};
    const views *v = user;

    for (uint32_t i = 0; i < 2; i++) {
        const bool is_depth = i == 1;
        const size_t bytes = (size_t)H * W * (is_depth ? 1 : 3);
        void *room;
        sluice_status st;

        if (v->column != NULL && !is_depth) {
            continue;
        }
        st = sluice_sample_room(sample, names[i], NULL, &room);
        if (st != SLUICE_OK) {
            return st;
        }
        for (size_t k = 0; k < bytes; k++) {
            ((uint8_t *)room)[k] = (uint8_t)(index * 31 + k * (is_depth ? 5 : 3));
        }
    }
    return SLUICE_OK;
}

static sluice_dataset *views_dataset(views *v, const char *stages)
{
    static const sluice_column_spec columns[] = {
        {"colour", SLUICE_U8, 3, {H, W, 3}, SLUICE_ROLE_IMAGE, 0, NULL},
        {"depth", SLUICE_U8, 3, {H, W, 1}, SLUICE_ROLE_IMAGE, 0, NULL},
    };
    const bool both = v->column == NULL;
    sluice_source source;

    sluice_source_init(&source);
    source.name = "views";
    source.columns = both ? columns : columns + 1;
    source.column_count = both ? 2 : 1;
    source.count = 8;
    source.read = read_views;
    source.user = v;
    return custom_dataset(&source, stages);
}

static void images_of_a_sample_may_differ_in_channels(void)
{
    const char *stages = "shuffle | random_crop 8,6 | resize 5 | random_horizontal_flip | to_dtype "
                         "f32 scale=true | normalize 0.5 0.25 | to_chw | batch 4";
    views both = {NULL};
    views depth = {"depth"};
    sluice_dataset *datasets[2] = {views_dataset(&both, stages), views_dataset(&depth, stages)};
    engine_run runs[2];

    for (int i = 0; i < 2; i++) {
        open_run(&runs[i], datasets[i], &(run_options){.workers = 2});
    }
    for (int k = 0; k < 2; k++) {
        const uint32_t at = 1;

        T_OK(next_batch(&runs[0]));
        T_OK(next_batch(&runs[1]));
        T_EQ(runs[0].input.tensors[0].shape[1], 3);
        T_EQ(runs[0].input.tensors[at].shape[1], 1);
        for (uint32_t row = 0; row < 4; row++) {
            T_EQ(
                memcmp(row_of(&runs[0], at, row), row_of(&runs[1], 0, row), row_bytes(&runs[1], 0)),
                0);
        }
    }
    for (int i = 0; i < 2; i++) {
        close_run(&runs[i]);
        sluice_dataset_destroy(datasets[i]);
    }
}

/* ---- what is refused ------------------------------------------------------------------------- */

static void an_image_of_another_size_is_a_bad_sample(void)
{
    static const struct {
        const char *record;
        const char *words;
    } bad[] = {
        {"a.ppm\tl.jpg", "right: the image is 320x200, the first one of its sample 40x30"},
        {"a.ppm\tabsent.ppm", "right: absent.ppm: cannot open"},
        {"a.ppm\tlist.tsv", "right: not an image"},
    };
    const char *folder = pair_folder();

    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        char list[200];
        sluice_dataset *dataset;
        tape got;

        snprintf(list, sizeof(list), "left:image\tright:image\na.ppm\tb.ppm\n%s\n", bad[i].record);
        dataset = list_dataset(folder, list, "| decode | resize 8,8 | batch 1");
        got = record(dataset, &(run_options){.workers = 1});
        T_TRUE(got.end < 0 && got.batches == 1);
        T_CONTAINS(got.error, bad[i].words);
        free(got.bytes);
        got = record(dataset, &(run_options){.settings = {.on_error = SLI_ON_ERROR_ZERO}});
        T_EQ(got.end, SLUICE_END_OF_DATA);
        T_EQ(got.errors.zeroed, 1);
        free(got.bytes);
        sluice_dataset_destroy(dataset);
    }
}

static void numbers_for_channels_are_those_of_all_images(void)
{
    views both = {NULL};
    sluice_dataset *dataset = views_dataset(&both, "random_horizontal_flip");

    T_STATUS(sluice_dataset_add(dataset, "normalize 0.5,0.5,0.5 0.5,0.5,0.5"), SLUICE_E_INVALID);
    T_CONTAINS(sluice_last_error(), "normalize: 3 numbers for an image of 1 channels, depth");
    sluice_dataset_destroy(dataset);
}

const t_test further_images_tests[] = {
    T_TEST(all_images_go_through_the_same_stages),
    T_TEST(masks_and_boxes_follow_as_of_one_image),
    T_TEST(masks_follow_the_warps_of_the_first_image),
    T_TEST(the_first_image_may_be_dropped),
    T_TEST(images_of_a_sample_may_differ_in_channels),
    T_TEST(an_image_of_another_size_is_a_bad_sample),
    T_TEST(numbers_for_channels_are_those_of_all_images),
    T_END,
};
