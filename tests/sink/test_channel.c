/* SPDX-License-Identifier: Apache-2.0 */
/* sluice_channel: the batches of a run, for a loop of one's own. */
#include <sched.h>
#include <stddef.h>

#include "alloc_int.h"
#include "digest_int.h"
#include "rng_int.h"
#include "testing.h"
#include "train_kit.h"

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

static const char *const devices[] = {"host:0", "host:0,copy=1", "host:0,spin_us=5"};

/* 70 samples in batches of 8: the ninth of a pass has 6. */
static const char *const padded = "synthetic samples=70 shape=6,6,3 | shuffle | random_crop 4 | "
                                  "random_horizontal_flip | normalize imagenet | batch 8";

enum { PADDED_BATCHES = 9 };

typedef struct opened {
    sluice_device *device;
    sluice_dataset *own; /* NULL: borrowed */
    sluice_channel *channel;
} opened;

static opened open_dataset(const char *device, sluice_dataset *dataset,
                           const sluice_channel_config *config)
{
    opened o = {.own = NULL};

    T_OK(sluice_device_open(device, &o.device));
    T_OK(sluice_channel_open(o.device, dataset, config, &o.channel));
    return o;
}

static opened open_text(const char *device, const char *text, const sluice_channel_config *config)
{
    sluice_dataset *dataset = NULL;
    opened o;

    T_OK(sluice_dataset_parse(text, &dataset));
    o = open_dataset(device, dataset, config);
    o.own = dataset;
    return o;
}

static void close_all(opened *o)
{
    sluice_channel_close(o->channel);
    sluice_dataset_destroy(o->own);
    sluice_device_close(o->device);
}

static sluice_channel_config config_of(uint64_t first_batch, uint64_t batches)
{
    sluice_channel_config config;

    sluice_channel_config_init(&config);
    config.first_batch = first_batch;
    config.batches = batches;
    return config;
}

static sluice_status next(const opened *o, const sluice_batch **batch)
{
    return sluice_channel_get_next(o->channel, NULL, SLUICE_FOREVER, batch);
}

/* A batch as the kit keeps a step: order by its samples, bytes by their digest. */
static kit_step kept(const sluice_batch *batch)
{
    kit_step step = {.step = batch->number,
                     .pass = batch->pass,
                     .first_sample = batch->samples[0],
                     .valid_rows = batch->valid_rows};

    for (uint32_t i = 0; i < batch->input_count; i++) {
        step.digest = sli_mix_in(step.digest,
                                 sli_digest_bytes(batch->inputs[i].data, batch->inputs[i].bytes));
    }
    step.digest = sli_mix_in(step.digest, batch->valid_rows);
    for (uint32_t row = 0; row < batch->rows; row++) {
        step.samples = sli_mix_in(step.samples, batch->samples[row]);
    }
    return step;
}

static void check_same(const kit_step *got, const kit_step *want)
{
    T_EQ(got->step, want->step);
    T_EQ(got->pass, want->pass);
    T_EQ(got->first_sample, want->first_sample);
    T_EQ(got->valid_rows, want->valid_rows);
    T_EQ(got->samples, want->samples);
    T_EQ(got->digest, want->digest);
}

/* A training on `padded`, for `epochs` passes. */
static void train_padded(kit *k, uint64_t epochs, uint64_t seed)
{
    kit_init(k);
    k->pipeline = padded;
    k->config.epochs = epochs;
    k->config.seed = seed;
    k->model.reads_valid_rows = true;
    T_OK(kit_run(k));
    T_EQ(k->count, epochs * PADDED_BATCHES);
}

/* ---- batches --------------------------------------------------------------------------------- */

static void batches_are_those_of_a_training(void)
{
    kit k;

    train_padded(&k, 3, 7);
    for (size_t d = 0; d < COUNT(devices); d++) {
        sluice_channel_config config = config_of(0, 3 * PADDED_BATCHES);
        const sluice_batch *batch = NULL;
        opened o;

        config.seed = 7;
        config.workers = (uint32_t)d + 1;
        o = open_text(devices[d], padded, &config);
        T_OK(sluice_channel_start(o.channel));
        for (size_t i = 0; i < k.count; i++) {
            kit_step step;

            T_OK(next(&o, &batch));
            step = kept(batch);
            check_same(&step, &k.steps[i]);
        }
        T_STATUS(next(&o, &batch), SLUICE_END_OF_DATA);
        T_STATUS(next(&o, &batch), SLUICE_END_OF_DATA);
        T_STATUS(sluice_channel_get_next(o.channel, NULL, 0, &batch), SLUICE_END_OF_DATA);
        close_all(&o);
    }
    kit_fini(&k);
}

