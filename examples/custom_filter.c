/* SPDX-License-Identifier: Apache-2.0 */
/*
 * custom_filter: a user-defined filter. Batches hold only the images that are bright enough; their
 * number need not be known. Prints the label and the brightness of each kept sample of a pass.
 *     cc -o custom_filter custom_filter.c $(pkg-config --cflags --libs sluice)
 */
#include <stdio.h>

#include <sluice/sluice.h>

static double brightness(const unsigned char *pixels, size_t count)
{
    double sum = 0;

    for (size_t i = 0; i < count; i++) {
        sum += pixels[i];
    }
    return sum / (double)count;
}

/* Your code: decides whether to keep a sample. Workers call it concurrently. */
static sluice_status choose_bright(sluice_sample *sample, uint32_t *keep_out, void *user)
{
    sluice_sample_view image;
    const sluice_status st = sluice_sample_get(sample, "image", &image);

    *keep_out = st == SLUICE_OK && brightness(image.data, image.bytes) > *(const double *)user;
    return st;
}

static void print_batch(const sluice_batch *batch)
{
    const sluice_tensor *image = sluice_batch_input(batch, "image"); /* (16, 4, 4, 3) u8 */
    const int32_t *labels = sluice_batch_input(batch, "label")->data;
    const size_t bytes = image->bytes / (size_t)image->shape[0];

    for (uint32_t row = 0; row < batch->valid_rows; row++) {
        const unsigned char *pixels = (const unsigned char *)image->data + row * bytes;

        printf("%d %.1f\n", labels[row], brightness(pixels, bytes));
    }
}

int main(void)
{
    double least = 128;
    sluice_device *device = NULL;
    sluice_dataset *dataset = NULL;
    sluice_channel *channel = NULL;
    const sluice_batch *batch;
    sluice_channel_config config;
    sluice_filter filter;
    sluice_status st = sluice_device_open("host:0", &device);

    sluice_filter_init(&filter);
    filter.name = "bright";
    filter.inputs = (const char *const[]){"image"};
    filter.input_count = 1;
    filter.filter = choose_bright;
    filter.user = &least;
    sluice_channel_config_init(&config);
    config.end_of_pass = true; /* get_next returns END_OF_PASS after the last batch of a pass */
    st = st < 0 ? st : sluice_dataset_parse("synthetic 300 4,4,3 300 | shuffle", &dataset);
    st = st < 0 ? st : sluice_dataset_filter(dataset, &filter);
    st = st < 0 ? st : sluice_dataset_add(dataset, "batch 16");
    st = st < 0 ? st : sluice_channel_open(device, dataset, &config, &channel);
    st = st < 0 ? st : sluice_channel_start(channel);
    while (st == SLUICE_OK &&
           (st = sluice_channel_get_next(channel, NULL, SLUICE_FOREVER, &batch)) == SLUICE_OK) {
        print_batch(batch);
    }
    if (st < 0) {
        fprintf(stderr, "%s\n", sluice_last_error());
    }
    sluice_channel_close(channel);
    sluice_dataset_destroy(dataset);
    sluice_device_close(device);
    return st < 0 ? 1 : 0;
}
