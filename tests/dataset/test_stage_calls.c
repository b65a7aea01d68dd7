/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Each stage of the table by its call and as text: the same description, and batches of the same
 * bytes. A stage without a case here fails, and so does an argument that no case sets.
 */
#include <stdlib.h>

#include <sluice/arrays.h>
#include <sluice/transforms.h>

#include "dataset_kit.h"
#include "dataset_state.h"
#include "engine_kit.h"
#include "npy_kit.h"
#include "stage_table.h"
#include "tar_kit.h"
#include "testing.h"

/* ---- the calls ------------------------------------------------------------------------------- */

static sluice_status begin_image_folder(const char *folder, sluice_dataset **dataset_out)
{
    char index[500];
    sluice_image_folder_config config;

    sluice_image_folder_config_init(&config);
    snprintf(index, sizeof(index), "%s/index", folder);
    config.extensions = "jpg";
    config.index = index;
    config.cache = "drop";
    return sluice_dataset_image_folder(folder, &config, dataset_out);
}

static sluice_status begin_webdataset(const char *folder, sluice_dataset **dataset_out)
{
    char shards[500];
    sluice_webdataset_config config;

    sluice_webdataset_config_init(&config);
    snprintf(shards, sizeof(shards), "%s/x.tar", folder);
    config.image = "ppm";
    config.label = "class";
    config.index = "none";
    config.cache = "drop";
    config.access = "stream";
    config.max_sample = 1 << 20;
    return sluice_dataset_webdataset(shards, &config, dataset_out);
}

static sluice_status begin_cifar10(const char *folder, sluice_dataset **dataset_out)
{
    return sluice_dataset_cifar10(folder, "test", dataset_out);
}

static sluice_status begin_image_list(const char *folder, sluice_dataset **dataset_out)
{
    char list[500];

    snprintf(list, sizeof(list), "%s/x.csv", folder);
    return sluice_dataset_image_list(list, folder, dataset_out);
}

static sluice_status begin_npy(const char *folder, sluice_dataset **dataset_out)
{
    char files[500];

    snprintf(files, sizeof(files), "%s/x.npy", folder);
    return sluice_dataset_npy(files, "y", dataset_out);
}

static sluice_status begin_synthetic(const char *folder, sluice_dataset **dataset_out)
{
    (void)folder;
    return sluice_dataset_synthetic(12, 6, 5, 1, 3, dataset_out);
}

static sluice_status call_shuffle(sluice_dataset *d)
{
    return sluice_dataset_shuffle(d, 5, 7);
}

static sluice_status call_shard(sluice_dataset *d)
{
    return sluice_dataset_shard(d, 2, 3);
}

static sluice_status call_split(sluice_dataset *d)
{
    return sluice_dataset_split(d, "val", 0.25, 9, 0.5);
}

static sluice_status call_take(sluice_dataset *d)
{
    return sluice_dataset_take(d, 7);
}

static sluice_status call_skip(sluice_dataset *d)
{
    return sluice_dataset_skip(d, 90);
}

static sluice_status call_repeat(sluice_dataset *d)
{
    return sluice_dataset_repeat(d, 2);
}

static sluice_status call_decode(sluice_dataset *d)
{
    sluice_decode_config config;

    sluice_decode_config_init(&config);
    config.mode = "gray";
    config.max_pixels = 1000000;
    config.fast_scale = true;
    return sluice_dataset_decode(d, &config);
}

static sluice_status call_resize(sluice_dataset *d)
{
    return sluice_dataset_resize(d, 9, 7, "bicubic", false);
}

static sluice_status call_center_crop(sluice_dataset *d)
{
    return sluice_dataset_center_crop(d, 9, 7);
}

static sluice_status call_random_crop(sluice_dataset *d)
{
    return sluice_dataset_random_crop(d, 9, 7, 2);
}

static sluice_status call_random_resized_crop(sluice_dataset *d)
{
    sluice_random_resized_crop_config config;

    sluice_random_resized_crop_config_init(&config);
    config.scale[0] = 0.1;
    config.scale[1] = 0.5;
    config.ratio[0] = 0.5;
    config.ratio[1] = 2;
    config.filter = "nearest";
    config.no_antialias = true;
    return sluice_dataset_random_resized_crop(d, 9, 7, &config);
}

static sluice_status call_random_horizontal_flip(sluice_dataset *d)
{
    const sluice_status st = sluice_dataset_random_horizontal_flip(d, 0.75);

    return st == SLUICE_OK ? sluice_dataset_offload(d, "host") : st;
}

static sluice_status call_normalize(sluice_dataset *d)
{
    static const double mean[] = {1, 2, 3};
    static const double std[] = {40, 50, 60};
    const sluice_status st = sluice_dataset_normalize(d, mean, std, 3, 255, SLUICE_F16);

    return st == SLUICE_OK ? sluice_dataset_offload(d, "device") : st;
}