static void a_channel_goes_on_in_the_middle_of_a_training(void)
{
    kit k;

    train_padded(&k, 3, 1);
    for (uint64_t first = 5; first < 27; first += 8) {
        sluice_channel_config config = config_of(first, 27 - first);
        const sluice_batch *batch = NULL;
        opened o;

        config.seed = 1;
        o = open_text("host:0", padded, &config);
        T_OK(sluice_channel_start(o.channel));
        for (uint64_t i = first; i < k.count; i++) {
            kit_step step;

            T_OK(next(&o, &batch));
            step = kept(batch);
            check_same(&step, &k.steps[i]);
        }
        T_STATUS(next(&o, &batch), SLUICE_END_OF_DATA);
        close_all(&o);
    }
    kit_fini(&k);
}

static void the_last_batch_of_a_pass_is_padded(void)
{
    const sluice_channel_config config = config_of(PADDED_BATCHES - 1, 2);
    const float nothing[4 * 4 * 3] = {0};
    const sluice_batch *batch = NULL;
    opened o = open_text("host:0", padded, &config);

    T_OK(sluice_channel_start(o.channel));
    T_OK(next(&o, &batch));
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
    T_OK(next(&o, &batch));
    T_EQ(batch->pass, 1);
    T_EQ(batch->valid_rows, 8);
    close_all(&o);
}

static void inputs_have_names(void)
{
    const sluice_channel_config config = config_of(0, 0);
    const sluice_batch *batch = NULL;
    opened o = open_text("host:0", padded, &config);

    T_OK(sluice_channel_start(o.channel));
    T_OK(next(&o, &batch));
    T_EQ(batch->input_count, 2);
    T_TRUE(sluice_batch_input(batch, "image") == &batch->inputs[0]);
    T_TRUE(sluice_batch_input(batch, "label") == &batch->inputs[1]);
    CU_ASSERT_PTR_NULL(sluice_batch_input(batch, "depth"));
    close_all(&o);
}

/* Before a thread is started. */
static void what_will_come_is_known_from_the_start(void)
{
    sluice_channel_config config = config_of(0, 0);
    sluice_channel_info info = {.struct_size = sizeof(info)};
    const sluice_batch *batch = NULL;
    opened o;

    config.rank = 1;
    config.world = 2;
    config.workers = 2;
    config.slots = 5;
    o = open_text("host:0,copy=1", padded, &config);
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
    T_OK(next(&o, &batch));
    for (uint32_t i = 0; i < info.column_count; i++) {
        T_STR(batch->inputs[i].name, info.columns[i].name);
        T_EQ(batch->inputs[i].dtype, info.columns[i].dtype);
        T_EQ(batch->inputs[i].rank, info.columns[i].rank + 1);
        T_EQ(memcmp(batch->inputs[i].shape + 1, info.columns[i].shape,
                    info.columns[i].rank * sizeof(uint64_t)),
             0);
    }
    close_all(&o);
}

static void nothing_is_read_before_the_start(void)
{
    const sluice_channel_config config = config_of(0, 0);
    sluice_dataset *dataset;
    kit_source source;
    opened o;

    kit_source_init(&source, 40);
    dataset = kit_source_dataset(&source, 4);
    o = open_dataset("host:0", dataset, &config);
    close_all(&o);
    T_EQ(kit_source_end(&source), 0);
    sluice_dataset_destroy(dataset);
}

/* The workers go ahead by themselves: nobody has asked for a batch yet. */
static void batches_are_made_ahead(void)
{
    sluice_channel_config config = config_of(0, 0);
    sluice_channel_stats stats = {.struct_size = sizeof(stats)};
    opened o;

    config.slots = 3;
    o = open_text("host:0", padded, &config);
    T_OK(sluice_channel_start(o.channel));
    while (stats.ready < 3) {
        sched_yield();
        T_OK(sluice_channel_stats_get(o.channel, &stats));
    }
    T_EQ(stats.batches, 0);
    close_all(&o);
}

