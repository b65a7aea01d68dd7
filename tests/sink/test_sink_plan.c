/* SPDX-License-Identifier: Apache-2.0 */
/* How many steps there are, where sinks end, which passes are touched: numbers alone. */
#include "sink_plan.h"
#include "testing.h"

/* Counts sinks by walking from boundary to boundary. */
static uint64_t count_sinks(const sink_plan *plan)
{
    uint64_t sinks = 0;

    for (uint64_t step = plan->first_step; step < plan->end_step; sinks++) {
        step += sink_plan_length(plan, step);
    }
    return sinks;
}

static void the_case_table_holds(void)
{
    static const struct {
        bool sink_mode;
        int64_t sink_size;
        uint64_t epochs;
        uint64_t initial_epoch;
        uint64_t first_step;
        uint64_t sinks;
        uint64_t steps;
        uint32_t micro;
    } cases[] = {
        {true, -1, 3, 0, 0, 3, 300, 1},   {true, 20, 3, 0, 0, 3, 60, 1},
        {true, 30, 10, 0, 0, 10, 300, 1}, {true, 250, 2, 0, 0, 2, 500, 1},
        {true, 70, 3, 0, 0, 3, 210, 1},   {true, 70, 3, 1, 70, 2, 140, 1},
        {true, 1, 5, 0, 0, 5, 5, 1},      {true, 10, 3, 0, 0, 3, 30, 4},
        {true, 0, 3, 0, 0, 3, 75, 4},     {true, -1, 3, 0, 0, 3, 99, 3},
        {false, -1, 3, 0, 0, 3, 300, 1},  {false, 20, 3, 0, 0, 3, 300, 1},
    };

    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        const sink_request request = {.micro_batches = cases[i].micro,
                                      .batches_per_pass = 100,
                                      .sink_mode = cases[i].sink_mode,
                                      .sink_size = cases[i].sink_size,
                                      .epochs = cases[i].epochs,
                                      .initial_epoch = cases[i].initial_epoch};
        sink_plan plan;

        T_OK(sink_plan_make(&request, &plan));
        T_EQ(plan.first_step, cases[i].first_step);
        T_EQ(plan.end_step - plan.first_step, cases[i].steps);
        T_EQ(count_sinks(&plan), cases[i].sinks);
    }
}

static void a_run_that_begins_within_a_sink_ends_it_at_its_boundary(void)
{
    const sink_request request = {.micro_batches = 1,
                                  .batches_per_pass = 100,
                                  .sink_mode = true,
                                  .sink_size = 30,
                                  .epochs = 4,
                                  .initial_epoch = 1,
                                  .start_step = 17};
    sink_plan plan;

    T_OK(sink_plan_make(&request, &plan));
    T_EQ(plan.first_step, 47);
    T_EQ(plan.end_step, 120);
    T_EQ(sink_plan_length(&plan, 47), 13);
    T_EQ(sink_plan_length(&plan, 60), 30);
    T_EQ(sink_plan_epoch(&plan, 47), 1);
    T_EQ(sink_plan_epoch(&plan, 59), 1);
    T_EQ(sink_plan_epoch(&plan, 60), 2);
    T_EQ(count_sinks(&plan), 3);
}

/* A pass that was begun in other batches has other steps: its epoch ends where the pass does. */
static void a_resumed_run_counts_epochs_from_the_end_of_its_pass(void)
{
    sink_request request = {.micro_batches = 1,
                            .batches_per_pass = 50,
                            .sink_mode = true,
                            .sink_size = -1,
                            .epochs = 5,
                            .start_step = 230,
                            .resumed = true,
                            .pass = 2,
                            .batches = 35};
    sink_plan plan;

    T_OK(sink_plan_make(&request, &plan));
    T_EQ(plan.end_step, 230 + 35 + 2 * 50);
    T_EQ(sink_plan_epoch(&plan, 230), 2);
    T_EQ(sink_plan_epoch(&plan, 264), 2);
    T_EQ(sink_plan_epoch(&plan, 265), 3);
    T_EQ(sink_plan_length(&plan, 230), 35);
    T_EQ(sink_plan_length(&plan, 265), 50);
    request.micro_batches = 4;
    T_OK(sink_plan_make(&request, &plan));
    T_EQ(plan.end_step, 230 + 8 + 2 * 12);
    request.micro_batches = 1;
    request.epochs = 3; /* this pass is the last */
    T_OK(sink_plan_make(&request, &plan));
    T_EQ(plan.end_step, 265);
    request.epochs = 2; /* done, and no mistake */
    T_OK(sink_plan_make(&request, &plan));
    T_EQ(plan.end_step, 230);
    request.epochs = 5;
    request.start_step = UINT64_MAX - 3;
    T_STATUS(sink_plan_make(&request, &plan), SLUICE_E_INVALID);
}

