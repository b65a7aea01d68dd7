/* SPDX-License-Identifier: Apache-2.0 */
/* What sluice_train() refuses, in which order and in which words; what it makes of memory. */
#include <stdlib.h>

#include "testing.h"
#include "train_kit.h"

/* The run is refused before any hook, with these words; its report says so, too. */
static void check_refused(kit *k, const char *words)
{
    T_STATUS(kit_run(k), SLUICE_E_INVALID);
    T_CONTAINS(k->error, words);
    T_EQ(k->hook_calls[KIT_TRAIN_BEGIN], 0);
    T_EQ(atomic_load(&k->calls), 0);
    kit_check(k);
    T_TRUE(!k->report->ran);
    kit_fini(k);
}

static void a_negative_sink_size_is_minus_one(void)
{
    static const int64_t sizes[] = {-2, INT64_MIN};

    for (size_t i = 0; i < COUNT(sizes); i++) {
        char words[100];
        kit k;

        kit_init(&k);
        k.config.sink_size = sizes[i];
        k.config.epochs = 0; /* the next check, which comes after */
        snprintf(words, sizeof(words),
                 "sink_size is %lld; it must be positive, or 0 or -1 for a pass",
                 (long long)sizes[i]);
        check_refused(&k, words);
    }
}

static void something_must_say_when_to_end(void)
{
    kit k;

    kit_init(&k);
    k.config.epochs = 0;
    check_refused(&k, "epochs, total_steps, max_steps and max_seconds are all 0");
    kit_init(&k);
    k.config.initial_epoch = 1;
    check_refused(&k, "initial_epoch is 1, and must be less than epochs, 1");
    k.config.epochs = 0;
    k.config.initial_epoch = 7;
    k.config.max_steps = 5; /* epochs do not end it: any may have been done */
    T_OK(kit_run(&k));
    T_EQ(k.steps[0].step, 700);
    kit_fini(&k);
}

static void nothing_left_to_do_is_refused(void)
{
    kit k;

    kit_init(&k);
    k.config.start_step = 100;
    k.config.max_steps = 10;
    check_refused(&k, "nothing left to do: 100 steps are done of 1 epochs of 100 steps");
    kit_init(&k);
    k.config.epochs = UINT64_MAX;
    check_refused(&k, "more steps than 64 bits can count");
}

static void a_dataset_without_a_batch_is_refused(void)
{
    kit k;

    kit_init(&k);
    k.pipeline = "synthetic samples=3 shape=2,2,1 | batch 4 drop_remainder=true";
    check_refused(&k, "no valid data in the dataset: a pass has 3 samples and no batch of 4; "
                      "drop_remainder=false");
    kit_init(&k);
    k.pipeline = "synthetic samples=3 shape=2,2,1 | skip 3 | batch 4";
    check_refused(&k, "a pass has 0 samples and no batch of 4; take, skip, split or shard have");
    kit_init(&k);
    k.pipeline = "synthetic samples=3 shape=2,2,1";
    check_refused(&k, "the dataset has no batch stage");
}

static sluice_column column(const char *name, sluice_dtype dtype, uint32_t rank, uint64_t d0,
                            uint64_t d1, uint64_t d2)
{
    sluice_column c = {.dtype = dtype, .rank = rank, .shape = {d0, d1, d2}};

    snprintf(c.name, sizeof(c.name), "%s", name);
    return c;
}

