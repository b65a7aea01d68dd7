/* SPDX-License-Identifier: Apache-2.0 */
/* Datasets with the public headers and the shared library alone: of texts, of arrays. */
#include <stdlib.h>

#include <sluice/sluice.h>

#include "testing.h"

static void add_colors_and_warps(sluice_dataset *dataset)
{
    T_OK(sluice_dataset_add(dataset, "color_jitter 0.4 0.3 0.2 0.1 | random_grayscale 0.2 | "
                                     "random_invert 0.3 | random_posterize 3 0.4 | "
                                     "random_solarize 128 0.5 | random_autocontrast 0.6 | "
                                     "random_equalize 0.7"));
    T_OK(sluice_dataset_add(dataset, "rotate 10 | random_adjust_sharpness 2 | gaussian_blur 5 | "
                                     "random_erasing | trivial_augment | rand_augment | "
                                     "color_twist | warp_affine 1,0,3,0,1,-2 | elastic | aug_mix"));
    T_OK(sluice_dataset_add(dataset,
                            "random_apply 0.5 (random_invert) | "
                            "random_choice (rotate 3) (random_solarize 200 | gaussian_blur 3) | "
                            "random_order (rotate 3) (random_solarize 200 | gaussian_blur 3)"));
    T_OK(sluice_dataset_add(dataset, "random_rotation 10"));
    T_OK(sluice_dataset_add(dataset, "affine 5 scale=0.9"));
    T_OK(sluice_dataset_add(dataset, "random_affine 10"));
    T_OK(sluice_dataset_add(dataset, "perspective 1,1 22,0 23,19 0,18"));
    T_OK(sluice_dataset_add(dataset, "random_perspective"));
}

/* Stages of images, in an order in which they can stand. */
static sluice_dataset *build_in_parts(void)
{
    sluice_dataset *dataset = NULL;

    T_OK(sluice_dataset_parse("synthetic 1000 40,30,3 7 | split val 0.5 seed=3 test=0.1 | shuffle "
                              "| skip 5 | take 200 | repeat 2 | shard",
                              &dataset));
    T_OK(sluice_dataset_add(dataset, "center_crop 36,28 | cache 1M | random_crop 36,28 padding=2 | "
                                     "resize 20 | random_resized_crop 16,12 scale=0.5,1 | "
                                     "pad_image 1,2,3,4 mode=symmetric"));
    T_OK(sluice_dataset_add(dataset, "rotate 20 expand=true | random_rotation 5 expand=true"));
    T_OK(sluice_dataset_add(dataset, "random_zoom_out | letterbox 20,24 mask_fill=255 | geometry | "
                                     "drop geometry"));
    add_colors_and_warps(dataset);
    T_OK(sluice_dataset_add(
        dataset, "random_horizontal_flip 0.25 | random_vertical_flip 0.25 | "
                 "normalize 0.5,0.4,0.3 0.25,0.2,0.2 | random_erasing 0.1 value=random | "
                 "to_chw offload=host | batch 8 drop_remainder=true"));
    T_OK(sluice_dataset_add(dataset, "mixup 10 0.2 | cutmix 10 1 label"));
    return dataset;
}

static void device_is_a_stage(void)
{
    sluice_dataset *dataset = NULL;
    char *described = NULL;

    T_OK(
        sluice_dataset_parse("synthetic 100 8,8,3 7 | device | random_invert | batch 4", &dataset));
    T_OK(sluice_dataset_describe(dataset, &described));
    T_CONTAINS(described, "| device | random_invert");
    sluice_string_free(described);
    sluice_dataset_destroy(dataset);
}

