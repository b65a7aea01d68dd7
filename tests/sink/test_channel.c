/* SPDX-License-Identifier: Apache-2.0 */
/* sluice_channel: the batches of a run, for a loop of one's own. */
#include <sched.h>
#include <stddef.h>

#include "alloc_int.h"
#include "loop_kit.h"
#include "testing.h"

static const char *const devices[] = {"host:0", "host:0,copy=1", "host:0,spin_us=5"};

/* ---- batches --------------------------------------------------------------------------------- */

static void batches_are_those_of_a_training(void)
{
    kit k;

    loop_kit_train_padded(&k, 3, 7);
    for (size_t d = 0; d < COUNT(devices); d++) {
        sluice_channel_config config = loop_kit_config(0, 3 * LOOP_KIT_PADDED_BATCHES);
        const sluice_batch *batch = NULL;
        loop_kit o;

        config.seed = 7;
        config.workers = (uint32_t)d + 1;
        o = loop_kit_open(devices[d], loop_kit_padded, &config);
        T_OK(sluice_channel_start(o.channel));
        for (size_t i = 0; i < k.count; i++) {
            kit_step step;

            T_OK(loop_kit_next(&o, &batch));
            step = loop_kit_step(batch);
            loop_kit_check_same(&step, &k.steps[i]);
        }
        T_STATUS(loop_kit_next(&o, &batch), SLUICE_END_OF_DATA);
        T_STATUS(loop_kit_next(&o, &batch), SLUICE_END_OF_DATA);
        T_STATUS(sluice_channel_get_next(o.channel, NULL, 0, &batch), SLUICE_END_OF_DATA);
        loop_kit_close(&o);
    }
    kit_fini(&k);
}

static void a_channel_goes_on_in_the_middle_of_a_training(void)
{
    kit k;

    loop_kit_train_padded(&k, 3, 1);
    for (uint64_t first = 5; first < 27; first += 8) {
        sluice_channel_config config = loop_kit_config(first, 27 - first);
        const sluice_batch *batch = NULL;
        loop_kit o;

        config.seed = 1;
        o = loop_kit_open("host:0", loop_kit_padded, &config);
        T_OK(sluice_channel_start(o.channel));
        for (uint64_t i = first; i < k.count; i++) {
            kit_step step;

            T_OK(loop_kit_next(&o, &batch));
            step = loop_kit_step(batch);
            loop_kit_check_same(&step, &k.steps[i]);
        }
        T_STATUS(loop_kit_next(&o, &batch), SLUICE_END_OF_DATA);
        loop_kit_close(&o);
    }
    kit_fini(&k);
}

static void the_last_batch_of_a_pass_is_padded(void)
{
    const sluice_channel_config config = loop_kit_config(LOOP_KIT_PADDED_BATCHES - 1, 2);
    const float nothing[4 * 4 * 3] = {0};
    const sluice_batch *batch = NULL;
    loop_kit o = loop_kit_open("host:0", loop_kit_padded, &config);

    T_OK(sluice_channel_start(o.channel));
    T_OK(loop_kit_next(&o, &batch));
    T_EQ(batch->struct_size, sizeof(*batch));
    T_EQ(batch->number, 8);
    T_EQ(batch->pass, 0);
    T_EQ(batch->rows, 8);
    T_EQ(batch->valid_rows, 6);
    T_TRUE(batch->samples[5] < 70);
    T_TRUE(batch->samples[6] == UINT64_MAX && batch->samples[7] == UINT64_MAX);
    T_EQ(
        memcmp((const float *)batch->inputs[0].data + 7 * COUNT(nothing), nothing, sizeof(nothing)),
        0);
    T_OK(loop_kit_next(&o, &batch));
    T_EQ(batch->pass, 1);
    T_EQ(batch->valid_rows, 8);
    loop_kit_close(&o);
}

static void inputs_have_names(void)
{
    const sluice_channel_config config = loop_kit_config(0, 0);
    const sluice_batch *batch = NULL;
    loop_kit o = loop_kit_open("host:0", loop_kit_padded, &config);

    T_OK(sluice_channel_start(o.channel));
    T_OK(loop_kit_next(&o, &batch));
    T_EQ(batch->input_count, 2);
    T_TRUE(sluice_batch_input(batch, "image") == &batch->inputs[0]);
    T_TRUE(sluice_batch_input(batch, "label") == &batch->inputs[1]);
    CU_ASSERT_PTR_NULL(sluice_batch_input(batch, "depth"));
    loop_kit_close(&o);
}

