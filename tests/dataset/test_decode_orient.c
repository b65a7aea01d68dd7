/* SPDX-License-Identifier: Apache-2.0 */
/*
 * decode orient=true: a file with an Exif orientation gives the bits of a PPM file of its pixels,
 * turned upright. orient=false gives those of the file without the tag.
 */
#include <stdlib.h>

#include <sluice/reader.h>

#include "dataset_kit.h"
#include "list_kit.h"
#include "log_kit.h"
#include "pack_kit.h"
#include "testing.h"
#include "upright_kit.h"

/* Files of several sizes, one for each orientation. */
enum { FILES = 8 };

static uint32_t width_of(uint32_t i)
{
    return 40 + i * 13;
}

static uint32_t height_of(uint32_t i)
{
    return 77 - i * 5;
}

static void write_files(const char *folder)
{
    for (uint32_t i = 0; i < FILES; i++) {
        char name[20];

        snprintf(name, sizeof(name), "%u.jpg", i);
        write_oriented(folder, name, width_of(i), height_of(i), i + 1, i + 1);
        snprintf(name, sizeof(name), "%u.ppm", i);
        write_upright(folder, name, width_of(i), height_of(i), i + 1, i + 1, false);
        snprintf(name, sizeof(name), "%u.pgm", i);
        write_upright(folder, name, width_of(i), height_of(i), i + 1, i + 1, true);
        snprintf(name, sizeof(name), "%u.plain.jpg", i);
        write_oriented(folder, name, width_of(i), height_of(i), 1, i + 1);
    }
}

/* A list of the files with this ending: "image label", or "left right label" of two files each. */
static sluice_dataset *files_list(const char *folder, const char *end, bool pairs,
                                  const char *stages)
{
    char list[1000];
    size_t at = (size_t)snprintf(list, sizeof(list), "%s\tlabel\n",
                                 pairs ? "left:image\tright:image" : "image");

    for (uint32_t i = 0; i < FILES; i++) {
        char name[20];

        snprintf(name, sizeof(name), "%u.%s", i, end);
        at += (size_t)snprintf(list + at, sizeof(list) - at, "%s\t", name);
        if (pairs) {
            snprintf(name, sizeof(name), "%u.%s", (i + 4) % FILES, end);
            at += (size_t)snprintf(list + at, sizeof(list) - at, "%s\t", name);
        }
        at += (size_t)snprintf(list + at, sizeof(list) - at, "%u\n", i);
    }
    return list_dataset(folder, list, stages);
}

static tape run_files(const char *folder, const char *end, bool pairs, const char *stages,
                      uint32_t workers)
{
    const tape t =
        record_own(files_list(folder, end, pairs, stages),
                   &(run_options){.workers = workers, .settings = {.seed = 5}, .batches = 4});

    if (t.batches != 4) {
        T_FAIL_("%s of %s: %s", stages, end, t.error);
    }
    return t;
}

/* Two passes of the same stages over files of two names. */
static void check_same(const char *folder, const char *end, const char *want_end, bool pairs,
                       const char *stages, const char *want_stages)
{
    const tape want = run_files(folder, want_end, pairs, want_stages, 1);

    for (uint32_t workers = 1; workers <= 2; workers++) {
        const tape got = run_files(folder, end, pairs, stages, workers);

        check_equal_tapes(&got, &want, stages);
        free(got.bytes);
    }
    free(want.bytes);
}