/* A pipeline makes views once. */
static void views_are_a_dimension_of_the_batch(void)
{
    for (int i = 0; i < 3; i++) {
        sluice_dataset *dataset = NULL;
        sluice_dataset_info info;

        memset(&info, 0, sizeof(info));
        info.struct_size = sizeof(info);
        T_OK(sluice_dataset_parse("synthetic 100 12,8,3 7", &dataset));
        T_OK(sluice_dataset_add(dataset, i == 0   ? "views 2"
                                         : i == 1 ? "five_crop 6"
                                                  : "ten_crop 6 vertical_flip=true"));
        T_OK(sluice_dataset_add(dataset, "batch 4 drop_remainder=true"));
        T_OK(sluice_dataset_inspect(dataset, &info));
        T_EQ(info.columns[0].rank, 4);
        T_EQ(info.columns[0].shape[0], i == 0 ? 2 : 5 * i);
        T_EQ(info.columns[0].shape[1], i == 0 ? 12 : 6);
        sluice_dataset_destroy(dataset);
    }
}

static void a_description_builds_the_same_dataset(void)
{
    sluice_dataset *parts = build_in_parts();
    sluice_dataset *text = NULL;
    char *described = NULL;
    char *again = NULL;

    T_OK(sluice_dataset_describe(parts, &described));
    T_OK(sluice_dataset_parse(described, &text));
    T_OK(sluice_dataset_describe(text, &again));
    T_TRUE(strcmp(described, again) == 0);
    T_CONTAINS(described, "split part=val");
    T_CONTAINS(described, "to_chw offload=host");
    sluice_string_free(described);
    sluice_string_free(again);
    sluice_dataset_destroy(parts);
    sluice_dataset_destroy(text);
    sluice_dataset_destroy(NULL);
}

static void a_dataset_tells_what_it_holds_and_what_will_run(void)
{
    sluice_dataset *dataset = build_in_parts();
    sluice_dataset_info info;
    char *text = NULL;

    memset(&info, 0, sizeof(info));
    T_STATUS(sluice_dataset_inspect(dataset, &info), SLUICE_E_INVALID); /* struct_size is not set */
    info.struct_size = sizeof(info);
    T_OK(sluice_dataset_inspect(dataset, &info));
    T_EQ(info.source_samples, 1000);
    T_EQ(info.samples, 400);
    T_EQ(info.batches, 50);
    T_EQ(info.batch_size, 8);
    T_EQ(info.column_count, 2);
    T_STR(info.columns[0].name, "image");
    T_EQ(info.columns[0].dtype, SLUICE_F32);
    T_EQ(info.columns[0].shape[0], 3);
    T_EQ(info.columns[0].shape[1], 20);
    T_EQ(info.columns[0].shape[2], 24);
    T_STR(info.columns[1].name, "label");
    T_OK(sluice_dataset_explain(dataset, &text));
    T_TRUE(strlen(text) > 0);
    sluice_string_free(text);
    T_OK(sluice_dataset_explain_sample(dataset, 0, 1, 999, &text));
    T_CONTAINS(text, "sample 999 in pass 1: synthetic/999, ");
    sluice_string_free(text);
    T_OK(sluice_dataset_sample_name(dataset, 999, &text));
    T_STR(text, "synthetic/999");
    sluice_string_free(text);
    T_STATUS(sluice_dataset_class_name(dataset, 0, &text), SLUICE_E_UNSUPPORTED);
    T_STATUS(sluice_dataset_add(dataset, "cache 1M shared=true"),
             SLUICE_E_INVALID); /* used already */
    T_STATUS(sluice_dataset_parse_file("/nowhere/train.pipe", &dataset), SLUICE_E_IO);
    sluice_string_free(NULL);
    sluice_dataset_destroy(dataset);
}

