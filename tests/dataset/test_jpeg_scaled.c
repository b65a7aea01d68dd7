/* SPDX-License-Identifier: Apache-2.0 */
/* Regions of JPEG files decoded at a part of their size: slices of the whole, decoded so. */
#include <stdlib.h>

#include <sluice/dataset.h>

#include "jpeg_kit.h"
#include "testing.h"

static const uint8_t samplings[][4] = {
    {0x11}, {0x21}, {0x22}, {0x12}, {0x41}, {0x22, 0x12, 0x12}, {0x11, 0x22, 0x22},
};

static const uint16_t sizes[][2] = {
    {1, 1}, {7, 9}, {17, 15}, {64, 64}, {101, 75}, {259, 67}, {260, 100}, {300, 19},
};

enum {
    SAMPLINGS = sizeof(samplings) / sizeof(samplings[0]),
    SIZES = sizeof(sizes) / sizeof(sizes[0])
};

/* How the decoder gets at a part of the file. */
typedef enum part_way { AS_IT_IS, BY_MARKERS, BY_INDEX, WAYS } part_way;

static jpeg_recipe recipe_of(size_t sampling, size_t size, part_way way)
{
    jpeg_recipe recipe = {.width = sizes[size][0],
                          .height = sizes[size][1],
                          .restart = way == BY_MARKERS ? 1 : 0,
                          .space = size % 4 == 3 ? JCS_GRAYSCALE : JCS_YCbCr,
                          .seed = (uint32_t)(size + 10 * sampling + 1)};

    memcpy(recipe.sampling, samplings[sampling], sizeof(samplings[sampling]));
    return recipe;
}

/* Boxes of the file at 1/divisor. */
static void check_file(image_decoder *decoder, const jpeg_recipe *recipe, part_way way,
                       uint32_t divisor)
{
    image_index index = {.wanted = way == BY_INDEX};
    uint32_t state = recipe->seed;
    size_t size;
    uint8_t *bytes = jpeg_make(recipe, &size);
    jpeg_plain plain = jpeg_scaled_decode(bytes, size, JCS_RGB, divisor);

    T_TRUE(plain.pixels != NULL && plain.warnings == 0);
    for (uint32_t i = 0; i < 24; i++) {
        const image_box box = some_box(i, plain.width, plain.height, &state);
        image_view region;
        uint32_t width;
        uint32_t height;

        T_OK(image_decoder_open(decoder, bytes, size, MAX_PIXELS, false, &width, &height));
        T_TRUE(image_decoder_scale(decoder, divisor, &width, &height));
        T_EQ(width, plain.width);
        T_EQ(height, plain.height);
        if (way == BY_INDEX) {
            image_decoder_use_index(decoder, &index);
        }
        T_OK(image_decoder_region(decoder, &box, &region));
        T_TRUE(!index.is_wrong);
        if (!is_slice(&region, &box, &plain)) {
            T_FAIL_("%ux%u/%u way %d: box %u,%u %ux%u differs", recipe->width, recipe->height,
                    divisor, (int)way, box.x, box.y, box.width, box.height);
        }
    }
    image_buffer_free(&index.bytes);
    free(plain.pixels);
    free(bytes);
}

static void a_scaled_region_is_a_slice_of_the_scaled_whole(void)
{
    image_decoder *decoder = NULL;

    T_OK(image_decoder_create(&decoder));
    for (part_way way = AS_IT_IS; way < WAYS; way++) {
        for (size_t k = 0; k < SAMPLINGS; k++) {
            for (size_t i = 0; i < SIZES; i++) {
                const jpeg_recipe recipe = recipe_of(k, i, way);

                for (uint32_t divisor = 1; divisor <= 8; divisor *= 2) {
                    check_file(decoder, &recipe, way, divisor);
                }
            }
        }
    }
    image_decoder_destroy(decoder);
}

/* A file is decoded at its own size unless that is said of it. */
static void a_divisor_holds_for_one_file(void)
{
    const jpeg_recipe recipe = {.width = 64, .height = 64, .seed = 2};
    const image_box box = {0, 0, 64, 64};
    image_decoder *decoder = NULL;
    image_view region;
    uint32_t width;
    uint32_t height;
    size_t size;
    uint8_t *bytes = jpeg_make(&recipe, &size);
    jpeg_plain plain = jpeg_plain_decode(bytes, size, JCS_RGB);

    T_OK(image_decoder_create(&decoder));
    T_OK(image_decoder_open(decoder, bytes, size, MAX_PIXELS, false, &width, &height));
    T_TRUE(image_decoder_scale(decoder, 8, &width, &height));
    T_OK(image_decoder_region(decoder, &(image_box){0, 0, 8, 8}, &region));
    T_OK(decode_box(decoder, bytes, size, false, &box, &region));
    T_TRUE(is_slice(&region, &box, &plain));
    free(plain.pixels);
    free(bytes);
    image_decoder_destroy(decoder);
}

/* ---- decode fast_scale=true ------------------------------------------------------------------ */

/* The mean difference of a dataset's sample to that of another. */
static double difference(const char *one, const char *other, uint32_t side)
{
    const char *const texts[2] = {one, other};
    const size_t bytes = (size_t)side * side * 3;
    uint8_t *pixels[2];
    double sum = 0;

    for (int i = 0; i < 2; i++) {
        sluice_dataset *dataset = NULL;
        void *columns[2] = {NULL, NULL};

        pixels[i] = calloc(1, bytes);
        columns[0] = pixels[i];
        T_OK(sluice_dataset_parse(texts[i], &dataset));
        T_OK(sluice_dataset_get(dataset, 0, 0, 0, columns, NULL));
        sluice_dataset_destroy(dataset);
    }
    for (size_t i = 0; i < bytes; i++) {
        sum += abs(pixels[0][i] - pixels[1][i]);
    }
    free(pixels[0]);
    free(pixels[1]);
    return sum / (double)bytes;
}

static void fast_scale_is_near_what_it_stands_for(void)
{
    const char *folder = t_folder();
    const jpeg_recipe recipe = {
        .width = 803, .height = 601, .sampling = {0x22}, .quality = 95, .smooth = true};
    size_t size;
    uint8_t *bytes = jpeg_make(&recipe, &size);
    char exact[600];
    char fast[600];

    t_write_file(t_path(folder, "a/1.jpg"), bytes, size);
    free(bytes);
    for (uint32_t side = 64; side <= 600; side += 67) {
        snprintf(exact, sizeof(exact), "image_folder %s | decode | resize %u,%u | batch 1", folder,
                 side, side);
        snprintf(fast, sizeof(fast),
                 "image_folder %s | decode fast_scale=true | resize %u,%u | batch 1", folder, side,
                 side);
        if (side <= 300) {
            T_TRUE(difference(exact, fast, side) > 0); /* it does something */
            T_TRUE(difference(exact, fast, side) < 1);
        } else {
            T_TRUE(difference(exact, fast, side) == 0); /* nothing to be gained */
        }
    }
    snprintf(exact, sizeof(exact), "image_folder %s | decode | random_resized_crop 48 | batch 1",
             folder);
    snprintf(fast, sizeof(fast),
             "image_folder %s | decode fast_scale=true | random_resized_crop 48 | batch 1", folder);
    T_TRUE(difference(exact, fast, 48) > 0);
    T_TRUE(difference(exact, fast, 48) < 1.5);
}

const t_test jpeg_scaled_tests[] = {
    T_TEST(a_scaled_region_is_a_slice_of_the_scaled_whole),
    T_TEST(a_divisor_holds_for_one_file),
    T_TEST(fast_scale_is_near_what_it_stands_for),
    T_END,
};
