/* SPDX-License-Identifier: Apache-2.0 */
/* Runs of concat, mix and zip: the columns of the parts, for any number of workers. */
#include <stdlib.h>

#include <sluice/sampling.h>

#include "custom_kit.h"
#include "dataset_kit.h"
#include "engine_kit.h"
#include "list_kit.h"
#include "plan_kit.h"
#include "source_kit.h"
#include "testing.h"
#include "tokens_kit.h"

/* The run of a text, where ${D} is a folder. */
static tape run_text(const char *text, const char *folder, const run_options *options)
{
    static const char *const name = "D";
    sluice_dataset *dataset = NULL;
    tape got;

    if (sluice_dataset_parse_args(text, &name, &folder, strstr(text, "${D}") != NULL, &dataset) !=
        SLUICE_OK) {
        T_FAIL_("%s: %.900s", text, sluice_last_error());
    }
    got = record_own(dataset, options);
    if (got.end != SLUICE_END_OF_DATA) {
        T_FAIL_("%s: %.900s", text, got.error);
    }
    return got;
}

/* Two runs give the same bytes. */
static void check_same(const char *got, const char *want, const char *folder)
{
    const run_options options = {.workers = 2, .settings = {.seed = 4}};
    tape a = run_text(got, folder, &options);
    tape b = run_text(want, folder, &options);

    T_TRUE(a.size > 0);
    check_equal_tapes(&a, &b, got);
    free(a.bytes);
    free(b.bytes);
}

static void write_files(const char *folder)
{
    sluice_dataset_destroy(jpeg_dataset(folder, "decode"));
    write_pair(folder, "a.ppm", "m.pgm");
    write_list(folder, "list.tsv", LIST_OF_BOXES "a.ppm\t1\tm.pgm\t1,2,30,20\t7\n");
    tokens_write(folder, "t_0.bin", 2, 1, 65000, 100);
    tokens_write(folder, "t_1.bin", 2, 1, 2000, 65);
    tokens_write(folder, "t_2.bin", 4, 1, 70000, 65);
}

static const char *const texts[] = {
    "concat (image_folder ${D} jpg | shuffle) (image_folder ${D} jpg | take 7) | decode | "
    "random_resized_crop 16 | random_horizontal_flip | normalize imagenet | to_chw | batch 4",
    "mix 0.7:(image_folder ${D} jpg | shuffle) 0.3:end:(image_folder ${D} jpg | take 4 | shuffle) "
    "| decode | random_resized_crop 16 | batch 4",
    "mix 2:(tokens ${D}/t_0.bin 8 | shuffle) 1:(tokens ${D}/t_1.bin 8 | shuffle) | batch 4",
    "concat (tokens ${D}/t_0.bin 8) (tokens ${D}/t_2.bin 8) | shuffle | batch 4",
    "mix (image_list ${D}/list.tsv) (image_list ${D}/list.tsv) | decode | random_resized_crop 16 "
    "| random_horizontal_flip | batch 2",
    "zip (image_folder ${D} jpg) (image_folder ${D} jpg | rename image b | rename label y) | "
    "decode | random_crop 16 padding=9 | random_horizontal_flip | to_dtype f32 | batch 5",
};

static void batches_do_not_depend_on_workers_or_devices(void)
{
    char folder[400];

    snprintf(folder, sizeof(folder), "%s", t_folder());
    write_files(folder);
    for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
        const run_options one = {.workers = 1, .settings = {.seed = 6}, .batches = 12};
        tape want = run_text(texts[i], folder, &one);

        for (uint32_t k = 0; k < 4; k++) {
            const run_options options = {.workers = worker_counts[(k + 1) % 3],
                                         .device = devices[k % 2],
                                         .batches = 12,
                                         .settings = {.seed = 6, .prefer_device = k % 2 != 0}};
            tape got = run_text(texts[i], folder, &options);

            check_equal_tapes(&got, &want, texts[i]);
            free(got.bytes);
        }
        free(want.bytes);
    }
}

