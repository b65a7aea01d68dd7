/* SPDX-License-Identifier: Apache-2.0 */
/* A user's walk through the library, with the public headers and the shared library alone. */
#include <stdlib.h>

#include <sluice/sluice.h>

#include "testing.h"

/* ---- what is there --------------------------------------------------------------------------- */

static void header_and_library_are_of_one_version(void)
{
    char version[50];

    snprintf(version, sizeof(version), "%d.%d.%d", SLUICE_VERSION_MAJOR, SLUICE_VERSION_MINOR,
             SLUICE_VERSION_PATCH);
    T_STR(SLUICE_VERSION, version);
    T_STR(sluice_version(), version);
    T_CONTAINS(sluice_build_options(), "cuda ");
}

static void every_number_has_its_name(void)
{
    T_STR(sluice_status_name(SLUICE_OK), "OK");
    T_STR(sluice_status_name(SLUICE_E_CALLBACK), "E_CALLBACK");
    T_STR(sluice_status_name((sluice_status)99), "?");
    T_STR(sluice_status_text(SLUICE_E_CORRUPT), "corrupt data");
    T_STR(sluice_status_text((sluice_status)-99), "?");
    T_STR(sluice_mode_name(SLUICE_MODE_AUTO), "auto");
    T_STR(sluice_mode_name(SLUICE_MODE_LOOP), "loop");
    T_STR(sluice_mode_name((sluice_mode)-1), "?");
    T_STR(sluice_dtype_name(SLUICE_BF16), "bf16");
    T_STR(sluice_dtype_name((sluice_dtype)99), "?");
    T_EQ(sluice_dtype_size(SLUICE_F32), 4);
    T_EQ(sluice_dtype_size(SLUICE_ENCODED), 0);
}

/* Whatever started the test: a rank of some world. */
static void a_process_knows_its_rank(void)
{
    sluice_ranks ranks = {.struct_size = sizeof(ranks)};

    T_OK(sluice_ranks_find(&ranks));
    T_TRUE(ranks.rank < ranks.world);
    T_TRUE(strlen(ranks.source) > 0);
}

/* ---- devices --------------------------------------------------------------------------------- */

static void a_device_is_opened_by_name(void)
{
    sluice_device *device = NULL;

    T_OK(sluice_device_open("host:3,copy=1", &device));
    T_STR(sluice_device_name(device), "host:3");
    T_STR(sluice_device_name(NULL), "");
    sluice_device_close(device);
    device = NULL;
    T_STATUS(sluice_device_open("tpu:0", &device), SLUICE_E_INVALID);
    CU_ASSERT_PTR_NULL(device);
    T_CONTAINS(sluice_last_error(), "must be auto, host:N, cuda:N or cuda:local");
    T_OK(sluice_device_open(NULL, &device));
    sluice_device_close(device);
    sluice_device_close(NULL);
}

/* ---- training -------------------------------------------------------------------------------- */

typedef struct trained {
    uint64_t steps;
    uint64_t rows;
    double sum;
    uint64_t records;
    uint64_t epochs;
    sluice_stop *stop;
} trained;

static sluice_status train_step(const sluice_step *step, void *user)
{
    trained *t = user;
    const sluice_tensor *image = sluice_step_input(step, "image");
    const sluice_tensor *label = sluice_step_input(step, "label");

    if (image != &step->inputs[0] || label->dtype != SLUICE_I32 ||
        sluice_step_input(step, "depth") != NULL || *step->step != t->steps) {
        return SLUICE_E_CALLBACK;
    }
    t->rows += *step->valid_rows;
    t->sum += (double)((const float *)image->data)[0] + (double)((const int32_t *)label->data)[0];
    step->outputs[0] = (float)t->steps;
    t->steps++;
    if (t->stop != NULL && t->steps == 150) {
        sluice_stop_request(t->stop);
    }
    return SLUICE_OK;
}

static sluice_status count_records(sluice_hook *hook, void *user)
{
    for (uint64_t i = 0; i < hook->record_count; i++) {
        if (sluice_hook_record(hook, i)->step != hook->step + i) {
            return SLUICE_E_CALLBACK;
        }
    }
    if (sluice_hook_record(hook, hook->record_count) != NULL) {
        return SLUICE_E_CALLBACK;
    }
    ((trained *)user)->records += hook->record_count;
    return SLUICE_OK;
}

