/* SPDX-License-Identifier: Apache-2.0 */
/*
 * double_buffer: a loop of your own that holds two batches. A thread works on one of them while the
 * loop waits for the next; each is released when its work is done.
 *
 *     cc -o double_buffer double_buffer.c $(pkg-config --cflags --libs sluice) -lpthread
 *
 * Prints the label and the mean pixel of each sample.
 */
#include <pthread.h>
#include <stdio.h>

#include <sluice/sluice.h>

/* 60 images, one per class, in batches of 8: the last one has 4 samples. */
static const char pipeline[] = "synthetic samples=60 classes=60 shape=32,32,3 | shuffle | "
                               "random_crop 24 | to_dtype f32 scale=true | batch 8";

enum { BATCHES = 8 };

/* Your code: processes the batch; returns once nothing reads the batch any more. */
static void *work(void *arg)
{
    const sluice_batch *batch = *(const sluice_batch **)arg;
    const sluice_tensor *image = sluice_batch_input(batch, "image"); /* (8, 24, 24, 3) float */
    const int32_t *labels = sluice_batch_input(batch, "label")->data;
    const int64_t size = image->shape[1] * image->shape[2] * image->shape[3];

    for (uint32_t row = 0; row < batch->valid_rows; row++) {
        const float *pixels = (const float *)image->data + row * size;
        double sum = 0;

        for (int64_t i = 0; i < size; i++) {
            sum += (double)pixels[i];
        }
        printf("%d %.3f\n", labels[row], sum / (double)size);
    }
    return NULL;
}

/* Holds two batches from the second get_next on: the one that is being processed, and the next one.
 */
static sluice_status run_loop(sluice_channel *channel)
{
    const sluice_batch *current = NULL;
    sluice_status st = sluice_channel_get_next(channel, NULL, SLUICE_FOREVER, &current);

    while (st == SLUICE_OK) {
        const sluice_batch *next = NULL;
        sluice_status released;
        pthread_t thread;

        if (pthread_create(&thread, NULL, work, &current) != 0) {
            return sluice_fail(SLUICE_E_NO_MEMORY, "cannot start a thread");
        }
        st = sluice_channel_get_next(channel, NULL, SLUICE_FOREVER, &next);
        pthread_join(thread, NULL);
        released = sluice_channel_release(channel, current, NULL);
        st = released < 0 ? released : st;
        current = next;
    }
    return st == SLUICE_END_OF_DATA ? SLUICE_OK : st;
}

int main(void)
{
    sluice_device *device = NULL;
    sluice_dataset *dataset = NULL;
    sluice_channel *channel = NULL;
    sluice_channel_config config;
    sluice_status st = sluice_device_open("host:0", &device);

    sluice_channel_config_init(&config);
    config.batches = BATCHES;
    config.held = 2;
    if (st == SLUICE_OK) {
        st = sluice_dataset_parse(pipeline, &dataset);
    }
    if (st == SLUICE_OK) {
        st = sluice_channel_open(device, dataset, &config, &channel);
    }
    if (st == SLUICE_OK) {
        st = sluice_channel_start(channel);
    }
    if (st == SLUICE_OK) {
        st = run_loop(channel);
    }
    if (st != SLUICE_OK) {
        fprintf(stderr, "%s: %s\n", sluice_status_name(st), sluice_last_error());
    }
    sluice_channel_close(channel);
    sluice_dataset_destroy(dataset);
    sluice_device_close(device);
    return st == SLUICE_OK ? 0 : 1;
}