/* Interleaved, on one device: each gives what it gives alone. */
static void channels_do_not_touch_each_other(void)
{
    sluice_channel_config config[2] = {config_of(0, 20), config_of(4, 20)};
    const char *const texts[] = {padded, "synthetic samples=30 shape=4,4,3 | batch 4"};
    kit_step alone[2][20];
    opened both[2];

    config[0].seed = 5;
    for (int pass = 0; pass < 2; pass++) {
        for (size_t c = 0; c < 2; c++) {
            both[c] = open_text("host:0", texts[c], &config[c]);
            T_OK(sluice_channel_start(both[c].channel));
        }
        for (size_t i = 0; i < 40; i++) {
            const size_t c = pass == 0 ? i / 20 : i % 2;
            const size_t number = pass == 0 ? i % 20 : i / 2;
            const sluice_batch *batch = NULL;
            kit_step step;

            T_OK(next(&both[c], &batch));
            step = kept(batch);
            if (pass == 0) {
                alone[c][number] = step;
            } else {
                check_same(&step, &alone[c][number]);
            }
        }
        close_all(&both[0]);
        close_all(&both[1]);
    }
}

/* ---- errors ---------------------------------------------------------------------------------- */

static void a_bad_sample_is_named_after_the_batches_before_it(void)
{
    for (size_t d = 0; d < COUNT(devices); d++) {
        const sluice_channel_config config = config_of(0, 0);
        const sluice_batch *batch = NULL;
        sluice_dataset *dataset;
        kit_source source;
        opened o;

        kit_source_init(&source, 40);
        source.fail_at = 14;
        dataset = kit_source_dataset(&source, 4);
        o = open_dataset(devices[d], dataset, &config);
        T_OK(sluice_channel_start(o.channel));
        for (uint64_t i = 0; i < 3; i++) {
            T_OK(next(&o, &batch));
            T_EQ(batch->number, i);
        }
        for (int again = 0; again < 3; again++) {
            T_STATUS(next(&o, &batch), SLUICE_E_CORRUPT);
            T_CONTAINS(sluice_last_error(), "read: sample 14, kit/14: told to fail; on_error ");
        }
        close_all(&o);
        sluice_dataset_destroy(dataset);
    }
}

static void bad_samples_can_be_replaced_or_zeroed(void)
{
    for (int policy = SLUICE_ON_ERROR_REPLACE; policy <= SLUICE_ON_ERROR_ZERO; policy++) {
        sluice_channel_config config = config_of(0, 10);
        sluice_channel_stats stats = {.struct_size = sizeof(stats)};
        const sluice_batch *batch = NULL;
        sluice_dataset *dataset;
        kit_source source;
        opened o;

        kit_source_init(&source, 40);
        source.fail_at = 14;
        dataset = kit_source_dataset(&source, 4);
        config.on_error = (sluice_on_error)policy;
        o = open_dataset("host:0", dataset, &config);
        T_OK(sluice_channel_start(o.channel));
        for (int i = 0; i < 4; i++) {
            T_OK(next(&o, &batch));
        }
        T_TRUE(policy == SLUICE_ON_ERROR_ZERO || batch->samples[2] != 14);
        T_TRUE(policy == SLUICE_ON_ERROR_REPLACE ||
               ((const uint8_t *)sluice_batch_input(batch, "mask")->data)[2] == 0);
        T_OK(sluice_channel_stats_get(o.channel, &stats));
        T_EQ(stats.replaced, policy == SLUICE_ON_ERROR_REPLACE);
        T_EQ(stats.zeroed, policy == SLUICE_ON_ERROR_ZERO);
        close_all(&o);
        sluice_dataset_destroy(dataset);
    }
}

static void settings_that_make_no_sense_are_refused(void)
{
    sluice_channel_config config = config_of(0, 0);
    sluice_channel *channel = NULL;
    sluice_dataset *dataset = NULL;
    sluice_dataset *no_batch = NULL;
    sluice_device *device = NULL;

    T_OK(sluice_device_open("host:0", &device));
    T_OK(sluice_dataset_parse(padded, &dataset));
    T_OK(sluice_dataset_parse("synthetic", &no_batch));
    T_STATUS(sluice_channel_open(NULL, dataset, &config, &channel), SLUICE_E_INVALID);
    T_STATUS(sluice_channel_open(device, NULL, &config, &channel), SLUICE_E_INVALID);
    T_STATUS(sluice_channel_open(device, dataset, NULL, &channel), SLUICE_E_INVALID);
    T_CONTAINS(sluice_last_error(), "sluice_channel_open: config is NULL");
    T_STATUS(sluice_channel_open(device, dataset, &config, NULL), SLUICE_E_INVALID);
    T_STATUS(sluice_channel_open(device, no_batch, &config, &channel), SLUICE_E_INVALID);
    config.struct_size--;
    T_STATUS(sluice_channel_open(device, dataset, &config, &channel), SLUICE_E_INVALID);
    T_CONTAINS(sluice_last_error(), "call sluice_channel_config_init() first");
    config = config_of(0, 0);
    config.rank = 2;
    config.world = 2;
    T_STATUS(sluice_channel_open(device, dataset, &config, &channel), SLUICE_E_INVALID);
    T_CONTAINS(sluice_last_error(), "rank is 2, want less than world, 2");
    config = config_of(0, 0);
    config.on_error = (sluice_on_error)3;
    T_STATUS(sluice_channel_open(device, dataset, &config, &channel), SLUICE_E_INVALID);
    T_CONTAINS(sluice_last_error(), "on_error is 3");
    config = config_of(0, 0);
    config.slots = 2;
    T_STATUS(sluice_channel_open(device, dataset, &config, &channel), SLUICE_E_INVALID);
    T_CONTAINS(sluice_last_error(), "want 3 to 1024");
    config = config_of(UINT64_MAX - 5, 5);
    T_STATUS(sluice_channel_open(device, dataset, &config, &channel), SLUICE_E_INVALID);
    CU_ASSERT_PTR_NULL(channel); /* outputs are set only on OK */
    sluice_dataset_destroy(no_batch);
    sluice_dataset_destroy(dataset);
    sluice_device_close(device);
}

