/* SPDX-License-Identifier: Apache-2.0 */
/* Bad samples of a stream under policy replace: rows of their batch stand in for them. */
#include <stdlib.h>

#include "dataset_kit.h"
#include "engine_kit.h"
#include "generator_kit.h"
#include "stream_kit.h"
#include "testing.h"

enum { SAMPLES = 50, BATCH = 4 };

/* One in the middle, two in sequence, the last and the first row of a batch, and a whole batch. */
static bool is_bad(uint64_t sample)
{
    return sample == 1 || sample == 5 || sample == 6 || sample == 11 || sample == 12 ||
           (sample >= 20 && sample < 24) || sample == 49;
}

/* The sample that a row gets: its own, or the next good one of the batch, cyclically. UINT64_MAX:
 * none. */
static uint64_t expected_sample(uint64_t batch, uint32_t row, uint64_t rank, uint64_t world)
{
    const uint64_t left = SAMPLES - batch * BATCH * world;
    const uint64_t own = left > rank ? (left - rank - 1) / world + 1 : 0;
    const uint32_t rows = own < BATCH ? (uint32_t)own : BATCH;

    for (uint32_t i = 0; i < rows; i++) {
        const uint64_t sample = (batch * BATCH + (row + i) % rows) * world + rank;

        if (!is_bad(sample)) {
            return sample;
        }
    }
    return UINT64_MAX;
}

static void check_row(const engine_run *run, uint32_t row, uint64_t pass, uint64_t sample)
{
    const int64_t number = *(const int64_t *)row_of(run, 0, row);
    const int32_t length = *(const int32_t *)row_of(run, 2, row);
    const uint16_t *words = row_of(run, 1, row);

    if (sample == UINT64_MAX) {
        T_EQ(number, 0);
        T_EQ(length, 0);
        return;
    }
    T_EQ(number, pass * 1000 + sample);
    T_EQ(run->input.samples[row], sample);
    T_EQ(length, sample % (GENERATOR_WORDS + 1));
    T_EQ(words[0], length > 0 ? sample + 1 : 0);
}

static void check_run(uint32_t workers, const char *device, uint32_t rank, uint32_t world)
{
    const uint64_t round = (uint64_t)BATCH * world;
    const uint64_t batches = (SAMPLES + round - 1) / round;
    generator g = {.samples = SAMPLES, .is_bad = is_bad};
    sli_engine_errors errors;
    engine_run run;

    open_own(&run, generator_dataset(&g, "batch 4"),
             &(run_options){
                 .device = device,
                 .workers = workers,
                 .passes = 2,
                 .batches = UINT64_MAX,
                 .settings = {.world = world, .rank = rank, .on_error = SLI_ON_ERROR_REPLACE}});
    for (uint64_t b = 0; b < 2 * batches; b++) {
        T_OK(next_batch(&run));
        for (uint32_t row = 0; row < run.input.header->valid_rows; row++) {
            check_row(&run, row, b / batches, expected_sample(b % batches, row, rank, world));
        }
        T_EQ(run.input.header->first_sample, run.input.samples[0]);
    }
    T_EQ(next_batch(&run), SLUICE_END_OF_DATA);
    sli_engine_errors_get(run.engine, &errors);
    if (world == 1) {
        T_EQ(errors.replaced, 2 * 6);
        T_EQ(errors.zeroed, 2 * 4); /* of the batch that has no good sample */
        T_EQ(errors.count, 10);
    }
    close_run(&run);
}

static void the_next_good_row_of_the_batch_stands_in(void)
{
    for (uint32_t i = 0; i < 6; i++) {
        check_run(worker_counts[i / 2], devices[i % 2], 0, 1);
    }
    for (uint32_t rank = 0; rank < 3; rank++) {
        check_run(2, devices[0], rank, 3);
    }
}

/* A run that ends with the batch has the same rows as a longer one, also from there on. */
static void replacements_do_not_depend_on_where_a_run_begins_or_ends(void)
{
    generator g = {.samples = SAMPLES, .is_bad = is_bad};
    sluice_dataset *dataset = generator_dataset(&g, "shuffle buffer=9 | batch 4");
    run_options options = {
        .workers = 2, .batches = 20, .settings = {.seed = 3, .on_error = SLI_ON_ERROR_REPLACE}};
    const tape want = record(dataset, &options);

    for (uint64_t first = 1; first <= 13; first += 3) { /* the pass has 13 batches */
        tape head;
        tape rest;

        options.first_step = 0;
        options.batches = first;
        head = record(dataset, &options);
        options.first_step = first;
        options.batches = 20 - first;
        rest = record(dataset, &options);
        T_EQ(head.size + rest.size, want.size);
        T_EQ(memcmp(head.bytes, want.bytes, head.size), 0);
        T_EQ(memcmp(rest.bytes, want.bytes + head.size, rest.size), 0);
        free(head.bytes);
        free(rest.bytes);
    }
    free(want.bytes);
    sluice_dataset_destroy(dataset);
}

/* Images that cannot be decoded; a label stands in with its image. */
static void bad_images_of_shards_are_replaced(void)
{
    const char *path = t_path(t_folder(), "x.tar");
    tar_maker tar = {0};

    add_images(&tar, 0, 5);
    tar_add_text(&tar, "k/bad.ppm", "no image");
    tar_add_text(&tar, "k/bad.cls", "5");
    add_images(&tar, 6, 2);
    tar_write(&tar, path);
    for (uint32_t i = 0; i < 6; i++) {
        engine_run run;

        open_own(&run, stream_dataset("@ access=stream", path, "4"),
                 &(run_options){.device = devices[i % 2],
                                .workers = worker_counts[i / 2],
                                .settings = {.on_error = SLI_ON_ERROR_REPLACE}});
        T_OK(next_batch(&run));
        T_OK(next_batch(&run));
        T_EQ(*(const int32_t *)row_of(&run, 1, 0), 4);
        T_EQ(*(const int32_t *)row_of(&run, 1, 1), 6);
        T_EQ(*(const uint8_t *)row_of(&run, 0, 1), 7);
        T_EQ(*(const int32_t *)row_of(&run, 1, 2), 6);
        T_EQ(run.input.samples[1], 6);
        close_run(&run);
    }
}

static void a_batch_of_one_has_no_other_sample(void)
{
    generator g = {.samples = SAMPLES};
    sluice_dataset *dataset = generator_dataset(&g, "batch 1");
    engine_run run;

    T_STATUS(
        start_run(&run, dataset, &(run_options){.settings = {.on_error = SLI_ON_ERROR_REPLACE}}),
        SLUICE_E_UNSUPPORTED);
    T_CONTAINS(sluice_last_error(), "`batch 1` has no other; use a larger batch, or policy zero");
    sluice_dataset_destroy(dataset);
}

const t_test stream_replacement_tests[] = {
    T_TEST(the_next_good_row_of_the_batch_stands_in),
    T_TEST(replacements_do_not_depend_on_where_a_run_begins_or_ends),
    T_TEST(bad_images_of_shards_are_replaced),
    T_TEST(a_batch_of_one_has_no_other_sample),
    T_END,
};
