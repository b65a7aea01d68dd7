/* SPDX-License-Identifier: Apache-2.0 */
/* random_channel_permutation: each order is drawn, and pixels keep their values. */
#include <stdlib.h>
#include <string.h>

#include "color_chain.h"
#include "dataset_kit.h"
#include "fixture_kit.h"
#include "stage_runs.h"
#include "testing.h"

/* Returns the number of the order, 0 to 5, by which the channels of all pixels were permuted. */
static int order_of(const picture *got, const picture *from)
{
    static const int orders[6][3] = {{0, 1, 2}, {0, 2, 1}, {1, 0, 2},
                                     {1, 2, 0}, {2, 0, 1}, {2, 1, 0}};

    for (int k = 0; k < 6; k++) {
        size_t equal = 0;

        for (size_t i = 0; i < picture_size(from); i++) {
            equal += got->pixels[i] == from->pixels[i - i % 3 + (size_t)orders[k][i % 3]];
        }
        if (equal == picture_size(from)) {
            return k;
        }
    }
    T_FAIL_("%s", "no order of the channels");
    return 0;
}

static void each_order_is_as_likely(void)
{
    const picture from = picture_read("torchvision", "rgb-70x12.ppm");
    int counts[6] = {0};

    for (uint64_t seed = 0; seed < 120; seed++) {
        picture got = fixture_run("random_channel_permutation", seed);

        counts[order_of(&got, &from)]++;
        free(got.pixels);
    }
    for (int k = 0; k < 6; k++) {
        T_TRUE(counts[k] >= 8 && counts[k] <= 36); /* 20 expected, 4 is the standard deviation */
    }
    free(from.pixels);
}

/* Channel c of the result is channel order[c], as in permute_channels. */
static void the_order_is_that_of_torchvision(void)
{
    static color_chain chain;
    const uint32_t order[3] = {2, 0, 1};
    picture got = picture_read("torchvision", "rgb-70x12.ppm");
    picture want = picture_read("torchvision", "channels-2-0-1.ppm");

    color_add_permutation(&chain, order);
    for (uint32_t y = 0; y < got.height; y++) {
        uint8_t *line = got.pixels + (size_t)y * got.width * 3;

        color_apply(&chain, 0, 1, y, line, line, got.width, 3);
    }
    T_TRUE(memcmp(got.pixels, want.pixels, picture_size(&want)) == 0);
    free(got.pixels);
    free(want.pixels);
}

static void gray_images_stay_and_other_inputs_are_refused(void)
{
    check_stages("synthetic 12 9,8,1", "random_channel_permutation", "random_invert 0", true);
    check_refused("synthetic 4 8,8,4 | random_channel_permutation",
                  "must have 1 (gray) or 3 (RGB)");
    check_refused("synthetic 4 8,8,3 | device | random_channel_permutation",
                  "put it before device");
    check_refused("synthetic 4 8,8,3 | random_channel_permutation p=1", "has no argument 'p'");
    check_refused("synthetic 4 8,8,3 | RandomChannelPermutation",
                  "is called random_channel_permutation here");
}

const t_test random_channel_permutation_tests[] = {
    T_TEST(each_order_is_as_likely),
    T_TEST(the_order_is_that_of_torchvision),
    T_TEST(gray_images_stay_and_other_inputs_are_refused),
    T_END,
};