static void inputs_that_do_not_fit_are_named_with_both_shapes(void)
{
    const struct {
        sluice_column want;
        const char *words;
    } cases[] = {
        {column("image", SLUICE_U8, 3, 4, 5, 3),
         "column image is u8 (4, 4, 3) in the dataset, and the model needs u8 (4, 5, 3)"},
        {column("image", SLUICE_F32, 3, 4, 4, 3),
         "column image is u8 (4, 4, 3) in the dataset, and the model needs f32 (4, 4, 3)"},
        {column("image", SLUICE_U8, 2, 4, 4, 0),
         "column image is u8 (4, 4, 3) in the dataset, and the model needs u8 (4, 4)"},
        {column("label", SLUICE_I64, 0, 0, 0, 0),
         "column label is i32 () in the dataset, and the model needs i64 ()"},
        {column("depth", SLUICE_F32, 0, 0, 0, 0),
         "the model needs column depth, which the dataset does not have"},
        {column("image", SLUICE_U8, 7, 4, 4, 3), "at most 6 dimensions"},
    };
    const sluice_column good[] = {column("label", SLUICE_I32, 0, 0, 0, 0),
                                  column("image", SLUICE_U8, 3, 4, 4, 3)};
    sluice_column endless = good[0];
    kit k;

    for (size_t i = 0; i < COUNT(cases); i++) {
        kit_init(&k);
        k.model.inputs = &cases[i].want;
        k.model.input_count = 1;
        check_refused(&k, cases[i].words);
    }
    kit_init(&k);
    memset(endless.name, 'x', sizeof(endless.name));
    k.model.inputs = &endless;
    k.model.input_count = 1;
    check_refused(&k, "it must have a name of at most 31 bytes");
    kit_init(&k);
    k.model.inputs = good;
    k.model.input_count = 2;
    T_OK(kit_run(&k));
    kit_fini(&k);
}

static void a_padded_batch_is_for_models_that_read_valid_rows(void)
{
    kit k;

    kit_init(&k);
    k.pipeline = "synthetic samples=7 shape=4,4,3 | batch 2";
    check_refused(&k,
                  "the last batch of a pass is padded (7 samples in batches of 2) and the model "
                  "does not say reads_valid_rows; use batch 2 drop_remainder=true");
    k.model.reads_valid_rows = true;
    T_OK(kit_run(&k));
    kit_check(&k);
    T_EQ(k.count, 4);
    T_EQ(k.steps[3].valid_rows, 1);
    T_EQ(k.report->stats.samples, 7);
    k.model.reads_valid_rows = false;
    k.pipeline = "synthetic samples=7 shape=4,4,3 | batch 2 drop_remainder=true";
    T_OK(kit_run(&k));
    T_EQ(k.count, 3);
    kit_fini(&k);
}

/* Two ranks of three samples each: no rank's last batch is full, though 6 is a multiple of 2. */
static void padding_is_found_over_all_ranks(void)
{
    kit k;

    kit_init(&k);
    k.pipeline = "synthetic samples=6 shape=4,4,3 | batch 2";
    k.config.world = 2;
    k.config.nan_guard = SLUICE_NAN_COUNT;
    k.config.rank = 1;
    check_refused(&k, "the last batch of a pass is padded");
    k.pipeline = "synthetic samples=8 shape=4,4,3 | batch 2";
    T_OK(kit_run(&k));
    T_EQ(k.count, 2);
    kit_fini(&k);
}

static void policy_zero_is_for_models_that_read_the_mask(void)
{
    kit_source source;
    kit k;

    kit_source_init(&source, 8);
    source.fail_at = 5;
    kit_init(&k);
    k.dataset = kit_source_dataset(&source, 2);
    k.config.on_error = SLUICE_ON_ERROR_ZERO;
    check_refused(&k, "the model does not say reads_mask");
    k.model.reads_mask = true;
    T_OK(kit_run(&k));
    kit_check(&k);
    T_EQ(k.report->stats.zeroed, 1);
    k.model.reads_mask = false;
    k.config.on_error = SLUICE_ON_ERROR_REPLACE;
    T_OK(kit_run(&k));
    kit_check(&k);
    T_EQ(k.report->stats.replaced, 1);
    T_EQ(k.report->stats.zeroed, 0);
    sluice_dataset_destroy(k.dataset);
    kit_fini(&k);
}