static void texts_take_arguments_and_further_stages(void)
{
    static const char *const names[] = {"N"};
    static const char *const values[] = {"7"};
    sluice_dataset *dataset = NULL;
    char *text = NULL;

    T_STATUS(sluice_dataset_parse_file_args("/nowhere/train.pipe", names, values, 1, &dataset),
             SLUICE_E_IO);
    T_OK(sluice_dataset_parse_args("synthetic ${N} 4,4,3 2", names, values, 1, &dataset));
    T_OK(sluice_dataset_add(dataset, "take 3"));
    T_OK(sluice_dataset_describe(dataset, &text));
    T_STR(text, "synthetic samples=7 shape=4,4,3 classes=2 | take n=3");
    sluice_string_free(text);
    sluice_dataset_destroy(dataset);
}

static void a_path_of_data_is_a_dataset(void)
{
    const char *folder = t_folder();
    sluice_dataset *dataset = NULL;
    char *text = NULL;

    t_write_file(t_path(folder, "a table.csv"), "a:f32\n1\n", 8);
    T_OK(sluice_dataset_parse_path(t_path(folder, "a table.csv"), &dataset));
    T_OK(sluice_dataset_describe(dataset, &text));
    T_CONTAINS(text, "image_list file='");
    T_CONTAINS(text, "/a table.csv'");
    sluice_string_free(text);
    sluice_dataset_destroy(dataset);
    T_OK(sluice_dataset_parse_path(folder, &dataset));
    sluice_dataset_destroy(dataset);
    dataset = NULL;
    t_write_file(t_path(folder, "notes"), "x", 1);
    T_STATUS(sluice_dataset_parse_path(t_path(folder, "notes"), &dataset), SLUICE_E_INVALID);
    T_CONTAINS(sluice_last_error(), "no source reads a file of this name: ");
    t_write_file(t_path(folder, "words.bin"), "x", 1);
    T_STATUS(sluice_dataset_parse_path(t_path(folder, "words.bin"), &dataset), SLUICE_E_INVALID);
    T_CONTAINS(sluice_last_error(), "such as \"tokens FILE seq=1024\"");
    T_STATUS(sluice_dataset_parse(t_path(folder, "words.bin"), &dataset), SLUICE_E_INVALID);
    T_CONTAINS(sluice_last_error(), "words.bin seq=1024` reads it");
    T_STATUS(sluice_dataset_parse_path("/no/where", &dataset), SLUICE_E_IO);
    T_STATUS(sluice_dataset_parse_path(NULL, &dataset), SLUICE_E_INVALID);
}

static void texts_take_values(void)
{
    const sluice_value values[] = {{.type = SLUICE_VALUE_UINT, .count = 7},
                                   {.type = SLUICE_VALUE_TEXT, .text = "4,4,3"}};
    sluice_dataset *dataset = NULL;
    char *text = NULL;

    T_OK(sluice_dataset_parse_values("synthetic {} shape={} classes=2", values, 2, &dataset));
    T_OK(sluice_dataset_add_values(dataset, "take {}", values, 1));
    T_OK(sluice_dataset_describe(dataset, &text));
    T_STR(text, "synthetic samples=7 shape=4,4,3 classes=2 | take n=7");
    sluice_string_free(text);
    sluice_dataset_destroy(dataset);
    dataset = NULL;
    T_OK(sluice_dataset_parsef(&dataset, "synthetic %d %s", 7, "4,4,3"));
    T_OK(sluice_dataset_addf(dataset, "take %zu", (size_t)3));
    T_OK(sluice_dataset_describe(dataset, &text));
    T_STR(text, "synthetic samples=7 shape=4,4,3 classes=10 | take n=3");
    sluice_string_free(text);
    sluice_dataset_destroy(dataset);
}

/* The first error is kept: a program may look at the last status alone. */
static void an_error_of_building_is_kept(void)
{
    sluice_dataset *dataset = NULL;
    char *text = NULL;

    T_OK(sluice_dataset_parse("synthetic 10 4,4,3 2", &dataset));
    T_STATUS(sluice_dataset_add(dataset, "random_horizontal_flip 2"), SLUICE_E_INVALID);
    T_STATUS(sluice_dataset_add(dataset, "to_dtype f32 scale=true"), SLUICE_E_INVALID);
    T_STATUS(sluice_dataset_add(dataset, "batch 2"), SLUICE_E_INVALID);
    T_STATUS(sluice_dataset_describe(dataset, &text), SLUICE_E_INVALID);
    T_CONTAINS(sluice_last_error(), "random_horizontal_flip");
    CU_ASSERT_PTR_NULL(text);
    sluice_dataset_destroy(dataset);
}