/* Before a thread is started. */
static void what_will_come_is_known_from_the_start(void)
{
    sluice_channel_config config = loop_kit_config(0, 0);
    sluice_channel_info info = {.struct_size = sizeof(info)};
    const sluice_batch *batch = NULL;
    loop_kit o;

    config.rank = 1;
    config.world = 2;
    config.workers = 2;
    config.slots = 5;
    o = loop_kit_open("host:0,copy=1", loop_kit_padded, &config);
    T_OK(sluice_channel_inspect(o.channel, &info));
    T_EQ(info.struct_size, sizeof(info));
    T_EQ(info.samples, 70);
    T_EQ(info.batches, 5); /* 35 of them in batches of 8 */
    T_EQ(info.batch_size, 8);
    T_EQ(info.workers, 2);
    T_EQ(info.slots, 5);
    T_TRUE(info.staging_bytes > 0 && info.slot_bytes > 0);
    T_EQ(info.column_count, 2);
    T_OK(sluice_channel_start(o.channel));
    T_OK(loop_kit_next(&o, &batch));
    for (uint32_t i = 0; i < info.column_count; i++) {
        T_STR(batch->inputs[i].name, info.columns[i].name);
        T_EQ(batch->inputs[i].dtype, info.columns[i].dtype);
        T_EQ(batch->inputs[i].rank, info.columns[i].rank + 1);
        T_EQ(memcmp(batch->inputs[i].shape + 1, info.columns[i].shape,
                    info.columns[i].rank * sizeof(uint64_t)),
             0);
    }
    loop_kit_close(&o);
}

static void nothing_is_read_before_the_start(void)
{
    const sluice_channel_config config = loop_kit_config(0, 0);
    sluice_dataset *dataset;
    kit_source source;
    loop_kit o;

    kit_source_init(&source, 40);
    dataset = kit_source_dataset(&source, 4);
    o = loop_kit_open_dataset("host:0", dataset, &config);
    loop_kit_close(&o);
    T_EQ(kit_source_end(&source), 0);
    sluice_dataset_destroy(dataset);
}

/* The workers go ahead by themselves: nobody has asked for a batch yet. */
static void batches_are_made_ahead(void)
{
    sluice_channel_config config = loop_kit_config(0, 0);
    sluice_channel_stats stats = {.struct_size = sizeof(stats)};
    loop_kit o;

    config.slots = 3;
    o = loop_kit_open("host:0", loop_kit_padded, &config);
    T_OK(sluice_channel_start(o.channel));
    while (stats.ready < 3) {
        sched_yield();
        T_OK(sluice_channel_stats_get(o.channel, &stats));
    }
    T_EQ(stats.batches, 0);
    loop_kit_close(&o);
}

/* Interleaved, on one device: each gives what it gives alone. */
static void channels_do_not_touch_each_other(void)
{
    sluice_channel_config config[2] = {loop_kit_config(0, 20), loop_kit_config(4, 20)};
    const char *const texts[] = {loop_kit_padded, "synthetic samples=30 shape=4,4,3 | batch 4"};
    kit_step alone[2][20];
    loop_kit both[2];

    config[0].seed = 5;
    for (int pass = 0; pass < 2; pass++) {
        for (size_t c = 0; c < 2; c++) {
            both[c] = loop_kit_open("host:0", texts[c], &config[c]);
            T_OK(sluice_channel_start(both[c].channel));
        }
        for (size_t i = 0; i < 40; i++) {
            const size_t c = pass == 0 ? i / 20 : i % 2;
            const size_t number = pass == 0 ? i % 20 : i / 2;
            const sluice_batch *batch = NULL;
            kit_step step;

            T_OK(loop_kit_next(&both[c], &batch));
            step = loop_kit_step(batch);
            if (pass == 0) {
                alone[c][number] = step;
            } else {
                loop_kit_check_same(&step, &alone[c][number]);
            }
        }
        loop_kit_close(&both[0]);
        loop_kit_close(&both[1]);
    }
}

/* ---- errors ---------------------------------------------------------------------------------- */

