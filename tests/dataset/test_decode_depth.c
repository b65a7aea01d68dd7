/* SPDX-License-Identifier: Apache-2.0 */
/* Images of more or fewer than 8 bits per channel: what decode makes of them. */
#include <stdlib.h>

#include "dataset_kit.h"
#include "image_kit.h"
#include "list_kit.h"
#include "pack_kit.h"
#include "testing.h"
#ifdef SLI_HAVE_PNG
#include "png_maker.h"
#endif

enum { SIDE_16 = 8, VALUES = SIDE_16 * SIDE_16 };

/* A PGM file with this maximum value. Its values are 0 to the maximum. Returns its size. */
static size_t make_pgm(uint8_t *bytes, uint32_t most)
{
    const int start = sprintf((char *)bytes, "P5 %d %d %u\n", SIDE_16, SIDE_16, most);
    uint8_t *to = bytes + start;

    for (uint32_t i = 0; i < VALUES; i++) {
        const uint32_t value = i * most / (VALUES - 1);

        if (most > 255) {
            *to++ = (uint8_t)(value >> 8);
        }
        *to++ = (uint8_t)value;
    }
    return (size_t)(to - bytes);
}

static void write_pgm(const char *folder, const char *name, uint32_t most)
{
    uint8_t bytes[2 * VALUES + 40];

    t_write_file(t_path(folder, name), bytes, make_pgm(bytes, most));
}

/* Lists of 8-bit images and one of 16 bits, as the first image of a sample, a further one, and a
 * partner in a mosaic. */
static const char *const lists[][2] = {
    {"image\tlabel\n8.pgm\t1\n16.pgm\t2\n", "| decode | batch 1"},
    {"image\tlabel\n8.pgm\t1\n16.pgm\t2\n", "| shuffle | decode mode=gray | resize 4,4 | batch 1"},
    {"a:image\tb:image\n8.pgm\t8.pgm\n8.pgm\t16.pgm\n", "| decode | batch 1"},
    {"a:image\tb:image\n8.pgm\t8.pgm\n8.pgm\t16.pgm\n",
     "| decode columns=a depth=8 | decode columns=b | batch 1"},
    {"image\tlabel\n8.pgm\t1\n16.pgm\t2\n", "| decode | mosaic 8 | batch 1"},
    {"image\tlabel\n8.pgm\t1\n16.pgm\t2\n", "| cache 1000000 | decode | batch 1"},
};

/* Under every policy the run of a list ends with this error, and no sample is bad. */
static void check_ends_run(const char *const list[2], const char *const words[], size_t count)
{
    static const sli_error_policy policies[] = {SLI_ON_ERROR_FAIL, SLI_ON_ERROR_REPLACE,
                                                SLI_ON_ERROR_ZERO};
    const char *folder = t_folder();

    write_pgm(folder, "8.pgm", 255);
    write_pgm(folder, "16.pgm", 65535);
    for (size_t i = 0; i < sizeof(policies) / sizeof(policies[0]); i++) {
        const run_options options = {
            .workers = 2, .settings = {.on_error = policies[i]}, .batches = 20};
        tape t = record_own(list_dataset(folder, list[0], list[1]), &options);

        T_EQ(t.end, SLUICE_E_UNSUPPORTED);
        for (size_t k = 0; k < count; k++) {
            T_CONTAINS(t.error, words[k]);
        }
        T_TRUE(strstr(t.error, "on_error") == NULL); /* a policy does not help */
        T_EQ(t.errors.count + t.errors.replaced + t.errors.zeroed, 0);
        free(t.bytes);
    }
}

static void an_image_of_16_bits_ends_the_run_under_every_policy(void)
{
    static const char *const words[] = {"decode: sample",
                                        ": the PGM file has 16 bits per channel, and images",
                                        "decode depth=8 converts them"};

    for (size_t i = 0; i < sizeof(lists) / sizeof(lists[0]); i++) {
        check_ends_run(lists[i], words, sizeof(words) / sizeof(words[0]));
    }
}