static sluice_status count_epoch(sluice_hook *hook, void *user)
{
    (void)hook;
    ((trained *)user)->epochs++;
    return SLUICE_OK;
}

static void train(sluice_mode mode, uint64_t *digest)
{
    static const sluice_column wants[] = {{"image", SLUICE_F32, 3, {3, 6, 6}},
                                          {"label", SLUICE_I32, 0, {0}}};
    trained t = {.steps = 0};
    sluice_callback own;
    sluice_callback *callbacks[4] = {&own};
    sluice_report_stats stats = {.struct_size = sizeof(stats)};
    FILE *lines = tmpfile();
    sluice_device *device = NULL;
    sluice_dataset *dataset = NULL;
    sluice_report *report = NULL;
    sluice_model model;
    sluice_train_config config;
    char text[200] = "";
    char *json = NULL;

    CU_ASSERT_PTR_NOT_NULL_FATAL(lines);
    T_OK(sluice_loss_monitor(lines, 100, &callbacks[1]));
    T_OK(sluice_time_monitor(lines, &callbacks[2]));
    T_OK(sluice_progress_bar(lines, &callbacks[3]));
    T_OK(sluice_device_open("host:0", &device));
    T_OK(sluice_dataset_parse("synthetic samples=200 shape=8,8,3 | shuffle | random_crop 6 | "
                              "random_horizontal_flip | normalize imagenet | to_chw | batch 4",
                              &dataset));
    sluice_model_init(&model);
    model.step = train_step;
    model.user = &t;
    model.inputs = wants;
    model.input_count = COUNT(wants);
    sluice_train_config_init(&config);
    config.mode = mode;
    config.dataset_sink_mode = mode != SLUICE_MODE_AUTO;
    config.epochs = 4;
    config.digest = true;
    config.seed = 11;
    sluice_callback_init(&own);
    own.records = count_records;
    own.epoch_end = count_epoch;
    own.user = &t;
    config.callbacks = callbacks;
    config.callback_count = COUNT(callbacks);
    T_OK(sluice_train(device, &model, dataset, &config, &report));
    T_EQ(t.steps, 200);
    T_EQ(t.rows, 800);
    T_EQ(t.records, 200);
    T_EQ(t.epochs, 4);
    T_OK(sluice_report_stats_get(report, &stats));
    T_EQ(stats.steps, 200);
    T_EQ(stats.samples, 800);
    *digest = stats.digest;
    T_OK(sluice_report_text(report, &json));
    T_TRUE(strstr(json, "bottleneck: ") != NULL);
    sluice_string_free(json);
    sluice_report_request(); /* printed by a run that goes on: there is none */
    T_OK(sluice_report_json(report, &json));
    T_EQ(json[0], '{');
    sluice_string_free(json);
    rewind(lines);
    T_TRUE(fgets(text, sizeof(text), lines) != NULL);
    T_CONTAINS(text, "epoch time: ");
    fclose(lines);
    for (size_t i = 1; i < COUNT(callbacks); i++) {
        sluice_callback_destroy(callbacks[i]);
    }
    sluice_report_destroy(report);
    sluice_dataset_destroy(dataset);
    sluice_device_close(device);
}

static void training_gives_the_same_digest_in_every_mode(void)
{
    static const sluice_mode modes[] = {SLUICE_MODE_DIRECT, SLUICE_MODE_DATA, SLUICE_MODE_GRAPH,
                                        SLUICE_MODE_LOOP};
    uint64_t unsunk = 0;

    train(SLUICE_MODE_AUTO, &unsunk);
    T_TRUE(unsunk != 0);
    for (size_t i = 0; i < COUNT(modes); i++) {
        uint64_t digest = 0;

        train(modes[i], &digest);
        T_TRUE(digest == unsunk);
    }
}