static void a_bad_sample_is_named_after_the_batches_before_it(void)
{
    for (size_t d = 0; d < COUNT(devices); d++) {
        const sluice_channel_config config = loop_kit_config(0, 0);
        const sluice_batch *batch = NULL;
        sluice_dataset *dataset;
        kit_source source;
        loop_kit o;

        kit_source_init(&source, 40);
        source.fail_at = 14;
        dataset = kit_source_dataset(&source, 4);
        o = loop_kit_open_dataset(devices[d], dataset, &config);
        T_OK(sluice_channel_start(o.channel));
        for (uint64_t i = 0; i < 3; i++) {
            T_OK(loop_kit_next(&o, &batch));
            T_EQ(batch->number, i);
        }
        for (int again = 0; again < 3; again++) {
            T_STATUS(loop_kit_next(&o, &batch), SLUICE_E_CORRUPT);
            T_CONTAINS(sluice_last_error(), "read: sample 14, kit/14: told to fail; on_error ");
        }
        loop_kit_close(&o);
        sluice_dataset_destroy(dataset);
    }
}

static void bad_samples_can_be_replaced_or_zeroed(void)
{
    for (int policy = SLUICE_ON_ERROR_REPLACE; policy <= SLUICE_ON_ERROR_ZERO; policy++) {
        sluice_channel_config config = loop_kit_config(0, 10);
        sluice_channel_stats stats = {.struct_size = sizeof(stats)};
        const sluice_batch *batch = NULL;
        sluice_dataset *dataset;
        kit_source source;
        loop_kit o;

        kit_source_init(&source, 40);
        source.fail_at = 14;
        dataset = kit_source_dataset(&source, 4);
        config.on_error = (sluice_on_error)policy;
        o = loop_kit_open_dataset("host:0", dataset, &config);
        T_OK(sluice_channel_start(o.channel));
        for (int i = 0; i < 4; i++) {
            T_OK(loop_kit_next(&o, &batch));
        }
        T_TRUE(policy == SLUICE_ON_ERROR_ZERO || batch->samples[2] != 14);
        T_TRUE(policy == SLUICE_ON_ERROR_REPLACE ||
               ((const uint8_t *)sluice_batch_input(batch, "mask")->data)[2] == 0);
        T_OK(sluice_channel_stats_get(o.channel, &stats));
        T_EQ(stats.replaced, policy == SLUICE_ON_ERROR_REPLACE);
        T_EQ(stats.zeroed, policy == SLUICE_ON_ERROR_ZERO);
        loop_kit_close(&o);
        sluice_dataset_destroy(dataset);
    }
}

static void settings_that_make_no_sense_are_refused(void)
{
    sluice_channel_config config = loop_kit_config(0, 0);
    sluice_channel *channel = NULL;
    sluice_dataset *dataset = NULL;
    sluice_dataset *no_batch = NULL;
    sluice_device *device = NULL;

    T_OK(sluice_device_open("host:0", &device));
    T_OK(sluice_dataset_parse(loop_kit_padded, &dataset));
    T_OK(sluice_dataset_parse("synthetic", &no_batch));
    T_STATUS(sluice_channel_open(NULL, dataset, &config, &channel), SLUICE_E_INVALID);
    T_STATUS(sluice_channel_open(device, NULL, &config, &channel), SLUICE_E_INVALID);
    T_STATUS(sluice_channel_open(device, dataset, NULL, &channel), SLUICE_E_INVALID);
    T_CONTAINS(sluice_last_error(), "sluice_channel_open: config is NULL");
    T_STATUS(sluice_channel_open(device, dataset, &config, NULL), SLUICE_E_INVALID);
    T_STATUS(sluice_channel_open(device, no_batch, &config, &channel), SLUICE_E_INVALID);
    config.struct_size = 0;
    T_STATUS(sluice_channel_open(device, dataset, &config, &channel), SLUICE_E_INVALID);
    T_CONTAINS(sluice_last_error(), "call sluice_channel_config_init() first");
    config = loop_kit_config(0, 0);
    config.rank = 2;
    config.world = 2;
    T_STATUS(sluice_channel_open(device, dataset, &config, &channel), SLUICE_E_INVALID);
    T_CONTAINS(sluice_last_error(), "rank is 2, and must be less than world, 2");
    config = loop_kit_config(0, 0);
    config.on_error = (sluice_on_error)3;
    T_STATUS(sluice_channel_open(device, dataset, &config, &channel), SLUICE_E_INVALID);
    T_CONTAINS(sluice_last_error(), "on_error is 3");
    config = loop_kit_config(0, 0);
    config.slots = 2;
    T_STATUS(sluice_channel_open(device, dataset, &config, &channel), SLUICE_E_INVALID);
    T_CONTAINS(sluice_last_error(), "must be from 3 to 1024");
    config = loop_kit_config(UINT64_MAX - 5, 5);
    T_STATUS(sluice_channel_open(device, dataset, &config, &channel), SLUICE_E_INVALID);
    CU_ASSERT_PTR_NULL(channel); /* outputs are set only on OK */
    sluice_dataset_destroy(no_batch);
    sluice_dataset_destroy(dataset);
    sluice_device_close(device);
}

