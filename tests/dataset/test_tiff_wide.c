/* SPDX-License-Identifier: Apache-2.0 */
/* TIFF files of 16 bits and of floats by decode mode=u16, u16_rgb, f32 and f32_rgb. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include <sluice/reader.h>

#include "dataset_kit.h"
#include "list_kit.h"
#include "testing.h"

#if defined(SLI_HAVE_TIFF)

#include "tiff_maker.h"

enum { ROOM = 3 * TIFF_WIDTH * TIFF_HEIGHT };

static const tiff_spec word_specs[] = {
    {COMPRESSION_NONE, PHOTOMETRIC_MINISBLACK, 16, 1, .big_endian = true},
    {COMPRESSION_LZW, PHOTOMETRIC_MINISBLACK, 16, 1, .tiles = true, .differences = true},
    {COMPRESSION_PACKBITS, PHOTOMETRIC_MINISWHITE, 16, 1, .tiles = true},
    {COMPRESSION_LZW, PHOTOMETRIC_MINISBLACK, 16, 2, EXTRASAMPLE_UNASSALPHA, .tiles = true},
    {COMPRESSION_LZW, PHOTOMETRIC_RGB, 16, 3, .tiles = true},
    {COMPRESSION_ADOBE_DEFLATE, PHOTOMETRIC_RGB, 16, 3, .planes = true, .big_endian = true},
    {COMPRESSION_LZW, PHOTOMETRIC_RGB, 16, 4, EXTRASAMPLE_UNASSALPHA, .planes = true},
    {COMPRESSION_LZW, PHOTOMETRIC_RGB, 16, 4, EXTRASAMPLE_ASSOCALPHA, .tiles = true},
    {COMPRESSION_LZW, PHOTOMETRIC_RGB, 16, 4, EXTRASAMPLE_ASSOCALPHA, .planes = true},
};

#define FLOATS(photometric, samples) photometric, 32, samples, .floats = true

static const tiff_spec float_specs[] = {
    {COMPRESSION_NONE, FLOATS(PHOTOMETRIC_MINISBLACK, 1)},
    {COMPRESSION_LZW, FLOATS(PHOTOMETRIC_MINISBLACK, 1), .big_endian = true},
    {COMPRESSION_ADOBE_DEFLATE, FLOATS(PHOTOMETRIC_MINISBLACK, 1), .differences = true,
     .tiles = true},
    {COMPRESSION_NONE, FLOATS(PHOTOMETRIC_RGB, 3), .tiles = true, .big_endian = true},
    {COMPRESSION_ADOBE_DEFLATE, FLOATS(PHOTOMETRIC_RGB, 3), .planes = true, .differences = true},
    {COMPRESSION_LZW, FLOATS(PHOTOMETRIC_RGB, 3), .planes = true, .tiles = true},
};

/* Writes a file to a folder. */
static void write_file(const char *folder, const char *name, const tiff_spec *spec,
                       uint16_t orientation)
{
    size_t size;
    uint8_t *bytes = tiff_make(spec, 1, orientation, &size);

    t_write_file(t_path(folder, name), bytes, size);
    free(bytes);
}

static uint16_t word_of(const tiff_spec *spec, uint32_t x, uint32_t y, uint32_t c)
{
    const uint32_t stored = tiff_stored(spec, x, y, c);
    const uint32_t value = spec->photometric == PHOTOMETRIC_MINISWHITE ? 65535 - stored : stored;

    return spec->extra != EXTRASAMPLE_UNASSALPHA
               ? (uint16_t)value
               : (uint16_t)floor(
                     (double)value * tiff_stored(spec, x, y, spec->samples - 1U) / 65535 + 0.5);
}

static void words_are_those_of_the_file(void)
{
    const char *folder = t_folder();

    for (size_t k = 0; k < sizeof(word_specs) / sizeof(word_specs[0]); k++) {
        const tiff_spec *spec = &word_specs[k];
        const uint32_t channels = spec->photometric == PHOTOMETRIC_RGB ? 3 : 1;
        const char *mode = channels == 3 ? "u16_rgb" : "u16";
        uint16_t row[ROOM];
        char stages[100];

        write_file(folder, "a.tif", spec, 1);
        snprintf(stages, sizeof(stages), "| decode mode=%s | batch 1", mode);
        T_OK(list_row(folder, "a.tif", stages, row));
        for (uint32_t i = 0; i < TIFF_WIDTH * TIFF_HEIGHT * channels; i++) {
            const uint32_t pixel = i / channels;

            T_EQ(row[i], word_of(spec, pixel % TIFF_WIDTH, pixel / TIFF_WIDTH, i % channels));
        }
        snprintf(stages, sizeof(stages), "| decode mode=%s | crop 13,21 9 5 | batch 1", mode);
        T_OK(list_row(folder, "a.tif", stages, row));
        for (uint32_t i = 0; i < 13 * 21 * channels; i++) {
            const uint32_t pixel = i / channels;

            T_EQ(row[i], word_of(spec, 5 + pixel % 21, 9 + pixel / 21, i % channels));
        }
    }
}

