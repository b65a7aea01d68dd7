/* SPDX-License-Identifier: Apache-2.0 */
/* Arguments without effect: errors where they never have one, else said by explain. */
#include <stdlib.h>
#include <string.h>

#include <sluice/dataset.h>

#include "digest_int.h"
#include "engine_kit.h"
#include "geometry_ops.h"
#include "jpeg_maker.h"
#include "list_kit.h"
#include "stage_table.h"
#include "tensor_int.h"
#include "testing.h"

static const char synthetic[] = "synthetic samples=20 shape=8,8,3 | ";

static void arguments_that_contradict_others_are_errors(void)
{
    static const struct {
        const char *stages;
        const char *says;
    } cases[] = {
        {"split train 0.5 test=0.1", "split: test=0.1 has no effect: test= is the share that"},
        {"split test 0.5 test=0.1", "split: test=0.1 has no effect"},
        {"shard none 5", "shard: world=5 has no effect: with rank=none every rank gets every"},
        {"gaussian_blur 1 sigma=3", "gaussian_blur: sigma=3,3 has no effect"},
        {"rand_augment num_ops=0 magnitude=3", "rand_augment: magnitude=3 has no effect"},
    };

    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        sluice_dataset *dataset = NULL;
        char text[200];

        snprintf(text, sizeof(text), "%s%s | batch 2", synthetic, cases[i].stages);
        T_STATUS(sluice_dataset_parse(text, &dataset), SLUICE_E_INVALID);
        T_CONTAINS(sluice_last_error(), cases[i].says);
    }
}

static void arguments_without_effect_here_are_said(void)
{
    static const struct {
        const char *stages;
        const char *says; /* NULL: nothing */
    } cases[] = {
        {"shuffle buffer=17", "without effect: shuffle buffer=17 (the source is read by index"},
        {"resize 4 filter=nearest antialias=false", "without effect: resize antialias=false ("},
        {"random_resize 4,5 filter=nearest antialias=false | resize 9,9",
         "without effect: random_resize antialias=false ("},
        {"scale_jitter 9 filter=nearest antialias=false | resize 9,9",
         "without effect: scale_jitter antialias=false ("},
        {"random_shortest_size 4,5 filter=nearest antialias=false | resize 9,9",
         "without effect: random_shortest_size antialias=false ("},
        {"pad_image 2 mode=edge fill=7", "without effect: pad_image fill=7 (this mode continues"},
        {"random_crop 4 fill=7",
         "without effect: random_crop fill=7 (there is no padding; fill is"},
        {"random_crop 4 padding=0,1 fill=7", NULL},
        {"random_crop 4 pad_if_needed=true fill=7", NULL},
        {"rotate 10 mask_fill=3", "without effect: rotate mask_fill=3 (there are no masks)"},
        {"random_invert p=0", "without effect: random_invert p=0 (the stage is never applied)"},
        {"cache 1M shared=true", "without effect: cache shared=true (there is one rank)"},
        {"shuffle buffer=17 | random_invert p=0", "), random_invert p=0 ("},
        {"device", "without effect: device (no stage of the image follows)"},
        {"device | random_invert", NULL},
        {"shuffle buffer=1000", NULL},
        {"split val 0.5 test=0.1 | shuffle | resize 4 filter=nearest | pad_image 1 fill=3", NULL},
    };

    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        sluice_dataset *dataset = NULL;
        char text[200];
        char *explained = NULL;

        snprintf(text, sizeof(text), "%s%s | batch 2", synthetic, cases[i].stages);
        T_OK(sluice_dataset_parse(text, &dataset));
        T_OK(sluice_dataset_explain(dataset, &explained));
        if (cases[i].says != NULL) {
            T_CONTAINS(explained, cases[i].says);
        } else {
            T_TRUE(strstr(explained, "without effect") == NULL);
        }
        sluice_string_free(explained);
        sluice_dataset_destroy(dataset);
    }
}

/* Writes a JPEG file that a decoder scales and an index shortens; returns its folder. */
static const char *large_jpeg_folder(void)
{
    const char *folder = t_folder();
    const jpeg_recipe recipe = {
        .width = 803, .height = 601, .sampling = {0x22}, .quality = 95, .smooth = true};
    size_t size;
    uint8_t *bytes = jpeg_make(&recipe, &size);

    t_write_file(t_path(folder, "a/1.jpg"), bytes, size);
    free(bytes);
    return folder;
}

/* Checks that explain says this, and no more, of a pipeline. says "": nothing. */
static void check_explained(sluice_dataset *dataset, const char *stages, const char *says)
{
    const char *found;
    char *explained = NULL;

    T_OK(sluice_dataset_explain(dataset, &explained));
    found = strstr(explained, "without effect: ");
    if (says[0] == '\0' ? found != NULL : found == NULL || strstr(found, says) == NULL) {
        T_FAIL_("%s: explain must say '%s', and says '%s'", stages, says,
                found != NULL ? found : "");
    }
    sluice_string_free(explained);
}