static sluice_status call_to_dtype(sluice_dataset *d)
{
    const sluice_status st = sluice_dataset_to_dtype(d, SLUICE_BF16, true);

    return st == SLUICE_OK ? sluice_dataset_offload(d, "device") : st;
}

static sluice_status call_to_chw(sluice_dataset *d)
{
    const sluice_status st = sluice_dataset_to_chw(d);

    return st == SLUICE_OK ? sluice_dataset_offload(d, "device") : st;
}

static sluice_status call_batch(sluice_dataset *d)
{
    return sluice_dataset_batch(d, 7, true);
}

/* ---- the cases ------------------------------------------------------------------------------- */

#define SOURCE "synthetic 100 24,20,3 7"
#define JPEGS  "image_folder ${FOLDER} extensions=jpg"

static const struct {
    const char *before; /* NULL: the stage is the source */
    const char *text;   /* of the stage, with all arguments that it can have */
    sluice_status (*call)(sluice_dataset *dataset);
    sluice_status (*begin)(const char *folder, sluice_dataset **dataset_out);
    const char *after; /* NULL: nothing */
} cases[] = {
    {NULL, "image_folder ${FOLDER} jpg index=${FOLDER}/index cache=drop", NULL, begin_image_folder,
     "decode | resize 8,8 | batch 4"},
    {NULL,
     "webdataset ${FOLDER}/x.tar image=ppm label=class index=none cache=drop access=stream "
     "max_sample=1M",
     NULL, begin_webdataset, "decode | resize 8,8 | batch 4"},
    {NULL, "cifar10 ${FOLDER} test", NULL, begin_cifar10, "batch 4"},
    {NULL, "image_list ${FOLDER}/x.csv root=${FOLDER}", NULL, begin_image_list,
     "decode | resize 8,8 | batch 4"},
    {NULL, "npy ${FOLDER}/x.npy names=y", NULL, begin_npy, "batch 4"},
    {NULL, "synthetic samples=12 shape=6,5,1 classes=3", NULL, begin_synthetic, "batch 4"},
    {SOURCE, "shuffle seed=5 buffer=7", call_shuffle, NULL, "batch 4"},
    {SOURCE, "shard 2 3", call_shard, NULL, "batch 4"},
    {SOURCE, "shard none", sluice_dataset_shard_none, NULL, "batch 4"},
    {SOURCE, "split val 0.25 seed=9 test=0.5", call_split, NULL, "batch 4"},
    {SOURCE, "take 7", call_take, NULL, "batch 4"},
    {SOURCE, "skip 90", call_skip, NULL, "batch 4"},
    {SOURCE " | shuffle", "repeat 2", call_repeat, NULL, "batch 4"},
    {JPEGS, "decode gray max_pixels=1000000 fast_scale=true", call_decode, NULL,
     "resize 8,8 | batch 4"},
    {SOURCE, "resize 9,7 filter=bicubic antialias=false", call_resize, NULL, "batch 4"},
    {SOURCE, "center_crop 9,7", call_center_crop, NULL, "batch 4"},
    {SOURCE, "random_crop 9,7 padding=2", call_random_crop, NULL, "batch 4"},
    {SOURCE, "random_resized_crop 9,7 scale=0.1,0.5 ratio=0.5,2 filter=nearest antialias=false",
     call_random_resized_crop, NULL, "batch 4"},
    {SOURCE, "random_horizontal_flip 0.75 offload=host", call_random_horizontal_flip, NULL,
     "batch 4"},
    {SOURCE, "normalize 1,2,3 40,50,60 range=255 dtype=f16 offload=device", call_normalize, NULL,
     "batch 4"},
    {SOURCE, "to_dtype bf16 scale=true offload=device", call_to_dtype, NULL, "batch 4"},
    {SOURCE, "to_chw offload=device", call_to_chw, NULL, "batch 4"},
    {SOURCE, "batch 7 drop_remainder=true", call_batch, NULL, NULL},
};
enum { CASES = sizeof(cases) / sizeof(cases[0]) };

/* Files of every source. */
static void write_sources(const char *folder)
{
    tar_maker tar = {0};
    uint8_t record[3073];

    sluice_dataset_destroy(jpeg_dataset(folder, "decode"));
    for (int i = 0; i < 6; i++) {
        char name[40];
        char ppm[60];

        snprintf(name, sizeof(name), "%d.ppm", i);
        snprintf(ppm, sizeof(ppm), "P6 3 3 255\n%027d", i * 12345);
        tar_add_text(&tar, name, ppm);
        snprintf(name, sizeof(name), "%d.class", i);
        tar_add_text(&tar, name, i % 2 == 0 ? "1" : "2");
    }
    tar_write(&tar, t_path(folder, "x.tar"));
    tar_free(&tar);
    for (size_t i = 0; i < sizeof(record); i++) {
        record[i] = (uint8_t)(i % 10);
    }
    t_write_file(t_path(folder, "test_batch.bin"), record, sizeof(record));
    t_write_file(t_path(folder, "x.ppm"), "P6 1 1 255\nabc", 14);
    t_write_file(t_path(folder, "x.csv"), "x.ppm,3\nx.ppm,4\n", 16);
    npy_write(folder, "x.npy", "|u1", "(100, 5)", record, 500);
}