static void a_text_that_cannot_be_read_is_shown_with_its_place(void)
{
    sluice_dataset *dataset = NULL;

    T_STATUS(sluice_dataset_parse("synthetic | shufle | batch 2", &dataset), SLUICE_E_INVALID);
    CU_ASSERT_PTR_NULL(dataset);
    T_CONTAINS(sluice_last_error(), "nearest is shuffle");
    T_CONTAINS(sluice_last_error(), "synthetic | shufle | batch 2\n                ^");
}

/* Sample 3 twice, then two classes in turns. */
static void samples_are_chosen_by_list_weight_and_class(void)
{
    const char *path = t_path(t_folder(), "numbers.txt");
    sluice_dataset *dataset = NULL;
    uint64_t sample = 9;

    t_write_file(path, "3\n3\n", 4);
    T_OK(sluice_dataset_parsef(
        &dataset, "synthetic 4 1,1,1 2 | subset %s | weights label samples=5 | batch 1", path));
    T_OK(sluice_dataset_get(dataset, 1, 0, 4, NULL, &sample));
    T_EQ(sample, 3);
    sluice_dataset_destroy(dataset);
    T_OK(sluice_dataset_parse("synthetic 4 1,1,1 2 | balance samples=6 | batch 1", &dataset));
    for (uint64_t i = 0; i < 6; i++) {
        T_OK(sluice_dataset_get(dataset, 1, 0, i, NULL, &sample));
        T_EQ(sample % 2, i % 2);
    }
    sluice_dataset_destroy(dataset);
}

static sluice_dataset *numbers(uint64_t samples)
{
    sluice_dataset *dataset = NULL;

    T_OK(sluice_dataset_parsef(&dataset, "synthetic %llu 1,1,1 2", (unsigned long long)samples));
    return dataset;
}

static void check_sample(sluice_dataset *dataset, uint64_t index, uint64_t want)
{
    uint64_t sample = UINT64_MAX;

    T_OK(sluice_dataset_get(dataset, 1, 0, index, NULL, &sample));
    T_EQ(sample, want);
}

static void datasets_are_made_of_others(void)
{
    static const uint64_t weights[] = {2, 1};
    sluice_dataset *parts[2] = {numbers(2), numbers(3)};
    sluice_dataset *dataset = NULL;
    char *name = NULL;

    T_OK(sluice_dataset_concat(parts, 2, &dataset)); /* the parts are the dataset's now */
    T_OK(sluice_dataset_add(dataset, "batch 1"));
    check_sample(dataset, 4, 4);
    T_OK(sluice_dataset_sample_name(dataset, 4, &name));
    T_STR(name, "2/synthetic/2");
    sluice_string_free(name);
    sluice_dataset_destroy(dataset);

    parts[0] = numbers(3);
    parts[1] = numbers(3);
    T_OK(sluice_dataset_mix(parts, weights, 1, 2, &dataset));
    T_OK(sluice_dataset_add(dataset, "batch 1"));
    check_sample(dataset, 0, 0);
    check_sample(dataset, 1, 1);
    check_sample(dataset, 2, 3);
    check_sample(dataset, 3, 2);
    T_STATUS(sluice_dataset_get(dataset, 1, 0, 4, NULL, NULL), SLUICE_E_INVALID);
    sluice_dataset_destroy(dataset);

    parts[0] = numbers(3);
    parts[1] = numbers(3);
    dataset = NULL;
    T_STATUS(sluice_dataset_zip(parts, 2, &dataset), SLUICE_E_INVALID);
    T_CONTAINS(sluice_last_error(), "part 2: there is a column image already");
    CU_ASSERT_PTR_NULL(dataset);
    T_OK(
        sluice_dataset_add(parts[1], "drop image | rename label y")); /* the parts are ours still */
    T_OK(sluice_dataset_zip(parts, 2, &dataset));
    T_OK(sluice_dataset_add(dataset, "batch 1"));
    check_sample(dataset, 2, 2);
    sluice_dataset_destroy(dataset);
}

