/* SPDX-License-Identifier: Apache-2.0 */
/* Rows longer than their values: zeros behind each value, whatever was in the slot before. */
#include <sluice/custom.h>

#include "dataset_kit.h"
#include "loop_kit.h"
#include "record_kit.h"
#include "testing.h"

/* Long padding, which is zeroed by non-temporal stores, and short padding. */
enum { ROW = 200000, SAMPLES = 24, BATCH = 2, SLOTS = 3, PASSES = 4 };

/* Long values and short ones, in turn in the rows of a slot. */
static size_t value_size(uint64_t sample)
{
    return sample / (SLOTS * (uint64_t)BATCH) % 2 == 0 ? ROW - sample : 3 + sample * 5000;
}

static uint8_t value_byte(uint64_t sample)
{
    return (uint8_t)(sample + 1);
}

static const char *write_values(const char *folder)
{
    static char path[500];
    static uint8_t value[ROW];
    record_bytes file = {NULL, 0, 0};

    for (uint64_t i = 0; i < SAMPLES; i++) {
        record_maker maker = {.names = {.count = 0}};

        memset(value, value_byte(i), ROW);
        maker_bytes(&maker, "value", value, value_size(i));
        maker_end(&maker, &file);
    }
    snprintf(path, sizeof(path), "%s", t_path(folder, "values.tfrecord"));
    write_records(&file, path);
    return path;
}

/* Compares the rows of a batch, and then writes to all their bytes, as a loop may. */
static void check_rows(const sluice_batch *batch, const char *column)
{
    const sluice_tensor *values = sluice_batch_input(batch, column);
    size_t wrong = 0;

    T_TRUE(values != NULL && values->bytes == (size_t)BATCH * ROW);
    for (uint32_t row = 0; row < batch->rows; row++) {
        const uint8_t *bytes = (const uint8_t *)values->data + (size_t)row * ROW;
        const size_t size = value_size(batch->samples[row]);

        for (size_t i = 0; i < ROW; i++) {
            wrong += bytes[i] != (i < size ? value_byte(batch->samples[row]) : 0);
        }
    }
    T_EQ(wrong, 0);
    memset(values->data, 0xEE, values->bytes);
}

static void check_batches(const char *device, sluice_dataset *dataset, const char *column)
{
    sluice_channel_config config = loop_kit_config(0, (uint64_t)PASSES * SAMPLES / BATCH);
    const sluice_batch *batch = NULL;
    loop_kit loop;

    config.workers = 2;
    config.slots = SLOTS;
    loop = loop_kit_open_dataset(device, dataset, &config);
    T_OK(sluice_channel_start(loop.channel));
    for (uint64_t i = 0; i < config.batches; i++) {
        T_OK(loop_kit_next(&loop, &batch));
        check_rows(batch, column);
    }
    T_STATUS(loop_kit_next(&loop, &batch), SLUICE_END_OF_DATA);
    loop_kit_close(&loop);
}

static void nothing_of_earlier_batches_is_behind_a_value(void)
{
    static const char *const devices[] = {"host:0", "host:0,copy=1"};
    const char *path = write_values(t_folder());

    for (size_t i = 0; i < COUNT(devices); i++) {
        sluice_dataset *dataset =
            parsedf("tfrecord %s fields=value:value@bytes[%d] | batch %d", path, ROW, BATCH);

        check_batches(devices[i], dataset, "value");
        sluice_dataset_destroy(dataset);
    }
}

/* Copies the value, after it has filled a whole row. */
static sluice_status fill_and_copy(sluice_sample *sample, void *user)
{
    const uint64_t most = ROW;
    sluice_sample_view view;
    void *room = NULL;
    sluice_status st = sluice_sample_get(sample, "value", &view);
    uint64_t size;

    (void)user;
    if (st == SLUICE_OK) {
        st = sluice_sample_room(sample, "copied", &most, &room);
    }
    if (st != SLUICE_OK) {
        return st;
    }
    memset(room, 0xCC, ROW);
    size = view.shape[0];
    st = sluice_sample_room(sample, "copied", &size, &room);
    if (st == SLUICE_OK) {
        memcpy(room, view.data, size);
    }
    return st;
}

static void nothing_of_a_map_is_behind_its_value(void)
{
    static const char *const inputs[] = {"value"};
    static const sluice_column_spec outputs[] = {
        {.name = "copied", .dtype = SLUICE_U8, .rank = 1, .shape = {ROW}, .ragged = 1},
    };
    sluice_dataset *dataset =
        parsedf("tfrecord %s fields=value:value@bytes[%d]", write_values(t_folder()), ROW);
    sluice_map map;

    sluice_map_init(&map);
    map.name = "fill_and_copy";
    map.version = 1;
    map.inputs = inputs;
    map.input_count = 1;
    map.outputs = outputs;
    map.output_count = 1;
    map.map = fill_and_copy;
    T_OK(sluice_dataset_map(dataset, &map));
    T_OK(sluice_dataset_addf(dataset, "batch %d", BATCH));
    check_batches("host:0", dataset, "copied");
    sluice_dataset_destroy(dataset);
}

const t_test channel_padding_tests[] = {
    T_TEST(nothing_of_earlier_batches_is_behind_a_value),
    T_TEST(nothing_of_a_map_is_behind_its_value),
    T_END,
};
