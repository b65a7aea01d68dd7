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

static void modes_are_checked(void)
{
    sluice_decode_config config;
    sluice_dataset *dataset = parsed("image_folder x");

    sluice_decode_config_init(&config);
    config.mode = "cmyk";
    T_STATUS(sluice_dataset_decode(dataset, &config), SLUICE_E_INVALID);
    T_CONTAINS(sluice_last_error(), "want one of rgb gray index");
    sluice_dataset_destroy(dataset);
}

const t_test decode_modes_tests[] = {
    T_TEST(indices_are_the_stored_numbers),
    T_TEST(indices_take_geometry),
    T_TEST(files_of_colours_have_no_indices),
    T_TEST(modes_are_checked),
    T_END,
};
