/* SPDX-License-Identifier: Apache-2.0 */
/* Images of 16 bits per channel, decode mode=u16 and mode=u16_rgb: from the file to the row. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "conversion_ops.h"
#include "dataset_kit.h"
#include "float16_int.h"
#include "image_kit.h"
#include "list_kit.h"
#include "stage_kinds.h"
#include "stage_registry.h"
#include "testing.h"
#ifdef SLI_HAVE_PNG
#include "png_maker.h"
#endif

enum { WIDTH = 31, HEIGHT = 7, CELLS = WIDTH * HEIGHT, ROOM = 4 * CELLS };

static uint16_t value_of(uint32_t x, uint32_t y)
{
    return (uint16_t)((y * WIDTH + x) * 4001);
}

/* Writes a PGM or PPM file; channel c of a pixel has the value of the pixel plus c. */
static void write_wide(const char *folder, const char *name, uint32_t channels, uint32_t most)
{
    uint8_t bytes[6 * CELLS + 40];
    const int start =
        sprintf((char *)bytes, "P%d %d %d %u\n", channels == 3 ? 6 : 5, WIDTH, HEIGHT, most);
    uint8_t *to = bytes + start;

    for (uint32_t i = 0; i < CELLS * channels; i++) {
        const uint32_t pixel = i / channels;
        const uint32_t value = (value_of(pixel % WIDTH, pixel / WIDTH) + i % channels) % (most + 1);

        *to++ = (uint8_t)(value >> 8);
        *to++ = (uint8_t)value;
    }
    t_write_file(t_path(folder, name), bytes, (size_t)(to - bytes));
}

static void write_small(const char *folder)
{
    static const char bytes[] = "P5 2 1 255\nab";

    t_write_file(t_path(folder, "8.pgm"), bytes, sizeof(bytes) - 1);
}

/* value * 65535 / most, rounded; a half to the even number. */
static uint16_t scaled(uint32_t value, uint32_t most)
{
    const uint64_t down = (uint64_t)value * 65535 / most;
    const uint64_t twice_rest = (uint64_t)value * 65535 % most * 2;

    return (uint16_t)(twice_rest > most || (twice_rest == most && down % 2 == 1) ? down + 1 : down);
}

static void white_of_a_pnm_file_is_65535(void)
{
    static const uint32_t most[] = {256, 300, 4095, 9000, 32766, 65534, 65535};
    const char *folder = t_folder();
    uint16_t row[ROOM];

    for (size_t k = 0; k < sizeof(most) / sizeof(most[0]); k++) {
        write_wide(folder, "a.pgm", 1, most[k]);
        T_OK(list_row(folder, "a.pgm", "| decode mode=u16 | batch 1", row));
        for (uint32_t i = 0; i < CELLS; i++) {
            T_EQ(row[i], scaled(value_of(i % WIDTH, i / WIDTH) % (most[k] + 1), most[k]));
        }
    }
    write_wide(folder, "a.ppm", 3, 65535);
    T_OK(list_row(folder, "a.ppm", "| decode mode=u16_rgb | batch 1", row));
    for (uint32_t i = 0; i < 3 * CELLS; i++) {
        T_EQ(row[i], (uint16_t)(value_of(i / 3 % WIDTH, i / 3 / WIDTH) + i % 3));
    }
}

/* Stages that move pixels; of each, the size of its result and where its first pixel is. */
static const struct moving {
    const char *stages;
    int32_t width, height;
    int32_t x, y;   /* of the image, of the first pixel of the result */
    int32_t dx, dy; /* to the next pixel and line */
} moves[] = {
    {"center_crop 5,9", 9, 5, 11, 1, 1, 1},
    {"random_horizontal_flip 1", WIDTH, HEIGHT, WIDTH - 1, 0, -1, 1},
    {"random_vertical_flip 1", WIDTH, HEIGHT, 0, HEIGHT - 1, 1, -1},
    {"random_horizontal_flip 1 | center_crop 5,9", 9, 5, 19, 1, -1, 1},
    {"random_vertical_flip 1 | center_crop 5,9 | random_horizontal_flip 1", 9, 5, 19, 5, -1, -1},
    {"cache 100000 | center_crop 5,9", 9, 5, 11, 1, 1, 1},
    {"pad_image 2", WIDTH + 4, HEIGHT + 4, -2, -2, 1, 1},
    {"pad_image 3 | center_crop 13,9", 9, 13, 11, -3, 1, 1},
    {"resize 14,62 filter=nearest | center_crop 14,62", 62, 14, 0, 0, 0, 0},
    {"random_apply 1 (random_horizontal_flip 1) | center_crop 5,9", 9, 5, 19, 1, -1, 1},
};