static void calls_that_make_no_sense_are_refused(void)
{
    const sluice_channel_config config = config_of(0, 0);
    sluice_channel_info info = {.struct_size = 0};
    sluice_channel_stats stats = {.struct_size = sizeof(stats) + 1};
    const sluice_batch *batch = NULL;
    const sluice_batch *other = NULL;
    opened o = open_text("host:0", padded, &config);

    T_STATUS(next(&o, &batch), SLUICE_E_INVALID);
    T_CONTAINS(sluice_last_error(), "call sluice_channel_start() first");
    T_STATUS(sluice_channel_pause(o.channel), SLUICE_E_INVALID);
    T_STATUS(sluice_channel_resume(o.channel), SLUICE_E_INVALID);
    T_OK(sluice_channel_start(o.channel));
    T_STATUS(sluice_channel_start(o.channel), SLUICE_E_INVALID);
    T_CONTAINS(sluice_last_error(), "called before");
    T_OK(next(&o, &batch));
    T_STATUS(sluice_channel_get_next(o.channel, &o, 0, &other), SLUICE_E_INVALID);
    T_CONTAINS(sluice_last_error(), "want stream NULL");
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
    close_all(&o);
}

/* A program that knows fewer fields gets those, and nothing past them is touched. */
static void a_caller_that_knows_less_gets_what_it_knows(void)
{
    const sluice_channel_config config = config_of(0, 1);
    sluice_channel_stats stats = {.struct_size = offsetof(sluice_channel_stats, bytes_read),
                                  .bytes_read = 99};
    const sluice_batch *batch = NULL;
    opened o = open_text("host:0", padded, &config);

    T_OK(sluice_channel_start(o.channel));
    T_OK(next(&o, &batch));
    T_OK(sluice_channel_stats_get(o.channel, &stats));
    T_EQ(stats.struct_size, offsetof(sluice_channel_stats, bytes_read));
    T_EQ(stats.samples, 8);
    T_EQ(stats.bytes_read, 99);
    close_all(&o);
}

static void running_out_of_memory_is_an_error(void)
{
    for (size_t d = 0; d < 2; d++) {
        sluice_status st = SLUICE_E_NO_MEMORY;

        for (int64_t passes = 0; st == SLUICE_E_NO_MEMORY; passes++) {
            const sluice_channel_config config = config_of(0, 2);
            const sluice_batch *batch = NULL;
            opened o = {.channel = NULL};

            T_OK(sluice_device_open(devices[d], &o.device));
            T_OK(sluice_dataset_parse(padded, &o.own));
            sli_alloc_fail_after(passes);
            st = sluice_channel_open(o.device, o.own, &config, &o.channel);
            T_TRUE((o.channel != NULL) == (st == SLUICE_OK));
            if (st == SLUICE_OK) {
                st = sluice_channel_start(o.channel);
            }
            while (st == SLUICE_OK) {
                st = next(&o, &batch);
            }
            sli_alloc_fail_after(-1);
            close_all(&o);
        }
        T_EQ(st, SLUICE_END_OF_DATA);
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
    T_TEST(a_bad_sample_is_named_after_the_batches_before_it),
    T_TEST(bad_samples_can_be_replaced_or_zeroed),
    T_TEST(settings_that_make_no_sense_are_refused),
    T_TEST(calls_that_make_no_sense_are_refused),
    T_TEST(a_caller_that_knows_less_gets_what_it_knows),
    T_TEST(running_out_of_memory_is_an_error),
    T_END,
};