/* Class numbers, too: a mask, and an image that is decoded to numbers. */
static void class_numbers_of_16_bits_end_the_run_under_every_policy(void)
{
    static const char *const pipelines[][2] = {
        {"image\tm:mask\n8.pgm\t8.pgm\n8.pgm\t16.pgm\n", "| decode | batch 1"},
        {"image\tm:mask\n8.pgm\t8.pgm\n8.pgm\t16.pgm\n", "| decode depth=8 | mosaic 8 | batch 1"},
        {"image\tlabel\n8.pgm\t1\n16.pgm\t2\n", "| decode mode=index depth=8 | batch 1"},
    };
    static const char *const words[] = {"values up to 65535; they must be at most 255"};

    for (size_t i = 0; i < sizeof(pipelines) / sizeof(pipelines[0]); i++) {
        check_ends_run(pipelines[i], words, 1);
    }
}

/* value * 255 / most, rounded; a half to the even number. */
static uint32_t scaled(uint32_t value, uint32_t most)
{
    const uint32_t down = value * 255 / most;
    const uint32_t twice_rest = value * 255 % most * 2;

    return twice_rest > most || (twice_rest == most && down % 2 == 1) ? down + 1 : down;
}

/* Checks that decoding gives the scaled values, for the whole image and for a line. */
static void check_scaled(image_decoder *decoder, uint32_t most)
{
    const image_box boxes[] = {{0, 0, SIDE_16, SIDE_16}, {2, 5, 3, 1}};
    uint8_t bytes[2 * VALUES + 40];
    const size_t size = make_pgm(bytes, most);

    for (int i = 0; i < 2; i++) {
        const image_box *box = &boxes[i];
        image_view region;

        T_OK(decode_box(decoder, bytes, size, true, box, &region));
        for (uint32_t p = 0; p < box->width * box->height; p++) {
            const uint32_t x = p % box->width;
            const uint32_t y = p / box->width;
            const uint32_t value = ((box->y + y) * SIDE_16 + box->x + x) * most / (VALUES - 1);

            T_EQ(region.pixels[y * region.stride + x], scaled(value, most));
        }
    }
}

static void values_of_pnm_files_are_scaled_to_255(void)
{
    static const uint32_t most[] = {1, 2, 15, 100, 254, 255, 256, 9000, 65534, 65535};
    image_decoder *decoder = NULL;

    T_OK(image_decoder_create(&decoder));
    for (size_t i = 0; i < sizeof(most) / sizeof(most[0]); i++) {
        check_scaled(decoder, most[i]);
    }
    image_decoder_destroy(decoder);
}

static void values_above_the_maximum_of_a_pnm_file_are_errors(void)
{
    const image_box all = {0, 0, SIDE_16, SIDE_16};
    uint8_t bytes[2 * VALUES + 40];
    image_decoder *decoder = NULL;
    image_view region;
    size_t size = make_pgm(bytes, 15);

    T_OK(image_decoder_create(&decoder));
    bytes[size - 1] = 16;
    T_STATUS(decode_box(decoder, bytes, size, true, &all, &region), SLUICE_E_CORRUPT);
    T_CONTAINS(sluice_last_error(), "a value of 16, above its maximum value 15");
    size = make_pgm(bytes, 9000);
    bytes[size - 2] = 0xFF;
    T_STATUS(decode_box(decoder, bytes, size, true, &all, &region), SLUICE_E_CORRUPT);
    size = make_pgm(bytes, 9000);
    T_STATUS(decode_box(decoder, bytes, size - 1, true, &all, &region), SLUICE_E_CORRUPT);
    T_CONTAINS(sluice_last_error(), "ends early");
    image_decoder_destroy(decoder);
}

/* Reads sample 0 of a list of one file. */
static sluice_status get_pixels(const char *folder, const char *file, const char *stages,
                                uint8_t *pixels)
{
    sluice_dataset *dataset;
    char list[100];
    sluice_status st;

    snprintf(list, sizeof(list), "image\tlabel\n%s\t0\n", file);
    dataset = list_dataset(folder, list, stages);
    st = sluice_dataset_get(dataset, 0, 0, 0, (void *const[]){pixels, NULL}, NULL);
    sluice_dataset_destroy(dataset);
    return st;
}

static void depth_8_converts_images_of_16_bits(void)
{
    const char *folder = t_folder();
    uint8_t pixels[VALUES];

    write_pgm(folder, "16.pgm", 65535);
    T_OK(get_pixels(folder, "16.pgm", "| decode mode=gray depth=8 | batch 1", pixels));
    for (uint32_t i = 0; i < VALUES; i++) {
        T_EQ(pixels[i], (i * 65535 / (VALUES - 1) * 255 + 32767) / 65535);
    }
}