static void a_token_stops_training_and_can_be_used_again(void)
{
    trained t = {.steps = 0};
    sluice_device *device = NULL;
    sluice_dataset *dataset = NULL;
    sluice_model model;
    sluice_train_config config;

    T_OK(sluice_stop_create(&t.stop));
    T_OK(sluice_device_open("host:0", &device));
    T_OK(sluice_dataset_parse("synthetic samples=50 shape=2,2,1 | to_dtype f32 | batch 5",
                              &dataset));
    sluice_model_init(&model);
    model.step = train_step;
    model.user = &t;
    sluice_train_config_init(&config);
    config.dataset_sink_mode = true;
    config.sink_size = 1000;
    config.epochs = 1;
    config.stop = t.stop;
    T_STATUS(sluice_train(device, &model, dataset, &config, NULL), SLUICE_STOPPED);
    T_EQ(t.steps, 150);
    sluice_stop_clear(t.stop);
    config.start_step = t.steps; /* the rest of it */
    T_OK(sluice_train(device, &model, dataset, &config, NULL));
    T_EQ(t.steps, 1000);
    sluice_stop_destroy(t.stop);
    sluice_dataset_destroy(dataset);
    sluice_device_close(device);
}

/* ---- a loop of one's own --------------------------------------------------------------------- */

/* The next batch if it is there already, else when it is. */
static sluice_status fetch(sluice_channel *channel, const sluice_batch **batch)
{
    const sluice_status st = sluice_channel_get_next(channel, NULL, 0, batch);

    return st == SLUICE_TIMEOUT ? sluice_channel_get_next(channel, NULL, SLUICE_FOREVER, batch)
                                : st;
}

/* Fetches all batches, through DLPack too; returns the sum of labels. */
static long long fetch_all(sluice_device *device, sluice_channel *channel)
{
    const sluice_batch *batch = NULL;
    long long sum = 0;
    sluice_status st;

    while ((st = fetch(channel, &batch)) == SLUICE_OK) {
        const sluice_tensor *label = sluice_batch_input(batch, "label");
        struct DLManagedTensor *managed = NULL;
        void (*deleter)(struct DLManagedTensor * self);
        const int32_t *labels;

        T_OK(sluice_tensor_to_dlpack(label, device, &managed));
        memcpy(&labels, managed, sizeof(labels)); /* DLTensor.data comes first */
        memcpy(&deleter, (const char *)managed + 56, sizeof(deleter));
        for (uint32_t row = 0; row < batch->valid_rows; row++) {
            sum += labels[row];
        }
        deleter(managed);
    }
    T_STATUS(st, SLUICE_END_OF_DATA);
    return sum;
}

static void a_channel_serves_a_loop_of_ones_own(void)
{
    sluice_channel_info info = {.struct_size = sizeof(info)};
    sluice_channel_stats stats = {.struct_size = sizeof(stats)};
    sluice_channel_config config;
    sluice_channel *channel = NULL;
    sluice_dataset *dataset = NULL;
    sluice_device *device = NULL;
    sluice_report *report = NULL;
    char *text = NULL;

    T_OK(sluice_device_open("host:0", &device));
    T_OK(sluice_dataset_parse("synthetic samples=18 classes=18 shape=4,4,3 | shuffle | batch 4",
                              &dataset));
    sluice_channel_config_init(&config);
    config.batches = 5;
    T_OK(sluice_channel_open(device, dataset, &config, &channel));
    T_OK(sluice_channel_inspect(channel, &info));
    T_EQ(info.batches, 5);
    T_STR(info.columns[1].name, "label");
    T_OK(sluice_channel_start(channel));
    T_OK(sluice_channel_pause(channel));
    T_OK(sluice_channel_resume(channel));
    T_EQ(fetch_all(device, channel), 17 * 18 / 2);
    T_OK(sluice_channel_stats_get(channel, &stats));
    T_EQ(stats.samples, 18);
    T_OK(sluice_channel_step_time(channel, 0.5));
    T_OK(sluice_channel_report(channel, &report));
    T_OK(sluice_report_text(report, &text));
    T_CONTAINS(text, "bottleneck: ");
    sluice_string_free(text);
    sluice_report_destroy(report);
    sluice_channel_stop(channel);
    sluice_channel_close(channel);
    sluice_dataset_destroy(dataset);
    sluice_device_close(device);
}

