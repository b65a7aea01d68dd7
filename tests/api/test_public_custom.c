/* SPDX-License-Identifier: Apache-2.0 */
/* Functions of a program in datasets, with the public headers and the shared library alone. */
#include <stdlib.h>

#include <sluice/sluice.h>

#include "testing.h"

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

static sluice_status next_own(sluice_sample *sample, void *pass, void *user)
{
    const uint32_t number = (uint32_t)sluice_sample_number(sample);
    void *room;
    sluice_status st;

    if (number == 5) {
        return SLUICE_END_OF_DATA;
    }
    if (pass != user || sluice_sample_worker(sample) != pass || sluice_sample_stop_fd(sample) < 0) {
        return sluice_fail(SLUICE_E_CALLBACK, "sample %d is not what it should be", (int)number);
    }
    st = sluice_sample_room(sample, "number", NULL, &room);
    if (st == SLUICE_OK) {
        memcpy(room, &number, sizeof(number));
    }
    return st;
}

static sluice_status open_own(uint64_t number, void *user, void **pass_out)
{
    T_EQ(number, 0);
    *pass_out = user;
    return SLUICE_OK;
}

static void close_own(void *pass, void *user)
{
    T_TRUE(pass == user);
    *(uint32_t *)user += 1000;
}

static sluice_status add_numbers(const sluice_step *step, void *user)
{
    for (uint32_t i = 0; i < *step->valid_rows; i++) {
        *(uint32_t *)user += ((const uint32_t *)step->inputs[0].data)[i];
    }
    return SLUICE_OK;
}

static void functions_are_a_stream(void)
{
    const sluice_column_spec column = {.name = "number", .dtype = SLUICE_U32};
    sluice_train_config config;
    sluice_source source;
    sluice_dataset *dataset = NULL;
    sluice_device *device = NULL;
    sluice_model model;
    uint32_t sum = 0;
    uint32_t closed = 0;

    sluice_source_init(&source);
    source.name = "own";
    source.columns = &column;
    source.column_count = 1;
    source.next = next_own;
    source.open_pass = open_own;
    source.close_pass = close_own;
    source.user = &closed;
    T_OK(sluice_dataset_source(&source, &dataset));
    T_OK(sluice_dataset_add(dataset, "batch 2"));
    T_OK(sluice_device_open("host:0", &device));
    sluice_model_init(&model);
    model.step = add_numbers;
    model.user = &sum;
    model.reads_valid_rows = true;
    sluice_train_config_init(&config);
    config.epochs = 1;
    config.workers = 1;
    T_OK(sluice_train(device, &model, dataset, &config, NULL));
    T_EQ(sum, 10);
    T_EQ(closed, 1000);
    sluice_device_close(device);
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
        T_STATUS(sluice_sample_warped(sample, (double[6]){1, 0, 0, 0, 1, 0}), SLUICE_E_INVALID);
        T_CONTAINS(sluice_last_error(), "square: sluice_sample_warped() is for a map that writes");
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
    T_OK(sluice_dataset_parse("synthetic 20 4,4,3 20", &dataset));
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
    T_OK(sluice_dataset_parse("synthetic 20 4,4,3 10", &dataset));
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
    const char *path = t_file("plugin.so");
    FILE *file;

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

const t_test public_custom_tests[] = {
    T_TEST(functions_are_a_dataset),           T_TEST(functions_are_a_stream),
    T_TEST(functions_filter_samples),          T_TEST(functions_map_samples),
    T_TEST(functions_have_names_in_texts),     T_TEST(functions_map_batches),
    T_TEST(plugins_that_are_none_are_refused), T_END,
};
