/* SPDX-License-Identifier: Apache-2.0 */
/* Trainings and channels on streams with filters, pack and bucket. */
#include <stdio.h>

#include "collected_kit.h"
#include "collected_sets.h"
#include "loop_kit.h"
#include "testing.h"

/* The first maker is of a plain stream (test_custom_stream_train.c). */
static const collected_maker *const makers = &collected_makers[1];
enum { MAKERS = COLLECTED_MAKERS - 1 };

static void an_epoch_is_a_pass_in_every_mode(void)
{
    static const uint64_t batches[MAKERS] = {4, 3, 8}; /* 15, 12 windows, 15 and 13 */

    for (size_t m = 0; m < MAKERS; m++) {
        kit first;

        collected_run(&first, makers[m]("batch 4"), SLUICE_MODE_AUTO, 1, 0);
        T_EQ(first.count, batches[m]);
        for (size_t i = 1; i < COLLECTED_MODES; i++) {
            kit k;

            collected_run(&k, makers[m]("batch 4"), collected_modes[i], 1, 0);
            T_EQ(k.count, first.count);
            kit_check_same(&first, &k, 0, first.count);
            collected_done(&k);
            T_EQ(atomic_load(&collected_generator.open), 0);
        }
        collected_done(&first);
    }
}

static void a_resumed_training_takes_the_same_steps(void)
{
    for (size_t m = 0; m < MAKERS; m++) {
        collected_check_resumes(makers[m], "batch 4 drop_remainder=true");
    }
}

/* From the middle of a pass, from its end, from a later one, with more workers than slots. */
static void a_channel_is_rewound(void)
{
    for (size_t m = 0; m < MAKERS; m++) {
        sluice_dataset *dataset = makers[m]("batch 2");
        kit_step want[20];

        for (uint64_t fetched = 0; fetched <= 18; fetched++) {
            sluice_channel_config config = loop_kit_config(0, fetched % 3 == 0 ? fetched : 0);
            const sluice_batch *batch = NULL;
            loop_kit loop;

            config.workers = (uint32_t)fetched % 8 + 1;
            config.slots = 3;
            loop = loop_kit_open_dataset(fetched % 2 == 0 ? "host:0" : "host:0,copy=1", dataset,
                                         &config);
            T_OK(sluice_channel_start(loop.channel));
            for (int round = 0; round < 3; round++) {
                for (uint64_t n = 0; n < fetched; n++) {
                    kit_step step;

                    T_OK(loop_kit_next(&loop, &batch));
                    step = loop_kit_step(batch);
                    want[n] = round == 0 && n + 1 >= fetched ? step : want[n];
                    loop_kit_check_same(&step, &want[n]);
                }
                if (fetched > 0) {
                    T_OK(sluice_channel_release(loop.channel, batch, NULL));
                }
                T_OK(sluice_channel_rewind(loop.channel));
            }
            loop_kit_close(&loop);
            T_EQ(atomic_load(&collected_generator.open), 0);
        }
        sluice_dataset_destroy(dataset);
    }
}

const t_test stream_collected_train_tests[] = {
    T_TEST(an_epoch_is_a_pass_in_every_mode),
    T_TEST(a_resumed_training_takes_the_same_steps),
    T_TEST(a_channel_is_rewound),
    T_END,
};
