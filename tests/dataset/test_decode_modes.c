/* SPDX-License-Identifier: Apache-2.0 */
/* decode mode=gray and mode=index: images of one channel. */
#include <stdlib.h>

#include "dataset_kit.h"
#include "list_kit.h"
#include "testing.h"
#ifdef SLI_HAVE_PNG
#include "png_maker.h"
#endif

/* The pixels of an image that a list of one file gives. */
static void check_pixels(const char *folder, const char *file, const char *stages,
                         const uint8_t *want, size_t size)
{
    char list[100];
    uint8_t pixels[LIST_WIDTH * LIST_HEIGHT];
    sluice_dataset *dataset;

    snprintf(list, sizeof(list), "image\tlabel\n%s\t0\n", file);
    dataset = list_dataset(folder, list, stages);
    T_TRUE(size <= sizeof(pixels));
    T_OK(sluice_dataset_get(dataset, 0, 0, 0, (void *const[]){pixels, NULL}, NULL));
    T_EQ(memcmp(pixels, want, size), 0);
    sluice_dataset_destroy(dataset);
}

static void indices_are_the_stored_numbers(void)
{
    const char *folder = t_folder();
    uint8_t want[LIST_WIDTH * LIST_HEIGHT];

    write_pair(folder, "a.ppm", "m.pgm");
    for (uint32_t i = 0; i < sizeof(want); i++) {
        want[i] = class_of(i % LIST_WIDTH, i / LIST_WIDTH);
    }
    check_pixels(folder, "m.pgm", "| decode mode=index | batch 1", want, sizeof(want));
#ifdef SLI_HAVE_PNG
    static const int colours[] = {PNG_COLOR_TYPE_PALETTE, PNG_COLOR_TYPE_GRAY};

    for (int i = 0; i < 2; i++) {
        for (int depth = 1; depth <= 8; depth *= 2) {
            const png_recipe recipe = {.width = LIST_WIDTH,
                                       .height = LIST_HEIGHT,
                                       .colour = colours[i],
                                       .depth = depth,
                                       .seed = 4};
            size_t size = 0;
            uint8_t *bytes = png_make(&recipe, &size);

            t_write_file(t_path(folder, "i.png"), bytes, size);
            free(bytes);
            for (uint32_t p = 0; p < sizeof(want); p++) {
                want[p] = (uint8_t)png_sample(&recipe, p % LIST_WIDTH, p / LIST_WIDTH, 0);
            }
            check_pixels(folder, "i.png", "| decode mode=index | batch 1", want, sizeof(want));
        }
    }
#endif
}

/* Crops and nearest-neighbour resizes work on the stored values, without interpolation. */
static void indices_take_geometry(void)
{
    const char *folder = t_folder();
    uint8_t want[20 * 10];

    write_pair(folder, "a.ppm", "m.pgm");
    for (uint32_t i = 0; i < sizeof(want); i++) {
        want[i] = class_of(10 + i % 20, 10 + i / 20);
    }
    check_pixels(folder, "m.pgm", "| decode mode=index | center_crop 10,20 | batch 1", want,
                 sizeof(want));
    for (uint32_t i = 0; i < sizeof(want); i++) {
        want[i] = class_of(i % 20 * 2 + 1, i / 20 * 3 + 1);
    }
    check_pixels(folder, "m.pgm", "| decode mode=index | resize 10,20 filter=nearest | batch 1",
                 want, sizeof(want));
}

static void files_of_colours_have_no_indices(void)
{
    static const char *const files[] = {"a.ppm", "j.jpg"};
    static const char *const reasons[] = {"its values are colours", "its compression is lossy"};
    const char *folder = t_folder();

    write_pair(folder, "a.ppm", "m.pgm");
    make_jpeg(folder, "j.jpg", LIST_WIDTH, LIST_HEIGHT, 1);
    for (int i = 0; i < 2; i++) {
        char list[100];
        sluice_dataset *dataset;

        snprintf(list, sizeof(list), "image\tlabel\n%s\t0\n", files[i]);
        dataset = list_dataset(folder, list, "| decode mode=index | resize 8,8 | batch 1");
        T_STATUS(
            sluice_dataset_get(dataset, 0, 0, 0, (void *const[]){(uint8_t[64]){0}, NULL}, NULL),
            SLUICE_E_UNSUPPORTED);
        T_CONTAINS(sluice_last_error(), files[i]);
        T_CONTAINS(sluice_last_error(), reasons[i]);
        sluice_dataset_destroy(dataset);
    }
}

/* Checks that column `name` of a list with several images is column `image` of a list of one. */
static void check_image(const engine_run *run, const char *folder, const char *name,
                        const char *file, const char *stages)
{
    char list[100];
    sluice_dataset *dataset;
    engine_run alone;
    uint32_t column;

    snprintf(list, sizeof(list), "image\n%s\n", file);
    dataset = list_dataset(folder, list, stages);
    open_run(&alone, dataset, &(run_options){.settings = {.seed = 5}});
    T_OK(next_batch(&alone));
    column = (uint32_t)sli_layout_find(&run->layout, name);
    T_EQ(row_bytes(run, column), row_bytes(&alone, 0));
    T_EQ(memcmp(row_of(run, column, 0), row_of(&alone, 0, 0), row_bytes(run, column)), 0);
    close_run(&alone);
    sluice_dataset_destroy(dataset);
}