static const char *const pipelines[] = {
    "| decode | resize 24,20 | batch 4",
    "| decode | random_resized_crop 24 | random_horizontal_flip | batch 4",
    "| decode | random_resized_crop 50,30 filter=bicubic | normalize imagenet | to_chw | batch 4",
    "| decode | random_resized_crop 16 filter=nearest | batch 4",
    "| decode | random_resized_crop 16 filter=area | random_vertical_flip | batch 4",
    "| decode | random_resized_crop 31 antialias=false | batch 4",
    "| decode | center_crop 20 | batch 4",
    "| decode | random_crop 90,60 padding=7 pad_if_needed=true fill=9 | batch 4",
    "| decode | pad_image 3 mode=reflect | resize 29 | center_crop 40 | batch 4",
    "| decode | letterbox 45 | batch 4",
    "| decode | resize 40 | random_rotation 20 | center_crop 33 | color_jitter 0.3 0.3 | batch 4",
    "| decode | random_perspective | resize 20,20 | gaussian_blur 3 | batch 4",
    "| decode | random_resized_crop 30 | device | random_affine 9 | random_invert 1 | batch 4",
    "| decode | views 2 | random_resized_crop 18 | random_horizontal_flip | batch 4",
    "| decode | mosaic 44 | batch 4",
    "| decode | cache 1M | random_resized_crop 18 | batch 4",
    "| cache 1M | decode | random_resized_crop 18 | batch 4",
    "| decode | cache 30K | random_resized_crop 18 | batch 4",
};

static void files_with_an_orientation_are_upright(void)
{
    const char *gray = "| decode mode=gray | random_resized_crop 23 | batch 4";
    const char *folder = t_folder();

    write_files(folder);
    kit_log_start(NULL, NULL);
    for (size_t i = 0; i < COUNT(pipelines); i++) {
        check_same(folder, "jpg", "ppm", false, pipelines[i], pipelines[i]);
    }
    check_same(folder, "jpg", "pgm", false, gray, gray);
    kit_log_stop();
}

/* Each image of a sample has an orientation of its own. */
static void further_images_are_upright(void)
{
    static const char *const stages[] = {
        "| decode | resize 30,30 | random_crop 20 | batch 4",
        "| decode columns=left | decode columns=right | resize 30,30 filter=area | batch 4"};
    const char *folder = t_folder();

    for (uint32_t i = 0; i < FILES; i++) {
        char name[20];

        snprintf(name, sizeof(name), "%u.jpg", i);
        write_oriented(folder, name, 50, 50, i + 1, i + 1);
        snprintf(name, sizeof(name), "%u.ppm", i);
        write_upright(folder, name, 50, 50, i + 1, i + 1, false);
    }
    kit_log_start(NULL, NULL);
    for (size_t i = 0; i < COUNT(stages); i++) {
        check_same(folder, "jpg", "ppm", true, stages[i], stages[i]);
    }
    kit_log_stop();
}

static void orient_false_uses_pixels_as_stored(void)
{
    const char *folder = t_folder();

    write_files(folder);
    kit_log_start(NULL, NULL);
    check_same(folder, "jpg", "plain.jpg", false,
               "| decode orient=false | random_resized_crop 24 | batch 4",
               "| decode | random_resized_crop 24 | batch 4");
    kit_log_stop();
}

/* A pack has the tag and the pixels as stored, or the file. */
static void packs_are_upright(void)
{
    const char *stages = "| decode | random_resized_crop 24 | random_horizontal_flip | batch 4";
    const char *folder = t_folder();
    tape want;

    T_NEEDS(can_pack(), "built without libarchive");
    write_files(folder);
    kit_log_start(NULL, NULL);
    want = run_files(folder, "ppm", false, stages, 1);
    for (int raw = 0; raw < 2; raw++) {
        const char *packed = folder_named(folder, raw == 1 ? "raw" : "packed");
        sluice_dataset *dataset = files_list(folder, "jpg", false, "");
        sluice_pack_config config = config_of(dataset, packed);
        sluice_pack_stats stats;
        tape got;

        config.raw = raw == 1;
        sluice_pack_stats_init(&stats);
        T_OK(sluice_pack(&config, &stats));
        sluice_dataset_destroy(dataset);
        got = record_own(parsedf("webdataset %s %s", packed, stages),
                         &(run_options){.settings = {.seed = 5}, .batches = 4});
        check_equal_tapes(&got, &want, packed);
        free(got.bytes);
    }
    free(want.bytes);
    kit_log_stop();
}

