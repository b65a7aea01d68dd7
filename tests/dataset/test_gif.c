/* SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>

#include "image_kit.h"
#include "testing.h"

/* A canvas of 3x2, a palette of 4 gray values, and a frame of 2x2 at 1,0: codes 4 1 2 3 0 5. */
static const char file[] = "GIF89a\3\0\2\0\x81\0\0\1\1\1\2\2\2\3\3\3\4\4\4"
                           "!\xF9\4\1\0\0\2\0,\1\0\0\0\2\0\2\0\0\2\x03\x8C\x06\x05\0;";

enum { SIZE = sizeof(file) - 1 };

static void frames_smaller_than_the_canvas_are_decoded(void)
{
    static const image_box all = {0, 0, 3, 2};
    image_decoder *decoder = NULL;
    image_view region;

    T_OK(image_decoder_create(&decoder));
    T_OK(decode_box(decoder, (const uint8_t *)file, SIZE, true, &all, &region));
    T_EQ(region.width, 3);
    T_EQ(memcmp(region.pixels, "\0\2\0\0\4\1", 6), 0); /* 2 is transparent */
    image_decoder_destroy(decoder);
}

static void gif_files_cut_anywhere_are_errors(void)
{
    static const image_box all = {0, 0, 3, 2};

    for (size_t size = 4; size < SIZE - 3; size++) {
        image_decoder *decoder = NULL;
        image_view region;
        uint8_t *copy = malloc(size); /* for what looks beyond the end */

        memcpy(copy, file, size);
        T_OK(image_decoder_create(&decoder));
        T_STATUS(decode_box(decoder, copy, size, true, &all, &region), SLUICE_E_CORRUPT);
        image_decoder_destroy(decoder);
        free(copy);
    }
}

static void code_sizes_out_of_range_are_errors(void)
{
    static const uint8_t sizes[] = {0, 9, 12, 255};
    static const image_box all = {0, 0, 3, 2};
    uint8_t copy[SIZE];

    for (size_t i = 0; i < sizeof(sizes); i++) {
        image_decoder *decoder = NULL;
        image_view region;

        memcpy(copy, file, SIZE);
        copy[SIZE - 7] = sizes[i];
        T_OK(image_decoder_create(&decoder));
        T_STATUS(decode_box(decoder, copy, SIZE, true, &all, &region), SLUICE_E_CORRUPT);
        T_CONTAINS(sluice_last_error(), "it must be 1 to 8");
        image_decoder_destroy(decoder);
    }
}

static void gif_codes_beyond_the_table_are_errors(void)
{
    static const image_box all = {0, 0, 3, 2};
    image_decoder *decoder = NULL;
    image_view region;
    uint8_t copy[SIZE];

    memcpy(copy, file, SIZE);
    copy[SIZE - 5] = 0xBC; /* codes 4 7 */
    T_OK(image_decoder_create(&decoder));
    T_STATUS(decode_box(decoder, copy, SIZE, true, &all, &region), SLUICE_E_CORRUPT);
    T_CONTAINS(sluice_last_error(), "has the code 7");
    image_decoder_destroy(decoder);
}

const t_test gif_tests[] = {
    T_TEST(gif_codes_beyond_the_table_are_errors),
    T_TEST(code_sizes_out_of_range_are_errors),
    T_TEST(frames_smaller_than_the_canvas_are_decoded),
    T_TEST(gif_files_cut_anywhere_are_errors),
    T_END,
};
