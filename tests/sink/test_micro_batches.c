/* SPDX-License-Identifier: Apache-2.0 */
/* Steps of several batches. */
#include <unistd.h>

#include "testing.h"
#include "train_kit.h"

static const sluice_mode modes[] = {SLUICE_MODE_DIRECT, SLUICE_MODE_DATA, SLUICE_MODE_GRAPH,
                                    SLUICE_MODE_LOOP};

/* Steps of `micro` batches of 2 of a pass of 100 batches. */
static void init(kit *k, uint32_t micro, uint64_t steps)
{
    kit_init(k);
    k->config.micro_batches = micro;
    k->config.sink_size = 10;
    k->config.epochs = 0;
    k->config.max_steps = steps;
}

/* Every batch is seen, in order: what depends on all of them is what steps of one batch give. */
static void a_step_takes_so_many_batches_in_every_mode(void)
{
    static const char *const devices[] = {"host:0", "host:0,copy=1",
                                          "host:0,copy=1,latency_us=300,spin_us=0"};
    kit single;

    init(&single, 1, 120);
    T_OK(kit_run(&single));
    for (size_t i = 0; i < COUNT(modes) * COUNT(devices); i++) {
        kit k;

        init(&k, 4, 30);
        k.device = devices[i / COUNT(modes)];
        k.config.mode = modes[i % COUNT(modes)];
        T_OK(kit_run(&k));
        kit_check(&k);
        T_EQ(k.count, 30);
        T_EQ(atomic_load(&k.calls), 120);
        T_EQ(k.report->produced, 120);
        for (size_t s = 0; s < k.count; s++) {
            T_EQ(k.steps[s].step, s);
            T_EQ(k.steps[s].epoch, s / 10);
            T_EQ(k.steps[s].pass, s * 4 / 100);
            T_EQ(k.steps[s].valid_rows, 8);
            T_EQ(k.steps[s].first_sample, single.steps[s * 4].first_sample);
            T_TRUE(k.steps[s].outputs[0] == single.steps[s * 4 + 3].outputs[0]);
        }
        kit_fini(&k);
    }
    kit_fini(&single);
}

/* More batches than the queue has slots, and more than one launch's records. */
static void a_step_may_be_longer_than_the_queue(void)
{
    uint64_t digest = 0;

    for (size_t m = 0; m < COUNT(modes); m++) {
        kit k;

        init(&k, 13, 25);
        k.device = m % 2 == 0 ? "host:0" : "host:0,copy=1,latency_us=200,spin_us=0";
        k.config.mode = modes[m];
        k.config.slots = 3;
        k.config.output_capacity = 3;
        T_OK(kit_run(&k));
        kit_check(&k);
        T_EQ(k.count, 25);
        digest = m == 0 ? k.report->stats.digest : digest;
        T_EQ(k.report->stats.digest, digest);
        kit_fini(&k);
    }
}

typedef struct seen {
    uint32_t next;
    uint64_t keys[4];
    uint64_t wrong;
} seen;

static void look(kit *k, const sluice_step *step)
{
    seen *s = k->user;

    s->wrong += *step->micro != s->next || step->micro_batches != 4;
    s->wrong += *step->learning_rate != (float)*step->step;
    /* The kit's step writes two outputs; a third keeps what the calls before have added. */
    s->wrong += step->outputs[2] != (float)s->next;
    step->outputs[2] += 1;
    for (uint32_t i = 0; i < s->next; i++) {
        s->wrong += s->keys[i] == *step->random_key;
    }
    s->keys[s->next] = *step->random_key;
    s->next = (s->next + 1) % 4;
}

static float rate(uint64_t step, void *user)
{
    (void)user;
    return (float)step;
}

static void a_step_sees_which_of_its_batches_it_has(void)
{
    static const char *const names[] = {"loss", "label", "calls"};

    for (size_t m = 0; m < COUNT(modes); m++) {
        seen s = {.next = 0};
        kit k;

        init(&k, 4, 30);
        k.config.mode = modes[m];
        k.learning_rate.function = rate;
        k.model.output_names = names;
        k.model.output_count = 3;
        k.in_step = look;
        k.user = &s;
        T_OK(kit_run(&k));
        T_EQ(s.wrong, 0);
        kit_fini(&k);
    }
}

