/* SPDX-License-Identifier: Apache-2.0 */
/* Bad samples: what becomes of them and of the run. */
#include <stdlib.h>
#include <string.h>

#include "dataset_kit.h"
#include "engine_kit.h"
#include "testing.h"

/* ---- policy fail ----------------------------------------------------------------------------- */

/* Not said where the pipeline is to be mended. */
#define WAY_OUT "; on_error replace or zero continues without such samples"

static void a_bad_sample_ends_the_run_after_the_batches_before_it(void)
{
    sluice_dataset *dataset;

    script_reset(100, GOOD);
    script.behaviours[42] = BAD;
    dataset = script_dataset(8, false);
    for (int i = 0; i < 6; i++) {
        tape t = record(dataset, &(run_options){.device = devices[i % 2],
                                                .workers = worker_counts[i / 2],
                                                .slots = 3 + (uint32_t)i});

        T_EQ(t.batches, 5);
        T_EQ(t.end, SLUICE_E_CORRUPT);
        T_STR(t.error, "read: sample 42, script/42: it is bad" WAY_OUT);
        T_EQ(t.errors.failed, 1);
        T_EQ(t.errors.count, 1);
        T_EQ(t.errors.replaced + t.errors.zeroed, 0);
        free(t.bytes);
    }
    sluice_dataset_destroy(dataset);
}

/* Of several bad rows in a batch the first is named, whoever met it; later batches do not matter.
 */
static void the_lowest_bad_row_is_named(void)
{
    sluice_dataset *dataset;

    script_reset(100, GOOD);
    for (int i = 43; i < 100; i++) {
        script.behaviours[i] = i % 5 != 0 ? BAD : GOOD;
    }
    dataset = script_dataset(16, false);
    for (int i = 0; i < 60; i++) {
        tape t = record(dataset, &(run_options){.device = devices[i % 2], .workers = 5});

        T_EQ(t.batches, 2);
        T_STR(t.error, "read: sample 43, script/43: it is bad" WAY_OUT);
        free(t.bytes);
    }
    sluice_dataset_destroy(dataset);
}

static void an_error_names_its_stage_and_both_sizes(void)
{
    const char *folder = t_folder();
    sluice_dataset *dataset;
    char text[500];
    tape t;

    make_jpeg(folder, "a/1.jpg", 40, 24, 1);
    make_jpeg(folder, "a/2.jpg", 41, 24, 2);
    t_write_file(t_path(folder, "a/3.jpg"), "no image", 8);
    snprintf(text, sizeof(text), "image_folder %s | decode | batch 1", folder);
    dataset = parsed(text);
    t = record(dataset, &(run_options){.workers = 2});
    T_EQ(t.batches, 1);
    T_EQ(t.end, SLUICE_E_INVALID);
    T_STR(t.error, "convert: sample 1, a/2.jpg: the image is 41x24x3 where the batch has 40x24x3, "
                   "as a/1.jpg; add resize H,W or a crop, so that all have one size");
    free(t.bytes);
    sluice_dataset_destroy(dataset);
    snprintf(text, sizeof(text), "image_folder %s | decode | resize 48 | batch 1", folder);
    dataset = parsed(text);
    t = record(dataset, &(run_options){.workers = 2});
    T_EQ(t.end, SLUICE_E_INVALID);
    T_STR(
        t.error,
        "resize: sample 1, a/2.jpg: the image is 82x48x3 where the batch has 80x48x3, "
        "as a/1.jpg; resize 48 sets the shorter side only; write resize 48,48, or put center_crop "
        "48 after it");
    free(t.bytes);
    sluice_dataset_destroy(dataset);
    snprintf(text, sizeof(text), "image_folder %s | skip 2 | decode | resize 8,8 | batch 1",
             folder);
    dataset = parsed(text);
    t = record(dataset, &(run_options){.workers = 2});
    T_EQ(t.end, SLUICE_E_CORRUPT);
    T_STR(t.error, "decode: sample 2, a/3.jpg: not an image of a supported format; it must be "
                   "JPEG, PNG, BMP, GIF, WebP, TIFF, JPEG 2000, PPM, PGM or PBM" WAY_OUT);
    free(t.bytes);
    sluice_dataset_destroy(dataset);
    snprintf(text, sizeof(text), "image_folder %s | decode | random_crop 30 | batch 1", folder);
    batches_to_error(parsed(text), &(run_options){.workers = 2}, SLUICE_E_INVALID,
                     "random_crop: sample 0, a/1.jpg: random_crop: an image of 40x24");
}

/* ---- policy zero ----------------------------------------------------------------------------- */