static sluice_dataset *parse_case(int i, const char *folder)
{
    static const char *const name = "FOLDER";
    char text[600];
    sluice_dataset *dataset = NULL;

    snprintf(text, sizeof(text), "%s%s%s", cases[i].before != NULL ? cases[i].before : "",
             cases[i].before != NULL ? " | " : "", cases[i].text);
    T_OK(sluice_dataset_parse_args(text, &name, &folder, strstr(text, "${FOLDER}") != NULL,
                                   &dataset));
    return dataset;
}

static sluice_dataset *call_case(int i, const char *folder)
{
    static const char *const name = "FOLDER";
    const char *before = cases[i].before;
    sluice_dataset *dataset = NULL;

    if (cases[i].begin != NULL) {
        T_OK(cases[i].begin(folder, &dataset));
        return dataset;
    }
    T_OK(sluice_dataset_parse_args(before, &name, &folder, strstr(before, "${FOLDER}") != NULL,
                                   &dataset));
    T_OK(cases[i].call(dataset));
    return dataset;
}

/* ---- the checks ------------------------------------------------------------------------------ */

static void check_same_batches(sluice_dataset *text, sluice_dataset *call, int i)
{
    const run_options options = {.workers = 2, .settings = {.seed = 3}};
    tape want;
    tape got;

    if (cases[i].after != NULL) {
        T_OK(sluice_dataset_add(text, cases[i].after));
        T_OK(sluice_dataset_add(call, cases[i].after));
    }
    want = record(text, &options);
    got = record(call, &options);
    T_TRUE(want.batches > 0 && want.size > 0);
    T_EQ(want.end, SLUICE_END_OF_DATA);
    check_equal_tapes(&got, &want, cases[i].text);
    free(want.bytes);
    free(got.bytes);
}

static void calls_and_texts_give_the_same(void)
{
    char folder[400];

    snprintf(folder, sizeof(folder), "%s", t_folder());
    write_sources(folder);
    for (int i = 0; i < CASES; i++) {
        sluice_dataset *text = parse_case(i, folder);
        sluice_dataset *call = call_case(i, folder);

        T_STR(described(call), described(text));
        check_same_batches(text, call, i);
        sluice_dataset_destroy(text);
        sluice_dataset_destroy(call);
    }
}

/* Bit i: the argument i of the stage is set to another value than its default. */
static uint64_t arguments_set(const dataset_stage *stage)
{
    dataset_stage plain = {.def = stage->def};
    uint64_t set = 0;

    T_OK(stage_args_default(stage->def, plain.args.bytes));
    for (uint32_t i = 0; i < stage->def->param_count; i++) {
        const stage_param *param = &stage->def->params[i];
        sli_text is = {0};
        sli_text was = {0};

        if (param->default_text == NULL) {
            set |= UINT64_C(1) << i;
            continue;
        }
        stage_arg_print(param, stage->args.bytes, &is);
        stage_arg_print(param, plain.args.bytes, &was);
        sli_text_add(&is, "%s", "");
        sli_text_add(&was, "%s", "");
        if (strcmp(is.data, was.data) != 0) {
            set |= UINT64_C(1) << i;
        }
        sli_text_free(&is);
        sli_text_free(&was);
    }
    stage_args_free(stage->def, plain.args.bytes);
    return set;
}

static void every_stage_and_every_argument_has_a_call(void)
{
    char folder[400];

    snprintf(folder, sizeof(folder), "%s", t_folder());
    write_sources(folder); /* some sources are opened when they are added */
    for (size_t k = 0; stage_table[k] != NULL; k++) {
        const stage_def *def = stage_table[k];
        uint64_t set = 0;
        bool found = false;

        for (int i = 0; i < CASES; i++) {
            sluice_dataset *dataset = call_case(i, folder);
            const dataset_stage *last = &dataset->stages[dataset->stage_count - 1];

            if (last->def == def) {
                found = true;
                set |= arguments_set(last);
            }
            sluice_dataset_destroy(dataset);
        }
        if (!found) {
            T_FAIL_("the stage %s has no call in this test", def->name);
        }
        for (uint32_t i = 0; i < def->param_count; i++) {
            if ((set >> i & 1) == 0) {
                T_FAIL_("no call sets %s of %s", def->params[i].name, def->name);
            }
        }
    }
}

const t_test stage_calls_tests[] = {
    T_TEST(calls_and_texts_give_the_same),
    T_TEST(every_stage_and_every_argument_has_a_call),
    T_END,
};
