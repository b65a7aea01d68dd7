/* SPDX-License-Identifier: Apache-2.0 */
/*
 * custom_batch: mixup by a function on whole batches, as the stage mixup does. Prints all labels.
 * cc -o custom_batch custom_batch.c $(pkg-config --cflags --libs sluice)
 */
#include <stdio.h>

#include <sluice/sluice.h>

/* Mixes pairs of rows of a column f32: the first one with the last one, and so on. */
static sluice_status mix(sluice_host_batch *batch, const char *name, float share)
{
    const uint32_t rows = sluice_host_batch_valid_rows(batch); /* without padding */
    sluice_host_column column;
    sluice_status st = sluice_host_batch_column(batch, name, &column);

    for (uint32_t row = 0; row < rows / 2 && st >= 0; row++) {
        float *a = (float *)column.data + row * (column.row_bytes / sizeof(float));
        float *b = (float *)column.data + (rows - 1 - row) * (column.row_bytes / sizeof(float));

        for (size_t i = 0; i < column.row_bytes / sizeof(float); i++) {
            const float sum = a[i] + b[i];

            a[i] = share * a[i] + (1 - share) * b[i];
            b[i] = sum - a[i];
        }
    }
    return st;
}

/* Your code: called for each batch, by the worker that has written its last row. */
static sluice_status mixup(sluice_host_batch *batch, void *user)
{
    const float share = (float)(sluice_host_batch_random(batch, 0) >> 40) / 16777216;
    const sluice_status st = mix(batch, "image", share);

    (void)user;
    return st < 0 ? st : mix(batch, "label", share);
}

static sluice_status print_labels(const sluice_step *step, void *user)
{
    const float *label = sluice_step_input(step, "label")->data;

    (void)user;
    for (uint32_t i = 0; i < 16 * 4; i++) {
        printf("%g%s", (double)label[i], i % 4 == 3 ? "\n" : " ");
    }
    return SLUICE_OK;
}

int main(void)
{
    const char *const changes[] = {"image", "label"};
    sluice_dataset *dataset = NULL;
    sluice_device *device = NULL;
    sluice_model model;
    sluice_train_config config;
    sluice_map_batch map;
    sluice_status st = sluice_dataset_parse(
        "synthetic 64 8,8,3 4 | normalize 0.5 0.5 | one_hot label 4 | batch 16", &dataset);

    sluice_map_batch_init(&map);
    map.name = "mixup";
    map.changes = changes;
    map.change_count = 2;
    map.map = mixup;
    sluice_train_config_init(&config);
    config.epochs = 1;
    sluice_model_init(&model);
    model.step = print_labels;
    st = st < 0 ? st : sluice_dataset_map_batch(dataset, &map);
    st = st < 0 ? st : sluice_device_open("host:0", &device);
    st = st < 0 ? st : sluice_train(device, &model, dataset, &config, NULL);
    fputs(st < 0 ? sluice_last_error() : "", stderr);
    sluice_dataset_destroy(dataset);
    sluice_device_close(device);
    return st < 0;
}
