/* SPDX-License-Identifier: Apache-2.0 */
/* Rasters of polygons and runs: the pixels of pycocotools, and wrong segmentations. */
#include <stdlib.h>
#include <string.h>

#include "coco_shape.h"
#include "object_masks.h"
#include "testing.h"

enum { WIDTH = 53, HEIGHT = 41, POLYGONS = 300 };

/* What pycocotools 2.0 gives for the polygons of draw_polygon(): the FNV-1a hash of all pixels, and
 * the number of those that are set. */
static const uint64_t WANT_HASH = 0xac4d8ce55a3dda43;
static const uint64_t WANT_AREA = 184102;

static uint32_t next_number(uint64_t *state)
{
    *state = *state * 6364136223846793005U + 1442695040888963407U;
    return (uint32_t)(*state >> 40);
}

/* Adds a polygon of 3 to 14 points, up to 10 pixels beside the image, in parts of a pixel. */
static void draw_polygon(object_raster *raster, uint64_t *state, uint32_t unit)
{
    const uint32_t points = 3 + next_number(state) % 12;

    for (uint32_t i = 0; i < points; i++) {
        const int x = (int)(next_number(state) % ((WIDTH + 20) * unit)) - 10 * (int)unit;
        const int y = (int)(next_number(state) % ((HEIGHT + 20) * unit)) - 10 * (int)unit;

        T_OK(raster_add_point(raster, (double)x / unit, (double)y / unit));
    }
    T_OK(raster_end_polygon(raster));
}

static void polygons_have_the_pixels_of_pycocotools(void)
{
    static const uint32_t units[] = {1, 2, 100};
    object_raster raster = {.width = 0};
    uint64_t state = 12345;
    uint64_t hash = 0xcbf29ce484222325;
    uint64_t area = 0;

    T_OK(raster_begin(&raster, WIDTH, HEIGHT));
    for (uint32_t i = 0; i < POLYGONS; i++) {
        draw_polygon(&raster, &state, units[i % 3]);
        for (size_t k = 0; k < WIDTH * HEIGHT; k++) {
            hash = (hash ^ raster.covered.data[k]) * 0x100000001b3;
        }
        area += raster_area(&raster);
        raster_clear(&raster);
    }
    T_EQ(hash, WANT_HASH);
    T_EQ(area, WANT_AREA);
    raster_free(&raster);
}

/* The pixels of a segmentation in an image of 7x5, line by line; "": the last error. */
static const char *pixels_of(const char *text)
{
    static char lines[6 * 8];
    object_raster raster = {.width = 0};
    sluice_status st;

    T_OK(raster_begin(&raster, 7, 5));
    st = coco_shape_add(&raster, text, strlen(text));
    lines[0] = '\0';
    for (uint32_t y = 0; y < 5 && st == SLUICE_OK; y++) {
        for (uint32_t x = 0; x < 7; x++) {
            lines[y * 8 + x] = raster.covered.data[x * 5 + y] != 0 ? '#' : '.';
        }
        memcpy(&lines[y * 8 + 7], y < 4 ? "\n" : "", 1);
    }
    T_STATUS(st, st == SLUICE_OK ? SLUICE_OK : SLUICE_E_CORRUPT);
    raster_free(&raster);
    return lines;
}

static void all_forms_of_segmentations_are_read(void)
{
    static const char ring[] = ".......\n..####.\n..##.#.\n..####.\n.......";
    static const char square[] = ".......\n..####.\n..####.\n..####.\n.......";
    static const char two[] = "##.....\n###....\n.##....\n.......\n.......";
    static const char none[] = ".......\n.......\n.......\n.......\n.......";
    static const char escaped[] = "#####..\n#####..\n####...\n#####..\n#####..";

    /* What pycocotools gives. */
    T_STR(pixels_of("{\"size\": [5, 7], \"counts\": \";3200NO0124\"}"), ring);
    T_STR(pixels_of("{\"counts\": [11, 3, 2, 3, 2, 1, 1, 1, 2, 3, 6], \"size\": [5, 7]}"), ring);
    T_STR(pixels_of("{\"counts\": \"0f01\\\\O9\", \"size\": [5, 7]}"), escaped);
    T_STR(pixels_of("{\"x\": {\"y\": [\"]}\"]}, \"counts\": [35, 0], \"size\": [5, 7]}"), none);
    T_STR(pixels_of("[[2, 1, 6, 1, 6, 4, 2, 4]]"), square);
    T_STR(pixels_of("[[0,0,2,0,2,2,0,2],\n [ 1 , 1 , 3e0 , 1 , 3 , 3.0 , 1 , 3 ]]"), two);
}

static void wrong_segmentations_say_what_they_must_be(void)
{
    static const struct wrong {
        const char *text;
        const char *words;
    } cases[] = {
        {"", "it must be polygons"},
        {"null", "it must be polygons"},
        {"[]", "it has no polygon"},
        {"[1, 2, 3, 4, 5, 6]", "there must be '[' before '1, 2"},
        {"[[1, 2, 3, 4]]", "a polygon has 2 points, and must have at least 3"},
        {"[[1, 2, 3, 4, 5, 6, 7]]", "a polygon has 7 numbers, and must have an even number"},
        {"[[1, 2, 3, 4, 5, 1e9]]", "the point 5,1e+09 must be within 1048576 pixels"},
        {"[[1, 2, 3, \"4\", 5, 6]]", "'\"4\", 5, 6]]' must be a number"},
        {"[[1, 2, 3, 4, 5, 6]", "there must be ','"},
        {"[[1, 2, 3, 4, 5, 6]]]", "something follows it"},
        {"{\"size\": [5, 7]}", "it has no counts"},
        {"{\"counts\": [35]}", "it has no size"},
        {"{\"counts\": [35], \"size\": [7, 5]}", "its size is [7, 5], and must be [height, width]"},
        {"{\"counts\": [34], \"size\": [5, 7]}", "the runs have 34 pixels, and must have 35, 7x5"},
        {"{\"counts\": [30, 6], \"size\": [5, 7]}", "a run has 6 pixels, where 5 of the 7x5"},
        {"{\"counts\": [-1, 36], \"size\": [5, 7]}", "a run has -1 pixels"},
        {"{\"counts\": [0.5], \"size\": [5, 7]}", "0.5 must be a whole number"},
        {"{\"counts\": [35], \"counts\": [35], \"size\": [5, 7]}", "a second counts"},
        {"{\"counts\": \"!\", \"size\": [5, 7]}", "'!\", \"size\": [5, 7]}' must be the runs"},
        {"{\"counts\": \"ooooooooooooo0\", \"size\": [5, 7]}", "more than 12 characters"},
        {"{\"counts\": \"\\u0030\", \"size\": [5, 7]}", "must be the runs"},
    };

    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        T_STR(pixels_of(cases[i].text), "");
        T_CONTAINS(sluice_last_error(), cases[i].words);
    }
}

const t_test object_shapes_tests[] = {
    T_TEST(polygons_have_the_pixels_of_pycocotools),
    T_TEST(all_forms_of_segmentations_are_read),
    T_TEST(wrong_segmentations_say_what_they_must_be),
    T_END,
};