/* The value that a result has at (x, y). */
static uint16_t moved_value(const struct moving *move, int32_t x, int32_t y)
{
    const int32_t from_x = move->dx == 0 ? x / 2 : move->x + x * move->dx;
    const int32_t from_y = move->dy == 0 ? y / 2 : move->y + y * move->dy;

    return from_x < 0 || from_x >= WIDTH || from_y < 0 || from_y >= HEIGHT
               ? 0
               : value_of((uint32_t)from_x, (uint32_t)from_y);
}

static void stages_that_move_pixels_keep_their_values(void)
{
    const char *folder = t_folder();

    write_wide(folder, "a.pgm", 1, 65535);
    for (size_t k = 0; k < sizeof(moves) / sizeof(moves[0]); k++) {
        const struct moving *move = &moves[k];
        char stages[200];
        uint16_t row[ROOM];

        snprintf(stages, sizeof(stages), "| decode mode=u16 | %s | batch 1", move->stages);
        T_OK(list_row(folder, "a.pgm", stages, row));
        for (int32_t i = 0; i < move->width * move->height; i++) {
            const uint16_t want = moved_value(move, i % move->width, i / move->width);

            if (row[i] != want) {
                T_FAIL_("%s: value %d is %u, want %u", move->stages, i, row[i], want);
            }
        }
    }
}

/* A value after normalize 0.5 0.25, with and without a flip. */
static float normalized(uint32_t i, bool flipped)
{
    const uint32_t x = flipped ? WIDTH - 1 - i % WIDTH : i % WIDTH;

    return fmaf(value_of(x, i / WIDTH), (float)(1 / (65535 * 0.25)), (float)(-0.5 / 0.25));
}

static void conversions_round_once(void)
{
    const char *folder = t_folder();
    float floats[ROOM];
    uint16_t halves[ROOM];

    write_wide(folder, "a.pgm", 1, 65535);
    T_OK(list_row(folder, "a.pgm", "| decode mode=u16 | normalize 0.5 0.25 | batch 1", floats));
    T_OK(list_row(folder, "a.pgm", "| decode mode=u16 | normalize 0.5 0.25 dtype=f16 | batch 1",
                  halves));
    for (uint32_t i = 0; i < CELLS; i++) {
        T_TRUE(floats[i] == normalized(i, false));
        T_EQ(halves[i], sli_f16_of_f32(normalized(i, false)));
    }
    T_OK(list_row(folder, "a.pgm",
                  "| decode mode=u16 | random_horizontal_flip 1 | normalize 0.5 0.25 | to_chw | "
                  "batch 1",
                  floats));
    for (uint32_t i = 0; i < CELLS; i++) {
        T_TRUE(floats[i] == normalized(i, true));
    }
    T_OK(
        list_row(folder, "a.pgm", "| decode mode=u16 | to_dtype f32 scale=true | batch 1", floats));
    for (uint32_t i = 0; i < CELLS; i++) {
        T_TRUE(floats[i] == fmaf(value_of(i % WIDTH, i / WIDTH), (float)(1.0 / 65535), 0));
    }
}

static void files_of_another_kind_are_bad_samples(void)
{
    static const struct {
        const char *mode;
        const char *list;
        const char *words;
    } cases[] = {
        {"u16", "image\n8.pgm\n", "a PGM file in gray of 8 bits per channel"},
        {"u16", "image\na.ppm\n", "a PPM file in colours of 16 bits per channel"},
        {"u16_rgb", "image\na.pgm\n", "decode mode=u16_rgb is for files in RGB of 16 bits"},
    };
    const char *folder = t_folder();

    write_wide(folder, "a.pgm", 1, 65535);
    write_wide(folder, "a.ppm", 3, 65535);
    write_small(folder);
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        run_options options = {.workers = 1, .settings = {.on_error = SLI_ON_ERROR_FAIL}};
        char stages[100];
        tape t;

        snprintf(stages, sizeof(stages), "| decode mode=%s | center_crop 1 | batch 1",
                 cases[i].mode);
        t = record_own(list_dataset(folder, cases[i].list, stages), &options);
        T_EQ(t.end, SLUICE_E_UNSUPPORTED);
        T_CONTAINS(t.error, cases[i].words);
        free(t.bytes);
        options.settings.on_error = SLI_ON_ERROR_ZERO;
        t = record_own(list_dataset(folder, cases[i].list, stages), &options);
        T_EQ(t.errors.zeroed, 1);
        free(t.bytes);
    }
}

