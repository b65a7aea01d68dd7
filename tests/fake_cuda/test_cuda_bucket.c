/* SPDX-License-Identifier: Apache-2.0 */
/* Batches of bucket on the CUDA device, on the fake of CUDA: as many entries as the edge of their
 * bucket cross the bus, and the step's tensors are those of host:0. */
#include "cuda_kit.h"
#include "document_kit.h"
#include "testing.h"

enum { STEPS = 20 };

static const sluice_mode modes[] = {SLUICE_MODE_DIRECT, SLUICE_MODE_DATA, SLUICE_MODE_GRAPH,
                                    SLUICE_MODE_LOOP};

static sluice_dataset *bucketed(const char *length)
{
    sluice_dataset *dataset = document_dataset();
    char text[200];

    snprintf(text, sizeof(text),
             "shuffle | rename tokens image | bucket %s 5,15 | batch 4 drop_remainder=true",
             length);
    T_OK(sluice_dataset_add(dataset, text));
    return dataset;
}

static void train(kit *k, const char *length, sluice_mode mode)
{
    k->dataset = bucketed(length);
    k->config.mode = mode;
    k->config.epochs = 0;
    k->config.max_steps = STEPS;
    k->config.sink_size = 5;
    T_OK(kit_run(k));
    T_EQ(k->count, STEPS);
}

static void done(kit *k)
{
    sluice_dataset *dataset = k->dataset;

    kit_fini(k);
    sluice_dataset_destroy(dataset);
}

static void steps_are_the_hosts_in_every_mode(void)
{
    static const char *const transports[] = {"cuda:0,transport=push", "cuda:0,transport=pull"};
    kit expected;

    kit_init(&expected);
    train(&expected, "image_length", SLUICE_MODE_AUTO);
    for (uint32_t i = 0; i < 8; i++) {
        kit k;

        fake_cuda_start(&cuda_kit_machine);
        cuda_kit_init(&k);
        k.device = transports[i / 4];
        train(&k, "image_length", modes[i % 4]);
        kit_check(&k);
        kit_check_same(&expected, &k, 0, STEPS);
        done(&k);
        cuda_kit_nothing_is_live();
    }
    done(&expected);
}

/* Rows of 23 tokens, u16, and of 16 of them where the edge is 5 or 15. */
static void fewer_bytes_are_copied(void)
{
    uint64_t bytes[2];

    for (int i = 0; i < 2; i++) {
        kit k;

        fake_cuda_start(&cuda_kit_machine);
        cuda_kit_init(&k);
        k.device = "cuda:0,transport=push";
        train(&k, i == 0 ? "image_length" : "label", SLUICE_MODE_LOOP);
        bytes[i] = k.report->bytes_h2d;
        done(&k);
        cuda_kit_nothing_is_live();
    }
    T_TRUE(bytes[0] > 0);
    T_TRUE(bytes[0] < bytes[1]);
}

const t_test cuda_bucket_tests[] = {
    T_TEST(steps_are_the_hosts_in_every_mode),
    T_TEST(fewer_bytes_are_copied),
    T_END,
};
