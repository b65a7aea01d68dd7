/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What GetNext's one-thread kernels decide, the bodies that nvcc compiles, run on the CPU against
 * a ring that a script fills and a clock that moves only while the device waits.
 */
#include "getnext_control_int.h"
#include "kernel_run.h"
#include "testing.h"

enum { SLOTS = 3, SLOT_BYTES = 256, SPIN_NS = 500000 };

/* A ring and the host's words; publishes batches up to `last` when the clock has come to at_ns. */
typedef struct script {
    uint64_t ready[SLOTS];
    uint64_t consumed;
    _Alignas(8) uint8_t slots[SLOTS][SLOT_BYTES];
    sli_getnext_state state;
    sli_getnext_command command;
    sli_getnext_report report;
    uint64_t stop;
    sli_getnext g;
    uint64_t published;
    uint64_t gathered[64]; /* seq of each batch that a step ran on */
    uint64_t steps;        /* that ran, as the script counts batches */
    uint64_t publish_at_ns;
    uint64_t stop_at_ns;
    uint64_t pauses;
} script;

static script *current;
static uint64_t clock_ns;
static bool clock_stands;

static void publish(script *s, sli_ring_kind kind)
{
    const uint64_t seq = ++s->published;
    const sli_batch_header header = {.seq = seq};

    T_TRUE(sli_ring_may_fill(&s->g.ring, seq));
    memcpy(s->slots[sli_ring_slot(&s->g.ring, seq)], &header, sizeof(header));
    sli_ring_publish(&s->g.ring, seq, kind);
}

static uint64_t getnext_now_ns(void)
{
    return clock_ns;
}

static void getnext_pause(uint32_t ns)
{
    script *s = current;

    T_TRUE(ns >= GETNEXT_FIRST_BACKOFF_NS && ns <= GETNEXT_LAST_BACKOFF_NS);
    s->pauses++;
    clock_ns += clock_stands ? 0 : ns;
    if (s->publish_at_ns != 0 && clock_ns >= s->publish_at_ns) {
        s->publish_at_ns = 0;
        publish(s, SLI_RING_BATCH);
    }
    if (s->stop_at_ns != 0 && clock_ns >= s->stop_at_ns) {
        s->stop = 1;
    }
}

static void begin_script(script *s, uint32_t micro_batches)
{
    memset(s, 0, sizeof(*s));
    current = s;
    clock_ns = 1000000;
    clock_stands = false;
    sli_getnext_state_init(&s->state);
    s->g.ring = (sli_ring){s->ready, &s->consumed, SLOTS};
    s->g.slots = s->slots[0];
    s->g.slot_bytes = SLOT_BYTES;
    s->g.state = &s->state;
    s->g.command = &s->command;
    s->g.report = &s->report;
    s->g.stop = &s->stop;
    s->g.micro_batches = micro_batches;
    s->command.spin_ns = SPIN_NS;
}

static void publish_batches(script *s, uint32_t count)
{
    while (count-- > 0) {
        publish(s, SLI_RING_BATCH);
    }
}

/* What the loop's body does to the state: gathers, and releases the slot. */
static void gather(script *s)
{
    const sli_batch_header *header = (const void *)gather_slot(&s->g);

    T_TRUE(header != NULL);
    T_TRUE(s->steps < sizeof(s->gathered) / sizeof(s->gathered[0]));
    s->gathered[s->steps++] = header->seq;
    gather_block_done(&s->g, 1);
}

/* A launch, as the graph runs it. refill: the producer publishes whenever a slot comes free. */
static sli_getnext_end launch_and(script *s, uint64_t steps, bool refill)
{
    bool goes_on;

    s->command.steps = steps;
    for (goes_on = run_begin(&s->g); goes_on; goes_on = run_next(&s->g)) {
        gather(s);
        if (refill) {
            publish(s, SLI_RING_BATCH);
        }
    }
    T_TRUE(s->state.end != SLI_GETNEXT_GOES_ON);
    return (sli_getnext_end)s->state.end;
}