static void check_first_use_fails(sluice_dataset *dataset, const char *words)
{
    T_OK(sluice_dataset_add(dataset, "batch 2"));
    T_STATUS(sluice_dataset_explain(dataset, &(char *){NULL}), SLUICE_E_IO);
    T_CONTAINS(sluice_last_error(), words);
    sluice_dataset_destroy(dataset);
}

/* Files are opened by the first use. */
static void files_that_are_not_there_are_an_error_of_the_first_use(void)
{
    sluice_dataset *dataset = NULL;

    T_OK(sluice_dataset_parse("image_folder /nonexistent/folder | decode", &dataset));
    check_first_use_fails(dataset, "/nonexistent/folder");
    T_OK(sluice_dataset_parse("cifar10 /nonexistent/cifar test | shard none", &dataset));
    check_first_use_fails(dataset, "/nonexistent/cifar");
    T_OK(sluice_dataset_parse("cifar100 /nonexistent/cifar test", &dataset));
    check_first_use_fails(dataset, "/nonexistent/cifar");
    /* ... but those that only the files' columns describe. */
    T_STATUS(sluice_dataset_parse("mnist /nonexistent/mnist", &dataset), SLUICE_E_IO);
    T_CONTAINS(sluice_last_error(), "/nonexistent/mnist");
    T_OK(sluice_dataset_parse("webdataset /nonexistent/s.tar | decode", &dataset));
    check_first_use_fails(dataset, "/nonexistent/s.tar");
}

static void stages_have_help(void)
{
    char *all = NULL;
    char *one = NULL;

    T_OK(sluice_stage_help(NULL, &all));
    T_OK(sluice_stage_help("random_resized_crop", &one));
    T_CONTAINS(one, "In other libraries: RandomResizedCrop, RandomSizedCrop\n");
    T_CONTAINS(one, "scale=0.08,1");
    T_CONTAINS(one, "\n\n    References: Szegedy"); /* the details, of one stage alone */
    strstr(one, "\n\n    ")[1] = '\0';
    T_TRUE(strstr(all, one) != NULL);
    sluice_string_free(all);
    sluice_string_free(one);
    T_STATUS(sluice_stage_help("krop", &one), SLUICE_E_INVALID);
}