/* The first batch of one image, with what the decoder counted. */
static uint64_t first_batch(const char *folder, const char *decode, const char *stages,
                            sli_index_counts *counts_out, const char *says)
{
    sluice_dataset *dataset = NULL;
    engine_run run;
    char text[900];
    uint64_t digest;
    size_t bytes = 0;

    snprintf(text, sizeof(text), "image_folder %s | decode %s | %s | batch 1", folder, decode,
             stages);
    T_OK(sluice_dataset_parse(text, &dataset));
    check_explained(dataset, stages, says);
    open_own(&run, dataset, &(run_options){.workers = 1, .settings = {.seed = 3}});
    T_OK(next_batch(&run));
    T_TRUE(sli_column_bytes(&run.plan->wire[sli_layout_find(&run.layout, "image")], &bytes));
    digest = sli_digest_bytes(column_row(&run, "image", 0), bytes);
    *counts_out = (sli_index_counts){0};
    sli_engine_indexes(run.engine, counts_out);
    close_run(&run);
    return digest;
}

static const char full_size[] = "decode fast_scale=true (no resize is fused with decoding, so";

/* Stages after decode, and what is said of its fast_scale. */
static const struct {
    const char *stages;
    const char *says; /* "": nothing */
} scaled[] = {
    {"center_crop 96", full_size},
    {"random_invert | pad_image 3", full_size},
    {"resize 64,64", ""},
    {"random_resize 60,70 | resize 50,50", ""},
    {"scale_jitter 80 | resize 50,50", ""},
    {"random_shortest_size 60,70 | resize 50,50", ""},
    {"letterbox 64", ""},
    {"center_crop 400 | resize 64,64", ""},
    {"pad_image 9 | resize 64,64", ""},
    {"pad_image 9 | pad_image 5 | resize 64,64", ""},
    {"random_resized_crop 64", ""},
    {"resize 64,64 | color_jitter 0.4 | five_crop 20", ""},
    {"resize 300 | rotate 20 expand=true | resize 64,64", ""},
    {"resize 128,128 | cache 1M | resize 64,64", ""},
    {"mosaic 64", ""},
    {"random_horizontal_flip 0.01 | mosaic 64", ""},
    {"random_horizontal_flip 1 | mosaic 64", full_size},
    {"random_invert 1 | resize 64,64", full_size},
    {"random_invert 0.01 | resize 64,64", ""},
    {"random_solarize 100 0.55 | resize 64,64", ""},
    {"rotate 0.5 | resize 64,64", full_size}, /* a number below 1 that is not p */
    {"random_invert 0.3", full_size},
    {"random_horizontal_flip 1 | resize 64,64", full_size},
    {"random_horizontal_flip 0.01 | random_vertical_flip 0.01 | resize 64,64", ""},
    {"random_choice 999:(resize 64,64) 1:(center_crop 64)", ""},
    {"random_choice (random_invert 1 | resize 64,64) (center_crop 64)", full_size},
    {"random_apply 0.01 (center_crop 400) | resize 64,64", ""},
    {"random_apply 1 (center_crop 400) | resize 64,64", full_size},
    {"rotate 20 | resize 64,64", full_size},
    {"rotate 20 expand=true | resize 64,64", full_size},
    {"random_rotation 20 expand=true | resize 64,64", full_size},
    {"center_crop 400 | random_grayscale 0.3 | resize 64,64", full_size},
    {"views 2 | resize 64,64", full_size},
    {"five_crop 400 | resize 64,64", full_size},
    {"ten_crop 400 | resize 64,64", full_size},
    {"pad_image 9 mode=edge | resize 64,64", full_size},
    {"pad_image 9 mode=reflect | random_resized_crop 64", full_size},
    {"pad_image 9 fill=3 | pad_image 9 fill=4 | resize 64,64", full_size},
    {"center_crop 400 | mosaic 64", full_size},
};

static void fast_scale_changes_pixels_or_is_said(void)
{
    const char *folder = large_jpeg_folder();
    sli_index_counts counts;

    for (size_t i = 0; i < sizeof(scaled) / sizeof(scaled[0]); i++) {
        const char *stages = scaled[i].stages;

        if ((first_batch(folder, "", stages, &counts, "") !=
             first_batch(folder, "fast_scale=true", stages, &counts, scaled[i].says)) !=
            (scaled[i].says[0] == '\0')) {
            T_FAIL_("%s: fast_scale must change pixels only if it is not said", stages);
        }
    }
}