/* The cache keeps pixels of 16 bits, too: a pass that reads it gives the same batches. */
static void a_cache_changes_nothing(void)
{
    static const char *const cached[] = {
        "| shuffle | decode mode=u16 | cache 100000 | random_crop 5 | batch 2",
        "| shuffle | decode mode=u16 | center_crop 6,20 | cache 100000 | random_crop 5 | batch 2",
        "| shuffle | cache 100000 | decode mode=u16 | random_crop 5 | batch 2"};
    static const char *const plain[] = {
        "| shuffle | decode mode=u16 | random_crop 5 | batch 2",
        "| shuffle | decode mode=u16 | center_crop 6,20 | random_crop 5 | batch 2",
        "| shuffle | decode mode=u16 | random_crop 5 | batch 2"};
    const char *list = "image\na.pgm\nb.pgm\na.pgm\nb.pgm\n";
    const run_options options = {.workers = 2, .batches = 6}; /* three passes */
    const char *folder = t_folder();

    write_wide(folder, "a.pgm", 1, 65535);
    write_wide(folder, "b.pgm", 1, 4095);
    for (size_t i = 0; i < sizeof(cached) / sizeof(cached[0]); i++) {
        tape want = record_own(list_dataset(folder, list, plain[i]), &options);
        tape got = record_own(list_dataset(folder, list, cached[i]), &options);

        T_EQ(want.batches, 6);
        check_equal_tapes(&got, &want, cached[i]);
        free(want.bytes);
        free(got.bytes);
    }
}

/* The stages that work on images of 16 bits, of those that work on an image. */
static const char *const working[] = {
    "center_crop",
    "crop",
    "random_crop",
    "random_resized_crop",
    "random_iou_crop",
    "random_bbox_crop",
    "five_crop",
    "ten_crop",
    "views",
    "resize",
    "letterbox",
    "random_resize",
    "random_shortest_size",
    "scale_jitter",
    "pad_image",
    "normalize",
    "random_zoom_out",
    "to_chw",
    "to_dtype",
    "random_apply",
    "random_choice",
    "random_order",
    "random_horizontal_flip",
    "random_vertical_flip",
};

static bool works(const char *name)
{
    for (size_t i = 0; i < sizeof(working) / sizeof(working[0]); i++) {
        if (strcmp(name, working[i]) == 0) {
            return true;
        }
    }
    return false;
}

/* Any other stage that works on the image refuses it, and says which type it has. */
static void stages_of_bytes_refuse_16_bits_by_name(void)
{
    uint32_t refused = 0;

    for (const stage_def *const *def = registry_stages(); *def != NULL; def++) {
        const bool mixes = (*def)->batch != NULL;
        char text[300];

        if (((*def)->kind != STAGE_GEOMETRY && (*def)->kind != STAGE_COLOR &&
             (*def)->kind != STAGE_CONVERSION && !mixes) ||
            works((*def)->name)) {
            continue;
        }
        snprintf(text, sizeof(text), "image_folder x | decode mode=u16_rgb | %s",
                 (*def)->example != NULL ? (*def)->example : (*def)->name);
        check_refused(text, "column image is u16; colours, warps, mosaics and mixes work on bytes");
        refused++;
    }
    T_TRUE(refused > 30);
    check_refused("image_folder x | decode mode=u16 | letterbox 9",
                  "the fill is 114; it must be 0");
    check_refused("image_folder x | decode mode=u16 | to_dtype u8", "the image is u16");
    check_refused("image_folder x | decode mode=u16 depth=8", "mode=u16 keeps 16");
    check_refused("image_folder x | decode mode=u16 | to_chw | random_erasing", "column image is");
}