static void boundaries_of_epochs_are_where_epochs_begin(void)
{
    sink_request request = {.micro_batches = 1,
                            .batches_per_pass = 50,
                            .sink_mode = true,
                            .sink_size = -1,
                            .epochs = 7,
                            .start_step = 230,
                            .resumed = true,
                            .pass = 2,
                            .batches = 35,
                            .boundaries = {{0, 2}, {40, 0}}};
    uint64_t found[2] = {0, 0};
    sink_plan plan;

    T_OK(sink_plan_make(&request, &plan));
    T_EQ(sink_plan_length(&plan, 230), 10);
    for (uint64_t step = 231; step <= plan.end_step; step++) {
        found[0] += sink_plan_is_boundary(&plan, BOUNDARY_VALIDATION, step);
        found[1] += sink_plan_is_boundary(&plan, BOUNDARY_CHECKPOINT, step);
    }
    T_EQ(plan.end_step, 465);
    T_EQ(found[0], 2); /* before epochs 4 and 6 */
    T_TRUE(sink_plan_is_boundary(&plan, BOUNDARY_VALIDATION, 315));
    T_TRUE(sink_plan_is_boundary(&plan, BOUNDARY_VALIDATION, 415));
    T_EQ(found[1], 6);
}

static void max_steps_shortens_the_last_sink(void)
{
    sink_request request = {.micro_batches = 1,
                            .batches_per_pass = 100,
                            .sink_mode = true,
                            .sink_size = 30,
                            .epochs = 4,
                            .max_steps = 40};
    sink_plan plan;

    T_OK(sink_plan_make(&request, &plan));
    T_EQ(plan.end_step, 40);
    T_EQ(sink_plan_length(&plan, 30), 10);
    request.max_steps = 1000; /* epochs end it before */
    T_OK(sink_plan_make(&request, &plan));
    T_EQ(plan.end_step, 120);
    request.epochs = 0;
    T_OK(sink_plan_make(&request, &plan));
    T_EQ(plan.end_step, 1000);
    request.start_step = 5; /* of this run: counted from where it begins */
    T_OK(sink_plan_make(&request, &plan));
    T_EQ(plan.end_step, 1005);
}

static void without_epochs_and_max_steps_there_is_no_end(void)
{
    const sink_request request = {
        .micro_batches = 1, .batches_per_pass = 100, .sink_mode = true, .sink_size = -1};
    sink_plan plan;

    T_OK(sink_plan_make(&request, &plan));
    T_EQ(plan.end_step, UINT64_MAX);
    T_EQ(sink_plan_length(&plan, 250), 50);
    T_EQ(sink_plan_length(&plan, UINT64_MAX - 3), 3);
}

/* A limit of this run must not lead past the end of the training. */
static void a_training_that_is_over_has_nothing_left_to_do(void)
{
    sink_request request = {.micro_batches = 1,
                            .batches_per_pass = 100,
                            .sink_mode = true,
                            .sink_size = 30,
                            .epochs = 4,
                            .start_step = 120};
    sink_plan plan = {.steps_per_epoch = 77};

    T_STATUS(sink_plan_make(&request, &plan), SLUICE_E_INVALID);
    T_CONTAINS(sluice_last_error(), "nothing left to do: 120 steps are done of 4 epochs of 30");
    request.max_steps = 10;
    T_STATUS(sink_plan_make(&request, &plan), SLUICE_E_INVALID);
    request.start_step = 150;
    T_STATUS(sink_plan_make(&request, &plan), SLUICE_E_INVALID);
    T_EQ(plan.steps_per_epoch, 77); /* outputs are set only on OK */
    request.start_step = 119;
    T_OK(sink_plan_make(&request, &plan));
    T_EQ(plan.end_step, 120);
}

/* Unlike max_steps, total_steps counts the steps of earlier runs. */
static void total_steps_end_the_whole_training(void)
{
    sink_request request = {.micro_batches = 1,
                            .batches_per_pass = 101,
                            .sink_mode = true,
                            .sink_size = 50,
                            .total_steps = 202};
    sink_plan plan;

    T_OK(sink_plan_make(&request, &plan));
    T_EQ(plan.end_step, 202);
    T_EQ(sink_plan_length(&plan, 200), 2);
    request.epochs = 4; /* the lower limit holds */
    T_OK(sink_plan_make(&request, &plan));
    T_EQ(plan.end_step, 200);
    request.epochs = 0;
    request.start_step = 150;
    request.max_steps = 100;
    T_OK(sink_plan_make(&request, &plan));
    T_EQ(plan.end_step, 202);
    request.start_step = 202;
    T_STATUS(sink_plan_make(&request, &plan), SLUICE_E_INVALID);
    T_STR(sluice_last_error(), "nothing left to do: 202 steps are done, and total_steps is 202");
    request.resumed = true;
    T_OK(sink_plan_make(&request, &plan));
    T_EQ(plan.first_step, 202);
    T_EQ(plan.end_step, 202);
}