/* Two columns of a program's own: no image, no label. */
static void arrays_are_a_dataset(void)
{
    const float values[3] = {1, 2, 3};
    const int64_t numbers[3] = {1, 2, 3};
    const sluice_array arrays[] = {
        {"value", values, SLUICE_F32, 1, {3}},
        {"number", numbers, SLUICE_I64, 1, {3}},
    };
    sluice_dataset *dataset = NULL;
    float value = 0;
    int64_t number = 0;
    void *columns[] = {&value, &number};

    T_OK(sluice_dataset_memory(arrays, 2, &dataset));
    T_OK(sluice_dataset_add(dataset, "shuffle 1 | batch 2"));
    for (uint64_t i = 0; i < 3; i++) {
        uint64_t sample = 9;

        T_OK(sluice_dataset_get(dataset, 0, 0, i, columns, &sample));
        T_TRUE(sample < 3 && value == values[sample] && number == numbers[sample]);
    }
    sluice_dataset_destroy(dataset);
    T_STATUS(sluice_dataset_parse("npy /nonexistent/x.npy", &dataset), SLUICE_E_IO);
    T_CONTAINS(sluice_last_error(), "/nonexistent/x.npy");
    T_OK(sluice_dataset_parse("tokens /nonexistent/x.bin 8 | batch 4", &dataset));
    T_STATUS(sluice_dataset_get(dataset, 0, 0, 0, columns, NULL), SLUICE_E_IO);
    T_CONTAINS(sluice_last_error(), "/nonexistent/x.bin");
    sluice_dataset_destroy(dataset);
    T_STATUS(sluice_dataset_parse("image_list /nonexistent/x.tsv", &dataset), SLUICE_E_IO);
    T_CONTAINS(sluice_last_error(), "/nonexistent/x.tsv");
    T_STATUS(sluice_dataset_parse("image_list /nonexistent", &dataset), SLUICE_E_IO);
    T_CONTAINS(sluice_last_error(), "/nonexistent: cannot open");
    T_OK(
        sluice_dataset_parse("coco /nonexistent/x.json max_boxes=20 | decode | batch 4", &dataset));
    T_STATUS(sluice_dataset_get(dataset, 0, 0, 0, NULL, NULL), SLUICE_E_IO);
    T_CONTAINS(sluice_last_error(), "/nonexistent/");
    sluice_dataset_destroy(dataset);
}

/* Stored samples, and the header of an image. */
static void stored_samples_are_read(void)
{
    sluice_dataset *dataset = NULL;
    sluice_reader *reader = NULL;
    sluice_column_spec spec;
    sluice_sample_view view;
    sluice_image_info info;
    sluice_findings found;

    T_OK(sluice_dataset_parse("synthetic 5 4,3,1 2", &dataset));
    T_OK(sluice_reader_create(dataset, &reader));
    T_EQ(sluice_reader_samples(reader), 5);
    T_EQ(sluice_reader_columns(reader), 2);
    T_OK(sluice_reader_column(reader, 1, &spec));
    T_STR(spec.name, "label");
    T_OK(sluice_reader_get(reader, 3, 1, &view));
    T_EQ(*(const int32_t *)view.data, 1);
    T_OK(sluice_reader_check(reader, 4));
    T_STATUS(sluice_reader_check(reader, 5), SLUICE_E_INVALID);
    T_STATUS(sluice_reader_check(NULL, 0), SLUICE_E_INVALID);
    T_EQ(sluice_reader_ends(NULL), 0);
    T_EQ(sluice_reader_ends(reader), 0);
    sluice_findings_init(&found);
    T_OK(sluice_reader_findings(reader, &found));
    T_EQ(found.boxes_clipped + found.boxes_dropped + found.sizes_differ + found.labels_stored, 0);
    T_STATUS(sluice_reader_findings(NULL, &found), SLUICE_E_INVALID);
    T_STATUS(sluice_reader_findings(reader, NULL), SLUICE_E_INVALID);
    sluice_image_info_init(&info);
    T_OK(sluice_reader_get(reader, 3, 1, &view));
    T_STATUS(sluice_reader_header(reader, &info), SLUICE_E_INVALID);
    T_CONTAINS(sluice_last_error(), "of an encoded image");
    T_STATUS(sluice_reader_header(NULL, &info), SLUICE_E_INVALID);
    sluice_reader_destroy(reader);
    sluice_dataset_destroy(dataset);
    T_OK(sluice_image_header("P5 1 1 255\nx", 12, &info));
    T_STR(info.format, "PGM");
}

/* The label alone, by another name. */
static void columns_are_chosen_and_renamed_by_calls(void)
{
    sluice_dataset *dataset = NULL;
    int32_t class = -1;
    int32_t label = -1;

    T_OK(sluice_dataset_parse("synthetic 5 4,4,3 5 | project label,image | drop image | batch 1",
                              &dataset));
    T_OK(sluice_dataset_get(dataset, 0, 0, 3, (void *const[]){&label}, NULL));
    sluice_dataset_destroy(dataset);
    T_OK(sluice_dataset_parse("synthetic 5 4,4,3 5 | rename label class | project class | batch 1",
                              &dataset));
    T_OK(sluice_dataset_get(dataset, 0, 0, 3, (void *const[]){&class}, NULL));
    T_TRUE(label >= 0 && class == label);
    sluice_dataset_destroy(dataset);
}