static void floats_are_those_of_the_file(void)
{
    const char *folder = t_folder();

    for (size_t k = 0; k < sizeof(float_specs) / sizeof(float_specs[0]); k++) {
        const uint32_t channels = float_specs[k].samples;
        const char *mode = channels == 3 ? "f32_rgb" : "f32";
        float row[ROOM];
        char stages[100];

        write_file(folder, "a.tif", &float_specs[k], 1);
        snprintf(stages, sizeof(stages), "| decode mode=%s | crop 13,21 9 5 | batch 1", mode);
        T_OK(list_row(folder, "a.tif", stages, row));
        for (uint32_t i = 0; i < 13 * 21 * channels; i++) {
            const uint32_t pixel = i / channels;

            T_TRUE(row[i] == tiff_float(5 + pixel % 21, 9 + pixel / 21, i % channels));
        }
        snprintf(stages, sizeof(stages),
                 "| decode mode=%s | random_horizontal_flip 1 | normalize 2 3 | batch 1", mode);
        T_OK(list_row(folder, "a.tif", stages, row));
        for (uint32_t i = 0; i < TIFF_WIDTH * TIFF_HEIGHT * channels; i++) {
            const uint32_t pixel = i / channels;
            const uint32_t x = TIFF_WIDTH - 1 - pixel % TIFF_WIDTH;

            T_TRUE(row[i] == fmaf(tiff_float(x, pixel / TIFF_WIDTH, i % channels), (float)(1.0 / 3),
                                  (float)(-2.0 / 3)));
        }
    }
}

static void an_orientation_turns_floats(void)
{
    const char *folder = t_folder();
    float row[ROOM];

    write_file(folder, "a.tif", &float_specs[2], 6);
    T_OK(list_row(folder, "a.tif", "| decode mode=f32 | batch 1", row));
    for (uint32_t i = 0; i < TIFF_WIDTH * TIFF_HEIGHT; i++) {
        T_TRUE(row[i] == tiff_float(i / TIFF_HEIGHT, TIFF_HEIGHT - 1 - i % TIFF_HEIGHT, 0));
    }
}

static void files_of_another_kind_say_which_mode_is_for_them(void)
{
    static const tiff_spec cmyk = {COMPRESSION_LZW, PHOTOMETRIC_SEPARATED, 16, 4, .tiles = false};
    static const tiff_spec byte = {COMPRESSION_LZW, PHOTOMETRIC_RGB, 8, 3, .tiles = false};
    static const struct {
        const tiff_spec *spec;
        const char *stages;
        const char *says;
    } cases[] = {
        {&word_specs[0], "decode", "decode mode=u16 or mode=u16_rgb keeps them"},
        {&float_specs[0], "decode",
         "floating-point numbers, and images of a batch have bytes; "
         "decode mode=f32 keeps them"},
        {&float_specs[0], "decode depth=8", "decode mode=f32 keeps them"},
        {&float_specs[4], "decode mode=gray", "decode mode=f32_rgb keeps them"},
        {&float_specs[0], "decode mode=index", "16 bits or floats; it must have a palette"},
        {&float_specs[0], "decode mode=u16",
         "in gray of 32 bits per channel; decode mode=u16 is "
         "for files in gray of 16 bits: PNG, TIFF, JPEG 2000 or PGM"},
        {&float_specs[0], "decode mode=f32_rgb",
         "mode=f32_rgb is for files in RGB of 32 bits in "
         "floating-point: TIFF"},
        {&float_specs[4], "decode mode=f32", "mode=f32 is for files in gray of 32 bits"},
        {&word_specs[0], "decode mode=f32", "in gray of 16 bits per channel"},
        {&byte, "decode mode=u16_rgb", "in colours of 8 bits per channel"},
        {&cmyk, "decode mode=u16_rgb", "in CMYK of 16 bits per channel"},
    };
    const char *folder = t_folder();

    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        char stages[100];
        float row[ROOM];

        write_file(folder, "a.tif", cases[i].spec, 1);
        snprintf(stages, sizeof(stages), "| %s | batch 1", cases[i].stages);
        T_STATUS(list_row(folder, "a.tif", stages, row), SLUICE_E_UNSUPPORTED);
        T_CONTAINS(sluice_last_error(), cases[i].says);
    }
    check_refused("image_folder x | decode mode=f32 depth=8", "mode=f32 keeps floats");
    check_refused("image_folder x | decode mode=f32_rgb | color_jitter 0.4",
                  "column image is f32; colours, warps");
    check_refused("image_folder x | decode mode=f32 | to_dtype f32 scale=true", "the image is f32");
}