/* Where an epoch is a pass, no step takes batches of two of them. */
static void the_tail_of_a_pass_is_dropped_and_said(void)
{
    for (size_t m = 0; m < COUNT(modes); m++) {
        kit k;

        init(&k, 7, 0);
        k.config.sink_size = -1;
        k.config.epochs = 3;
        k.config.mode = modes[m];
        T_OK(kit_run(&k));
        kit_check(&k);
        T_EQ(k.count, 3 * 14);
        T_EQ(k.report->produced, 3 * 98);
        T_CONTAINS(k.plan, "42 steps of 7 micro-batches");
        T_CONTAINS(k.plan, "4 of them dropped");
        for (size_t s = 0; s < k.count; s++) {
            T_EQ(k.steps[s].pass, s / 14);
            T_EQ(k.steps[s].epoch, s / 14);
        }
        kit_fini(&k);
    }
}

static void a_pass_must_hold_a_step_where_it_is_an_epoch(void)
{
    kit k;

    init(&k, 101, 5);
    k.config.sink_size = -1;
    T_STATUS(kit_run(&k), SLUICE_E_INVALID);
    T_CONTAINS(k.error, "a pass has 100 batches, a step takes 101");
    k.config.sink_size = 2; /* else it takes batches of the next */
    T_OK(kit_run(&k));
    T_EQ(k.report->produced, 505);
    kit_fini(&k);
}

typedef struct stopping {
    sluice_stop *stop;
    uint64_t at;
} stopping;

static void stop_at(kit *k, const sluice_step *step)
{
    const stopping *s = k->user;

    (void)step;
    if (atomic_load(&k->calls) == s->at) {
        sluice_stop_request(s->stop);
    }
}

/* A run that is cut off between two batches of a step has not done the step. */
static void a_step_that_is_cut_off_does_not_count(void)
{
    stopping s = {.at = 4 * 7 + 2};

    T_OK(sluice_stop_create(&s.stop));
    for (size_t m = 0; m < COUNT(modes); m++) {
        kit k;

        init(&k, 4, 30);
        k.config.mode = modes[m];
        k.config.stop = s.stop;
        k.in_step = stop_at;
        k.user = &s;
        sluice_stop_clear(s.stop);
        T_STATUS(kit_run(&k), SLUICE_STOPPED);
        T_EQ(k.count, 7);
        T_EQ(k.report->stats.steps, 7);
        T_EQ(atomic_load(&k.calls), 30);
        kit_fini(&k);
    }
    sluice_stop_destroy(s.stop);
}

static void a_step_that_says_stopped_takes_its_other_batches(void)
{
    for (size_t m = 0; m < COUNT(modes); m++) {
        kit k;

        init(&k, 4, 30);
        k.config.mode = modes[m];
        k.step_at = 4 * 7 + 1;
        k.step_answer = SLUICE_STOPPED;
        T_STATUS(kit_run(&k), SLUICE_STOPPED);
        T_EQ(k.count, 8);
        T_EQ(atomic_load(&k.calls), 32);
        kit_fini(&k);
    }
}

static void a_step_that_fails_within_is_named(void)
{
    for (size_t m = 0; m < COUNT(modes); m++) {
        kit k;

        init(&k, 4, 30);
        k.config.mode = modes[m];
        k.step_at = 4 * 7 + 1;
        k.step_answer = SLUICE_E_CALLBACK;
        T_STATUS(kit_run(&k), SLUICE_E_CALLBACK);
        T_CONTAINS(k.error, "step 7: the step function returned E_CALLBACK");
        T_EQ(k.count, 8); /* it ran */
        T_EQ(atomic_load(&k.calls), 30);
        kit_fini(&k);
    }
}

static void data_that_end_within_a_step_fail_it_and_those_before_count(void)
{
    for (size_t m = 0; m < COUNT(modes); m++) {
        kit_source source;
        kit k;

        kit_source_init(&source, 200);
        source.fail_at = 2 * (4 * 5 + 2);
        init(&k, 4, 30);
        k.config.mode = modes[m];
        k.dataset = kit_source_dataset(&source, 2);
        T_STATUS(kit_run(&k), SLUICE_E_CORRUPT);
        T_EQ(k.count, 5);
        T_EQ(atomic_load(&k.calls), 22);
        sluice_dataset_destroy(k.dataset);
        kit_fini(&k);
    }
}

const t_test micro_batches_tests[] = {
    T_TEST(a_step_takes_so_many_batches_in_every_mode),
    T_TEST(a_step_may_be_longer_than_the_queue),
    T_TEST(a_step_sees_which_of_its_batches_it_has),
    T_TEST(the_tail_of_a_pass_is_dropped_and_said),
    T_TEST(a_pass_must_hold_a_step_where_it_is_an_epoch),
    T_HOST_TEST(a_step_that_is_cut_off_does_not_count),
    T_HOST_TEST(a_step_that_says_stopped_takes_its_other_batches),
    T_HOST_TEST(a_step_that_fails_within_is_named),
    T_TEST(data_that_end_within_a_step_fail_it_and_those_before_count),
    T_END,
};