static void stages_work_on_chosen_columns(void)
{
    sluice_dataset *dataset = NULL;
    char *text = NULL;

    T_OK(sluice_dataset_parse("synthetic 5 4,4,3 5 | normalize 0.5 0.5 columns=image | to_chw",
                              &dataset));
    T_OK(sluice_dataset_describe(dataset, &text));
    T_CONTAINS(text, "offload=auto columns=image | to_chw offload=auto");
    sluice_string_free(text);
    T_STATUS(sluice_dataset_add(dataset, "column label boxes"), SLUICE_E_INVALID);
    sluice_dataset_destroy(dataset);
}

static void columns_are_computed_by_calls(void)
{
    sluice_dataset *dataset = NULL;
    sluice_column_spec spec;
    float vector[5] = {-1, -1, -1, -1, -1};
    int64_t label = -1;

    T_OK(sluice_dataset_parse("synthetic 5 4,4,3 5 | cast label i64 | project label | batch 1",
                              &dataset));
    T_OK(sluice_dataset_get(dataset, 0, 0, 3, (void *const[]){&label}, NULL));
    sluice_dataset_destroy(dataset);
    T_OK(sluice_dataset_parse("synthetic 5 4,4,3 5 | one_hot label 5 | project label | batch 1",
                              &dataset));
    T_OK(sluice_dataset_get(dataset, 0, 0, 3, (void *const[]){vector}, NULL));
    T_TRUE(label >= 0 && label < 5 && vector[label] == 1);
    T_OK(sluice_dataset_column_spec(dataset, "label", &spec));
    T_TRUE(spec.dtype == SLUICE_F32 && spec.rank == 1 && spec.shape[0] == 5 && spec.ragged == 0);
    T_STATUS(sluice_dataset_column_spec(dataset, "image", &spec), SLUICE_E_INVALID);
    sluice_dataset_destroy(dataset);
    T_OK(sluice_dataset_parse("synthetic 5 4,4,3 5 | one_hot label 5 | truncate label 2 | pad "
                              "label 4 value=-1 | project label | batch 1",
                              &dataset));
    T_OK(sluice_dataset_get(dataset, 0, 0, 3, (void *const[]){vector}, NULL));
    T_TRUE(vector[0] == (label == 0 ? 1 : 0) && vector[2] == -1 && vector[3] == -1);
    sluice_dataset_destroy(dataset);
}

const t_test public_dataset_tests[] = {
    T_TEST(views_are_a_dimension_of_the_batch),
    T_TEST(a_description_builds_the_same_dataset),
    T_TEST(device_is_a_stage),
    T_TEST(a_dataset_tells_what_it_holds_and_what_will_run),
    T_TEST(texts_take_arguments_and_further_stages),
    T_TEST(a_path_of_data_is_a_dataset),
    T_TEST(texts_take_values),
    T_TEST(an_error_of_building_is_kept),
    T_TEST(a_text_that_cannot_be_read_is_shown_with_its_place),
    T_TEST(samples_are_chosen_by_list_weight_and_class),
    T_TEST(datasets_are_made_of_others),
    T_TEST(files_that_are_not_there_are_an_error_of_the_first_use),
    T_TEST(stages_have_help),
    T_TEST(arrays_are_a_dataset),
    T_TEST(stored_samples_are_read),
    T_TEST(columns_are_chosen_and_renamed_by_calls),
    T_TEST(stages_work_on_chosen_columns),
    T_TEST(columns_are_computed_by_calls),
    T_END,
};