/* A group of one part equals its source alone; the columns of a part are those after its stages. */
static void a_part_gives_what_its_source_gives(void)
{
    char folder[400];

    snprintf(folder, sizeof(folder), "%s", t_folder());
    write_files(folder);
    check_same("concat (image_folder ${D} jpg | skip 3) | decode | resize 9,9 | batch 4",
               "image_folder ${D} jpg | skip 3 | decode | resize 9,9 | batch 4", folder);
    check_same("mix (tokens ${D}/t_0.bin 8 | take 5) | batch 5",
               "tokens ${D}/t_0.bin 8 | take 5 | batch 5", folder);
    check_same("zip (image_list ${D}/list.tsv) | decode | random_crop 20 | batch 2",
               "concat (concat (image_list ${D}/list.tsv)) | decode | random_crop 20 | batch 2",
               folder);
    check_same("concat (synthetic 4 2,3,1 | rename label y | project y,image) "
               "(synthetic 6 2,3,1 | project label,image | rename label y) | batch 5",
               "concat (synthetic 4 2,3,1) (synthetic 6 2,3,1) | project label,image | batch 5",
               folder);
    check_same("zip (synthetic 8 2,3,1 3) (synthetic 8 2,3,1 5 | project label | rename label y) "
               "| project y | batch 3",
               "synthetic 8 2,3,1 5 | project label | rename label y | batch 3", folder);
}

static uint32_t valid_rows(const engine_run *run)
{
    return run->input.header->valid_rows;
}

/*
 * A worker that has read ahead several windows of tokens, and then a sample of another source, does
 * not use the bytes of that sample as tokens.
 */
static void parts_of_several_sources_do_not_mix_up_their_bytes(void)
{
    static const char list[] = "image\tinputs:i32[8]\ttargets:i32[8]\n"
                               "a.ppm\t9,9,9,9,9,9,9,9\t9,9,9,9,9,9,9,9\n";
    char folder[400];
    sluice_dataset *dataset = NULL;
    engine_run run;

    snprintf(folder, sizeof(folder), "%s", t_folder());
    tokens_write(folder, "t.bin", 2, 1, 100, 65);
    write_pair(folder, "a.ppm", "m.pgm");
    write_list(folder, "list.tsv", list);
    T_OK(sluice_dataset_parse_args("mix 3:(tokens ${D}/t.bin 8) 1:(image_list ${D}/list.tsv | "
                                   "project inputs,targets) | batch 4",
                                   (const char *[]){"D"}, (const char *[]){folder}, 1, &dataset));
    open_own(&run, dataset, &(run_options){.workers = 1, .batches = 20});
    for (uint32_t batch = 0; batch < 20; batch++) {
        T_OK(next_batch(&run));
        for (uint32_t row = 0; row < run.input.header->valid_rows; row++) {
            const uint64_t sample = run.input.samples[row];
            const int32_t *inputs = column_row(&run, "inputs", row);

            T_EQ(inputs[7], sample < 8 ? (int32_t)(100 + sample * 8 + 7) : 9);
        }
        done_with_batch(&run);
    }
    close_run(&run);
}

/* Two images of a zip that are the same file get the same pixels. */
static void images_of_a_zip_have_the_same_geometry(void)
{
    char folder[400];
    sluice_dataset *dataset = NULL;
    engine_run run;
    uint32_t rows = 0;

    snprintf(folder, sizeof(folder), "%s", t_folder());
    write_files(folder);
    T_OK(sluice_dataset_parse_args(
        "zip (image_folder ${D} jpg) (image_folder ${D} jpg | rename image b | rename label y) | "
        "shuffle | decode | random_resized_crop 16 | random_horizontal_flip | batch 4",
        (const char *[]){"D"}, (const char *[]){folder}, 1, &dataset));
    open_own(&run, dataset, &(run_options){.workers = 2});
    while (next_batch(&run) == SLUICE_OK) {
        for (uint32_t row = 0; row < valid_rows(&run); row++, rows++) {
            T_EQ(memcmp(column_row(&run, "image", row), column_row(&run, "b", row), 16 * 16 * 3),
                 0);
            T_EQ(*(const int32_t *)column_row(&run, "label", row),
                 *(const int32_t *)column_row(&run, "y", row));
        }
        done_with_batch(&run);
    }
    T_EQ(rows, 20);
    close_run(&run);
}

