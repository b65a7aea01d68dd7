/* SPDX-License-Identifier: Apache-2.0 */
/* The stage device on the CUDA device, on the fake of CUDA: the kernels' bodies give the bits of
 * the workers of host:0. */
#include "channel_kit.h"
#include "cuda_kit.h"
#include "fake_kit.h"
#include "testing.h"

/* Each type of the image, in both layouts. */
static const char *const ends[] = {
    "normalize imagenet | to_chw",
    "normalize imagenet dtype=f16 | to_chw",
    "to_dtype bf16 scale=true | to_chw",
    "normalize imagenet",
    "normalize imagenet dtype=f16",
    "to_dtype bf16",
    "to_chw",
    "random_invert",
};

/* Checks that channels of `early | device | late` have the batches of `early | late` on host:0.
 * `after`: stages after batch. */
static void check_mixes(const char *source, const char *early, const char *late, const char *after)
{
    for (int i = 0; i < CHANNEL_KIT_TRANSPORTS; i++) {
        char with[500];
        char without[500];
        channel_kit k;

        snprintf(with, sizeof(with), "%s | %s | device | %s | batch 5 drop_remainder=false%s",
                 source, early, late, after);
        snprintf(without, sizeof(without), "%s | %s | %s | batch 5 drop_remainder=false%s", source,
                 early, late, after);
        fake_cuda_start(&channel_kit_machine);
        channel_kit_open(&k, channel_kit_transports[i], with, 6);
        for (int n = 0; n < 6; n++) {
            T_OK(channel_kit_fetch(&k, NULL, NULL, 0));
        }
        T_STATUS(channel_kit_fetch(&k, NULL, NULL, 0), SLUICE_END_OF_DATA);
        channel_kit_check(&k, without);
        channel_kit_close(&k);
        cuda_kit_nothing_is_live();
    }
}

static void check_programs(const char *source, const char *early, const char *late)
{
    check_mixes(source, early, late, "");
}

/* 12 samples are batches of 5, 5 and 2, whose last rows are zeros. */
static void batches_of_channels_are_the_hosts(void)
{
    for (size_t i = 0; i < sizeof(ends) / sizeof(ends[0]); i++) {
        char late[300];

        snprintf(late, sizeof(late),
                 "color_jitter 0.6 saturation=0.6 hue=0.3 | random_erasing 1 value=1,2,3 | "
                 "random_horizontal_flip | %s",
                 ends[i]);
        check_programs("synthetic 12 8,16,3", "shuffle | random_horizontal_flip", late);
    }
    check_programs("synthetic 12 8,16,3", "shuffle | random_horizontal_flip",
                   "random_invert | random_affine 30 0.2,0.2 filter=bilinear fill=9 | "
                   "random_erasing 1 | normalize imagenet dtype=f16 | to_chw");
    check_programs("synthetic 12 8,16,3", "random_vertical_flip",
                   "random_perspective | random_horizontal_flip | normalize imagenet");
    check_programs("synthetic 12 9,7,3", "shuffle",
                   "random_rotation 180 | random_vertical_flip | to_chw");
    check_programs("synthetic 12 7,9,3", "shuffle", "random_solarize 99 | normalize imagenet");
    check_programs("synthetic 12 7,9,1", "shuffle", "random_posterize 3 | random_erasing | to_chw");
    check_programs("synthetic 12 7,9,4", "shuffle",
                   "random_erasing 1 value=1,2,3,4 | to_dtype f32");
}

static void mixed_batches_are_the_hosts(void)
{
    static const char *const mixes[] = {" | mixup 9", " | cutmix 9",
                                        " | random_choice (mixup 9 0.2) (cutmix 9)"};

    for (size_t i = 0; i + 1 < sizeof(ends) / sizeof(ends[0]);
         i++) { /* mixes refuse u8, the last */
        char late[300];

        snprintf(late, sizeof(late),
                 "random_affine 30 filter=bilinear | random_erasing 1 value=1,2,3 | "
                 "random_horizontal_flip | %s",
                 ends[i]);
        check_mixes("synthetic 12 8,16,3 9", "shuffle", late, mixes[i % 3]);
    }
    check_mixes("synthetic 12 7,9,3 9", "shuffle", "normalize imagenet dtype=f16", mixes[0]);
    check_mixes("synthetic 12 7,9,4 9", "shuffle", "random_erasing 1 value=1,2,3,4 | to_chw",
                mixes[1]);
}

#define SOURCE "synthetic 60 8,16,3 | shuffle | random_horizontal_flip"
#define STAGES                                                                                     \
    "random_affine 30 filter=bilinear | color_jitter 0.4 hue=0.2 | random_erasing 1 value=9 | "    \
    "normalize imagenet dtype=f16 | to_chw | batch 4"

static void steps_are_the_hosts_in_every_mode(void)
{
    static const sluice_mode modes[] = {SLUICE_MODE_DIRECT, SLUICE_MODE_DATA, SLUICE_MODE_GRAPH,
                                        SLUICE_MODE_LOOP};

    for (uint32_t i = 0; i < 4; i++) {
        kit expected;
        kit k;

        fake_cuda_start(&cuda_kit_machine);
        cuda_kit_init(&k);
        k.pipeline = SOURCE " | device | " STAGES;
        k.config.mode = modes[i];
        k.config.sink_size = 5;
        k.config.epochs = 4;
        T_OK(kit_run(&k));
        kit_check(&k);
        kit_init(&expected);
        expected.pipeline = SOURCE " | " STAGES;
        expected.config = k.config;
        expected.config.mode = SLUICE_MODE_AUTO;
        T_OK(kit_run(&expected));
        T_EQ(k.count, 20);
        T_EQ(expected.count, 20);
        kit_check_same(&expected, &k, 0, 20);
        kit_fini(&expected);
        kit_fini(&k);
        cuda_kit_nothing_is_live();
    }
}

const t_test cuda_programs_tests[] = {
    T_TEST(steps_are_the_hosts_in_every_mode),
    T_TEST(batches_of_channels_are_the_hosts),
    T_TEST(mixed_batches_are_the_hosts),
    T_END,
};