/* A loop that releases by itself says where it is, and begins anew with the same batches. */
static void a_channel_is_rewound(void)
{
    sluice_channel_position position = {.struct_size = sizeof(position)};
    sluice_channel_config config;
    sluice_channel *channel = NULL;
    sluice_dataset *dataset = NULL;
    sluice_device *device = NULL;
    const sluice_batch *batch = NULL;

    T_OK(sluice_device_open("host:0", &device));
    T_OK(sluice_dataset_parse("synthetic 6 4,4,3 6 | batch 2", &dataset));
    sluice_channel_config_init(&config);
    config.batches = 3;
    T_OK(sluice_channel_open(device, dataset, &config, &channel));
    T_OK(sluice_channel_start(channel));
    T_OK(fetch(channel, &batch));
    T_OK(sluice_channel_release(channel, batch, NULL));
    T_OK(sluice_channel_position_get(channel, &position));
    T_EQ(position.batch, 1);
    T_OK(sluice_channel_rewind(channel));
    T_EQ(fetch_all(device, channel), 15);
    sluice_channel_close(channel);
    sluice_dataset_destroy(dataset);
    sluice_device_close(device);
}

/* ---- log and machine ------------------------------------------------------------------------- */

static void keep_plan(sluice_log_level level, const char *message, void *user)
{
    if (level == SLUICE_LOG_INFO && strncmp(message, "plan: ", 6) == 0) {
        snprintf(user, 500, "%s", message);
    }
}

static sluice_status do_nothing(const sluice_step *step, void *user)
{
    (void)step;
    (void)user;
    return SLUICE_OK;
}

static void messages_go_where_the_caller_wants_them(void)
{
    char plan[500] = "";
    sluice_device *device = NULL;
    sluice_dataset *dataset = NULL;
    sluice_model model;
    sluice_train_config config;

    sluice_log_set_callback(keep_plan, plan);
    sluice_log_set_level(SLUICE_LOG_INFO);
    T_OK(sluice_device_open("host:0", &device));
    T_OK(sluice_dataset_parse("synthetic samples=4 shape=2,2,1 | batch 2", &dataset));
    sluice_model_init(&model);
    model.step = do_nothing;
    sluice_train_config_init(&config);
    config.epochs = 1;
    T_OK(sluice_train(device, &model, dataset, &config, NULL));
    T_CONTAINS(plan, "plan: 2 steps from step 0");
    plan[0] = '\0';
    sluice_log_set_level(SLUICE_LOG_WARN);
    T_OK(sluice_train(device, &model, dataset, &config, NULL));
    T_STR(plan, "");
    sluice_log_set_callback(NULL, NULL);
    sluice_dataset_destroy(dataset);
    sluice_device_close(device);
}

static void the_machine_can_be_looked_at(void)
{
    sluice_topology_config config;
    char *text = NULL;

    T_OK(sluice_topology_report(NULL, &text));
    T_TRUE(strstr(text, "machine") != NULL);
    sluice_string_free(text);
    sluice_topology_config_init(&config);
    config.synthetic = "numa:2 core:4 pu:1";
    config.json = true;
    T_OK(sluice_topology_report(&config, &text));
    T_EQ(text[0], '{');
    sluice_string_free(text);
    config.synthetic = "numa:zwei";
    T_STATUS(sluice_topology_report(&config, &text), SLUICE_E_INVALID);
}

const t_test public_api_tests[] = {
    T_TEST(header_and_library_are_of_one_version),
    T_TEST(every_number_has_its_name),
    T_TEST(a_process_knows_its_rank),
    T_TEST(a_device_is_opened_by_name),
    T_TEST(training_gives_the_same_digest_in_every_mode),
    T_TEST(a_token_stops_training_and_can_be_used_again),
    T_TEST(a_channel_serves_a_loop_of_ones_own),
    T_TEST(a_channel_is_rewound),
    T_TEST(messages_go_where_the_caller_wants_them),
    T_TEST(the_machine_can_be_looked_at),
    T_END,
};
