/* SPDX-License-Identifier: Apache-2.0 */
/* config.device_maps of a channel: called between GetNext and the loop. */
#include "device_map_kit.h"
#include "testing.h"
#include "train_kit.h"

static const char pipeline[] =
    "synthetic samples=50 shape=4,4,3 classes=10 | shuffle | random_horizontal_flip | batch 8";

typedef struct mapped {
    sluice_device_map maps[3];
    const sluice_device_map *list[3];
    sluice_device *device;
    sluice_dataset *dataset;
    sluice_channel_config config;
    sluice_channel *channel;
} mapped;

static sluice_status open_channel(mapped *m, const char *device)
{
    T_OK(sluice_device_open(device, &m->device));
    T_OK(sluice_dataset_parse(pipeline, &m->dataset));
    return sluice_channel_open(m->device, m->dataset, &m->config, &m->channel);
}

static void init(mapped *m)
{
    memset(m, 0, sizeof(*m));
    device_map_init(&m->maps[0], "row sums", device_map_sum, &device_map_sum_column);
    device_map_init(&m->maps[1], "pairs", device_map_pair, &device_map_pair_column);
    device_map_init(&m->maps[2], "view", device_map_look, &device_map_view_column);
    for (int i = 0; i < 3; i++) {
        m->list[i] = &m->maps[i];
    }
    sluice_channel_config_init(&m->config);
    m->config.seed = 9;
    m->config.device_maps = m->list;
    m->config.device_map_count = 3;
}

static void close_channel(mapped *m)
{
    sluice_channel_close(m->channel);
    sluice_dataset_destroy(m->dataset);
    sluice_device_close(m->device);
    m->channel = NULL;
}

static const sluice_batch *next(mapped *m)
{
    const sluice_batch *batch = NULL;

    T_OK(sluice_channel_get_next(m->channel, NULL, SLUICE_FOREVER, &batch));
    return batch;
}

/* The outputs of a batch are those of its own image, number and pass. */
static void check_batch(const sluice_batch *batch)
{
    const sluice_tensor *image = sluice_batch_input(batch, "image");
    const sluice_tensor *label = sluice_batch_input(batch, "label");
    const sluice_tensor *sum = sluice_batch_input(batch, "sum");
    const device_map_view *view = sluice_batch_input(batch, "view")->data;

    T_EQ(batch->input_count, 4);
    T_EQ(label->shape[1], 2);
    for (uint32_t row = 0; row < batch->rows; row++) {
        const int32_t *pair = (const int32_t *)label->data + (size_t)2 * row;
        int32_t want = 0;

        for (int i = 0; i < 48; i++) {
            want += ((const uint8_t *)image->data)[row * 48 + (uint32_t)i];
        }
        T_EQ(((const int32_t *)sum->data)[row], want);
        T_TRUE(pair[0] >= 1000 && pair[1] == 2 * want);
        T_EQ(view[row].step, batch->number);
        T_EQ(view[row].epoch, batch->pass);
        T_EQ(view[row].valid_rows, batch->valid_rows);
    }
}

static void a_batch_has_the_outputs_of_the_maps(void)
{
    static const char *const devices[] = {"host:0", "host:0,copy=1"};

    for (int i = 0; i < 2; i++) {
        mapped m;

        init(&m);
        m.config.first_batch = 5;
        T_OK(open_channel(&m, devices[i]));
        T_OK(sluice_channel_start(m.channel));
        for (uint64_t n = 0; n < 20; n++) {
            const sluice_batch *batch = next(&m);

            T_EQ(batch->number, 5 + n);
            check_batch(batch);
        }
        close_channel(&m);
    }
}

static void held_batches_have_outputs_of_their_own(void)
{
    const sluice_batch *held[3];
    mapped m;

    init(&m);
    m.config.held = 3;
    T_OK(open_channel(&m, "host:0"));
    T_OK(sluice_channel_start(m.channel));
    for (int round = 0; round < 6; round++) {
        for (int i = 0; i < 3; i++) {
            held[i] = next(&m);
        }
        for (int i = 0; i < 3; i++) {
            check_batch(held[(i + round) % 3]);
            T_OK(sluice_channel_release(m.channel, held[(i + round) % 3], NULL));
        }
    }
    T_OK(sluice_channel_rewind(m.channel));
    held[0] = next(&m);
    T_EQ(held[0]->number, 0);
    check_batch(held[0]);
    close_channel(&m);
}

/* ---- the same map in a run ------------------------------------------------------------------- */

static void keep_keys(kit *k, const sluice_step *step)
{
    const device_map_view *view = sluice_step_input(step, "view")->data;
    int64_t *keys = k->user;

    if (*step->step < 6) {
        keys[*step->step] = view->random_key;
    }
}