static void counts_reach_to_the_end_of_64_bits(void)
{
    sink_request request = {.micro_batches = 1,
                            .batches_per_pass = UINT64_MAX / 2,
                            .sink_mode = true,
                            .sink_size = INT64_MAX,
                            .epochs = 2};
    sink_plan plan;

    T_OK(sink_plan_make(&request, &plan));
    T_EQ(plan.end_step, 2 * (uint64_t)INT64_MAX);
    T_EQ(sink_plan_length(&plan, INT64_MAX), INT64_MAX);
    T_EQ(sink_plan_length(&plan, plan.end_step - 1), 1);

    request = (sink_request){.micro_batches = 1,
                             .batches_per_pass = 1,
                             .sink_mode = true,
                             .sink_size = 1,
                             .start_step = UINT64_MAX - 5,
                             .max_steps = 3};
    T_OK(sink_plan_make(&request, &plan));
    T_EQ(plan.end_step, UINT64_MAX - 2);
    request.max_steps = 100; /* the end of counting comes first */
    T_OK(sink_plan_make(&request, &plan));
    T_EQ(plan.end_step, UINT64_MAX);
}

static void what_64_bits_cannot_count_is_refused(void)
{
    static const sink_request requests[] = {
        {.micro_batches = 1,
         .batches_per_pass = UINT64_MAX / 2,
         .sink_mode = true,
         .sink_size = -1,
         .epochs = 3},
        {.micro_batches = 1,
         .batches_per_pass = 1,
         .sink_mode = true,
         .sink_size = INT64_MAX,
         .epochs = 3},
        {.micro_batches = 1,
         .batches_per_pass = 1,
         .sink_mode = true,
         .sink_size = INT64_MAX,
         .initial_epoch = 3,
         .epochs = 0},
        {.micro_batches = 1,
         .batches_per_pass = 100,
         .sink_mode = true,
         .sink_size = 30,
         .initial_epoch = 1,
         .start_step = UINT64_MAX},
    };

    for (size_t i = 0; i < sizeof(requests) / sizeof(requests[0]); i++) {
        sink_plan plan;

        T_STATUS(sink_plan_make(&requests[i], &plan), SLUICE_E_INVALID);
        T_CONTAINS(sluice_last_error(), "more steps than 64 bits can count");
    }
}

/* Epochs that are passes of unknown length: the run says where they end. */
static void epochs_of_unknown_length_end_when_they_are_ended(void)
{
    sink_request request = {.batches_per_pass = UINT64_C(1) << 61,
                            .micro_batches = 1,
                            .sink_mode = true,
                            .sink_size = -1,
                            .epochs = 3,
                            .unknown = true,
                            .boundaries = {{0, 2}, {4, 0}}};
    sink_plan plan;

    T_OK(sink_plan_make(&request, &plan));
    T_EQ(plan.end_step, UINT64_MAX);
    T_EQ(sink_plan_length(&plan, 0), 4);
    T_EQ(sink_plan_epoch(&plan, 7), 0);
    T_TRUE(!sink_plan_begins_epoch(&plan, 7));
    sink_plan_end_epoch(&plan, 7);
    T_EQ(sink_plan_epoch(&plan, 6), 0);
    T_EQ(sink_plan_epoch(&plan, 7), 1);
    T_EQ(sink_plan_epoch_before(&plan, 7), 0);
    T_TRUE(sink_plan_begins_epoch(&plan, 7));
    T_TRUE(!sink_plan_is_boundary(&plan, BOUNDARY_VALIDATION, 7));
    sink_plan_end_epoch(&plan, 9);
    T_TRUE(sink_plan_is_boundary(&plan, BOUNDARY_VALIDATION, 9));
    sink_plan_end(&plan, 12);
    T_EQ(plan.end_step, 12);
    T_EQ(sink_plan_epoch(&plan, 12) - plan.first_epoch, 3);

    request.resumed = true; /* within its second pass */
    request.pass = 1;
    request.within = true;
    request.start_step = 8;
    T_OK(sink_plan_make(&request, &plan));
    T_EQ(sink_plan_epoch(&plan, 8), 1);
    T_TRUE(!sink_plan_begins_epoch(&plan, 8));
    request.pass = 3; /* complete */
    request.within = false;
    T_OK(sink_plan_make(&request, &plan));
    T_EQ(plan.end_step, 8);
}

const t_test sink_plan_tests[] = {
    T_TEST(the_case_table_holds),
    T_TEST(a_resumed_run_counts_epochs_from_the_end_of_its_pass),
    T_TEST(boundaries_of_epochs_are_where_epochs_begin),
    T_TEST(a_run_that_begins_within_a_sink_ends_it_at_its_boundary),
    T_TEST(max_steps_shortens_the_last_sink),
    T_TEST(without_epochs_and_max_steps_there_is_no_end),
    T_TEST(a_training_that_is_over_has_nothing_left_to_do),
    T_TEST(total_steps_end_the_whole_training),
    T_TEST(counts_reach_to_the_end_of_64_bits),
    T_TEST(what_64_bits_cannot_count_is_refused),
    T_TEST(epochs_of_unknown_length_end_when_they_are_ended),
    T_END,
};