static sluice_column column(const char *name, sluice_dtype dtype, uint32_t rank, uint64_t side)
{
    sluice_column c = {.dtype = dtype, .rank = rank, .shape = {side, side, 3}};

    snprintf(c.name, sizeof(c.name), "%s", name);
    return c;
}

static void inputs_that_a_loop_expects_are_checked_at_open(void)
{
    const sluice_column good[] = {column("label", SLUICE_I32, 0, 0),
                                  column("image", SLUICE_F32, 3, 4)};
    const struct {
        sluice_column want;
        const char *words;
    } cases[] = {
        {column("image", SLUICE_F32, 3, 6),
         "column image is f32 (4, 4, 3) in the dataset, and the config needs f32 (6, 6, 3)"},
        {column("image", SLUICE_U8, 3, 4), "the config needs u8 (4, 4, 3)"},
        {column("depth", SLUICE_F32, 0, 0),
         "the config needs column depth, which the dataset does not have"},
        {column("image", SLUICE_F32, SLUICE_MAX_RANK + 1, 4), "an entry of config.inputs"},
    };
    sluice_channel_config config = loop_kit_config(0, 1);
    loop_kit o;

    config.inputs = good;
    config.input_count = COUNT(good);
    o = loop_kit_open("host:0", loop_kit_padded, &config);
    for (size_t i = 0; i < COUNT(cases); i++) {
        sluice_channel *channel = NULL;

        config.inputs = &cases[i].want;
        config.input_count = 1;
        T_STATUS(sluice_channel_open(o.device, o.own, &config, &channel), SLUICE_E_INVALID);
        T_CONTAINS(sluice_last_error(), cases[i].words);
        CU_ASSERT_PTR_NULL(channel);
    }
    loop_kit_close(&o);
}

static void calls_that_make_no_sense_are_refused(void)
{
    const sluice_channel_config config = loop_kit_config(0, 0);
    sluice_channel_info info = {.struct_size = 0};
    sluice_channel_stats stats = {.struct_size = 0};
    const sluice_batch *batch = NULL;
    const sluice_batch *other = NULL;
    loop_kit o = loop_kit_open("host:0", loop_kit_padded, &config);

    T_STATUS(loop_kit_next(&o, &batch), SLUICE_E_INVALID);
    T_CONTAINS(sluice_last_error(), "call sluice_channel_start() first");
    T_STATUS(sluice_channel_pause(o.channel), SLUICE_E_INVALID);
    T_STATUS(sluice_channel_resume(o.channel), SLUICE_E_INVALID);
    T_OK(sluice_channel_start(o.channel));
    T_STATUS(sluice_channel_start(o.channel), SLUICE_E_INVALID);
    T_CONTAINS(sluice_last_error(), "called before");
    T_OK(loop_kit_next(&o, &batch));
    T_STATUS(sluice_channel_get_next(o.channel, &o, 0, &other), SLUICE_E_INVALID);
    T_CONTAINS(sluice_last_error(), "stream must be NULL");
    T_STATUS(sluice_channel_get_next(o.channel, NULL, 0, NULL), SLUICE_E_INVALID);
    T_STATUS(sluice_channel_get_next(NULL, NULL, 0, &other), SLUICE_E_INVALID);
    CU_ASSERT_PTR_NULL(other);
    T_EQ(batch->number, 0); /* still lent */
    T_STATUS(sluice_channel_inspect(o.channel, &info), SLUICE_E_INVALID);
    T_STATUS(sluice_channel_inspect(o.channel, NULL), SLUICE_E_INVALID);
    T_STATUS(sluice_channel_stats_get(o.channel, &stats), SLUICE_E_INVALID);
    stats.struct_size = sizeof(stats);
    T_STATUS(sluice_channel_stats_get(NULL, &stats), SLUICE_E_INVALID);
    T_STATUS(sluice_channel_start(NULL), SLUICE_E_INVALID);
    T_STATUS(sluice_channel_pause(NULL), SLUICE_E_INVALID);
    T_STATUS(sluice_channel_resume(NULL), SLUICE_E_INVALID);
    sluice_channel_stop(NULL);
    sluice_channel_close(NULL);
    loop_kit_close(&o);
}

