/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A program for the next release. tests/freeze.sh copies it, with the headers of the release; from
 * then on the copy is compiled with those headers, run with the library of the day, and never
 * changed. It names the first thing that is not as it was, and exits with 1.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <sluice/sluice.h>

#define CHECK(condition)                                                                           \
    do {                                                                                           \
        if (!(condition)) {                                                                        \
            fprintf(stderr, "line %d: %s: %s\n", __LINE__, #condition, sluice_last_error());       \
            exit(1);                                                                               \
        }                                                                                          \
    } while (0)
#define OK(call) CHECK((call) == SLUICE_OK)

enum { SAMPLES = 20, BATCH = 4, STEPS = 10 };

static const char pipeline[] = "synthetic samples=20 shape=8,8,3 classes=5 | shuffle | "
                               "random_crop 6 | to_dtype f32 scale=true | to_chw | batch 4";

typedef struct trained {
    uint64_t steps;
    uint64_t records;
    uint64_t validations;
    uint64_t saved;
} trained;

/* ---- a run ----------------------------------------------------------------------------------- */

static float rate(uint64_t step, void *user)
{
    (void)user;
    return (float)(step + 1);
}

static sluice_status step(const sluice_step *s, void *user)
{
    const sluice_tensor *image = sluice_step_input(s, "image");
    trained *t = (trained *)user;

    if (s->struct_size < sizeof(*s) || image == NULL || image->rank != 4 || image->shape[1] != 3 ||
        image->dtype != SLUICE_F32 || *s->step != t->steps || *s->valid_rows != BATCH ||
        *s->learning_rate != rate(*s->step, NULL) || s->micro_batches != 1) {
        return sluice_fail(SLUICE_E_CALLBACK, "step %llu", (unsigned long long)*s->step);
    }
    t->steps++;
    s->outputs[0] = (float)*s->step;
    return SLUICE_OK;
}

static sluice_status eval(const sluice_step *s, void *user)
{
    (void)user;
    s->outputs[0] = (float)*s->valid_rows;
    return SLUICE_OK;
}

static sluice_status save(void *user, const char *folder, uint32_t rank, uint32_t world)
{
    (void)folder;
    ((trained *)user)->saved++;
    return rank == 0 && world == 1 ? SLUICE_OK : SLUICE_E_CALLBACK;
}

static sluice_status on_records(sluice_hook *hook, void *user)
{
    trained *t = (trained *)user;

    for (uint64_t i = 0; i < hook->record_count; i++) {
        const sluice_step_record *record = sluice_hook_record(hook, i);

        if (record->struct_size < sizeof(*record) || record->step != hook->step + i ||
            record->outputs[0] != (float)record->step || record->samples[0] >= SAMPLES ||
            record->digest == 0) {
            return sluice_fail(SLUICE_E_CALLBACK, "record %llu", (unsigned long long)i);
        }
        t->records++;
    }
    return SLUICE_OK;
}

static sluice_status on_validation(sluice_hook *hook, void *user)
{
    if (hook->result_count != 1 || hook->result_samples != SAMPLES || hook->results[0] != 1.0) {
        return sluice_fail(SLUICE_E_CALLBACK, "validation");
    }
    ((trained *)user)->validations++;
    return SLUICE_OK;
}

static void train(sluice_device *device, sluice_dataset *dataset, sluice_mode mode,
                  const char *folder)
{
    trained t = {0, 0, 0, 0};
    sluice_callback own;
    sluice_callback *monitor = NULL;
    sluice_schedule schedule;
    sluice_checkpointing checkpoint;
    sluice_validating validation;
    sluice_train_config config;
    sluice_report_stats stats;
    sluice_report *report = NULL;
    sluice_model model;
    FILE *lines = tmpfile();

    CHECK(lines != NULL);
    OK(sluice_loss_monitor(lines, 1, &monitor));
    sluice_callback_init(&own);
    own.user = &t;
    own.records = on_records;
    own.validation = on_validation;
    sluice_schedule_init(&schedule);
    schedule.function = rate;
    sluice_checkpointing_init(&checkpoint);
    checkpoint.folder = folder;
    checkpoint.every_steps = STEPS;
    sluice_validating_init(&validation);
    validation.dataset = dataset;
    validation.at_end = true;
    sluice_model_init(&model);
    model.step = step;
    model.eval = eval;
    model.save = save;
    model.user = &t;
    model.reads_valid_rows = true;
    sluice_train_config_init(&config);
    CHECK(config.struct_size == sizeof(config) && config.sink_size == 0);
    {
        sluice_callback *callbacks[] = {&own, monitor};

        config.epochs = 2;
        config.dataset_sink_mode = true;
        config.mode = mode;
        config.digest = true;
        config.record_samples = true;
        config.callbacks = callbacks;
        config.callback_count = 2;
        config.learning_rate = &schedule;
        config.checkpoint = folder != NULL ? &checkpoint : NULL;
        config.validation = &validation;
        OK(sluice_train(device, &model, dataset, &config, &report));
    }
    sluice_report_stats_init(&stats);
    OK(sluice_report_stats_get(report, &stats));
    CHECK(stats.struct_size == sizeof(stats) && stats.steps == STEPS && stats.epochs == 2);
    CHECK(stats.samples == 2 * SAMPLES && stats.digest != 0 && stats.validations == 1);
    CHECK(t.steps == STEPS && t.records == STEPS && t.validations == 1);
    CHECK(t.saved == (folder != NULL) && stats.checkpoints == t.saved);
    CHECK(ftell(lines) > 0);
    sluice_report_destroy(report);
    sluice_callback_destroy(monitor);
    fclose(lines);
}

/* ---- a loop of the program's own ------------------------------------------------------------- */

static void loop(sluice_device *device, sluice_dataset *dataset)
{
    sluice_channel_config config;
    sluice_channel_position position;
    sluice_channel_stats stats;
    sluice_channel_info info;
    sluice_report_stats figures;
    sluice_report *report = NULL;
    sluice_channel *channel = NULL;
    const sluice_batch *batch = NULL;
    uint64_t rows = 0;

    sluice_channel_config_init(&config);
    config.batches = STEPS;
    config.held = 1;
    config.seed = 7;
    config.end_of_pass = true;
    OK(sluice_channel_open(device, dataset, &config, &channel));
    sluice_channel_info_init(&info);
    OK(sluice_channel_inspect(channel, &info));
    CHECK(info.samples == SAMPLES && info.batch_size == BATCH && info.column_count == 2);
    CHECK(strcmp(info.columns[0].name, "image") == 0 && info.columns[0].shape[0] == 3);
    OK(sluice_channel_start(channel));
    for (uint64_t i = 0; i < STEPS; i++) {
        if (i == STEPS / 2) {
            CHECK(sluice_channel_get_next(channel, NULL, SLUICE_FOREVER, &batch) ==
                  SLUICE_END_OF_PASS);
        }
        OK(sluice_channel_get_next(channel, NULL, SLUICE_FOREVER, &batch));
        CHECK(batch->struct_size >= sizeof(*batch) && batch->number == i);
        CHECK(batch->rows == BATCH && batch->samples[0] < SAMPLES);
        CHECK(sluice_batch_input(batch, "label")->dtype == SLUICE_I32);
        rows += batch->valid_rows;
    }
    CHECK(rows == 2 * SAMPLES);
    sluice_channel_position_init(&position);
    OK(sluice_channel_position_get(channel, &position));
    CHECK(position.batch == STEPS && position.seed == 7);
    sluice_channel_stats_init(&stats);
    OK(sluice_channel_stats_get(channel, &stats));
    CHECK(stats.batches == STEPS && stats.samples == rows);
    sluice_report_stats_init(&figures);
    OK(sluice_channel_report(channel, &report));
    OK(sluice_report_stats_get(report, &figures));
    CHECK(figures.status == SLUICE_OK && figures.steps == STEPS && figures.samples == rows);
    sluice_report_destroy(report);
    OK(sluice_channel_release(channel, batch, NULL));
    OK(sluice_channel_rewind(channel));
    OK(sluice_channel_get_next(channel, NULL, SLUICE_FOREVER, &batch));
    CHECK(batch->number == 0);
    sluice_channel_stop(channel);
    CHECK(sluice_channel_get_next(channel, NULL, 0, &batch) == SLUICE_CLOSED);
    sluice_channel_close(channel);
}

/* ---- the rest -------------------------------------------------------------------------------- */

static void describe(void)
{
    sluice_topology_config topology;
    sluice_dataset *dataset = NULL;
    sluice_dataset_info info;
    sluice_pack_config pack;
    sluice_ranks ranks;
    int32_t label = -1;
    void *const columns[] = {NULL, &label};
    char *text = NULL;

    OK(sluice_dataset_parsef(&dataset, "synthetic %d 8,8,3 classes=%u", SAMPLES, 5U));
    OK(sluice_dataset_addf(dataset, "random_resized_crop 4 filter=%s", "area"));
    OK(sluice_dataset_add(dataset, "batch 4"));
    sluice_dataset_info_init(&info);
    OK(sluice_dataset_inspect(dataset, &info));
    CHECK(info.struct_size == sizeof(info) && info.batches == SAMPLES / BATCH);
    OK(sluice_dataset_get(dataset, 0, 0, 7, columns, NULL));
    CHECK(label == 2);
    OK(sluice_dataset_describe(dataset, &text));
    CHECK(strstr(text, "filter=area") != NULL);
    sluice_string_free(text);
    sluice_dataset_destroy(dataset);
    sluice_ranks_init(&ranks);
    OK(sluice_ranks_find(&ranks));
    CHECK(ranks.world >= 1 && ranks.source != NULL);
    sluice_topology_config_init(&topology);
    topology.synthetic = "numa:2 core:4 pu:1";
    topology.json = true;
    OK(sluice_topology_report(&topology, &text));
    CHECK(text[0] == '{');
    sluice_string_free(text);
    sluice_pack_config_init(&pack);
    CHECK(pack.interval == 0 && sluice_pack(&pack, NULL) == SLUICE_E_INVALID);
}

int main(int argc, char **argv)
{
    sluice_device *device = NULL;
    sluice_dataset *dataset = NULL;

    CHECK(strcmp(SLUICE_VERSION, "0.2.0") == 0); /* the headers it is compiled with */
    OK(sluice_device_open("host:0", &device));
    OK(sluice_dataset_parse(pipeline, &dataset));
    train(device, dataset, SLUICE_MODE_DATA, NULL);
    train(device, dataset, SLUICE_MODE_LOOP, argc > 1 ? argv[1] : NULL);
    loop(device, dataset);
    describe();
    sluice_dataset_destroy(dataset);
    sluice_device_close(device);
    printf("a program for %s runs with %s\n", SLUICE_VERSION, sluice_version());
    return 0;
}