static sli_getnext_end launch(script *s, uint64_t steps)
{
    return launch_and(s, steps, false);
}

static void check_report(const script *s, sli_getnext_end end, uint64_t steps, uint64_t seq,
                         uint64_t micro)
{
    T_EQ(s->report.end, end);
    T_EQ(s->report.steps, steps);
    T_EQ(s->report.seq, seq);
    T_EQ(s->report.micro, micro);
}

static void a_launch_runs_its_steps_and_is_done(void)
{
    script s;

    begin_script(&s, 1);
    publish_batches(&s, 3);
    T_EQ(launch(&s, 3), SLI_GETNEXT_DONE);
    check_report(&s, SLI_GETNEXT_DONE, 3, 4, 0);
    T_EQ(s.report.waits, 0);
    T_EQ(s.report.polls, 3); /* one look a batch, and none for a fourth */
    T_EQ(s.consumed, 3);
}

static void a_launch_of_no_steps_looks_at_nothing(void)
{
    script s;

    begin_script(&s, 1);
    publish_batches(&s, 1);
    T_EQ(launch(&s, 0), SLI_GETNEXT_DONE);
    check_report(&s, SLI_GETNEXT_DONE, 0, 1, 0);
    T_EQ(s.report.polls, 0);
}

/* Launches that are not collected in between count on. */
static void every_batch_comes_once_and_in_order_round_the_ring(void)
{
    script s;

    begin_script(&s, 1);
    publish_batches(&s, SLOTS);
    T_EQ(launch_and(&s, 7, true), SLI_GETNEXT_DONE);
    T_EQ(launch_and(&s, 13, true), SLI_GETNEXT_DONE);
    check_report(&s, SLI_GETNEXT_DONE, 20, 21, 0);
    for (uint64_t i = 0; i < s.steps; i++) {
        T_EQ(s.gathered[i], i + 1);
    }
    s.command.collects++;
    T_EQ(launch_and(&s, 2, true), SLI_GETNEXT_DONE);
    check_report(&s, SLI_GETNEXT_DONE, 2, 23, 0);
}

static void a_batch_that_comes_in_time_is_waited_for(void)
{
    script s;

    begin_script(&s, 1);
    publish_batches(&s, 1);
    s.publish_at_ns = clock_ns + SPIN_NS / 2;
    T_EQ(launch(&s, 2), SLI_GETNEXT_DONE);
    check_report(&s, SLI_GETNEXT_DONE, 2, 3, 0);
    T_EQ(s.report.waits, 1);
    T_TRUE(s.report.wait_ns >= SPIN_NS / 2 && s.report.wait_ns < SPIN_NS);
    T_TRUE(s.report.polls < SPIN_NS / 2 / 200); /* it naps longer and longer */
}

static void a_late_batch_makes_the_launch_yield(void)
{
    script s;

    begin_script(&s, 1);
    publish_batches(&s, 1);
    T_EQ(launch(&s, 3), SLI_GETNEXT_YIELD);
    check_report(&s, SLI_GETNEXT_YIELD, 1, 2, 0);
    T_TRUE(s.report.wait_ns >= SPIN_NS && s.report.wait_ns < SPIN_NS + 1000);

    /* A launch behind it does nothing, though its batch has come. */
    publish_batches(&s, 2);
    T_EQ(launch(&s, 2), SLI_GETNEXT_YIELD);
    T_EQ(s.steps, 1);

    /* Once collected the rest runs, and is counted anew. */
    s.command.collects++;
    T_EQ(launch(&s, 2), SLI_GETNEXT_DONE);
    check_report(&s, SLI_GETNEXT_DONE, 2, 4, 0);
    T_EQ(s.gathered[2], 3);
}