/* Stages after decode, and whether an index shortens the file. */
static const struct {
    const char *stages;
    bool serves;
} indexed[] = {
    {"center_crop 96", true},
    {"random_crop 96 padding=4", true},
    {"random_resized_crop 64", true},
    {"resize 256 | center_crop 224", true},
    {"resize 256 | pad_image 3 | random_horizontal_flip", false},
    {"center_crop 500 | random_invert | resize 64,64", true},
    {"center_crop 500 | cache 1M | resize 64,64", true},
    {"pad_image 3 | center_crop 96", true},
    {"mosaic 64 scale=1,1", true},
    {"resize 64,64", false},
    {"letterbox 64", false},
    {"random_invert 1 | center_crop 96", false},
    {"random_invert 0.01 | center_crop 96", true},
    {"random_horizontal_flip 1 | center_crop 96", false},
    {"random_choice 999:(center_crop 96) 1:(resize 96,96)", true},
    {"elastic | random_resized_crop 64", false},
    {"rotate 20 expand=true | center_crop 96", false},
    {"views 2 | random_crop 96", false},
    {"five_crop 96", false},
    {"resize 256 | resize 200 | center_crop 96", false},
    {"resize 256 | random_invert | center_crop 224", false},
    {"resize 256 | cache 1M | center_crop 224", false},
    {"resize 256 | pad_image 4 | center_crop 224", false},
    {"pad_image 3 mode=edge | center_crop 96", false},
    {"resize 500 | mosaic 64", false},
};

static void an_index_shortens_files_or_is_said(void)
{
    const char *folder = large_jpeg_folder();
    char text[900];

    for (size_t i = 0; i < sizeof(indexed) / sizeof(indexed[0]); i++) {
        const char *stages = indexed[i].stages;
        sluice_dataset *dataset = NULL;
        sli_index_counts counts;

        (void)first_batch(folder, "", stages, &counts, "");
        T_EQ(counts.lacking, 1);
        if ((counts.needed < UINT64_C(803) * 601) != indexed[i].serves) {
            T_FAIL_("%s: %llu pixels are needed", stages, (unsigned long long)counts.needed);
        }
        snprintf(text, sizeof(text), "image_folder %s index=%s/index | decode | %s | batch 1",
                 folder, folder, stages);
        T_OK(sluice_dataset_parse(text, &dataset));
        check_explained(dataset, stages, indexed[i].serves ? "" : "/index (no crop is fused with");
        sluice_dataset_destroy(dataset);
    }
}

/* The number of arguments that a stage requires. */
static int required_of(const stage_def *def)
{
    int required = 0;

    for (uint32_t i = 0; i < def->param_count; i++) {
        required += def->params[i].default_text == NULL;
    }
    return required;
}

/* True if a stage has a probability, and no stages in parentheses. */
static bool has_probability(const stage_def *def)
{
    bool has = false;

    for (uint32_t i = 0; i < def->param_count; i++) {
        if (def->params[i].type == PARAM_STAGES) {
            return false;
        }
        has = has || strcmp(def->params[i].name, "p") == 0;
    }
    return has;
}

static bool works_on_images(const stage_def *def)
{
    return (def->geometry == NULL || def->geometry->draw_of_boxes == NULL) &&
           (def->kind == STAGE_GEOMETRY || def->kind == STAGE_COLOR ||
            def->kind == STAGE_CONVERSION);
}

static void check_stage(const char *stage, const char *says)
{
    sluice_dataset *dataset = NULL;
    char text[400];

    snprintf(text, sizeof(text), "synthetic 8 96,128,3 | %s | batch 2", stage);
    T_OK(sluice_dataset_parse(text, &dataset));
    check_explained(dataset, stage, says);
    sluice_dataset_destroy(dataset);
}

/* Of all stages in the table: the examples have no arguments without effect, and p=0 is one. */
static void each_stage_that_is_never_applied_is_said(void)
{
    int found = 0;

    for (size_t i = 0; stage_table[i] != NULL; i++) {
        const stage_def *def = stage_table[i];
        const char *example = def->example != NULL ? def->example : def->name;
        const size_t name = strlen(def->name) + 1;
        char never[100];
        char says[100];

        if (!works_on_images(def)) {
            continue;
        }
        check_stage(example, "");
        if (has_probability(def) && required_of(def) < 2) {
            snprintf(never, sizeof(never), "%s %.*s p=0", def->name,
                     required_of(def) > 0 ? (int)strcspn(example + name, " ") : 0, example + name);
            snprintf(says, sizeof(says), "%s p=0 (the stage is never applied)", def->name);
            check_stage(never, says);
            found++;
        }
    }
    T_TRUE(found > 12);
}

const t_test idle_arguments_tests[] = {
    T_TEST(arguments_that_contradict_others_are_errors),
    T_TEST(arguments_without_effect_here_are_said),
    T_TEST(each_stage_that_is_never_applied_is_said),
    T_TEST(fast_scale_changes_pixels_or_is_said),
    T_TEST(an_index_shortens_files_or_is_said),
    T_END,
};