static void settings_that_make_no_sense_are_refused(void)
{
    kit k;

    kit_init(&k);
    k.config.rank = 2;
    k.config.world = 2;
    check_refused(&k, "rank is 2, and must be less than world, 2");
    k.config.rank = 1;
    k.config.world = 0;
    check_refused(&k, "rank is 1, and must be less than world, 1");
    kit_init(&k);
    k.config.mode = (sluice_mode)9;
    check_refused(&k, "mode is 9");
    k.config.mode = SLUICE_MODE_LOOP;
    k.config.dataset_sink_mode = false;
    check_refused(&k, "mode loop needs dataset_sink_mode");
    kit_init(&k);
    k.config.on_error = (sluice_on_error)3;
    check_refused(&k, "on_error is 3");
    kit_init(&k);
    k.config.output_capacity = 1048577;
    check_refused(&k, "output_capacity is 1048577, and must be at most 1048576");
    kit_init(&k);
    k.config.slots = 2;
    check_refused(&k, "slots=2 must be from 3 to 1024 on host:0"); /* it lends slots to the step */
    k.config.slots = 1025;
    check_refused(&k, "slots=1025");
    kit_init(&k);
    k.config.workers = 5000;
    check_refused(&k, "workers is 5000");
}

static void models_that_make_no_sense_are_refused(void)
{
    const char *const names[] = {"loss", NULL};
    kit k;

    kit_init(&k);
    k.model.step = NULL;
    k.config.sink_size = -2; /* a check that comes after */
    check_refused(&k, "model.step is NULL");
    kit_init(&k);
    k.model.output_count = 17;
    check_refused(&k, "model.output_count is 17, and must be at most 16");
    kit_init(&k);
    k.model.output_names = NULL;
    check_refused(&k, "model.output_names is NULL for 2 outputs");
    kit_init(&k);
    k.model.output_names = names;
    check_refused(&k, "model.output_names[1] is NULL");
}

static void arguments_that_are_missing_are_named(void)
{
    sluice_callback callback = {.struct_size = sizeof(callback)};
    sluice_callback *callbacks[] = {NULL, &callback};
    sluice_device *device = NULL;
    sluice_dataset *dataset = NULL;
    sluice_report *report = NULL;
    kit k;

    kit_init(&k);
    T_OK(sluice_device_open("host:0", &device));
    T_OK(sluice_dataset_parse(k.pipeline, &dataset));
    T_STATUS(sluice_train(NULL, &k.model, dataset, &k.config, NULL), SLUICE_E_INVALID);
    T_CONTAINS(sluice_last_error(), "device is NULL");
    T_STATUS(sluice_train(device, NULL, dataset, &k.config, NULL), SLUICE_E_INVALID);
    T_CONTAINS(sluice_last_error(), "model is NULL");
    T_STATUS(sluice_train(device, &k.model, NULL, &k.config, NULL), SLUICE_E_INVALID);
    T_CONTAINS(sluice_last_error(), "dataset is NULL");
    T_STATUS(sluice_train(device, &k.model, dataset, NULL, &report), SLUICE_E_INVALID);
    T_CONTAINS(sluice_last_error(), "config is NULL");
    CU_ASSERT_PTR_NOT_NULL_FATAL(report);
    T_EQ(report->stats.status, SLUICE_E_INVALID);
    T_CONTAINS(report->error, "config is NULL");
    sluice_report_destroy(report);
    k.config.callback_count = 2;
    T_STATUS(sluice_train(device, &k.model, dataset, &k.config, NULL), SLUICE_E_INVALID);
    T_CONTAINS(sluice_last_error(), "callbacks is NULL, and callback_count is 2");
    k.config.callbacks = callbacks;
    T_STATUS(sluice_train(device, &k.model, dataset, &k.config, NULL), SLUICE_E_INVALID);
    T_CONTAINS(sluice_last_error(), "callbacks[0] is NULL");
    callbacks[0] = &callback; /* hooks left NULL are not called */
    T_OK(sluice_train(device, &k.model, dataset, &k.config, NULL));
    sluice_dataset_destroy(dataset);
    sluice_device_close(device);
}