static void without_a_budget_one_look_decides(void)
{
    script s;

    begin_script(&s, 1);
    s.command.spin_ns = 0;
    T_EQ(launch(&s, 1), SLI_GETNEXT_YIELD);
    T_EQ(s.pauses, 0);
    T_EQ(s.report.polls, 1);
}

static void a_clock_that_stands_does_not_hold_the_launch(void)
{
    script s;

    begin_script(&s, 1);
    clock_stands = true;
    T_EQ(launch(&s, 1), SLI_GETNEXT_YIELD);
    T_EQ(s.report.polls, SPIN_NS / GETNEXT_POLL_NS + GETNEXT_POLLS);
}

static void a_step_takes_all_its_batches(void)
{
    script s;

    begin_script(&s, 3);
    publish_batches(&s, SLOTS);
    T_EQ(launch_and(&s, 4, true), SLI_GETNEXT_DONE);
    check_report(&s, SLI_GETNEXT_DONE, 4, 13, 0);
    T_EQ(s.steps, 12);
}

/* The step goes on with its next batch where the launch before yielded. */
static void a_yield_may_come_within_a_step(void)
{
    script s;

    begin_script(&s, 3);
    publish_batches(&s, 2);
    T_EQ(launch(&s, 2), SLI_GETNEXT_YIELD);
    check_report(&s, SLI_GETNEXT_YIELD, 0, 3, 2);
    s.command.collects++;
    publish_batches(&s, 3);
    T_EQ(launch(&s, 2), SLI_GETNEXT_YIELD);
    check_report(&s, SLI_GETNEXT_YIELD, 1, 6, 2);
    s.command.collects++;
    publish_batches(&s, 1);
    T_EQ(launch(&s, 1), SLI_GETNEXT_DONE);
    check_report(&s, SLI_GETNEXT_DONE, 1, 7, 0);
    T_EQ(s.steps, 6);
}

static void the_end_of_the_data_ends_this_launch_and_all_others(void)
{
    script s;

    begin_script(&s, 1);
    publish_batches(&s, 1);
    publish(&s, SLI_RING_END);
    T_EQ(launch(&s, 5), SLI_GETNEXT_END_OF_DATA);
    check_report(&s, SLI_GETNEXT_END_OF_DATA, 1, 2, 0);
    s.command.collects++;
    T_EQ(launch(&s, 5), SLI_GETNEXT_END_OF_DATA);
    T_EQ(s.steps, 1);
    T_EQ(s.consumed, 1);
}

static void the_end_as_the_first_thing_runs_no_step(void)
{
    script s;

    begin_script(&s, 1);
    publish(&s, SLI_RING_END);
    T_EQ(launch(&s, 1), SLI_GETNEXT_END_OF_DATA);
    T_EQ(s.steps, 0);
}

static void steps_run_on_all_batches_before_an_error(void)
{
    script s;

    begin_script(&s, 2);
    publish_batches(&s, 2);
    publish(&s, SLI_RING_ERROR);
    T_EQ(launch(&s, 5), SLI_GETNEXT_FAILED);
    check_report(&s, SLI_GETNEXT_FAILED, 1, 3, 0);
    T_EQ(s.steps, 2);
}

static void a_word_that_ran_ahead_of_its_slot_is_noticed(void)
{
    script s;

    begin_script(&s, 1);
    publish_batches(&s, 1);
    sli_ring_publish(&s.g.ring, 2, SLI_RING_BATCH);
    T_EQ(launch(&s, 2), SLI_GETNEXT_CORRUPT);
    check_report(&s, SLI_GETNEXT_CORRUPT, 1, 2, 0);
}

static void a_stop_asked_for_before_a_launch_runs_nothing(void)
{
    script s;

    begin_script(&s, 1);
    publish_batches(&s, 1);
    s.stop = 1;
    T_EQ(launch(&s, 1), SLI_GETNEXT_STOPPED);
    T_EQ(s.steps, 0);
    s.command.collects++;
    s.stop = 0; /* stopped is for ever */
    T_EQ(launch(&s, 1), SLI_GETNEXT_STOPPED);
}