static void bad_samples_are_zero_rows_with_a_mask(void)
{
    for (int i = 0; i < 12; i++) {
        sluice_dataset *dataset = NULL;
        engine_run run;

        script_reset(30, GOOD);
        for (int k = 0; k < 30; k += 4) {
            script.behaviours[k] = BAD;
        }
        T_OK(dataset_begin(&stage_script, "", &dataset));
        T_OK(sluice_dataset_addf(
            dataset, "random_horizontal_flip 1 | normalize 0.5 0.25 offload=%s | batch 7",
            i / 6 == 0 ? "host" : "device"));
        open_own(&run, dataset,
                 &(run_options){.device = devices[i % 2],
                                .workers = worker_counts[i / 2 % 3],
                                .settings = {.on_error = SLI_ON_ERROR_ZERO},
                                .batches = 10});
        for (uint64_t step = 0; step < 10; step++) {
            T_OK(next_batch(&run));
            for (uint32_t row = 0; row < run.input.header->valid_rows; row++) {
                const uint64_t sample = step % 5 * 7 + row;
                const bool bad = sample % 4 == 0;

                T_EQ(run.input.samples[row], sample);
                T_EQ(is_zero(row_of(&run, 0, row), row_bytes(&run, 0)), bad);
                T_EQ(*(const int32_t *)row_of(&run, 1, row), bad ? 0 : (int)sample);
                T_EQ(*(const uint8_t *)row_of(&run, 2, row), !bad);
            }
        }
        T_STATUS(next_batch(&run), SLUICE_END_OF_DATA);
        close_run(&run);
    }
}

static void errors_are_counted_over_passes_and_named_once(void)
{
    engine_run run;
    sli_engine_errors errors;
    bool seen[300] = {false};

    script_reset(300, BAD);
    for (int i = 0; i < 300; i += 6) {
        script.behaviours[i] = GOOD;
    }
    open_own(&run, script_dataset(10, false),
             &(run_options){
                 .workers = 3, .settings = {.on_error = SLI_ON_ERROR_ZERO}, .batches = 3 * 30});
    while (next_batch(&run) == SLUICE_OK) {
        sli_engine_errors_get(run.engine, &errors);
        for (uint32_t i = 0; i < errors.count; i++) {
            T_EQ(strncmp(errors.first[i].name, "script/", 7), 0);
        }
    }
    T_EQ(run.seq, 90);
    sli_engine_stop(run.engine);
    sli_engine_errors_get(run.engine, &errors);
    T_EQ(errors.zeroed, 3 * 250);
    T_EQ(errors.replaced, 0);
    T_EQ(errors.failed, 0);
    T_EQ(errors.count, 100);
    for (uint32_t i = 0; i < 100; i++) {
        const sli_error_sample *error = &errors.first[i];
        char name[64];

        T_TRUE(error->sample < 300 && error->sample % 6 != 0 && !seen[error->sample]);
        seen[error->sample] = true;
        snprintf(name, sizeof(name), "script/%llu", (unsigned long long)error->sample);
        T_STR(error->name, name);
        T_STR(error->stage, "read");
        T_STR(error->text, "it is bad");
    }
    T_EQ(sli_engine_bytes_read(run.engine), 3 * 50 * 100);
    close_run(&run);
}

/* ---- nothing readable ------------------------------------------------------------------------ */

static void a_pass_of_bad_samples_is_no_data(void)
{
    static const struct {
        uint64_t samples;
        uint32_t batch;
        bool drop;
        uint64_t first_step;
    } cases[] = {
        {20, 4, false, 0}, {21, 4, false, 0}, {21, 4, true, 0}, {3, 4, false, 0},
        {21, 4, false, 3}, {21, 4, true, 7},  {1, 1, false, 0},
    };

    for (size_t c = 0; c < sizeof(cases) / sizeof(cases[0]); c++) {
        for (int i = 0; i < 6; i++) {
            sluice_dataset *dataset;
            tape t;

            script_reset(cases[c].samples, BAD);
            dataset = script_dataset(cases[c].batch, cases[c].drop);
            t = record(dataset,
                       &(run_options){.workers = worker_counts[i / 2],
                                      .settings = {.on_error = i % 2 == 0 ? SLI_ON_ERROR_ZERO
                                                                          : SLI_ON_ERROR_REPLACE},
                                      .first_step = cases[c].first_step,
                                      .batches = 40});
            T_EQ(t.end, SLUICE_E_INVALID);
            T_CONTAINS(t.error, "no valid data in the dataset");
            T_CONTAINS(t.error, "it is bad");
            T_TRUE(t.batches < 12);
            free(t.bytes);
            sluice_dataset_destroy(dataset);
        }
    }
}

static void one_good_sample_is_data(void)
{
    for (int i = 0; i < 6; i++) {
        tape t;

        script_reset(21, BAD);
        script.behaviours[i * 4] = GOOD;
        t = record_own(script_dataset(4, i % 2 == 0),
                       &(run_options){.workers = worker_counts[i / 2],
                                      .settings = {.on_error = SLI_ON_ERROR_ZERO},
                                      .batches = 60});
        T_EQ(t.end, SLUICE_END_OF_DATA);
        T_EQ(t.batches, 60);
        free(t.bytes);
    }
}