static void running_out_of_memory_is_an_error(void)
{
    for (size_t d = 0; d < 2; d++) {
        sluice_status st = SLUICE_E_NO_MEMORY;

        for (int64_t passes = 0; st == SLUICE_E_NO_MEMORY; passes++) {
            const sluice_channel_config config = loop_kit_config(0, 2);
            const sluice_batch *batch = NULL;
            loop_kit o = {.channel = NULL};

            T_OK(sluice_device_open(devices[d], &o.device));
            T_OK(sluice_dataset_parse(loop_kit_padded, &o.own));
            sli_alloc_fail_after(passes);
            st = sluice_channel_open(o.device, o.own, &config, &o.channel);
            T_TRUE((o.channel != NULL) == (st == SLUICE_OK));
            if (st == SLUICE_OK) {
                st = sluice_channel_start(o.channel);
            }
            while (st == SLUICE_OK) {
                st = loop_kit_next(&o, &batch);
            }
            sli_alloc_fail_after(-1);
            loop_kit_close(&o);
        }
        T_EQ(st, SLUICE_END_OF_DATA);
    }
}

/* One process drives two devices: a channel for each, which are ranks 0 and 1 of 2 and share a
 * dataset. Pass after pass each sample is in one of them. */
static void devices_of_one_process_share_each_pass(void)
{
    enum { SAMPLES = 64, PASSES = 3, STEPS = SAMPLES / 2 / 8 };
    static const char text[] =
        "synthetic samples=64 shape=6,6,3 | shuffle | random_crop 4 | batch 8";
    static const char *const pairs[][2] = {{"host:0", "host:1"}, {"host:0,copy=1", "host:1"}};

    for (size_t p = 0; p < COUNT(pairs); p++) {
        uint32_t seen[PASSES][SAMPLES] = {{0}};
        sluice_dataset *dataset = NULL;
        loop_kit loops[2];

        T_OK(sluice_dataset_parse(text, &dataset));
        for (uint32_t d = 0; d < 2; d++) {
            sluice_channel_config config = loop_kit_config(0, PASSES * STEPS);

            config.rank = d;
            config.world = 2;
            config.workers = 1;
            loops[d] = loop_kit_open_dataset(pairs[p][d], dataset, &config);
        }
        for (uint32_t d = 0; d < 2; d++) {
            T_OK(sluice_channel_start(loops[d].channel));
        }
        for (uint32_t i = 0; i < 2 * PASSES * STEPS; i++) {
            const sluice_batch *batch = NULL;

            T_OK(loop_kit_next(&loops[i % 2], &batch));
            T_EQ(batch->number, i / 2);
            for (uint32_t row = 0; row < batch->rows; row++) {
                T_TRUE(batch->pass < PASSES && batch->samples[row] < SAMPLES);
                seen[batch->pass][batch->samples[row]]++;
            }
        }
        for (size_t i = 0; i < (size_t)PASSES * SAMPLES; i++) {
            T_EQ(seen[i / SAMPLES][i % SAMPLES], 1);
        }
        for (uint32_t d = 0; d < 2; d++) {
            const sluice_batch *batch = NULL;

            T_STATUS(loop_kit_next(&loops[d], &batch), SLUICE_END_OF_DATA);
            loop_kit_close(&loops[d]);
        }
        sluice_dataset_destroy(dataset);
    }
}

const t_test channel_tests[] = {
    T_TEST(batches_are_those_of_a_training),
    T_TEST(a_channel_goes_on_in_the_middle_of_a_training),
    T_TEST(the_last_batch_of_a_pass_is_padded),
    T_TEST(inputs_have_names),
    T_TEST(what_will_come_is_known_from_the_start),
    T_TEST(nothing_is_read_before_the_start),
    T_TEST(batches_are_made_ahead),
    T_TEST(channels_do_not_touch_each_other),
    T_TEST(devices_of_one_process_share_each_pass),
    T_TEST(a_bad_sample_is_named_after_the_batches_before_it),
    T_TEST(bad_samples_can_be_replaced_or_zeroed),
    T_TEST(settings_that_make_no_sense_are_refused),
    T_TEST(inputs_that_a_loop_expects_are_checked_at_open),
    T_TEST(calls_that_make_no_sense_are_refused),
    T_TEST(running_out_of_memory_is_an_error),
    T_END,
};
