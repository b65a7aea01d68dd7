/* SPDX-License-Identifier: Apache-2.0 */
/* Sources of a program's own: the state of workers, and guards around what they write. */
#include <stdlib.h>

#include "custom_kit.h"
#include "engine_kit.h"
#include "testing.h"

/* ---- workers --------------------------------------------------------------------------------- */

/* The state of a worker: its thread. */
static sluice_status begin_here(void *user, void **worker_out)
{
    pthread_t *thread = malloc(sizeof(*thread));

    if (thread == NULL) {
        return SLUICE_E_NO_MEMORY;
    }
    *thread = pthread_self();
    *worker_out = thread;
    atomic_fetch_add(&((custom_arrays *)user)->begun, 1);
    return SLUICE_OK;
}

static void end_here(void *worker, void *user)
{
    custom_arrays *o = user;

    atomic_fetch_add(&o->strays, !pthread_equal(*(pthread_t *)worker, pthread_self()));
    atomic_fetch_add(&o->ended, 1);
    free(worker);
}

static sluice_status read_here(sluice_sample *sample, uint64_t index, void *user)
{
    custom_arrays *o = user;

    atomic_fetch_add(&o->strays,
                     !pthread_equal(*(pthread_t *)sluice_sample_worker(sample), pthread_self()));
    return custom_read_arrays(sample, index, user);
}

static void workers_have_a_state_of_their_own_on_their_threads(void)
{
    custom_arrays o = {.lends = false};
    sluice_source source = custom_arrays_source(&o);
    sluice_dataset *dataset;
    int64_t number;
    float points[3];

    source.begin = begin_here;
    source.end = end_here;
    source.read = read_here;
    dataset = custom_dataset(&source, "batch 4");
    for (uint32_t workers = 1; workers <= 3; workers += 2) {
        const int before = atomic_load(&o.begun);

        free(record(dataset, &(run_options){.workers = workers}).bytes);
        T_TRUE(atomic_load(&o.begun) > before && atomic_load(&o.begun) <= before + (int)workers);
        T_EQ(atomic_load(&o.ended), atomic_load(&o.begun));
    }
    T_OK(sluice_dataset_get(dataset, 0, 0, 3, (void *const[]){points, &number}, NULL));
    T_EQ(number, 9);
    T_EQ(atomic_load(&o.ended), atomic_load(&o.begun));
    T_EQ(atomic_load(&o.strays), 0);
    sluice_dataset_destroy(dataset);
}

static sluice_status begin_badly(void *user, void **worker_out)
{
    (void)worker_out;
    atomic_fetch_add(&((custom_arrays *)user)->begun, 1);
    return sluice_fail(SLUICE_E_IO, "no connection");
}

static void a_worker_that_cannot_begin_ends_the_run(void)
{
    const sluice_column_spec image = {.name = "image",
                                      .dtype = SLUICE_U8,
                                      .rank = 3,
                                      .shape = {0, 0, 3},
                                      .role = SLUICE_ROLE_IMAGE};
    custom_arrays o = {.lends = false};
    sluice_source source = custom_arrays_source(&o);
    sluice_dataset *dataset;
    sluice_dataset_info info;
    tape t;

    source.begin = begin_badly;
    source.end = end_here;
    dataset = custom_dataset(&source, "batch 4");
    t = record(dataset, &(run_options){.settings = {.on_error = SLI_ON_ERROR_ZERO, .world = 1}});
    T_EQ(t.end, SLUICE_E_IO);
    T_CONTAINS(t.error, "my_arrays: begin() returned E_IO: no connection");
    T_EQ(t.errors.zeroed, 0);
    T_EQ(atomic_load(&o.ended), 0);
    free(t.bytes);
    sluice_dataset_destroy(dataset);
    source.columns = &image;
    source.column_count = 1;
    atomic_store(&o.begun, 0);
    dataset = custom_dataset(&source, "batch 4"); /* whose size is that of a sample */
    sluice_dataset_info_init(&info);
    T_STATUS(sluice_dataset_inspect(dataset, &info), SLUICE_E_IO);
    T_CONTAINS(sluice_last_error(), "my_arrays: begin() returned E_IO: no connection");
    T_EQ(atomic_load(&o.begun), 1);
    sluice_dataset_destroy(dataset);
}

/* ---- guards ---------------------------------------------------------------------------------- */