/* Each image of a sample has the options of its own decode; the geometry of all is the same. */
static void images_of_a_sample_have_modes_of_their_own(void)
{
    static const char list[] = "photo:image\tgray:image\tdepth:image\tm:mask\n"
                               "j.jpg\tj.jpg\tm.pgm\tm.pgm\n";
    static const char geometry[] = "random_crop 20 | random_horizontal_flip 0.5 | batch 1";
    static const char *const decodes[] = {
        "decode columns=photo | decode mode=gray columns=gray | decode mode=index",
        "decode mode=index columns=depth | decode mode=gray columns=gray | decode",
        ("decode mode=gray columns=gray | decode columns=photo | color_jitter 0 columns=photo | "
         "decode mode=index columns=depth"),
    };
    const char *folder = t_folder();
    char text[300];

    write_pair(folder, "a.ppm", "m.pgm");
    make_jpeg(folder, "j.jpg", LIST_WIDTH, LIST_HEIGHT, 1);
    for (int i = 0; i < 2; i++) {
        static const char *const modes[] = {"", "mode=gray", "mode=index"};
        static const char *const names[] = {"photo", "gray", "depth"};
        static const char *const files[] = {"j.jpg", "j.jpg", "m.pgm"};
        engine_run run;

        snprintf(text, sizeof(text), "| %s | %s", decodes[i], geometry);
        open_own(&run, list_dataset(folder, list, text), &(run_options){.settings = {.seed = 5}});
        T_OK(next_batch(&run));
        for (int k = 0; k < 3; k++) {
            snprintf(text, sizeof(text), "| decode %s | %s", modes[k], geometry);
            check_image(&run, folder, names[k], files[k], text);
        }
        T_EQ(memcmp(column_row(&run, "m", 0), column_row(&run, "depth", 0), 400), 0);
        close_run(&run);
    }
    snprintf(text, sizeof(text), "| %s | batch 1", decodes[2]); /* colours before another decode */
    sluice_dataset_destroy(list_dataset(folder, list, text));
}

/* Limits and fast_scale are those of the column, too. */
static void images_of_a_sample_have_limits_of_their_own(void)
{
    static const char list[] = "a:image\tb:image\nj.jpg\tj.jpg\n";
    const char *folder = t_folder();
    sluice_dataset *dataset;
    engine_run run;
    tape got;

    make_jpeg(folder, "j.jpg", 320, 200, 1);
    dataset = list_dataset(folder, list,
                           "| decode columns=a | decode max_pixels=1000 columns=b | resize 8,8 | "
                           "batch 1");
    got = record(dataset, &(run_options){.workers = 1});
    T_TRUE(got.end < 0);
    T_CONTAINS(got.error, "b: ");
    T_CONTAINS(got.error, "max_pixels");
    free(got.bytes);
    sluice_dataset_destroy(dataset);
    dataset = list_dataset(folder, list,
                           "| decode fast_scale=true columns=b | decode columns=a | resize 25,40 | "
                           "batch 1");
    open_run(&run, dataset, &(run_options){.workers = 1});
    T_OK(next_batch(&run));
    check_image(&run, folder, "a", "j.jpg", "| decode | resize 25,40 | batch 1");
    check_image(&run, folder, "b", "j.jpg", "| decode fast_scale=true | resize 25,40 | batch 1");
    T_TRUE(memcmp(column_row(&run, "a", 0), column_row(&run, "b", 0), 3000) != 0);
    close_run(&run);
    sluice_dataset_destroy(dataset);
}

static void columns_of_decode_are_checked(void)
{
    static const char *const bad[][2] = {
        {"decode columns=a | resize 8,8", "resize: b is still encoded, and all images of a sample"},
        {"decode columns=a | batch 1", "column b is still encoded"},
        {"decode columns=b | resize 8,8", "the image is still encoded; put decode before it"},
        {"decode columns=a | decode columns=a", "columns=a: a is not encoded"},
        {"decode columns=m", "must name images; m is a mask"},
        {"decode columns=x", "there is no column 'x'"},
        {"decode columns=a | color_jitter 0.5", "still encoded"},
    };
    const char *folder = t_folder();

    write_pair(folder, "a.ppm", "m.pgm");
    write_list(folder, "list.tsv", "a:image\tb:image\tm:mask\na.ppm\ta.ppm\tm.pgm\n");
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        char text[600];

        snprintf(text, sizeof(text), "image_list %s/list.tsv | %s", folder, bad[i][0]);
        check_refused(text, bad[i][1]);
    }
}

static void modes_are_checked(void)
{
    check_refused("image_folder x | decode cmyk | batch 1", "must be one of rgb gray index");
}

const t_test decode_modes_tests[] = {
    T_TEST(indices_are_the_stored_numbers),
    T_TEST(indices_take_geometry),
    T_TEST(files_of_colours_have_no_indices),
    T_TEST(images_of_a_sample_have_modes_of_their_own),
    T_TEST(images_of_a_sample_have_limits_of_their_own),
    T_TEST(columns_of_decode_are_checked),
    T_TEST(modes_are_checked),
    T_END,
};
