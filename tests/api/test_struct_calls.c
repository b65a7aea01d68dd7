/* SPDX-License-Identifier: Apache-2.0 */
/* The calls that take a struct with a struct_size. */
#include "struct_calls.h"

#include <sluice/sluice.h>

#include "testing.h"

/* What the calls below need, made once for each test. */
static struct {
    sluice_device *device;
    sluice_dataset *dataset;
    sluice_channel *channel;
    sluice_report *report;
} on;

/* ---- structs that the caller fills in ---------------------------------------------------------
 */

/* A struct of zeros of a program that was compiled for any version. */
static void begin_struct(void *any, size_t size)
{
    memset(any, 0, size);
    memcpy(any, &size, sizeof(size));
}

static sluice_status no_step(const sluice_step *step, void *user)
{
    (void)user;
    step->outputs[0] = 0;
    return SLUICE_OK;
}

static void fill_config(void *any, size_t size)
{
    begin_struct(any, size);
    if (size >= sizeof(sluice_train_config)) {
        ((sluice_train_config *)any)->max_steps = 1;
    }
}

static void fill_model(void *any, size_t size)
{
    begin_struct(any, size);
    if (size >= sizeof(sluice_model)) {
        ((sluice_model *)any)->step = no_step;
    }
}

static sluice_status train(const sluice_model *model, const sluice_train_config *config)
{
    return sluice_train(on.device, model, on.dataset, config, NULL);
}

static sluice_status train_config(void *any)
{
    sluice_model model;

    fill_model(&model, sizeof(model));
    return train(&model, (const sluice_train_config *)any);
}

static sluice_status train_model(void *any)
{
    sluice_train_config config;

    fill_config(&config, sizeof(config));
    return train((const sluice_model *)any, &config);
}

/* A run with one of the structs that config points to. */
static sluice_status train_nested(void *schedule, void *checkpoint, void *validation,
                                  void *callback)
{
    sluice_callback *const callbacks[] = {(sluice_callback *)callback};
    sluice_train_config config;
    sluice_model model;

    fill_model(&model, sizeof(model));
    fill_config(&config, sizeof(config));
    config.learning_rate = (const sluice_schedule *)schedule;
    config.checkpoint = (const sluice_checkpointing *)checkpoint;
    config.validation = (const sluice_validating *)validation;
    config.callbacks = callbacks;
    config.callback_count = callback != NULL;
    return train(&model, &config);
}

static void fill_schedule(void *any, size_t size)
{
    begin_struct(any, size);
}

static sluice_status train_schedule(void *any)
{
    return train_nested(any, NULL, NULL, NULL);
}

static void fill_checkpointing(void *any, size_t size)
{
    begin_struct(any, size);
}

static sluice_status train_checkpointing(void *any)
{
    return train_nested(NULL, any, NULL, NULL);
}

static void fill_validating(void *any, size_t size)
{
    begin_struct(any, size);
}

static sluice_status train_validating(void *any)
{
    return train_nested(NULL, NULL, any, NULL);
}

static void fill_callback(void *any, size_t size)
{
    begin_struct(any, size);
}

static sluice_status train_callback(void *any)
{
    return train_nested(NULL, NULL, NULL, any);
}

static void fill_device_map(void *any, size_t size)
{
    begin_struct(any, size);
}

static sluice_status train_device_map(void *any)
{
    const sluice_device_map *const maps[] = {(const sluice_device_map *)any};
    sluice_train_config config;
    sluice_model model;

    fill_config(&config, sizeof(config));
    fill_model(&model, sizeof(model));
    config.device_maps = maps;
    config.device_map_count = 1;
    return train(&model, &config);
}

static void fill_channel(void *any, size_t size)
{
    begin_struct(any, size);
}

static sluice_status open_channel(void *any)
{
    sluice_channel *channel = NULL;
    const sluice_status st =
        sluice_channel_open(on.device, on.dataset, (const sluice_channel_config *)any, &channel);

    sluice_channel_close(channel);
    return st;
}

static void fill_pack(void *any, size_t size)
{
    begin_struct(any, size);
}

