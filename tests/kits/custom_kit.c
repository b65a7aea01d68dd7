/* SPDX-License-Identifier: Apache-2.0 */
#include "custom_kit.h"

#include "engine_kit.h"
#include "testing.h"

static sluice_status give_points(sluice_sample *sample, uint64_t index, const custom_arrays *o)
{
    const bool faulty = index == 7;
    const uint64_t shape[] = {faulty && o->fault == WRONG_SHAPE ? 5 : 3};
    const float points[3] = {(float)index, 1, 2};
    void *room;
    sluice_status st;

    if (faulty && o->fault == WRONG_SIZE) {
        return sluice_sample_lend(sample, "points", NULL, points, 8);
    }
    st = sluice_sample_room(sample, faulty && o->fault == WRONG_NAME ? "pionts" : "points", shape,
                            &room);
    if (st == SLUICE_OK) {
        memcpy(room, points, sizeof(points));
    }
    return st;
}

static sluice_status give_number(sluice_sample *sample, uint64_t index, const custom_arrays *o)
{
    static const int64_t numbers[CUSTOM_SAMPLES] = {
        0, 1, 4, 9, 16, 25, 36, 49, 64, 81, 100, 121, 144, 169, 196, 225, 256, 289, 324, 361};
    void *room;
    sluice_status st;

    if (o->lends) {
        return sluice_sample_lend(sample, "number", NULL, &numbers[index], 8);
    }
    st = sluice_sample_room(sample, "number", NULL, &room);
    if (st == SLUICE_OK) {
        *(int64_t *)room = numbers[index];
    }
    return st;
}

sluice_status custom_read_arrays(sluice_sample *sample, uint64_t index, void *user)
{
    custom_arrays *o = user;
    sluice_status st = give_points(sample, index, o);

    T_EQ(sluice_sample_number(sample), index);
    o->random[index] = sluice_sample_random(sample, 3);
    if (st == SLUICE_OK && !(index == 7 && o->fault == LEAVES_ONE_OUT)) {
        st = give_number(sample, index, o);
    }
    if (st != SLUICE_OK || index != 7) {
        return st;
    }
    switch (o->fault) {
    case FAILS:
        return sluice_fail(SLUICE_E_IO, "the server %s is down", "x");
    case FAILS_SILENTLY:
        return SLUICE_E_CORRUPT;
    case POSITIVE:
        return SLUICE_END_OF_DATA;
    case GARBAGE:
        return (sluice_status)-4711;
    case OUT_OF_MEMORY:
        return sluice_fail(SLUICE_E_NO_MEMORY, "no room for anything");
    default:
        return SLUICE_OK;
    }
}

static const sluice_column_spec array_columns[] = {
    {.name = "points", .dtype = SLUICE_F32, .rank = 1, .shape = {3}},
    {.name = "number", .dtype = SLUICE_I64},
};

sluice_source custom_arrays_source(custom_arrays *o)
{
    sluice_source source;

    sluice_source_init(&source);
    source.name = "my_arrays";
    source.version = 3;
    source.columns = array_columns;
    source.column_count = 2;
    source.count = CUSTOM_SAMPLES;
    source.read = custom_read_arrays;
    source.user = o;
    return source;
}

sluice_dataset *custom_dataset(const sluice_source *source, const char *stages)
{
    sluice_dataset *dataset = NULL;

    T_OK(sluice_dataset_source(source, &dataset));
    T_OK(sluice_dataset_add(dataset, stages));
    return dataset;
}

sluice_dataset *custom_arrays_dataset(custom_arrays *o, const char *stages)
{
    const sluice_source source = custom_arrays_source(o);

    return custom_dataset(&source, stages);
}

static sluice_status next_by_number(sluice_sample *sample, void *pass, void *user)
{
    const sluice_source *of = user;
    const uint64_t number = sluice_sample_number(sample);

    (void)pass;
    return number < of->count ? of->read(sample, number, of->user) : SLUICE_END_OF_DATA;
}

static sluice_status begin_pass(uint64_t number, void *user, void **pass_out)
{
    const sluice_source *of = user;

    (void)number;
    return of->begin != NULL ? of->begin(of->user, pass_out) : SLUICE_OK;
}

static void end_pass(void *pass, void *user)
{
    const sluice_source *of = user;

    if (of->end != NULL) {
        of->end(pass, of->user);
    }
}

sluice_source custom_stream_of(sluice_source *of)
{
    sluice_source stream;

    sluice_source_init(&stream);
    stream.name = of->name;
    stream.version = of->version;
    stream.columns = of->columns;
    stream.column_count = of->column_count;
    stream.next = next_by_number;
    stream.open_pass = begin_pass;
    stream.close_pass = end_pass;
    stream.user = of;
    return stream;
}

void custom_check_pass(custom_arrays *o, uint32_t workers)
{
    sluice_dataset *dataset = custom_arrays_dataset(o, "shuffle 3 | batch 4");
    uint64_t seen[CUSTOM_SAMPLES] = {0};
    engine_run run;

    open_run(&run, dataset, &(run_options){.workers = workers});
    while (next_batch(&run) == SLUICE_OK) {
        for (uint32_t row = 0; row < 4; row++) {
            const float *points = row_of(&run, 0, row);
            const uint64_t i = (uint64_t)points[0];

            T_TRUE(i < CUSTOM_SAMPLES && points[1] == 1 && points[2] == 2);
            T_EQ(*(const int64_t *)row_of(&run, 1, row), i * i);
            seen[i]++;
        }
    }
    close_run(&run);
    for (int i = 0; i < CUSTOM_SAMPLES; i++) {
        T_EQ(seen[i], 1);
    }
    sluice_dataset_destroy(dataset);
}
