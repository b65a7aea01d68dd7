/* SPDX-License-Identifier: Apache-2.0 */
/* Datasets with the public headers and the shared library alone: by calls, as text, of arrays. */
#include <stdlib.h>

#include <sluice/sluice.h>

#include "testing.h"

/* Every call that adds a stage, in an order in which they can stand. */
static sluice_dataset *build_by_calls(void)
{
    const double mean[] = {0.5, 0.4, 0.3};
    const double std[] = {0.25, 0.2, 0.2};
    sluice_random_resized_crop_config crop;
    sluice_letterbox_config letterbox;
    sluice_dataset *dataset = NULL;

    sluice_letterbox_config_init(&letterbox);
    letterbox.mask_fill = 255;
    sluice_random_resized_crop_config_init(&crop);
    crop.scale[0] = 0.5;
    crop.scale[1] = 1;
    T_OK(sluice_dataset_synthetic(1000, 40, 30, 3, 7, &dataset));
    T_OK(sluice_dataset_split(dataset, "val", 0.5, 3, 0.1));
    T_OK(sluice_dataset_shuffle(dataset, SLUICE_SEED_OF_RUN, 0));
    T_OK(sluice_dataset_skip(dataset, 5));
    T_OK(sluice_dataset_take(dataset, 200));
    T_OK(sluice_dataset_repeat(dataset, 2));
    T_OK(sluice_dataset_shard(dataset, SLUICE_OF_RUN, SLUICE_OF_RUN));
    T_OK(sluice_dataset_center_crop(dataset, 36, 28));
    T_OK(sluice_dataset_random_crop(dataset, 36, 28, 2));
    T_OK(sluice_dataset_resize(dataset, 20, 0, NULL, true));
    T_OK(sluice_dataset_random_resized_crop(dataset, 16, 12, &crop));
    T_OK(sluice_dataset_letterbox(dataset, 20, 24, &letterbox));
    T_OK(sluice_dataset_geometry(dataset, NULL));
    T_OK(sluice_dataset_drop(dataset, "geometry"));
    T_OK(sluice_dataset_color_jitter(dataset, 0.4, 0.3, 0.2, 0.1));
    T_OK(sluice_dataset_random_grayscale(dataset, 0.2));
    T_OK(sluice_dataset_random_invert(dataset, 0.3));
    T_OK(sluice_dataset_random_posterize(dataset, 3, 0.4));
    T_OK(sluice_dataset_random_solarize(dataset, 128, 0.5));
    T_OK(sluice_dataset_random_autocontrast(dataset, 0.6));
    T_OK(sluice_dataset_random_equalize(dataset, 0.7));
    T_OK(sluice_dataset_random_horizontal_flip(dataset, 0.25));
    T_OK(sluice_dataset_normalize(dataset, mean, std, 3, 1, SLUICE_F32));
    T_OK(sluice_dataset_to_chw(dataset));
    T_OK(sluice_dataset_offload(dataset, "host"));
    T_OK(sluice_dataset_batch(dataset, 8, true));
    return dataset;
}

static void calls_and_text_build_the_same_thing(void)
{
    sluice_dataset *calls = build_by_calls();
    sluice_dataset *text = NULL;
    char *described = NULL;
    char *again = NULL;

    T_OK(sluice_dataset_describe(calls, &described));
    T_OK(sluice_dataset_parse(described, &text));
    T_OK(sluice_dataset_describe(text, &again));
    T_TRUE(strcmp(described, again) == 0);
    T_CONTAINS(described, "split part=val");
    T_CONTAINS(described, "to_chw offload=host");
    sluice_string_free(described);
    sluice_string_free(again);
    sluice_dataset_destroy(calls);
    sluice_dataset_destroy(text);
    sluice_dataset_destroy(NULL);
}