/* It promises no equal pixels, only whole ones near the exact ones. */
static void fast_scale_is_upright(void)
{
    const char *folder = t_folder();
    uint64_t sum = 0;
    tape exact;
    tape fast;

    for (uint32_t i = 0; i < FILES; i++) {
        char name[20];

        snprintf(name, sizeof(name), "%u.jpg", i);
        write_oriented(folder, name, 400, 301, i + 1, 7);
    }
    kit_log_start(NULL, NULL);
    exact = run_files(folder, "jpg", false, "| decode | resize 20,26 | batch 4", 1);
    fast = run_files(folder, "jpg", false, "| decode fast_scale=true | resize 20,26 | batch 4", 1);
    kit_log_stop();
    T_EQ(exact.size, fast.size);
    for (size_t i = 0; i < exact.size; i++) {
        sum += (uint64_t)abs(exact.bytes[i] - fast.bytes[i]);
    }
    T_TRUE(sum > 0 && sum < exact.size * 3);
    free(exact.bytes);
    free(fast.bytes);
}

/* Reads sample 0 of a file after a crop, in RGB. */
static void read_crop(const char *folder, const char *file, const char *decode, uint32_t y,
                      uint32_t x, const char *stages, uint8_t *row)
{
    char text[200];

    snprintf(text, sizeof(text), "| %s | crop 128,160 %u %u | %s | batch 1", decode, y, x, stages);
    T_OK(list_row(folder, file, text, row));
}

/* The scaled pixels begin where the file does, so a mirrored image gives what its file gives,
 * mirrored. Sides of one pixel more than blocks of 8 make the difference large. */
static void fast_scale_has_the_same_pixels_mirrored(void)
{
    enum { WIDTH = 401, HEIGHT = 297, SIDES = 16 * 20 * 3 };
    static const char fast[] = "decode fast_scale=true";
    const char *folder = t_folder();

    kit_log_start(NULL, NULL);
    write_oriented(folder, "plain.jpg", WIDTH, HEIGHT, 1, 7);
    for (uint32_t o = 2; o <= 4; o++) {
        const bool x = o != 4;
        const bool y = o != 2;
        uint8_t want[SIDES];
        uint8_t got[SIDES];
        char flips[100];

        snprintf(flips, sizeof(flips),
                 "resize 16,20 | random_horizontal_flip %d | random_vertical_flip %d", x, y);
        write_oriented(folder, "turned.jpg", WIDTH, HEIGHT, o, 7);
        read_crop(folder, "plain.jpg", fast, y ? HEIGHT - 128 - 40 : 40, x ? WIDTH - 160 - 80 : 80,
                  flips, want);
        read_crop(folder, "turned.jpg", fast, 40, 80, "resize 16,20", got);
        for (uint32_t i = 0; i < SIDES; i++) {
            T_TRUE(abs(want[i] - got[i]) <= 1);
        }
    }
    kit_log_stop();
}

/* The size that nothing in the pipeline sets is that of the upright image. */
static void the_probed_size_is_upright(void)
{
    const char *folder = t_folder();
    sluice_column_spec spec;
    sluice_dataset *dataset;

    write_oriented(folder, "a.jpg", 40, 30, 6, 1);
    kit_log_start(NULL, NULL);
    dataset = list_dataset(folder, "image\tlabel\na.jpg\t0\n", "| decode | batch 1");
    T_OK(sluice_dataset_column_spec(dataset, "image", &spec));
    T_EQ(spec.shape[0], 40);
    T_EQ(spec.shape[1], 30);
    sluice_dataset_destroy(dataset);
    kit_log_stop();
}

