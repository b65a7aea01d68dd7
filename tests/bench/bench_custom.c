/* SPDX-License-Identifier: Apache-2.0 */
/*
 * bench_custom: what a source of the user's costs besides its own work. One thread loads samples of
 * one value (i64), of two values and of an image of 32 x 32 pixels into a row, from arrays in
 * memory and from functions that write or lend the same bytes. Prints ns a sample: the least of
 * some rounds, in which the sources take turns.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <sluice/arrays.h>
#include <sluice/custom.h>

#include "clock_int.h"
#include "dataset_state.h"
#include "sample_loader.h"

enum { ROUNDS = 25, LOADS = 100000, SAMPLES = 1000, PIXELS = 32 * 32 * 3 };

static int64_t values[2][SAMPLES];
static uint8_t images[SAMPLES][PIXELS];

/* A source that takes part. */
typedef struct entry {
    const char *name;
    sluice_dataset *dataset;
    sli_plan *plan;
    sample_loader loader;
    uint8_t *memory;
    sample_row row;
    uint8_t flags;
    double least_ns;
} entry;

static void check(sluice_status st)
{
    if (st != SLUICE_OK) {
        fprintf(stderr, "bench_custom: %s\n", sluice_last_error());
        exit(2);
    }
}

/* ---- the functions --------------------------------------------------------------------------- */

static sluice_status write_value(sluice_sample *sample, uint64_t index, void *user)
{
    void *room;
    sluice_status st = sluice_sample_room(sample, "a", NULL, &room);

    (void)user;
    if (st == SLUICE_OK) {
        *(int64_t *)room = values[0][index];
    }
    return st;
}

static sluice_status write_values(sluice_sample *sample, uint64_t index, void *user)
{
    void *room;
    sluice_status st = write_value(sample, index, user);

    if (st == SLUICE_OK) {
        st = sluice_sample_room(sample, "b", NULL, &room);
    }
    if (st == SLUICE_OK) {
        *(int64_t *)room = values[1][index];
    }
    return st;
}

static sluice_status lend_value(sluice_sample *sample, uint64_t index, void *user)
{
    (void)user;
    return sluice_sample_lend(sample, "a", NULL, &values[0][index], sizeof(int64_t));
}

static sluice_status write_image(sluice_sample *sample, uint64_t index, void *user)
{
    void *room;
    sluice_status st = sluice_sample_room(sample, "image", NULL, &room);

    (void)user;
    if (st == SLUICE_OK) {
        memcpy(room, images[index], PIXELS);
    }
    return st;
}

static sluice_status lend_image(sluice_sample *sample, uint64_t index, void *user)
{
    (void)user;
    return sluice_sample_lend(sample, "image", NULL, images[index], PIXELS);
}

/* ---- the entries ----------------------------------------------------------------------------- */

static const sluice_array arrays[] = {
    {"a", values[0], SLUICE_I64, 1, {SAMPLES}},
    {"b", values[1], SLUICE_I64, 1, {SAMPLES}},
    {"image", images, SLUICE_U8, 4, {SAMPLES, 32, 32, 3}},
};

static sluice_status map_nothing(sluice_sample *sample, void *user)
{
    void *room;
    const sluice_status st = sluice_sample_room(sample, "m", NULL, &room);

    (void)user;
    if (st == SLUICE_OK) {
        *(int64_t *)room = 0;
    }
    return st;
}

static sluice_status map_value(sluice_sample *sample, void *user)
{
    sluice_sample_view view;
    void *room;
    sluice_status st = sluice_sample_get(sample, "a", &view);

    (void)user;
    if (st == SLUICE_OK) {
        st = sluice_sample_room(sample, "m", NULL, &room);
    }
    if (st == SLUICE_OK) {
        *(int64_t *)room = *(const int64_t *)view.data;
    }
    return st;
}

static const sluice_column_spec columns[] = {
    {.name = "a", .dtype = SLUICE_I64},
    {.name = "b", .dtype = SLUICE_I64},
    {.name = "image",
     .dtype = SLUICE_U8,
     .rank = 3,
     .shape = {32, 32, 3},
     .role = SLUICE_ROLE_IMAGE},
};

