/* SPDX-License-Identifier: Apache-2.0 */
#include "map_kit.h"

#include <sluice/arrays.h>

#include "testing.h"

uint8_t plain_images[SAMPLES][H][W][3];
uint8_t inverted_images[SAMPLES][H][W][3];
int64_t numbers[SAMPLES];

void fill_arrays(void)
{
    for (int i = 0; i < SAMPLES; i++) {
        uint8_t *plain = &plain_images[i][0][0][0];
        uint8_t *inverted = &inverted_images[i][0][0][0];

        numbers[i] = (int64_t)i * i;
        for (int k = 0; k < PIXELS; k++) {
            plain[k] = (uint8_t)(i * 37 + k * 11);
            inverted[k] = (uint8_t)(255 - plain[k]);
        }
    }
}

sluice_dataset *arrays_of(const void *images)
{
    const sluice_array arrays[] = {
        {"image", images, SLUICE_U8, 4, {SAMPLES, H, W, 3}},
        {"number", numbers, SLUICE_I64, 1, {SAMPLES}},
    };
    sluice_dataset *dataset = NULL;

    T_OK(sluice_dataset_memory(arrays, 2, &dataset));
    return dataset;
}

sluice_status give_i64(sluice_sample *sample, const char *column, int64_t value)
{
    void *room;
    const sluice_status st = sluice_sample_room(sample, column, NULL, &room);

    if (st == SLUICE_OK) {
        *(int64_t *)room = value;
    }
    return st;
}

void add_map(sluice_dataset *dataset, const char *name,
             sluice_status (*map)(sluice_sample *, void *), const char *const *inputs,
             uint32_t input_count, const sluice_column_spec *outputs, uint32_t output_count,
             void *user)
{
    sluice_map settings;

    sluice_map_init(&settings);
    settings.name = name;
    settings.version = 3;
    settings.inputs = inputs;
    settings.input_count = input_count;
    settings.outputs = outputs;
    settings.output_count = output_count;
    settings.map = map;
    settings.user = user;
    T_OK(sluice_dataset_map(dataset, &settings));
}