/* `sluice help decode` and completion have the choices. */
static void depth_is_one_of_its_choices(void)
{
    char *help = NULL;

    check_refused("image_folder x | decode depth=7 | batch 1",
                  "decode: depth=7 must be one of 0 8");
    check_refused("image_folder x | decode depth=16 | batch 1", "0 8");
    T_OK(sluice_stage_help("decode", &help));
    T_CONTAINS(help, "(0, 8)");
    sluice_string_free(help);
}

/* Class numbers are never scaled: a file that stores them in 16 bits has too many. */
static void class_numbers_are_not_scaled(void)
{
    const char *folder = t_folder();
    uint8_t pixels[VALUES];

    write_pgm(folder, "15.pgm", 15);
    write_pgm(folder, "16.pgm", 65535);
    T_OK(get_pixels(folder, "15.pgm", "| decode mode=index | batch 1", pixels));
    for (uint32_t i = 0; i < VALUES; i++) {
        T_EQ(pixels[i], i * 15 / (VALUES - 1));
    }
    T_STATUS(get_pixels(folder, "16.pgm", "| decode mode=index depth=8 | batch 1", pixels),
             SLUICE_E_UNSUPPORTED);
    T_CONTAINS(sluice_last_error(), "class numbers in a PGM file with values up to 65535");
}

/* A pack of 8-bit images would have fewer bits than the file. */
static void a_pack_keeps_files_of_16_bits(void)
{
    const char *top = t_folder();
    const char *folder = folder_named(top, "out");
    sluice_pack_config config;
    sluice_pack_stats stats;
    sluice_dataset *dataset;

    T_NEEDS(can_pack(), "built without libarchive");
    write_pgm(top, "8.pgm", 255);
    write_pgm(top, "16.pgm", 65535);
    dataset = list_dataset(top, "image\tlabel\n8.pgm\t0\n16.pgm\t1\n", "");
    config = config_of(dataset, folder);
    config.raw = true;
    sluice_pack_stats_init(&stats);
    T_OK(sluice_pack(&config, &stats));
    T_EQ(stats.fates[SLUICE_PACK_RAW], 1);
    T_EQ(stats.fates[SLUICE_PACK_KEPT_PRECISION], 1);
    sluice_dataset_destroy(dataset);
}

#ifdef SLI_HAVE_PNG
static void png_files_of_16_bits_take_the_same_way(void)
{
    const char *folder = t_folder();
    const png_recipe recipe = {
        .width = SIDE_16, .height = SIDE_16, .colour = PNG_COLOR_TYPE_GRAY, .depth = 16, .seed = 4};
    uint8_t pixels[VALUES];
    size_t size = 0;
    uint8_t *bytes = png_make(&recipe, &size);

    t_write_file(t_path(folder, "16.png"), bytes, size);
    free(bytes);
    T_STATUS(get_pixels(folder, "16.png", "| decode mode=gray | batch 1", pixels),
             SLUICE_E_UNSUPPORTED);
    T_CONTAINS(sluice_last_error(), "16.png: the PNG file has 16 bits per channel");
    T_OK(get_pixels(folder, "16.png", "| decode mode=gray depth=8 | batch 1", pixels));
    for (uint32_t i = 0; i < VALUES; i++) {
        const uint32_t value = png_sample(&recipe, i % SIDE_16, i / SIDE_16, 0);

        T_EQ(pixels[i], (value * 255 + 32767) / 65535);
    }
}
#endif

const t_test decode_depth_tests[] = {
    T_TEST(an_image_of_16_bits_ends_the_run_under_every_policy),
    T_TEST(class_numbers_of_16_bits_end_the_run_under_every_policy),
    T_TEST(values_of_pnm_files_are_scaled_to_255),
    T_TEST(values_above_the_maximum_of_a_pnm_file_are_errors),
    T_TEST(depth_8_converts_images_of_16_bits),
    T_TEST(depth_is_one_of_its_choices),
    T_TEST(class_numbers_are_not_scaled),
    T_TEST(a_pack_keeps_files_of_16_bits),
#ifdef SLI_HAVE_PNG
    T_TEST(png_files_of_16_bits_take_the_same_way),
#endif
    T_END,
};