/* Makes the dataset: of arrays, or of a function. */
static void make_dataset(entry *e, uint32_t first, uint32_t count,
                         sluice_status (*read)(sluice_sample *, uint64_t, void *))
{
    sluice_source source;

    sluice_source_init(&source);
    source.name = "bench";
    source.columns = &columns[first];
    source.column_count = count;
    source.count = SAMPLES;
    source.read = read;
    check(read != NULL ? sluice_dataset_source(&source, &e->dataset)
                       : sluice_dataset_memory(&arrays[first], count, &e->dataset));
}

/* Adds a map of the column `a` to another one. */
static void add_map(entry *e, sluice_status (*function)(sluice_sample *, void *))
{
    static const char *const inputs[] = {"a"};
    static const sluice_column_spec outputs[] = {{.name = "m", .dtype = SLUICE_I64}};
    sluice_map map;

    sluice_map_init(&map);
    map.name = "bench";
    map.inputs = inputs;
    map.input_count = function == map_value ? 1 : 0;
    map.outputs = outputs;
    map.output_count = 1;
    map.map = function;
    check(sluice_dataset_map(e->dataset, &map));
}

static void open_entry(entry *e)
{
    static sli_counters counters[PLAN_PROFILED];
    const sli_run_settings settings = {.seed = 7, .world = 1};
    sli_layout layout;

    check(sluice_dataset_add(e->dataset, "batch 1"));
    check(sli_plan_open(e->dataset, &settings, &e->plan));
    check(sample_loader_init(&e->loader, e->plan));
    for (int i = 0; i < PLAN_PROFILED; i++) {
        e->loader.report.counters[i] = &counters[i];
    }
    check(sli_layout_make(e->plan->wire, e->plan->column_count, 1, &layout));
    e->memory = aligned_alloc(64, (layout.slot_bytes + 63) / 64 * 64);
    if (e->memory == NULL) {
        exit(2);
    }
    for (uint32_t i = 0; i < e->plan->column_count; i++) {
        e->row.columns[i] = e->memory + layout.offsets[i];
    }
    e->row.flags = &e->flags;
    e->least_ns = 1e18;
}

static void run_round(entry *e)
{
    const int64_t start = sli_now_ns();
    double ns;

    for (uint32_t i = 0; i < LOADS; i++) {
        check(sample_load(&e->loader, i % SAMPLES, 0, &e->row));
    }
    ns = (double)(sli_now_ns() - start) / LOADS;
    e->least_ns = ns < e->least_ns ? ns : e->least_ns;
}

int main(void)
{
    static entry entries[] = {
        {.name = "i64, memory"},
        {.name = "i64, function writes"},
        {.name = "i64, function lends"},
        {.name = "2 x i64, memory"},
        {.name = "2 x i64, writes"},
        {.name = "image, memory"},
        {.name = "image, function writes"},
        {.name = "image, function lends"},
        {.name = "i64, memory, map writes"},
        {.name = "i64, memory, map copies"},
    };
    const size_t count = sizeof(entries) / sizeof(entries[0]);

    make_dataset(&entries[0], 0, 1, NULL);
    make_dataset(&entries[1], 0, 1, write_value);
    make_dataset(&entries[2], 0, 1, lend_value);
    make_dataset(&entries[3], 0, 2, NULL);
    make_dataset(&entries[4], 0, 2, write_values);
    make_dataset(&entries[5], 2, 1, NULL);
    make_dataset(&entries[6], 2, 1, write_image);
    make_dataset(&entries[7], 2, 1, lend_image);
    make_dataset(&entries[8], 0, 1, NULL);
    add_map(&entries[8], map_nothing);
    make_dataset(&entries[9], 0, 1, NULL);
    add_map(&entries[9], map_value);
    for (size_t i = 0; i < count; i++) {
        open_entry(&entries[i]);
    }
    for (int round = 0; round < ROUNDS; round++) {
        for (size_t i = 0; i < count; i++) {
            run_round(&entries[i]);
        }
    }
    for (size_t i = 0; i < count; i++) {
        printf("%-24s %7.1f ns\n", entries[i].name, entries[i].least_ns);
        sample_loader_fini(&entries[i].loader);
        sli_plan_close(entries[i].plan);
        sluice_dataset_destroy(entries[i].dataset);
        free(entries[i].memory);
    }
    return 0;
}