static void explain_names_what_was_applied(void)
{
    const char *folder = t_folder();
    sluice_dataset *dataset;
    char *text = NULL;

    write_oriented(folder, "a.jpg", 40, 30, 6, 1);
    kit_log_start(NULL, NULL);
    dataset = list_dataset(folder, "image\tlabel\na.jpg\t0\n", "| decode | resize 8,8 | batch 1");
    T_OK(sluice_dataset_explain_sample(dataset, 1, 0, 0, &text));
    T_CONTAINS(text, "file: 40x30, Exif orientation 6 applied: 30x40\nstep 0: resize: 30x40, ");
    sluice_string_free(text);
    sluice_dataset_destroy(dataset);
    kit_log_stop();
}

/* Labels are upright: a mask of the upright size, and boxes within it. A mask may have an
 * orientation, too. */
static void masks_and_boxes_are_upright(void)
{
    const char *folder = t_folder();
    const char *stages = "| decode | random_crop 20 | random_horizontal_flip | batch 1";
    uint8_t mask[20 + 30 * 40];
    size_t at = (size_t)snprintf((char *)mask, 20, "P5 30 40 255\n");
    tape tapes[2];

    for (size_t i = 0; i < (size_t)30 * 40; i++) {
        mask[at + i] = (uint8_t)(i % 251);
    }
    t_write_file(t_path(folder, "m.pgm"), mask, at + (size_t)30 * 40);
    write_oriented(folder, "a.jpg", 40, 30, 6, 1);
    write_upright(folder, "a.ppm", 40, 30, 6, 1, false);
    kit_log_start(NULL, NULL);
    for (int i = 0; i < 2; i++) {
        char list[200];

        snprintf(list, sizeof(list), "image\tm:mask\tb:boxes[2]\na.%s\tm.pgm\t2,5,29,39;4,4,9,30\n",
                 i == 0 ? "jpg" : "ppm");
        tapes[i] = record_own(list_dataset(folder, list, stages),
                              &(run_options){.settings = {.seed = 3}, .batches = 3});
        T_EQ(tapes[i].batches, 3);
    }
    check_equal_tapes(&tapes[0], &tapes[1], stages);
    free(tapes[0].bytes);
    free(tapes[1].bytes);
    kit_log_stop();
}

/* The reader clips boxes to the image that decode gives. */
static void a_reader_clips_boxes_to_the_upright_image(void)
{
    static const struct {
        const char *stages;
        float right;
        float bottom;
    } cases[] = {{"", 30, 40}, {"| decode", 30, 40}, {"| decode orient=false", 40, 30}};
    const char *folder = t_folder();

    write_oriented(folder, "a.jpg", 40, 30, 6, 1);
    kit_log_start(NULL, NULL);
    for (size_t i = 0; i < COUNT(cases); i++) {
        sluice_dataset *dataset =
            list_dataset(folder, "image\tb:boxes[1]\na.jpg\t1,2,99,98\n", cases[i].stages);
        sluice_reader *reader = NULL;
        sluice_sample_view view;
        const float *box;

        T_OK(sluice_reader_create(dataset, &reader));
        T_OK(sluice_reader_get(reader, 0, 1, &view));
        box = view.data;
        T_TRUE(box[0] == 1 && box[1] == 2 && box[2] == cases[i].right && box[3] == cases[i].bottom);
        sluice_reader_destroy(reader);
        sluice_dataset_destroy(dataset);
    }
    kit_log_stop();
}

const t_test decode_orient_tests[] = {
    T_TEST(files_with_an_orientation_are_upright),
    T_TEST(further_images_are_upright),
    T_TEST(orient_false_uses_pixels_as_stored),
    T_TEST(packs_are_upright),
    T_TEST(fast_scale_is_upright),
    T_TEST(fast_scale_has_the_same_pixels_mirrored),
    T_TEST(the_probed_size_is_upright),
    T_TEST(explain_names_what_was_applied),
    T_TEST(masks_and_boxes_are_upright),
    T_TEST(a_reader_clips_boxes_to_the_upright_image),
    T_END,
};