/* A caller built against another version: nothing of its struct beyond the size is read. */
static void structs_of_another_size_are_refused_unread(void)
{
    static const size_t sizes[] = {0, sizeof(size_t), sizeof(sluice_model) - 8, SIZE_MAX};
    sluice_device *device = NULL;
    sluice_dataset *dataset = NULL;
    kit k;

    kit_init(&k);
    T_OK(sluice_device_open("host:0", &device));
    T_OK(sluice_dataset_parse(k.pipeline, &dataset));
    for (size_t i = 0; i < COUNT(sizes); i++) {
        size_t *small = malloc(sizeof(size_t)); /* the address sanitizer sees a read past it */

        CU_ASSERT_PTR_NOT_NULL_FATAL(small);
        *small = sizes[i];
        T_STATUS(sluice_train(device, &k.model, dataset,
                              (const sluice_train_config *)(const void *)small, NULL),
                 SLUICE_E_INVALID);
        T_CONTAINS(sluice_last_error(), "struct_size of sluice_train_config is ");
        T_STATUS(sluice_train(device, (const sluice_model *)(const void *)small, dataset, &k.config,
                              NULL),
                 SLUICE_E_INVALID);
        T_CONTAINS(sluice_last_error(), "struct_size of sluice_model is ");
        free(small);
    }
    sluice_dataset_destroy(dataset);
    sluice_device_close(device);
}

/* An error of building the dataset is the run's. */
static void a_dataset_that_could_not_be_built_is_refused_in_its_own_words(void)
{
    sluice_dataset *dataset = NULL;
    kit k;

    T_OK(sluice_dataset_parse("synthetic 10 4,4,3 10 | batch 2", &dataset));
    T_STATUS(sluice_dataset_add(dataset, "to_chw"), SLUICE_E_INVALID);
    kit_init(&k);
    k.dataset = dataset;
    check_refused(&k, "to_chw must come before batch");
    sluice_dataset_destroy(dataset);
}

static void memory_that_is_too_small_is_refused_with_what_to_try(void)
{
    kit k;

    kit_init(&k);
    k.pipeline = "synthetic samples=100 shape=64,64,3 | batch 10";
    k.config.memory_bytes = 300000; /* a slot takes 123 KB, three are the least */
    check_refused(&k, "3 slots take 0.3");
    check_refused(&k, "more than the bound of 0.3 MB; use a smaller batch, or allow more memory");
    k.config.memory_bytes = 1000000;
    k.config.slots = 10; /* asked for: not made fewer in silence */
    check_refused(&k, "10 slots take 1.2");
    check_refused(&k, "use a smaller batch, fewer slots, or allow more memory");
}

static void fewer_slots_are_made_when_memory_wants_it(void)
{
    kit k;

    kit_init(&k);
    k.pipeline = "synthetic samples=100 shape=64,64,3 | batch 10";
    k.config.workers = 2;
    T_OK(kit_run(&k));
    T_CONTAINS(k.plan, " 4 slots,");
    T_EQ(k.report->queues[0].capacity, 4);
    k.config.memory_bytes = 400000;
    T_OK(kit_run(&k));
    kit_check(&k);
    T_CONTAINS(k.plan, " 3 slots,");
    T_EQ(k.report->queues[0].capacity, 3);
    T_TRUE(k.report->stats.slot_bytes + k.report->stats.staging_bytes <= 400000);
    k.device = "host:0,copy=1"; /* nothing is lent, so two slots do; staging counts, too */
    k.config.memory_bytes = 600000;
    T_OK(kit_run(&k));
    kit_check(&k);
    T_CONTAINS(k.plan, " 2 slots,");
    T_TRUE(k.report->stats.staging_bytes > 0);
    T_TRUE(k.report->stats.slot_bytes + k.report->stats.staging_bytes <= 600000);
    k.device = "host:0";
    k.config.workers = 8; /* 13 slots for 128 rows, where memory allows them */
    k.config.memory_bytes = 0;
    T_OK(kit_run(&k));
    T_CONTAINS(k.plan, " 8 workers, 13 slots, memory 0.0 MB staging + 1.6 MB slots");
    T_EQ(k.report->queues[0].capacity, 13);
    k.config.memory_bytes = 1000000;
    T_OK(kit_run(&k));
    T_CONTAINS(k.plan, " 8 workers, 8 slots, memory 0.0 MB staging + 1.0 MB slots");
    kit_fini(&k);
}

