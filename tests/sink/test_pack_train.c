/* SPDX-License-Identifier: Apache-2.0 */
/* The stages pack and bucket in trainings and channels. */

#include "collected_kit.h"
#include "document_kit.h"
#include "loop_kit.h"
#include "testing.h"
#include "train_kit.h"

static sluice_dataset *packed(const char *batch)
{
    sluice_dataset *dataset = document_dataset();

    if (strstr(batch, "bucket") != NULL) {
        T_OK(sluice_dataset_add(dataset, batch));
        return dataset;
    }
    /* The names that the kit's step reads. */
    T_OK(sluice_dataset_add(
        dataset, "shuffle | pack tokens 16 | rename tokens image | rename position label"));
    T_OK(sluice_dataset_add(dataset, batch));
    return dataset;
}

static uint64_t tokens_of_pass(void)
{
    uint64_t tokens = 0;

    for (uint64_t i = 0; i < DOCUMENTS; i++) {
        tokens += document_length(i);
    }
    return tokens;
}

static void run_on(kit *k, const char *batch, sluice_mode mode, uint64_t epochs, uint64_t steps)
{
    collected_run(k, packed(batch), mode, epochs, steps);
}

static void an_epoch_is_a_pass_of_the_windows(void)
{
    const uint64_t windows = (tokens_of_pass() + 15) / 16;
    kit first;

    run_on(&first, "batch 4", SLUICE_MODE_AUTO, 1, 0);
    T_EQ(first.count, (windows + 3) / 4);
    T_EQ(first.steps[first.count - 1].valid_rows, (windows + 3) % 4 + 1);
    T_CONTAINS(first.plan, "of batches of 4 windows of documents");
    for (size_t i = 1; i < COLLECTED_MODES; i++) {
        kit k;

        run_on(&k, "batch 4", collected_modes[i], 1, 0);
        T_EQ(k.count, first.count);
        kit_check_same(&first, &k, 0, first.count);
        collected_done(&k);
    }
    collected_done(&first);
}

static void a_resumed_training_takes_the_same_steps(void)
{
    collected_check_resumes(packed, "batch 4 drop_remainder=true");
}

/* Rewinds at each position, where usually a window is open, or samples are in buckets. */
static void a_channel_is_rewound(void)
{
    static const char *const batches[] = {
        "batch 4", "batch 4 drop_remainder=true", "batch 1",
        "shuffle | bucket tokens_length 5,11 | rename tokens image | batch 4",
        "shuffle | bucket tokens_length 5,11 | rename tokens image | batch 3 drop_remainder=true"};

    for (size_t b = 0; b < sizeof(batches) / sizeof(batches[0]); b++) {
        size_t pass;
        kit k;

        run_on(&k, batches[b], SLUICE_MODE_LOOP, 1, 0);
        pass = k.count;
        collected_done(&k);
        run_on(&k, batches[b], SLUICE_MODE_LOOP, 0, 2 * pass);
        for (uint32_t i = 0; i < 30; i++) {
            loop_kit_check_rewinds(packed(batches[b]), i, i % (pass + 1), k.steps,
                                   (size_t[]){pass, pass});
        }
        collected_done(&k);
    }
}

const t_test pack_train_tests[] = {
    T_TEST(an_epoch_is_a_pass_of_the_windows),
    T_TEST(a_resumed_training_takes_the_same_steps),
    T_TEST(a_channel_is_rewound),
    T_END,
};