/* `columns` names the images that a stage works on: another one may have 16 bits. */
static void stages_look_at_the_images_that_they_name(void)
{
    static const char list[] = "left:image\tright:image\na.pgm\tb.pgm\n";
    static const char decoded[] = "| decode columns=left mode=u16 | decode columns=right mode=gray";
    static const char *const stages[] = {"random_erasing p=1 columns=right",
                                         ("normalize 0.5 0.5 columns=right | random_erasing "
                                          "columns=right"),
                                         "random_invert 1 columns=right"};
    const char *folder = t_folder();
    char text[300];

    write_wide(folder, "a.pgm", 1, 65535);
    write_wide(folder, "b.pgm", 1, 200);
    for (size_t i = 0; i < sizeof(stages) / sizeof(stages[0]); i++) {
        uint16_t words[ROOM];
        float right[ROOM];
        sluice_dataset *dataset;

        snprintf(text, sizeof(text), "%s | %s | batch 1", decoded, stages[i]);
        dataset = list_dataset(folder, list, text);
        T_OK(sluice_dataset_get(dataset, 0, 0, 0, (void *const[]){words, right}, NULL));
        T_EQ(words[1], value_of(1, 0));
        sluice_dataset_destroy(dataset);
    }
    write_list(folder, "list.tsv", list);
    snprintf(text, sizeof(text), "image_list %s/list.tsv %s | random_erasing", folder, decoded);
    check_refused(text, "random_erasing: column left is u16");
}

#ifdef SLI_HAVE_PNG
/* A value with the file's alpha, over black. */
static uint16_t png_value(const png_recipe *recipe, uint32_t x, uint32_t y, uint32_t c)
{
    const uint32_t value = png_sample(recipe, x, y, c);
    const bool colours = (recipe->colour & PNG_COLOR_MASK_COLOR) != 0;

    if ((recipe->colour & PNG_COLOR_MASK_ALPHA) == 0) {
        return (uint16_t)value;
    }
    return (uint16_t)floor((double)value * png_sample(recipe, x, y, colours ? 3 : 1) / 65535 + 0.5);
}

static void png_files_give_their_values(void)
{
    static const int colours[] = {PNG_COLOR_TYPE_GRAY, PNG_COLOR_TYPE_RGB,
                                  PNG_COLOR_TYPE_GRAY_ALPHA, PNG_COLOR_TYPE_RGB_ALPHA};
    const char *folder = t_folder();

    for (uint32_t k = 0; k < 8; k++) {
        const png_recipe recipe = {.width = 19,
                                   .height = 12,
                                   .colour = colours[k / 2],
                                   .depth = 16,
                                   .interlaced = k % 2 == 1,
                                   .seed = k};
        const uint32_t channels = (recipe.colour & PNG_COLOR_MASK_COLOR) != 0 ? 3 : 1;
        uint16_t row[ROOM];
        size_t size = 0;
        uint8_t *bytes = png_make(&recipe, &size);

        t_write_file(t_path(folder, "a.png"), bytes, size);
        free(bytes);
        T_OK(list_row(folder, "a.png",
                      channels == 3 ? "| decode mode=u16_rgb | crop 7,11 3 5 | batch 1"
                                    : "| decode mode=u16 | crop 7,11 3 5 | batch 1",
                      row));
        for (uint32_t i = 0; i < 7 * 11 * channels; i++) {
            const uint32_t pixel = i / channels;

            T_EQ(row[i], png_value(&recipe, 5 + pixel % 11, 3 + pixel / 11, i % channels));
        }
    }
}
#endif

const t_test decode_wide_tests[] = {
    T_TEST(white_of_a_pnm_file_is_65535),
    T_TEST(stages_that_move_pixels_keep_their_values),
    T_TEST(conversions_round_once),
    T_TEST(a_cache_changes_nothing),
    T_TEST(files_of_another_kind_are_bad_samples),
    T_TEST(stages_of_bytes_refuse_16_bits_by_name),
    T_TEST(stages_look_at_the_images_that_they_name),
#ifdef SLI_HAVE_PNG
    T_TEST(png_files_give_their_values),
#endif
    T_END,
};