/* ---- sources of the program ------------------------------------------------------------------ */

static sluice_status begin_worker(void *user, void **worker_out)
{
    *worker_out = user;
    atomic_fetch_add(&((custom_arrays *)user)->begun, 1);
    return SLUICE_OK;
}

static void end_worker(void *worker, void *user)
{
    atomic_fetch_add(&((custom_arrays *)user)->strays, worker != user);
    atomic_fetch_add(&((custom_arrays *)user)->ended, 1);
}

static sluice_status read_with_worker(sluice_sample *sample, uint64_t index, void *user)
{
    atomic_fetch_add(&((custom_arrays *)user)->strays, sluice_sample_worker(sample) != user);
    ((custom_arrays *)user)->random[index] = sluice_sample_random(sample, 0);
    return custom_read_arrays(sample, index, user);
}

static void close_source(void *user)
{
    atomic_fetch_add(&((custom_arrays *)user)->closed, 1);
}

static sluice_dataset *own_part(custom_arrays *o, bool renamed)
{
    sluice_source source = custom_arrays_source(o);
    sluice_dataset *dataset = NULL;

    source.begin = begin_worker;
    source.end = end_worker;
    source.close = close_source;
    source.read = read_with_worker;
    T_OK(sluice_dataset_source(&source, &dataset));
    if (renamed) {
        T_OK(sluice_dataset_add(dataset, "rename points p | rename number n"));
    }
    return dataset;
}

/* Each worker has a state for each part, freed with the worker; draws differ between parts. */
static void sources_of_the_program_keep_their_workers(void)
{
    for (int kind = 0; kind < 3; kind++) {
        custom_arrays o[2] = {{.lends = false}, {.lends = false}};
        sluice_dataset *parts[2] = {own_part(&o[0], false), own_part(&o[1], kind == 2)};
        sluice_dataset *dataset = NULL;
        int same = 0;

        if (kind == 0) {
            T_OK(sluice_dataset_concat(parts, 2, &dataset));
        } else if (kind == 1) {
            T_OK(sluice_dataset_mix(parts, NULL, 0, 2, &dataset));
        } else {
            T_OK(sluice_dataset_zip(parts, 2, &dataset));
        }
        T_OK(sluice_dataset_add(dataset, "shuffle | batch 4"));
        free(record(dataset, &(run_options){.workers = 3}).bytes);
        sluice_dataset_destroy(dataset);
        for (int k = 0; k < 2; k++) {
            T_TRUE(atomic_load(&o[k].begun) >= 1 && atomic_load(&o[k].begun) <= 3);
            T_EQ(atomic_load(&o[k].ended), atomic_load(&o[k].begun));
            T_EQ(atomic_load(&o[k].strays), 0);
            T_EQ(atomic_load(&o[k].closed), 1);
        }
        for (int i = 0; i < CUSTOM_SAMPLES; i++) {
            same += o[0].random[i] == o[1].random[i];
        }
        T_EQ(same, 0);
    }
}

/* ---- names, classes, errors ------------------------------------------------------------------ */

static void names_begin_with_the_number_of_the_part(void)
{
    sluice_dataset *dataset = parsed("concat (synthetic 3) (mix (synthetic 2) (synthetic 4)) (zip "
                                     "(synthetic 9 | skip 4)) | batch 1");

    T_OK(dataset_open(dataset));
    T_STR(name_of(dataset, 0), "1/synthetic/0");
    T_STR(name_of(dataset, 5), "2/2/synthetic/0");
    T_STR(name_of(dataset, 9), "3/synthetic/4");
    sluice_dataset_destroy(dataset);
}