static void a_dataset_tells_what_it_holds_and_what_will_run(void)
{
    sluice_dataset *dataset = build_by_calls();
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
    T_OK(sluice_dataset_sample_name(dataset, 999, &text));
    T_STR(text, "synthetic/999");
    sluice_string_free(text);
    T_STATUS(sluice_dataset_class_name(dataset, 0, &text), SLUICE_E_UNSUPPORTED);
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

/* The first error is kept: a program may look at the last status alone. */
static void an_error_of_building_is_kept(void)
{
    sluice_dataset *dataset = NULL;
    char *text = NULL;

    T_OK(sluice_dataset_synthetic(10, 4, 4, 3, 2, &dataset));
    T_STATUS(sluice_dataset_random_horizontal_flip(dataset, 2), SLUICE_E_INVALID);
    T_STATUS(sluice_dataset_to_dtype(dataset, SLUICE_F32, true), SLUICE_E_INVALID);
    T_STATUS(sluice_dataset_batch(dataset, 2, false), SLUICE_E_INVALID);
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
    T_OK(sluice_dataset_synthetic(4, 1, 1, 1, 2, &dataset));
    T_OK(sluice_dataset_subset(dataset, path));
    T_OK(sluice_dataset_weights(dataset, "label", 5, SLUICE_SEED_OF_RUN));
    T_OK(sluice_dataset_batch(dataset, 1, false));
    T_OK(sluice_dataset_get(dataset, 1, 0, 4, NULL, &sample));
    T_EQ(sample, 3);
    sluice_dataset_destroy(dataset);
    T_OK(sluice_dataset_synthetic(4, 1, 1, 1, 2, &dataset));
    T_OK(sluice_dataset_balance(dataset, NULL, 6, SLUICE_SEED_OF_RUN));
    T_OK(sluice_dataset_batch(dataset, 1, false));
    for (uint64_t i = 0; i < 6; i++) {
        T_OK(sluice_dataset_get(dataset, 1, 0, i, NULL, &sample));
        T_EQ(sample % 2, i % 2);
    }
    sluice_dataset_destroy(dataset);
}

static sluice_dataset *numbers(uint64_t samples)
{
    sluice_dataset *dataset = NULL;

    T_OK(sluice_dataset_synthetic(samples, 1, 1, 1, 2, &dataset));
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
    T_OK(sluice_dataset_batch(dataset, 1, false));
    check_sample(dataset, 4, 4);
    T_OK(sluice_dataset_sample_name(dataset, 4, &name));
    T_STR(name, "2/synthetic/2");
    sluice_string_free(name);
    sluice_dataset_destroy(dataset);

    parts[0] = numbers(3);
    parts[1] = numbers(3);
    T_OK(sluice_dataset_mix(parts, weights, 1, 2, &dataset));
    T_OK(sluice_dataset_batch(dataset, 1, false));
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
    T_OK(sluice_dataset_batch(dataset, 1, false));
    check_sample(dataset, 2, 2);
    sluice_dataset_destroy(dataset);
}

static void check_first_use_fails(sluice_dataset *dataset, const char *words)
{
    T_OK(sluice_dataset_batch(dataset, 2, false));
    T_STATUS(sluice_dataset_explain(dataset, &(char *){NULL}), SLUICE_E_IO);
    T_CONTAINS(sluice_last_error(), words);
    sluice_dataset_destroy(dataset);
}

/* Files are opened by the first use. */
static void files_that_are_not_there_are_an_error_of_the_first_use(void)
{
    sluice_dataset *dataset = NULL;

    T_OK(sluice_dataset_image_folder("/nonexistent/folder", NULL, &dataset));
    T_OK(sluice_dataset_decode(dataset, NULL));
    check_first_use_fails(dataset, "/nonexistent/folder");
    T_OK(sluice_dataset_cifar10("/nonexistent/cifar", "test", &dataset));
    T_OK(sluice_dataset_shard_none(dataset));
    check_first_use_fails(dataset, "/nonexistent/cifar");
    T_OK(sluice_dataset_cifar100("/nonexistent/cifar", "test", NULL, &dataset));
    check_first_use_fails(dataset, "/nonexistent/cifar");
    /* ... but those that only the files' columns describe. */
    T_STATUS(sluice_dataset_mnist("/nonexistent/mnist", NULL, &dataset), SLUICE_E_IO);
    T_CONTAINS(sluice_last_error(), "/nonexistent/mnist");
    T_OK(sluice_dataset_webdataset("/nonexistent/s.tar", NULL, &dataset));
    T_OK(sluice_dataset_decode(dataset, NULL));
    check_first_use_fails(dataset, "/nonexistent/s.tar");
}

static void stages_have_help(void)
{
    char *all = NULL;
    char *one = NULL;

    T_OK(sluice_stage_help(NULL, &all));
    T_OK(sluice_stage_help("random_resized_crop", &one));
    T_TRUE(strstr(all, one) != NULL);
    T_CONTAINS(one, "scale=0.08,1");
    sluice_string_free(all);
    sluice_string_free(one);
    T_STATUS(sluice_stage_help("crop", &one), SLUICE_E_INVALID);
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
    sluice_coco_config coco;
    sluice_tokens_config tokens;

    T_OK(sluice_dataset_memory(arrays, 2, &dataset));
    T_OK(sluice_dataset_add(dataset, "shuffle 1 | batch 2"));
    for (uint64_t i = 0; i < 3; i++) {
        uint64_t sample = 9;

        T_OK(sluice_dataset_get(dataset, 0, 0, i, columns, &sample));
        T_TRUE(sample < 3 && value == values[sample] && number == numbers[sample]);
    }
    sluice_dataset_destroy(dataset);
    T_STATUS(sluice_dataset_npy("/nonexistent/x.npy", NULL, &dataset), SLUICE_E_IO);
    T_CONTAINS(sluice_last_error(), "/nonexistent/x.npy");
    sluice_tokens_config_init(&tokens);
    tokens.files = "/nonexistent/x.bin";
    tokens.seq = 8;
    T_OK(sluice_dataset_tokens(&tokens, &dataset));
    T_OK(sluice_dataset_batch(dataset, 4, false));
    T_STATUS(sluice_dataset_get(dataset, 0, 0, 0, columns, NULL), SLUICE_E_IO);
    T_CONTAINS(sluice_last_error(), "/nonexistent/x.bin");
    sluice_dataset_destroy(dataset);
    T_STATUS(sluice_dataset_image_list("/nonexistent/x.tsv", NULL, &dataset), SLUICE_E_IO);
    T_CONTAINS(sluice_last_error(), "/nonexistent/x.tsv");
    sluice_coco_config_init(&coco);
    coco.max_boxes = 20;
    T_OK(sluice_dataset_coco("/nonexistent/x.json", &coco, &dataset));
    T_OK(sluice_dataset_add(dataset, "decode | batch 4"));
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

    T_OK(sluice_dataset_synthetic(5, 4, 3, 1, 2, &dataset));
    T_OK(sluice_reader_create(dataset, &reader));
    T_EQ(sluice_reader_samples(reader), 5);
    T_EQ(sluice_reader_columns(reader), 2);
    T_OK(sluice_reader_column(reader, 1, &spec));
    T_STR(spec.name, "label");
    T_OK(sluice_reader_get(reader, 3, 1, &view));
    T_EQ(*(const int32_t *)view.data, 1);
    sluice_reader_destroy(reader);
    sluice_dataset_destroy(dataset);
    sluice_image_info_init(&info);
    T_OK(sluice_image_header("P5 1 1 255\nx", 12, &info));
    T_STR(info.format, "PGM");
}

/* Reads sample `index`: its number, and random bits that sluice_dataset_get() gives again. */
static sluice_status read_own(sluice_sample *sample, uint64_t index, void *user)
{
    static const uint32_t numbers[3] = {0, 1, 2};
    const uint64_t bits = sluice_sample_random(sample, 0);
    sluice_sample_view view;
    sluice_status st;
    void *room;

    if (sluice_sample_worker(sample) != user || sluice_sample_number(sample) != index ||
        sluice_sample_get(sample, "number", &view) != SLUICE_E_INVALID) {
        return sluice_fail(SLUICE_E_CALLBACK, "sample %d is not what it should be", (int)index);
    }
    st = sluice_sample_room(sample, "bits", NULL, &room);
    if (st == SLUICE_OK) {
        memcpy(room, &bits, sizeof(bits));
        st = sluice_sample_lend(sample, "number", NULL, &numbers[index], sizeof(numbers[index]));
    }
    return st;
}

static sluice_status begin_own(void *user, void **worker_out)
{
    *worker_out = user;
    return SLUICE_OK;
}

static void functions_are_a_dataset(void)
{
    const sluice_column_spec columns[] = {
        {.name = "number", .dtype = SLUICE_U32},
        {.name = "bits", .dtype = SLUICE_U32, .rank = 1, .shape = {2}},
    };
    sluice_source source;
    sluice_dataset *dataset = NULL;
    uint32_t number = 9;
    uint32_t bits[2][2] = {{0, 0}, {1, 1}};
    uint64_t sample = 9;

    sluice_source_init(&source);
    source.name = "own";
    source.columns = columns;
    source.column_count = 2;
    source.count = 3;
    source.read = read_own;
    source.begin = begin_own;
    source.user = &source;
    T_OK(sluice_dataset_source(&source, &dataset));
    T_OK(sluice_dataset_add(dataset, "shuffle 1 | batch 2"));
    for (uint64_t i = 0; i < 3; i++) {
        for (int k = 0; k < 2; k++) {
            T_OK(sluice_dataset_get(dataset, 0, 0, i, (void *const[]){&number, bits[k]}, &sample));
        }
        T_EQ(number, sample);
        T_TRUE(bits[0][0] == bits[1][0] && bits[0][1] == bits[1][1]);
    }
    sluice_dataset_destroy(dataset);
}

/* label -> its square, beside it. */
static sluice_status square(sluice_sample *sample, void *user)
{
    sluice_sample_view view;
    void *room;
    sluice_status st = sluice_sample_get(sample, "label", &view);

    (void)user;
    if (st == SLUICE_OK) {
        st = sluice_sample_room(sample, "square", NULL, &room);
    }
    if (st == SLUICE_OK) {
        *(int64_t *)room = (int64_t) * (const int32_t *)view.data * *(const int32_t *)view.data;
    }
    return st;
}

static sluice_status choose_even(sluice_sample *sample, uint32_t *keep_out, void *user)
{
    sluice_sample_view view;
    sluice_status st = sluice_sample_get(sample, "label", &view);

    ++*(uint32_t *)user; /* one worker */
    if (st == SLUICE_OK) {
        *keep_out = *(const int32_t *)view.data % 2 == 0;
    }
    return st;
}

static sluice_status check_even(const sluice_step *step, void *user)
{
    for (uint32_t i = 0; i < *step->valid_rows; i++) {
        T_EQ(((const int32_t *)step->inputs[1].data)[i] % 2, 0);
    }
    *(uint32_t *)user += *step->valid_rows;
    return SLUICE_OK;
}

static void functions_filter_samples(void)
{
    static const char *const inputs[] = {"label"};
    sluice_filter filter;
    sluice_dataset *dataset = NULL;
    sluice_device *device = NULL;
    sluice_train_config config;
    sluice_model model;
    uint32_t calls = 0;
    uint32_t rows = 0;

    sluice_filter_init(&filter);
    filter.name = "even";
    filter.inputs = inputs;
    filter.input_count = 1;
    filter.filter = choose_even;
    filter.user = &calls;
    sluice_model_init(&model);
    model.step = check_even;
    model.reads_valid_rows = true;
    model.user = &rows;
    sluice_train_config_init(&config);
    config.epochs = 1;
    config.workers = 1;
    T_OK(sluice_dataset_synthetic(20, 4, 4, 3, 20, &dataset));
    T_OK(sluice_dataset_filter(dataset, &filter));
    T_OK(sluice_dataset_add(dataset, "batch 4"));
    T_OK(sluice_device_open("host:0", &device));
    T_OK(sluice_train(device, &model, dataset, &config, NULL));
    T_EQ(calls, 20);
    T_TRUE(rows > 0 && rows < 20);
    sluice_device_close(device);
    sluice_dataset_destroy(dataset);
}

static void functions_map_samples(void)
{
    static const char *const inputs[] = {"label"};
    static const sluice_column_spec outputs[] = {{.name = "square", .dtype = SLUICE_I64}};
    sluice_map map;
    sluice_dataset *dataset = NULL;
    int32_t label = -1;
    int64_t squared = -1;

    sluice_map_init(&map);
    map.name = "square";
    map.inputs = inputs;
    map.input_count = 1;
    map.outputs = outputs;
    map.output_count = 1;
    map.map = square;
    T_OK(sluice_dataset_synthetic(20, 4, 4, 3, 10, &dataset));
    T_OK(sluice_dataset_map(dataset, &map));
    T_OK(sluice_dataset_add(dataset, "normalize 0.5 0.5 | batch 2"));
    for (uint64_t i = 0; i < 20; i++) {
        T_OK(sluice_dataset_get(dataset, 0, 0, i, (void *const[]){NULL, &label, &squared}, NULL));
        T_EQ(squared, (int64_t)label * label);
    }
    sluice_dataset_destroy(dataset);
}

/* Builds a map, and checks the arguments. */
static sluice_status build_squares(sluice_builder *builder, void *user)
{
    static const char *const inputs[] = {"label"};
    static const sluice_column_spec outputs[] = {{.name = "square", .dtype = SLUICE_I64}};
    sluice_map map;
    int64_t whole = 0;
    double real = 0;
    const char *text = NULL;
    uint32_t flag = 0;

    T_OK(sluice_builder_int(builder, "whole", &whole));
    T_OK(sluice_builder_float(builder, "real", &real));
    T_OK(sluice_builder_string(builder, "text", &text));
    T_OK(sluice_builder_bool(builder, "flag", &flag));
    T_TRUE(whole == -2 && real == 0.25 && strcmp(text, "a b") == 0 && flag == 1);
    sluice_map_init(&map);
    map.inputs = inputs;
    map.input_count = 1;
    map.outputs = outputs;
    map.output_count = 1;
    map.map = square;
    map.user = user;
    return sluice_builder_map(builder, &map);
}

static sluice_status build_even(sluice_builder *builder, void *user)
{
    static const char *const inputs[] = {"label"};
    sluice_filter filter;

    sluice_filter_init(&filter);
    filter.inputs = inputs;
    filter.input_count = 1;
    filter.filter = choose_even;
    filter.user = user;
    return sluice_builder_filter(builder, &filter);
}

/* Writes the samples' numbers into the labels, and checks what it sees. */
static sluice_status number_labels(sluice_host_batch *batch, void *user)
{
    sluice_host_column label;

    T_OK(sluice_host_batch_column(batch, "label", &label));
    T_TRUE(label.dtype == SLUICE_I32 && label.rank == 0 && label.row_bytes == 4);
    T_EQ(sluice_host_batch_rows(batch), 4);
    T_TRUE(sluice_host_batch_worker(batch) == NULL);
    T_TRUE(sluice_host_batch_random(batch, 0) != sluice_host_batch_random(batch, 1));
    for (uint32_t i = 0; i < sluice_host_batch_valid_rows(batch); i++) {
        ((int32_t *)label.data)[i] = (int32_t)sluice_host_batch_samples(batch)[i];
        (*(uint32_t *)user)++;
    }
    return SLUICE_OK;
}

static sluice_map_batch numbering_map(uint32_t *calls)
{
    static const char *const changes[] = {"label"};
    sluice_map_batch map;

    sluice_map_batch_init(&map);
    map.name = "numbers";
    map.changes = changes;
    map.change_count = 1;
    map.serial = 1;
    map.map = number_labels;
    map.user = calls;
    return map;
}

static sluice_status build_numbers(sluice_builder *builder, void *user)
{
    const sluice_map_batch map = numbering_map(user);

    return sluice_builder_map_batch(builder, &map);
}

static sluice_status check_numbers(const sluice_step *step, void *user)
{
    const int32_t *labels = sluice_step_input(step, "label")->data;

    (void)user;
    for (uint32_t row = 0; row < *step->valid_rows; row++) {
        T_EQ(labels[row], *step->step * 4 + row);
    }
    return SLUICE_OK;
}

static void functions_map_batches(void)
{
    sluice_stage stage;
    sluice_device *device = NULL;
    sluice_train_config config;
    sluice_model model;
    uint32_t rows = 0;
    const sluice_map_batch map = numbering_map(&rows);

    sluice_stage_init(&stage);
    stage.name = "api_numbers";
    stage.kind = SLUICE_STAGE_MAP_BATCH;
    stage.build = build_numbers;
    stage.user = &rows;
    T_OK(sluice_stage_register(&stage));
    sluice_model_init(&model);
    model.step = check_numbers;
    model.reads_valid_rows = true;
    sluice_train_config_init(&config);
    config.epochs = 1;
    T_OK(sluice_device_open("host:0", &device));
    for (int by_name = 0; by_name < 2; by_name++) {
        sluice_dataset *dataset = NULL;

        T_OK(sluice_dataset_parse("synthetic 10 4,4,3 10 | batch 4", &dataset));
        if (by_name == 1) {
            T_OK(sluice_dataset_add(dataset, "api_numbers"));
        } else {
            T_OK(sluice_dataset_map_batch(dataset, &map));
        }
        T_OK(sluice_train(device, &model, dataset, &config, NULL));
        T_EQ(rows, 10 * (by_name + 1));
        sluice_dataset_destroy(dataset);
    }
    sluice_device_close(device);
}

static sluice_status build_nothing(sluice_builder *builder, void *user)
{
    sluice_source source;

    (void)user;
    sluice_source_init(&source);
    return sluice_builder_source(builder, &source);
}

static void functions_have_names_in_texts(void)
{
    static const sluice_parameter parameters[] = {
        {"whole", SLUICE_PARAMETER_INT, 0, 0, 0, "1", "a whole number"},
        {"real", SLUICE_PARAMETER_FLOAT, 0, 0, 0, "1", "a number"},
        {"text", SLUICE_PARAMETER_STRING, 0, 0, 0, "", "a text"},
        {"flag", SLUICE_PARAMETER_BOOL, 0, 0, 0, "false", "a choice"},
    };
    sluice_stage stage;
    sluice_dataset *dataset = NULL;
    uint32_t calls = 0;

    sluice_stage_init(&stage);
    stage.name = "api_squares";
    stage.kind = SLUICE_STAGE_MAP;
    stage.parameters = parameters;
    stage.parameter_count = 4;
    stage.build = build_squares;
    T_OK(sluice_stage_register(&stage));
    sluice_stage_init(&stage);
    stage.name = "api_even";
    stage.kind = SLUICE_STAGE_FILTER;
    stage.build = build_even;
    stage.user = &calls;
    T_OK(sluice_stage_register(&stage));
    stage.name = "api_nothing";
    stage.kind = SLUICE_STAGE_SOURCE;
    stage.build = build_nothing;
    T_OK(sluice_stage_register(&stage));
    T_OK(sluice_dataset_parse("synthetic 20 4,4,3 10 | api_even | "
                              "api_squares -2 0.25 'a b' flag=true | batch 2",
                              &dataset));
    sluice_dataset_destroy(dataset);
    T_STATUS(sluice_dataset_parse("api_nothing", &dataset), SLUICE_E_INVALID);
    T_CONTAINS(sluice_last_error(), "sluice_builder_source: api_nothing: read is NULL");
}

static void plugins_that_are_none_are_refused(void)
{
    char path[300];
    FILE *file;

    snprintf(path, sizeof(path), "%s/plugin.so", t_folder());
    T_STATUS(sluice_plugin_load(NULL), SLUICE_E_INVALID);
    T_STATUS(sluice_plugin_load(path), SLUICE_E_IO);
    T_CONTAINS(sluice_last_error(), "plugin.so: No such file or directory");
    file = fopen(path, "w");
    T_TRUE(file != NULL && fputs("no library", file) >= 0 && fclose(file) == 0);
    T_STATUS(sluice_plugin_load(path), SLUICE_E_INVALID);
    T_CONTAINS(sluice_last_error(), "plugin.so: not a shared library");
    setenv("SLUICE_PLUGINS", path, 1);
    T_STATUS(sluice_plugin_load_listed(), SLUICE_E_INVALID);
    T_CONTAINS(sluice_last_error(), "SLUICE_PLUGINS: plugin ");
    unsetenv("SLUICE_PLUGINS");
    T_OK(sluice_plugin_load_listed());
}

/* The label alone, by another name. */
static void columns_are_chosen_and_renamed_by_calls(void)
{
    sluice_dataset *dataset = NULL;
    int32_t class = -1;
    int32_t label = -1;

    T_OK(sluice_dataset_synthetic(5, 4, 4, 3, 5, &dataset));
    T_OK(sluice_dataset_project(dataset, "label,image"));
    T_OK(sluice_dataset_drop(dataset, "image"));
    T_OK(sluice_dataset_batch(dataset, 1, false));
    T_OK(sluice_dataset_get(dataset, 0, 0, 3, (void *const[]){&label}, NULL));
    sluice_dataset_destroy(dataset);
    T_OK(sluice_dataset_synthetic(5, 4, 4, 3, 5, &dataset));
    T_OK(sluice_dataset_rename(dataset, "label", "class"));
    T_OK(sluice_dataset_add(dataset, "project class | batch 1"));
    T_OK(sluice_dataset_get(dataset, 0, 0, 3, (void *const[]){&class}, NULL));
    T_TRUE(label >= 0 && class == label);
    sluice_dataset_destroy(dataset);
}

static void columns_are_computed_by_calls(void)
{
    sluice_dataset *dataset = NULL;
    float vector[5] = {-1, -1, -1, -1, -1};
    int64_t label = -1;

    T_OK(sluice_dataset_synthetic(5, 4, 4, 3, 5, &dataset));
    T_OK(sluice_dataset_cast(dataset, "label", SLUICE_I64));
    T_OK(sluice_dataset_add(dataset, "project label | batch 1"));
    T_OK(sluice_dataset_get(dataset, 0, 0, 3, (void *const[]){&label}, NULL));
    sluice_dataset_destroy(dataset);
    T_OK(sluice_dataset_synthetic(5, 4, 4, 3, 5, &dataset));
    T_OK(sluice_dataset_one_hot(dataset, "label", 5, 0));
    T_OK(sluice_dataset_add(dataset, "project label | batch 1"));
    T_OK(sluice_dataset_get(dataset, 0, 0, 3, (void *const[]){vector}, NULL));
    T_TRUE(label >= 0 && label < 5 && vector[label] == 1);
    sluice_dataset_destroy(dataset);
}

static void documents_are_packed_by_calls(void)
{
    const char *text = "synthetic 5 4,4,3 5 | one_hot label 3 | cast label i32 | "
                       "pack label 8 | batch 2";
    sluice_dataset *dataset = NULL;
    char *made = NULL;
    char *parsed = NULL;

    T_OK(sluice_dataset_parse(text, &dataset));
    T_OK(sluice_dataset_describe(dataset, &parsed));
    sluice_dataset_destroy(dataset);
    T_OK(sluice_dataset_parse("synthetic 5 4,4,3 5 | one_hot label 3 | cast label i32", &dataset));
    T_OK(sluice_dataset_pack(dataset, "label", 8, true, 0));
    T_OK(sluice_dataset_batch(dataset, 2, false));
    T_OK(sluice_dataset_describe(dataset, &made));
    T_EQ(strcmp(made, parsed), 0);
    sluice_string_free(made);
    sluice_string_free(parsed);
    sluice_dataset_destroy(dataset);
}

static void buckets_are_added_by_calls(void)
{
    static const uint64_t edges[] = {2, 4};
    sluice_dataset *dataset = NULL;
    char *made = NULL;

    T_OK(sluice_dataset_synthetic(5, 4, 4, 3, 5, &dataset));
    T_OK(sluice_dataset_bucket(dataset, "label", edges, 2));
    T_OK(sluice_dataset_batch(dataset, 2, false));
    T_OK(sluice_dataset_describe(dataset, &made));
    T_CONTAINS(made, "| bucket length=label edges=2,4 |");
    sluice_string_free(made);
    sluice_dataset_destroy(dataset);
}

const t_test public_dataset_tests[] = {
    T_TEST(calls_and_text_build_the_same_thing),
    T_TEST(a_dataset_tells_what_it_holds_and_what_will_run),
    T_TEST(texts_take_arguments_and_further_stages),
    T_TEST(an_error_of_building_is_kept),
    T_TEST(a_text_that_cannot_be_read_is_shown_with_its_place),
    T_TEST(samples_are_chosen_by_list_weight_and_class),
    T_TEST(datasets_are_made_of_others),
    T_TEST(files_that_are_not_there_are_an_error_of_the_first_use),
    T_TEST(stages_have_help),
    T_TEST(arrays_are_a_dataset),
    T_TEST(stored_samples_are_read),
    T_TEST(functions_are_a_dataset),
    T_TEST(columns_are_chosen_and_renamed_by_calls),
    T_TEST(columns_are_computed_by_calls),
    T_TEST(documents_are_packed_by_calls),
    T_TEST(buckets_are_added_by_calls),
    T_TEST(functions_filter_samples),
    T_TEST(functions_map_samples),
    T_TEST(functions_have_names_in_texts),
    T_TEST(functions_map_batches),
    T_TEST(plugins_that_are_none_are_refused),
    T_END,
};