static void a_stop_ends_a_wait_before_its_bound(void)
{
    script s;

    begin_script(&s, 1);
    s.stop_at_ns = clock_ns + 1000;
    T_EQ(launch(&s, 1), SLI_GETNEXT_STOPPED);
    T_TRUE(s.report.wait_ns < GETNEXT_STOP_POLL_NS + 1000);
}

/* A short wait that ends with a stop is no yield, though the word was not looked at in it. */
static void a_stop_goes_before_a_yield(void)
{
    script s;

    begin_script(&s, 1);
    s.command.spin_ns = 2000;
    s.stop_at_ns = clock_ns + 1000;
    T_EQ(launch(&s, 1), SLI_GETNEXT_STOPPED);
}

/* Host memory is far: short steps do not each look at the word; and the step that ran counts. */
static void a_stop_is_looked_for_now_and_then(void)
{
    script s;

    begin_script(&s, 1);
    publish_batches(&s, SLOTS);
    s.command.steps = SLOTS;
    T_TRUE(run_begin(&s.g));
    clock_ns += GETNEXT_STOP_POLL_NS;
    T_TRUE(run_next(&s.g)); /* has looked */
    s.stop = 1;
    clock_ns += GETNEXT_STOP_POLL_NS / 2;
    T_TRUE(run_next(&s.g));
    clock_ns += GETNEXT_STOP_POLL_NS / 2;
    T_TRUE(!run_next(&s.g));
    check_report(&s, SLI_GETNEXT_STOPPED, 3, 4, 0);
}

static void a_stop_behind_the_last_step_is_a_stop(void)
{
    script s;

    begin_script(&s, 1);
    publish_batches(&s, 1);
    s.command.steps = 1;
    T_TRUE(run_begin(&s.g));
    s.stop = 1;
    clock_ns += GETNEXT_STOP_POLL_NS;
    T_TRUE(!run_next(&s.g));
    check_report(&s, SLI_GETNEXT_STOPPED, 1, 2, 0);
}

/* In a graph without a loop what stands behind an end still runs, and must do nothing. */
static void behind_an_end_nothing_moves(void)
{
    script s;

    begin_script(&s, 1);
    publish(&s, SLI_RING_END);
    T_EQ(launch(&s, 1), SLI_GETNEXT_END_OF_DATA);
    T_TRUE(gather_slot(&s.g) == NULL);
    T_TRUE(!run_next(&s.g));
    T_EQ(s.state.seq, 1);
    T_EQ(s.state.steps, 0);
}

const t_test getnext_control_tests[] = {
    T_TEST(a_launch_runs_its_steps_and_is_done),
    T_TEST(a_launch_of_no_steps_looks_at_nothing),
    T_TEST(every_batch_comes_once_and_in_order_round_the_ring),
    T_TEST(a_batch_that_comes_in_time_is_waited_for),
    T_TEST(a_late_batch_makes_the_launch_yield),
    T_TEST(without_a_budget_one_look_decides),
    T_TEST(a_clock_that_stands_does_not_hold_the_launch),
    T_TEST(a_step_takes_all_its_batches),
    T_TEST(a_yield_may_come_within_a_step),
    T_TEST(the_end_of_the_data_ends_this_launch_and_all_others),
    T_TEST(the_end_as_the_first_thing_runs_no_step),
    T_TEST(steps_run_on_all_batches_before_an_error),
    T_TEST(a_word_that_ran_ahead_of_its_slot_is_noticed),
    T_TEST(a_stop_asked_for_before_a_launch_runs_nothing),
    T_TEST(a_stop_ends_a_wait_before_its_bound),
    T_TEST(a_stop_goes_before_a_yield),
    T_TEST(a_stop_is_looked_for_now_and_then),
    T_TEST(a_stop_behind_the_last_step_is_a_stop),
    T_TEST(behind_an_end_nothing_moves),
    T_END,
};