/* Writes the byte at o->offset of the image, whose room is 12 bytes; guards are wider than that. */
static sluice_status read_too_far(sluice_sample *sample, uint64_t index, void *user)
{
    const custom_arrays *o = user;
    void *room;
    sluice_status st = sluice_sample_room(sample, "image", NULL, &room);

    if (st == SLUICE_OK) {
        memset(room, 0, 12);
        ((uint8_t *)room)[index == 7 ? o->offset : 0] = 1;
    }
    return st;
}

static tape overrun(int offset)
{
    const sluice_column_spec image = {.name = "image",
                                      .dtype = SLUICE_U8,
                                      .rank = 3,
                                      .shape = {2, 2, 3},
                                      .role = SLUICE_ROLE_IMAGE};
    custom_arrays o = {.offset = offset};
    sluice_source source = custom_arrays_source(&o);

    source.columns = &image;
    source.column_count = 1;
    source.read = read_too_far;
    return record_own(custom_dataset(&source, "batch 4"),
                      &(run_options){.settings = {.on_error = SLI_ON_ERROR_REPLACE, .world = 1}});
}

static void check_overrun(int offset, const char *words)
{
    tape t = overrun(offset);

    T_EQ(t.end, words != NULL ? SLUICE_E_CALLBACK : SLUICE_END_OF_DATA);
    T_EQ(t.errors.replaced, 0);
    if (words != NULL) {
        T_CONTAINS(t.error, words);
        T_CONTAINS(t.error, "sample 7, my_arrays/7");
    }
    free(t.bytes);
}

static void writes_beyond_the_room_are_found_by_guards(void)
{
    setenv("SLUICE_GUARDS", "on", 1);
    check_overrun(11, NULL);
    check_overrun(12, "my_arrays: read() wrote past the 12 bytes of image");
    check_overrun(60, "my_arrays: read() wrote past the 12 bytes of image");
    check_overrun(-1, "my_arrays: read() wrote in front of the 12 bytes of image");
    setenv("SLUICE_GUARDS", "off", 1);
    check_overrun(12, NULL); /* into what images have behind them anyway */
    unsetenv("SLUICE_GUARDS");
#ifndef NDEBUG
    check_overrun(12, "wrote past");
#endif
}

static void results_are_the_same_without_guards(void)
{
    custom_arrays o = {.lends = false};

    setenv("SLUICE_GUARDS", "off", 1);
    custom_check_pass(&o, 2);
    setenv("SLUICE_GUARDS", "on", 1);
    custom_check_pass(&o, 2);
    unsetenv("SLUICE_GUARDS");
}

/* Writes six bytes and lends the last four of them. */
static sluice_status lend_part(sluice_sample *sample, uint64_t index, void *user)
{
    void *room;
    sluice_status st = sluice_sample_room(sample, "t", NULL, &room);

    (void)index;
    (void)user;
    if (st == SLUICE_OK) {
        memcpy(room, "abcdef", 6);
        st = sluice_sample_lend(sample, "t", (uint64_t[]){4}, (uint8_t *)room + 2, 4);
    }
    return st;
}

/* The copy overlaps: valgrind and sanitizers tell. */
static void a_part_of_the_room_may_be_lent(void)
{
    const sluice_column_spec bytes = {
        .name = "t", .dtype = SLUICE_U8, .rank = 1, .shape = {6}, .ragged = 1};

    for (int i = 0; i < 2; i++) {
        custom_arrays o = {.lends = false};
        sluice_source source = custom_arrays_source(&o);
        sluice_dataset *dataset;
        uint8_t row[6];
        int32_t length = 0;

        setenv("SLUICE_GUARDS", i == 0 ? "off" : "on", 1);
        source.columns = &bytes;
        source.column_count = 1;
        source.read = lend_part;
        dataset = custom_dataset(&source, "batch 4");
        T_OK(sluice_dataset_get(dataset, 0, 0, 3, (void *const[]){row, &length}, NULL));
        unsetenv("SLUICE_GUARDS");
        T_EQ(length, 4);
        T_TRUE(memcmp(row, "cdef\0", 6) == 0);
        sluice_dataset_destroy(dataset);
    }
}

const t_test custom_workers_tests[] = {
    T_TEST(workers_have_a_state_of_their_own_on_their_threads),
    T_TEST(a_worker_that_cannot_begin_ends_the_run),
    T_TEST(writes_beyond_the_room_are_found_by_guards),
    T_TEST(results_are_the_same_without_guards),
    T_TEST(a_part_of_the_room_may_be_lent),
    T_END,
};
