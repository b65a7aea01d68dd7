/* SPDX-License-Identifier: Apache-2.0 */
/* Maps on several workers: random bits, serial calls, states of workers. */
#include <stdatomic.h>
#include <stdlib.h>

#include "engine_kit.h"
#include "list_kit.h"
#include "map_kit.h"
#include "testing.h"

static sluice_status draw_bits(sluice_sample *sample, void *user)
{
    return give_i64(sample, user, (int64_t)sluice_sample_random(sample, 1));
}

static void draws_depend_on_the_sample_and_the_stage_alone(void)
{
    static const sluice_column_spec first[] = {{.name = "a", .dtype = SLUICE_I64}};
    static const sluice_column_spec second[] = {{.name = "b", .dtype = SLUICE_I64}};
    char a[] = "a";
    char b[] = "b";
    tape tapes[3];

    fill_arrays();
    for (int i = 0; i < 3; i++) {
        sluice_dataset *dataset = arrays_of(plain_images);
        engine_run run;

        add_map(dataset, "draw", draw_bits, NULL, 0, first, 1, a);
        add_map(dataset, "draw", draw_bits, NULL, 0, second, 1, b);
        T_OK(sluice_dataset_add(dataset, "shuffle | batch 4"));
        tapes[i] = record(dataset, &(run_options){.workers = worker_counts[i],
                                                  .batches = 6, /* two passes */
                                                  .settings = {.seed = 5, .world = 1}});
        open_own(&run, dataset, &(run_options){.workers = 1});
        T_OK(next_batch(&run));
        T_TRUE(memcmp(column_row(&run, "a", 0), column_row(&run, "b", 0), 8) != 0);
        T_TRUE(memcmp(column_row(&run, "a", 0), column_row(&run, "a", 1), 8) != 0);
        close_run(&run);
    }
    check_equal_tapes(&tapes[1], &tapes[0], "2 workers");
    check_equal_tapes(&tapes[2], &tapes[0], "5 workers");
    T_TRUE(memcmp(tapes[0].bytes, tapes[0].bytes + tapes[0].size / 2, tapes[0].size / 2) != 0);
    for (int i = 0; i < 3; i++) {
        free(tapes[i].bytes);
    }
}

/* What calls of a map leave behind. */
typedef struct calls {
    atomic_int begun;
    atomic_int ended;
    atomic_int closed;
    atomic_int inside;
    atomic_int most;
    sluice_status begins; /* what begin() returns */
} calls;

static sluice_status begin_calls(void *user, void **worker_out)
{
    calls *c = user;

    if (c->begins != SLUICE_OK) {
        return sluice_fail(c->begins, "no licence");
    }
    atomic_fetch_add(&c->begun, 1);
    *worker_out = malloc(1);
    return SLUICE_OK;
}

static void end_calls(void *worker, void *user)
{
    calls *c = user;

    atomic_fetch_add(&c->ended, 1);
    free(worker);
}

static void close_calls(void *user)
{
    calls *c = user;

    atomic_fetch_add(&c->closed, 1);
}

static sluice_status count_calls(sluice_sample *sample, void *user)
{
    calls *c = user;
    const int inside = atomic_fetch_add(&c->inside, 1) + 1;

    T_TRUE(sluice_sample_worker(sample) != NULL);
    for (int most = atomic_load(&c->most);
         most < inside && !atomic_compare_exchange_weak(&c->most, &most, inside);) {
    }
    for (volatile int i = 0; i < 2000; i++) {
    }
    atomic_fetch_sub(&c->inside, 1);
    return give_i64(sample, "one", 1);
}

static sluice_dataset *counted(calls *c, uint32_t serial)
{
    static const sluice_column_spec output[] = {{.name = "one", .dtype = SLUICE_I64}};
    sluice_dataset *dataset = arrays_of(plain_images);
    sluice_map map;

    sluice_map_init(&map);
    map.name = "count";
    map.serial = serial;
    map.outputs = output;
    map.output_count = 1;
    map.map = count_calls;
    map.begin = begin_calls;
    map.end = end_calls;
    map.close = close_calls;
    map.user = c;
    T_OK(sluice_dataset_map(dataset, &map));
    T_OK(sluice_dataset_add(dataset, "batch 2"));
    return dataset;
}

static void a_serial_map_has_one_call_at_a_time(void)
{
    calls c = {.begun = 0};
    tape t;

    fill_arrays();
    t = record_own(counted(&c, 1), &(run_options){.workers = 5, .batches = 200});
    T_EQ(atomic_load(&c.most), 1);
    T_EQ(t.batches, 200);
    free(t.bytes);
}

static void states_of_workers_are_freed(void)
{
    calls c = {.begun = 0};
    sluice_dataset *dataset;
    void *columns[3] = {NULL};
    tape t;

    fill_arrays();
    dataset = counted(&c, 0);
    t = record(dataset, &(run_options){.workers = 5, .batches = 60});
    free(t.bytes);
    T_TRUE(atomic_load(&c.begun) >= 1 && atomic_load(&c.begun) <= 5);
    T_EQ(atomic_load(&c.ended), atomic_load(&c.begun));
    T_OK(sluice_dataset_get(dataset, 0, 0, 0, columns, NULL));
    T_EQ(atomic_load(&c.ended), atomic_load(&c.begun));
    T_EQ(atomic_load(&c.closed), 0);
    sluice_dataset_destroy(dataset);
    T_EQ(atomic_load(&c.closed), 1);
}

static void a_begin_that_fails_ends_the_run(void)
{
    calls c = {.begins = SLUICE_E_IO};

    fill_arrays();
    batches_to_error(counted(&c, 0), &(run_options){.settings = {.on_error = SLI_ON_ERROR_ZERO}},
                     SLUICE_E_IO, "count: begin() returned E_IO: no licence");
}

const t_test map_workers_tests[] = {
    T_TEST(draws_depend_on_the_sample_and_the_stage_alone),
    T_TEST(a_serial_map_has_one_call_at_a_time),
    T_TEST(states_of_workers_are_freed),
    T_TEST(a_begin_that_fails_ends_the_run),
    T_END,
};
