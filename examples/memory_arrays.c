/* SPDX-License-Identifier: Apache-2.0 */
/*
 * memory_arrays: linear regression on two arrays of the program, which Sluice shuffles and batches
 * without a copy of them. Prints the weights, which approach 1, -2 and 0.5.
 *
 *     cc -o memory_arrays memory_arrays.c $(pkg-config --cflags --libs sluice)
 */
#include <stdio.h>

#include <sluice/sluice.h>

enum { SAMPLES = 1000, FEATURES = 3, BATCH = 20 };

static const float truth[FEATURES] = {1, -2, 0.5F};
static float features[SAMPLES][FEATURES];
static float targets[SAMPLES];

/* Your data. */
static void make_samples(void)
{
    uint32_t state = 1;

    for (uint32_t i = 0; i < SAMPLES; i++) {
        for (uint32_t k = 0; k < FEATURES; k++) {
            state = state * 1664525 + 1013904223;
            features[i][k] = (float)(state >> 8) / 8388608 - 1; /* from -1 to 1 */
            targets[i] += truth[k] * features[i][k];
        }
    }
}

/* Your training: one step of gradient descent. */
static sluice_status step(const sluice_step *s, void *user)
{
    const float *x = sluice_step_input(s, "features")->data; /* (20, 3) */
    const float *y = sluice_step_input(s, "target")->data;   /* (20) */
    float *weights = user;

    for (uint32_t row = 0; row < BATCH; row++, x += FEATURES) {
        const float error = weights[0] * x[0] + weights[1] * x[1] + weights[2] * x[2] - y[row];

        for (uint32_t k = 0; k < FEATURES; k++) {
            weights[k] -= 0.1F * error * x[k];
        }
    }
    return SLUICE_OK;
}

int main(void)
{
    const sluice_array arrays[] = {
        {"features", features, SLUICE_F32, 2, {SAMPLES, FEATURES}},
        {"target", targets, SLUICE_F32, 1, {SAMPLES}},
    };
    float weights[FEATURES] = {0};
    sluice_dataset *dataset = NULL;
    sluice_device *device = NULL;
    sluice_model model;
    sluice_train_config config;
    sluice_status st;

    make_samples();
    sluice_model_init(&model);
    model.step = step;
    model.user = weights;
    sluice_train_config_init(&config);
    config.epochs = 4;
    st = sluice_dataset_memory(arrays, 2, &dataset);
    st = st < 0 ? st : sluice_dataset_add(dataset, "shuffle | batch 20");
    st = st < 0 ? st : sluice_device_open("host:0", &device);
    st = st < 0 ? st : sluice_train(device, &model, dataset, &config, NULL);
    fputs(st < 0 ? sluice_last_error() : "", stderr);
    printf("%.3f %.3f %.3f\n", (double)weights[0], (double)weights[1], (double)weights[2]);
    sluice_device_close(device);
    sluice_dataset_destroy(dataset);
    return st < 0;
}