/* A good sample that takes long must not be forgotten while bad ones of later passes go by. */
static void a_slow_good_sample_is_data(void)
{
    sluice_dataset *dataset;
    engine_run run;

    script_reset(2, BAD);
    script.behaviours[0] = BLOCKS;
    dataset = script_dataset(1, false);
    open_run(
        &run, dataset,
        &(run_options){
            .workers = 5, .slots = 16, .settings = {.on_error = SLI_ON_ERROR_ZERO}, .batches = 20});
    script_wait_blocked(5); /* five passes are under way, with four bad samples */
    script_wait_reads(4);
    script_release();
    for (int i = 0; i < 20; i++) {
        T_OK(next_batch(&run));
    }
    T_STATUS(next_batch(&run), SLUICE_END_OF_DATA);
    close_run(&run);
    sluice_dataset_destroy(dataset);
}

/* ---- no fault of a sample -------------------------------------------------------------------- */

/* Policies are for bad samples: these end the run under every one. */
static void memory_and_descriptors_that_run_out_end_the_run(void)
{
    static const struct {
        behaviour what;
        sluice_status status;
        const char *text;
    } cases[] = {
        {NO_MEMORY, SLUICE_E_NO_MEMORY,
         "out of memory: read: sample 22, script/22: no memory for this one"},
        {NO_DESCRIPTORS, SLUICE_E_IO,
         "read: sample 22, script/22: cannot open: Too many open files (ulimit -n is "},
    };

    for (int i = 0; i < 6; i++) {
        tape t;

        script_reset(40, GOOD);
        script.behaviours[22] = (uint8_t)cases[i % 2].what;
        t = record_own(
            script_dataset(5, false),
            &(run_options){.workers = 3, .settings = {.on_error = (sli_error_policy)(i / 2)}});
        T_EQ(t.end, cases[i % 2].status);
        T_EQ(t.batches, 4);
        T_CONTAINS(t.error, cases[i % 2].text);
        T_EQ(strncmp(t.error, cases[i % 2].text, strlen(cases[i % 2].text)), 0);
        T_EQ(t.errors.count, 0);
        T_EQ(t.errors.failed + t.errors.replaced + t.errors.zeroed, 0);
        free(t.bytes);
    }
}

/* Also where a sample is read in place of a bad one: the draws come to those of the other rank. */
static void descriptors_that_run_out_end_a_replacement(void)
{
    sluice_dataset *dataset;
    int ended = 0;

    script_reset(40, GOOD);
    for (int i = 1; i < 40; i += 2) {
        script.behaviours[i] = NO_DESCRIPTORS;
    }
    script.behaviours[22] = BAD;
    dataset = script_dataset(5, false);
    for (uint64_t seed = 0; seed < 20; seed++) {
        tape t = record(
            dataset, &(run_options){
                         .settings = {.on_error = SLI_ON_ERROR_REPLACE, .seed = seed, .world = 2}});

        T_TRUE(t.end == SLUICE_E_IO || (t.end == SLUICE_END_OF_DATA && t.errors.replaced == 1));
        T_EQ(t.errors.zeroed, 0);
        T_EQ(t.errors.count, 1); /* the bad one */
        ended += t.end == SLUICE_E_IO;
        free(t.bytes);
    }
    T_TRUE(ended > 0 && ended < 20);
    sluice_dataset_destroy(dataset);
}

/* A sector that cannot be read is one of a file: the others can. */
static void a_bad_sector_is_a_bad_sample(void)
{
    tape t;

    script_reset(40, GOOD);
    script.behaviours[22] = BAD_SECTOR;
    t = record_own(script_dataset(5, false),
                   &(run_options){.settings = {.on_error = SLI_ON_ERROR_ZERO}});
    T_EQ(t.end, SLUICE_END_OF_DATA);
    T_EQ(t.errors.zeroed, 1);
    free(t.bytes);
}

const t_test engine_errors_tests[] = {
    T_TEST(a_bad_sample_ends_the_run_after_the_batches_before_it),
    T_TEST(the_lowest_bad_row_is_named),
    T_TEST(an_error_names_its_stage_and_both_sizes),
    T_TEST(bad_samples_are_zero_rows_with_a_mask),
    T_TEST(errors_are_counted_over_passes_and_named_once),
    T_TEST(a_pass_of_bad_samples_is_no_data),
    T_TEST(one_good_sample_is_data),
    T_TEST(a_slow_good_sample_is_data),
    T_TEST(memory_and_descriptors_that_run_out_end_the_run),
    T_TEST(descriptors_that_run_out_end_a_replacement),
    T_TEST(a_bad_sector_is_a_bad_sample),
    T_END,
};