static sluice_status pack_config(void *any)
{
    return sluice_pack((const sluice_pack_config *)any, NULL);
}

static void fill_verify(void *any, size_t size)
{
    begin_struct(any, size);
}

static sluice_status verify_config(void *any)
{
    return sluice_pack_verify((const sluice_verify_config *)any, NULL);
}

static void fill_topology(void *any, size_t size)
{
    begin_struct(any, size);
    if (size >= sizeof(sluice_topology_config)) {
        ((sluice_topology_config *)any)->synthetic = "pu:2";
    }
}

static sluice_status report_topology(void *any)
{
    char *text = NULL;
    const sluice_status st = sluice_topology_report((const sluice_topology_config *)any, &text);

    sluice_string_free(text);
    return st;
}

static void fill_llmc(void *any, size_t size)
{
    begin_struct(any, size);
}

static sluice_status read_llmc(void *any)
{
    int *token;

    return sluice_llmc_read(NULL, (const sluice_llmc_position *)any, &token, &token);
}

static void fill_source(void *any, size_t size)
{
    begin_struct(any, size);
}

static sluice_status make_source(void *any)
{
    sluice_dataset *dataset = NULL;

    return sluice_dataset_source((const sluice_source *)any, &dataset);
}

static void fill_filter(void *any, size_t size)
{
    begin_struct(any, size);
}

static sluice_status add_filter(void *any)
{
    sluice_dataset *dataset = NULL;
    sluice_status st = sluice_dataset_parse("synthetic 4 2,2,3 2", &dataset);

    if (st == SLUICE_OK) {
        st = sluice_dataset_filter(dataset, (const sluice_filter *)any);
    }
    sluice_dataset_destroy(dataset);
    return st;
}

static void fill_map(void *any, size_t size)
{
    begin_struct(any, size);
}

static sluice_status add_map(void *any)
{
    sluice_dataset *dataset = NULL;
    sluice_status st = sluice_dataset_parse("synthetic 4 2,2,3 2", &dataset);

    if (st == SLUICE_OK) {
        st = sluice_dataset_map(dataset, (const sluice_map *)any);
    }
    sluice_dataset_destroy(dataset);
    return st;
}

static void fill_map_batch(void *any, size_t size)
{
    begin_struct(any, size);
}

static sluice_status add_map_batch(void *any)
{
    sluice_dataset *dataset = NULL;
    sluice_status st = sluice_dataset_parse("synthetic 4 2,2,3 2", &dataset);

    if (st == SLUICE_OK) {
        st = sluice_dataset_map_batch(dataset, (const sluice_map_batch *)any);
    }
    sluice_dataset_destroy(dataset);
    return st;
}

static void fill_stage(void *any, size_t size)
{
    begin_struct(any, size);
}

static sluice_status register_stage(void *any)
{
    return sluice_stage_register((const sluice_stage *)any);
}

/* ---- structs that the library fills in --------------------------------------------------------
 */

static sluice_status pack_stats(void *any)
{
    sluice_pack_config config;

    sluice_pack_config_init(&config);
    return sluice_pack(&config, (sluice_pack_stats *)any);
}

static sluice_status verify_stats(void *any)
{
    sluice_verify_config config;

    sluice_verify_config_init(&config);
    config.path = t_folder();
    return sluice_pack_verify(&config, (sluice_verify_stats *)any);
}

static sluice_status find_ranks(void *any)
{
    return sluice_ranks_find((sluice_ranks *)any);
}

static sluice_status read_header(void *any)
{
    return sluice_image_header("P5 1 1 255\nx", 12, (sluice_image_info *)any);
}

static sluice_status inspect_dataset(void *any)
{
    return sluice_dataset_inspect(on.dataset, (sluice_dataset_info *)any);
}

static sluice_status find_in_samples(void *any)
{
    sluice_reader *reader = NULL;
    sluice_status st;

    T_OK(sluice_reader_create(on.dataset, &reader));
    st = sluice_reader_findings(reader, (sluice_findings *)any);
    sluice_reader_destroy(reader);
    return st;
}