static void floats_of_other_kinds_are_refused(void)
{
    static const struct {
        tiff_spec spec;
        const char *says;
    } files[] = {
        {{COMPRESSION_NONE, FLOATS(PHOTOMETRIC_RGB, 4), .extra = EXTRASAMPLE_UNASSALPHA},
         "floating-point numbers with alpha; they must be gray"},
        {{COMPRESSION_NONE, FLOATS(PHOTOMETRIC_MINISWHITE, 1)}, "numbers with 0 as white"},
        {{COMPRESSION_NONE, FLOATS(PHOTOMETRIC_SEPARATED, 4)}, "numbers with other colours"},
        {{COMPRESSION_NONE, PHOTOMETRIC_MINISBLACK, 16, 1, .floats = true},
         "floating-point numbers of 16 bits per channel; they must be unsigned"},
    };
    const char *folder = t_folder();

    for (size_t i = 0; i < sizeof(files) / sizeof(files[0]); i++) {
        float row[ROOM];

        write_file(folder, "a.tif", &files[i].spec, 1);
        T_STATUS(list_row(folder, "a.tif", "| decode mode=f32 | batch 1", row),
                 SLUICE_E_INVALID); /* no sample can be read */
        T_CONTAINS(sluice_last_error(), files[i].says);
    }
}

/* Values of 12 bytes a pixel fit into strips of max_pixels pixels. */
static void a_strip_may_have_the_whole_image(void)
{
    const char *folder = t_folder();
    float row[ROOM];

    write_file(folder, "a.tif", &float_specs[3], 1);
    T_OK(list_row(folder, "a.tif", "| decode mode=f32_rgb max_pixels=1073 | batch 1", row));
    T_STATUS(list_row(folder, "a.tif", "| decode mode=f32_rgb max_pixels=1072 | batch 1", row),
             SLUICE_E_INVALID);
}

/* formats= of decode holds where a reader clips boxes to an image. */
static void a_reader_opens_what_decode_does(void)
{
    static const char list[] = "image\tlabel\tboxes:boxes[1]\na.jpg\t0\t10,5,99,99\n";
    const char *folder = t_folder();

    write_file(folder, "a.jpg", &word_specs[0], 1);
    for (int all = 0; all < 2; all++) {
        sluice_dataset *dataset = list_dataset(folder, list,
                                               all ? "| decode formats=all mode=u16 | center_crop 8"
                                                   : "| decode mode=u16 | center_crop 8");
        sluice_reader *reader = NULL;
        sluice_sample_view view;
        float box[4];

        T_OK(sluice_reader_create(dataset, &reader));
        T_OK(sluice_reader_get(reader, 0, 2, &view));
        T_EQ(view.bytes, sizeof(box));
        memcpy(box, view.data, sizeof(box));
        T_TRUE(box[0] == 10 && box[2] == (all ? TIFF_WIDTH : 99));
        sluice_reader_destroy(reader);
        sluice_dataset_destroy(dataset);
    }
}

const t_test tiff_wide_tests[] = {
    T_TEST(words_are_those_of_the_file),
    T_TEST(floats_are_those_of_the_file),
    T_TEST(an_orientation_turns_floats),
    T_TEST(files_of_another_kind_say_which_mode_is_for_them),
    T_TEST(floats_of_other_kinds_are_refused),
    T_TEST(a_strip_may_have_the_whole_image),
    T_TEST(a_reader_opens_what_decode_does),
    T_END,
};

#else

static void tiff_files_have_wide_pixels(void)
{
    T_SKIP("the library has no TIFF");
}

const t_test tiff_wide_tests[] = {T_TEST(tiff_files_have_wide_pixels), T_END};

#endif