static void random_keys_are_those_of_a_run(void)
{
    int64_t keys[6] = {0};
    mapped m;
    kit k;

    init(&m);
    kit_init(&k);
    k.pipeline = pipeline;
    k.model.reads_valid_rows = true;
    k.config.seed = 9;
    k.config.device_maps = &m.list[2];
    k.config.device_map_count = 1;
    k.in_step = keep_keys;
    k.user = keys;
    T_OK(kit_run(&k));
    kit_fini(&k);
    T_OK(open_channel(&m, "host:0"));
    T_OK(sluice_channel_start(m.channel));
    for (int n = 0; n < 6; n++) {
        const device_map_view *view = sluice_batch_input(next(&m), "view")->data;

        T_EQ(view->random_key, keys[n]);
    }
    close_channel(&m);
}

/* ---- memory, report, errors ------------------------------------------------------------------ */

static void outputs_count_in_memory(void)
{
    sluice_channel_info info;
    mapped m;

    init(&m);
    m.config.held = 2;
    m.config.slots = 4;
    T_OK(open_channel(&m, "host:0"));
    sluice_channel_info_init(&info);
    T_OK(sluice_channel_inspect(m.channel, &info));
    T_EQ(info.device_map_bytes, 2 * 3 * 256); /* sets, outputs of at most 256 bytes */
    T_EQ(info.column_count, 4);
    T_STR(info.columns[1].name, "label");
    T_EQ(info.columns[1].rank, 1);
    T_STR(info.columns[3].name, "view");
    close_channel(&m);
    m.config.memory_bytes = info.slot_bytes + info.device_map_bytes;
    T_OK(open_channel(&m, "host:0"));
    close_channel(&m);
    m.config.memory_bytes--;
    T_STATUS(open_channel(&m, "host:0"), SLUICE_E_INVALID);
    T_CONTAINS(sluice_last_error(), "MB for outputs of device maps, more than the bound of");
    close_channel(&m);
}

static void the_report_has_the_time_of_the_maps(void)
{
    const sli_stage_summary *row;
    sluice_report *report = NULL;
    mapped m;

    init(&m);
    T_OK(open_channel(&m, "host:0"));
    T_OK(sluice_channel_start(m.channel));
    for (int n = 0; n < 5; n++) {
        check_batch(next(&m));
    }
    T_OK(sluice_channel_report(m.channel, &report));
    row = report_find_stage(report, "device_maps");
    T_TRUE(row != NULL && row->samples == 5 && row->busy_ns > 0);
    T_STR(report->maps, "row sums, pairs, view");
    sluice_report_destroy(report);
    close_channel(&m);
}

static void an_error_of_a_map_is_the_channels(void)
{
    const sluice_batch *batch = NULL;
    mapped m;

    init(&m);
    m.maps[1].map = device_map_fail;
    T_OK(open_channel(&m, "host:0"));
    T_OK(sluice_channel_start(m.channel));
    for (int n = 0; n < 2; n++) {
        T_STATUS(sluice_channel_get_next(m.channel, NULL, SLUICE_FOREVER, &batch), SLUICE_E_IO);
        T_CONTAINS(sluice_last_error(), "device map pairs returned");
        T_CONTAINS(sluice_last_error(), "no table of weights");
        CU_ASSERT_PTR_NULL(batch);
    }
    T_STATUS(sluice_channel_rewind(m.channel), SLUICE_E_IO);
    close_channel(&m);
}

static void wrong_maps_and_inputs_are_refused(void)
{
    const sluice_column scalar = {.name = "label", .dtype = SLUICE_I32};
    mapped m;

    init(&m);
    m.config.inputs = &scalar; /* the dataset's own column, which a map replaces */
    m.config.input_count = 1;
    T_STATUS(open_channel(&m, "host:0"), SLUICE_E_INVALID);
    T_CONTAINS(sluice_last_error(), "column label is i32 (2)");
    close_channel(&m);
    m.config.inputs = NULL;
    m.maps[2].map = NULL;
    T_STATUS(open_channel(&m, "host:0"), SLUICE_E_INVALID);
    T_CONTAINS(sluice_last_error(), "device map view: map is NULL");
    close_channel(&m);
}

const t_test channel_maps_tests[] = {
    T_TEST(a_batch_has_the_outputs_of_the_maps), T_TEST(held_batches_have_outputs_of_their_own),
    T_TEST(random_keys_are_those_of_a_run),      T_TEST(outputs_count_in_memory),
    T_TEST(the_report_has_the_time_of_the_maps), T_TEST(an_error_of_a_map_is_the_channels),
    T_TEST(wrong_maps_and_inputs_are_refused),   T_END,
};