static sluice_status inspect_channel(void *any)
{
    return sluice_channel_inspect(on.channel, (sluice_channel_info *)any);
}

static sluice_status stats_of_channel(void *any)
{
    return sluice_channel_stats_get(on.channel, (sluice_channel_stats *)any);
}

static sluice_status stats_of_report(void *any)
{
    return sluice_report_stats_get(on.report, (sluice_report_stats *)any);
}

const sized_call calls[] = {
    {"sluice_train_config", sizeof(sluice_train_config), fill_config, train_config, NULL},
    {"sluice_model", sizeof(sluice_model), fill_model, train_model, NULL},
    {"sluice_schedule", sizeof(sluice_schedule), fill_schedule, train_schedule, NULL},
    {"sluice_checkpointing", sizeof(sluice_checkpointing), fill_checkpointing, train_checkpointing,
     NULL},
    {"sluice_validating", sizeof(sluice_validating), fill_validating, train_validating, NULL},
    {"sluice_callback", sizeof(sluice_callback), fill_callback, train_callback, NULL},
    {"sluice_device_map", sizeof(sluice_device_map), fill_device_map, train_device_map,
     "device_maps[0].name is NULL"},
    {"sluice_channel_config", sizeof(sluice_channel_config), fill_channel, open_channel, NULL},
    {"sluice_pack_config", sizeof(sluice_pack_config), fill_pack, pack_config, "folder is not set"},
    {"sluice_verify_config", sizeof(sluice_verify_config), fill_verify, verify_config,
     "path is not set"},
    {"sluice_topology_config", sizeof(sluice_topology_config), fill_topology, report_topology,
     NULL},
    {"sluice_llmc_position", sizeof(sluice_llmc_position), fill_llmc, read_llmc,
     "an argument is NULL"},
    {"sluice_source", sizeof(sluice_source), fill_source, make_source, "name is NULL"},
    {"sluice_filter", sizeof(sluice_filter), fill_filter, add_filter, "name is NULL"},
    {"sluice_map", sizeof(sluice_map), fill_map, add_map, "name is NULL"},
    {"sluice_map_batch", sizeof(sluice_map_batch), fill_map_batch, add_map_batch, "name is NULL"},
    {"sluice_stage", sizeof(sluice_stage), fill_stage, register_stage, "name is NULL"},
    {"sluice_pack_stats", sizeof(sluice_pack_stats), NULL, pack_stats, "folder is not set"},
    {"sluice_verify_stats", sizeof(sluice_verify_stats), NULL, verify_stats, "no valid data"},
    {"sluice_ranks", sizeof(sluice_ranks), NULL, find_ranks, NULL},
    {"sluice_image_info", sizeof(sluice_image_info), NULL, read_header, NULL},
    {"sluice_findings", sizeof(sluice_findings), NULL, find_in_samples, NULL},
    {"sluice_dataset_info", sizeof(sluice_dataset_info), NULL, inspect_dataset, NULL},
    {"sluice_channel_info", sizeof(sluice_channel_info), NULL, inspect_channel, NULL},
    {"sluice_channel_stats", sizeof(sluice_channel_stats), NULL, stats_of_channel, NULL},
    {"sluice_report_stats", sizeof(sluice_report_stats), NULL, stats_of_report, NULL},
};

const int call_count = (int)(sizeof(calls) / sizeof(calls[0]));

void open_all(void)
{
    sluice_channel_config config;
    sluice_train_config training;
    sluice_model model;

    fill_model(&model, sizeof(model));
    fill_config(&training, sizeof(training));
    sluice_channel_config_init(&config);
    T_OK(sluice_device_open("host:0", &on.device));
    T_OK(sluice_dataset_parse("synthetic 8 4,4,3 2 | batch 4", &on.dataset));
    T_OK(sluice_channel_open(on.device, on.dataset, &config, &on.channel));
    T_OK(sluice_train(on.device, &model, on.dataset, &training, &on.report));
}

void close_all(void)
{
    sluice_report_destroy(on.report);
    sluice_channel_close(on.channel);
    sluice_dataset_destroy(on.dataset);
    sluice_device_close(on.device);
}