static void labels_have_the_names_of_the_parts(void)
{
    char text[900];
    char folder[400];
    sluice_dataset *dataset = NULL;
    char *name = NULL;

    snprintf(folder, sizeof(folder), "%s", t_folder());
    write_files(folder);
    snprintf(text, sizeof(text),
             "concat (concat (image_folder %s jpg)) (zip (image_folder %s jpg)) | decode | resize "
             "8,8 | batch 4",
             folder, folder);
    dataset = parsed(text);
    T_OK(sluice_dataset_class_name(dataset, 0, &name));
    T_TRUE(name[0] != '\0');
    sluice_string_free(name);
    T_STATUS(sluice_dataset_class_name(dataset, 99, &name), SLUICE_E_INVALID);
    sluice_dataset_destroy(dataset);
}

/* The error of a bad sample names the part: for zip in its text, for concat in the sample's name.
 */
static void a_bad_sample_is_named_with_its_part(void)
{
    custom_arrays o[2] = {{.lends = false}, {.fault = FAILS}};

    for (int kind = 0; kind < 2; kind++) {
        sluice_dataset *parts[2] = {own_part(&o[0], false), own_part(&o[1], kind == 1)};
        sluice_dataset *dataset = NULL;
        tape got;

        T_OK(kind == 0 ? sluice_dataset_concat(parts, 2, &dataset)
                       : sluice_dataset_zip(parts, 2, &dataset));
        T_OK(sluice_dataset_add(dataset, "batch 4"));
        got = record(dataset, &(run_options){.workers = 2});
        T_TRUE(got.end < 0);
        T_CONTAINS(got.error, kind == 0 ? "2/my_arrays/7" : "zip: part 2: ");
        free(got.bytes);
        got = record(dataset, &(run_options){.settings = {.on_error = SLI_ON_ERROR_ZERO}});
        T_EQ(got.end, SLUICE_END_OF_DATA);
        free(got.bytes);
        sluice_dataset_destroy(dataset);
    }
}

/* Tokens are transferred to the device in the stored type if all parts store them equally. */
static void windows_of_tokens_pass_through(void)
{
    const sli_run_settings settings = {.world = 1, .prefer_device = true};
    char folder[400];

    snprintf(folder, sizeof(folder), "%s", t_folder());
    write_files(folder);
    for (int other = 0; other < 2; other++) {
        sluice_dataset *dataset;
        sli_plan *plan;

        dataset = parsedf("mix (tokens %s/t_0.bin 8) (tokens %s/t_%d.bin 8) | batch 4", folder,
                          folder, other + 1);
        plan = open_plan(dataset, &settings);
        T_EQ(plan->device_widens, other == 0); /* the second file has tokens of 4 bytes */
        close_plan(plan, dataset);
    }
}

/* Of a part without cache=drop the pages stay in the page cache. */
static void only_a_part_that_drops_pages_loses_them(void)
{
    const char *folder = t_folder();
    static const char *const name = "D";
    sluice_dataset *dataset = NULL;
    const source_ops *source;

    write_files(folder);
    T_OK(sluice_dataset_parse_args(
        "concat (image_folder ${D} jpg cache=drop) (image_folder ${D} jpg) | decode | resize 8,8 | "
        "batch 4",
        &name, &folder, 1, &dataset));
    T_OK(dataset_open(dataset));
    source = dataset_source(dataset);
    T_TRUE(source->drops(dataset->source));
    for (uint64_t i = 0; i < 40; i++) {
        sample_location location;

        memset(&location, 0xFF, sizeof(location));
        T_TRUE(source->locate(dataset->source, i, &location));
        T_EQ(location.keeps, i >= 20);
    }
    sluice_dataset_destroy(dataset);
}

const t_test group_runs_tests[] = {
    T_TEST(batches_do_not_depend_on_workers_or_devices),
    T_TEST(a_part_gives_what_its_source_gives),
    T_TEST(parts_of_several_sources_do_not_mix_up_their_bytes),
    T_TEST(images_of_a_zip_have_the_same_geometry),
    T_TEST(sources_of_the_program_keep_their_workers),
    T_TEST(names_begin_with_the_number_of_the_part),
    T_TEST(labels_have_the_names_of_the_parts),
    T_TEST(a_bad_sample_is_named_with_its_part),
    T_TEST(windows_of_tokens_pass_through),
    T_TEST(only_a_part_that_drops_pages_loses_them),
    T_END,
};