static void the_plan_is_told_before_anything_runs(void)
{
    kit k;

    kit_init(&k);
    k.config.sink_size = 30;
    k.config.epochs = 10;
    k.config.initial_epoch = 1;
    k.config.workers = 2;
    T_OK(kit_run(&k));
    T_STR(k.plan,
          "plan: 270 steps from step 30 (9 epochs of 30 steps) = 540 samples = 2.7 passes (3 "
          "touched) of 100 batches of 2 (200 samples a pass), mode loop, 30 steps a sink at most, "
          "2 workers, 16 slots, memory "
          "0.0 MB staging + 0.0 MB slots on host:0");
    k.config.max_steps = 10; /* no whole epochs */
    T_OK(kit_run(&k));
    T_CONTAINS(k.plan, "plan: 10 steps from step 30 = 20 samples = 0.1 passes (1 touched) of");
    k.config.max_steps = 0;
    k.config.epochs = 0;
    k.config.max_seconds = 0.001;
    k.config.mode = SLUICE_MODE_GRAPH;
    T_OK(kit_run(&k));
    T_CONTAINS(k.plan, "plan: steps without end of 100 batches of 2");
    T_CONTAINS(k.plan, "mode graph (asked for)");
    kit_fini(&k);
}

/* 10 samples, in 3 batches of 4 with padding, or in 2 batches of 4 without the rest. */
static void the_plan_counts_samples_and_no_padding(void)
{
    kit k;

    kit_init(&k);
    k.pipeline = "synthetic 10 4,4,3 5 | batch 4";
    k.model.reads_valid_rows = true;
    k.config.epochs = 2;
    T_OK(kit_run(&k));
    T_CONTAINS(k.plan, "plan: 6 steps from step 0 = 20 samples = 2.0 passes (2 touched) of");
    k.config.sink_size = 4;
    T_OK(kit_run(&k));
    T_CONTAINS(k.plan, "plan: 8 steps from step 0 (2 epochs of 4 steps) = 28 samples = 2.7 passes");
    k.pipeline = "synthetic 10 4,4,3 5 | batch 4 drop_remainder=true";
    T_OK(kit_run(&k));
    T_CONTAINS(k.plan, "plan: 8 steps from step 0 (2 epochs of 4 steps) = 32 samples = 4.0 passes");
    kit_fini(&k);
}

/* 30 samples a pass, 20 on one rank and 10 on the other, which then has padding only. */
static void the_plan_counts_no_more_samples_than_a_pass_has(void)
{
    kit k;

    kit_init(&k);
    k.pipeline = "synthetic 3 4,4,3 5 | shard | repeat 10 | batch 1";
    k.model.reads_valid_rows = true;
    k.config.world = 2;
    k.config.nan_guard = SLUICE_NAN_COUNT; /* without agree */
    k.config.max_steps = 19;
    T_OK(kit_run(&k));
    T_CONTAINS(k.plan, "plan: 19 steps from step 0 = 30 samples = 0.9 passes (1 touched) of");
    kit_fini(&k);
}

const t_test argument_checks_tests[] = {
    T_TEST(a_negative_sink_size_is_minus_one),
    T_TEST(something_must_say_when_to_end),
    T_TEST(nothing_left_to_do_is_refused),
    T_TEST(a_dataset_without_a_batch_is_refused),
    T_TEST(inputs_that_do_not_fit_are_named_with_both_shapes),
    T_TEST(a_padded_batch_is_for_models_that_read_valid_rows),
    T_TEST(padding_is_found_over_all_ranks),
    T_TEST(policy_zero_is_for_models_that_read_the_mask),
    T_TEST(settings_that_make_no_sense_are_refused),
    T_TEST(models_that_make_no_sense_are_refused),
    T_TEST(arguments_that_are_missing_are_named),
    T_TEST(structs_of_another_size_are_refused_unread),
    T_TEST(a_dataset_that_could_not_be_built_is_refused_in_its_own_words),
    T_TEST(memory_that_is_too_small_is_refused_with_what_to_try),
    T_TEST(fewer_slots_are_made_when_memory_wants_it),
    T_TEST(the_plan_is_told_before_anything_runs),
    T_TEST(the_plan_counts_samples_and_no_padding),
    T_TEST(the_plan_counts_no_more_samples_than_a_pass_has),
    T_END,
};
