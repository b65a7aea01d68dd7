/* SPDX-License-Identifier: Apache-2.0 */
/*
 * custom_geometry: geometry of your own, by an image map. The jitter of darknet's trainer moves the
 * four edges of each image at random, before the resize, and the boxes follow by its matrix. Prints
 * for each sample the box, and the bright rectangle that is in the image.
 *
 *     cc -o custom_geometry custom_geometry.c $(pkg-config --cflags --libs sluice)
 */
#include <stdio.h>
#include <string.h>

#include <sluice/sluice.h>

enum { SAMPLES = 40, WIDTH = 60, HEIGHT = 40, SIDE = 48, GRAY = 90 };

/* An image of any height and width: 0. */
static const sluice_column_spec outputs[] = {
    {"image", SLUICE_U8, 3, {0, 0, 3}, SLUICE_ROLE_IMAGE, 0, NULL},
};

/* A number of pixels from -length / 5 to length / 5, at random. */
static int64_t move(const sluice_sample *sample, uint32_t n, uint64_t length)
{
    const uint64_t most = length / 5;

    return (int64_t)(sluice_sample_random(sample, n) % (2 * most + 1)) - (int64_t)most;
}

/* Copies line y of the image, from x on, to a line of another width; gray beside the image. */
static void copy_line(const sluice_sample_view *image, int64_t x, int64_t y, uint64_t width,
                      uint8_t *to)
{
    const int64_t shown = (int64_t)image->shape[1];

    memset(to, GRAY, (size_t)width * 3);
    for (int64_t k = 0; k < (int64_t)width && y >= 0 && y < (int64_t)image->shape[0]; k++) {
        if (x + k >= 0 && x + k < shown) {
            memcpy(to + 3 * k, (const uint8_t *)image->data + 3 * (y * shown + x + k), 3);
        }
    }
}

/* Your code: reads an image of any size, and writes one of a size of its own. */
static sluice_status jitter(sluice_sample *sample, void *user)
{
    sluice_sample_view image;
    void *room;
    int64_t left;
    int64_t top;
    uint64_t shape[3] = {0, 0, 3};
    sluice_status st = sluice_sample_get(sample, "image", &image);

    (void)user;
    if (st < 0) {
        return st;
    }
    left = move(sample, 0, image.shape[1]);
    top = move(sample, 1, image.shape[0]);
    shape[0] = (uint64_t)((int64_t)image.shape[0] - top - move(sample, 2, image.shape[0]));
    shape[1] = (uint64_t)((int64_t)image.shape[1] - left - move(sample, 3, image.shape[1]));
    st = sluice_sample_room(sample, "image", shape, &room);
    if (st < 0) {
        return st;
    }
    for (uint64_t y = 0; y < shape[0]; y++) {
        copy_line(&image, left, top + (int64_t)y, shape[1],
                  (uint8_t *)room + (size_t)(y * shape[1] * 3));
    }
    /* a point (x, y) of the old image is at (x - left, y - top) of the new one */
    return sluice_sample_warped(sample, (const double[6]){1, 0, -(double)left, 0, 1, -(double)top});
}

/* Images with a bright rectangle, and its box. */
static void draw(uint8_t *images, float *boxes)
{
    memset(images, 20, (size_t)SAMPLES * HEIGHT * WIDTH * 3);
    for (uint32_t i = 0; i < SAMPLES; i++) {
        const uint32_t x = 15 + i % 20;
        const uint32_t y = 10 + i % 11;

        for (uint32_t line = y; line < y + 8; line++) {
            memset(images + ((size_t)(i * HEIGHT + line) * WIDTH + x) * 3, 250, 12 * 3);
        }
        boxes[4 * i] = (float)x;
        boxes[4 * i + 1] = (float)y;
        boxes[4 * i + 2] = (float)x + 12;
        boxes[4 * i + 3] = (float)y + 8;
    }
}

/* Prints a sample as a training step would receive it. */
static sluice_status step(const sluice_step *s, void *user)
{
    const uint8_t *images = sluice_step_input(s, "image")->data;
    const float *boxes = sluice_step_input(s, "box")->data;

    for (uint32_t row = 0; row < *s->valid_rows; row++) {
        uint32_t edges[4] = {SIDE, SIDE, 0, 0}; /* of the bright pixels */

        for (uint32_t k = 0; k < SIDE * SIDE; k++) {
            const uint32_t x = k % SIDE;
            const uint32_t y = k / SIDE;

            if (images[((size_t)row * SIDE * SIDE + k) * 3] > 200) {
                edges[0] = x < edges[0] ? x : edges[0];
                edges[1] = y < edges[1] ? y : edges[1];
                edges[2] = x + 1 > edges[2] ? x + 1 : edges[2];
                edges[3] = y + 1 > edges[3] ? y + 1 : edges[3];
            }
        }
        fprintf(user, "box %.1f %.1f %.1f %.1f bright %u %u %u %u\n", (double)boxes[4 * row],
                (double)boxes[4 * row + 1], (double)boxes[4 * row + 2], (double)boxes[4 * row + 3],
                edges[0], edges[1], edges[2], edges[3]);
    }
    return SLUICE_OK;
}

int main(void)
{
    static uint8_t images[SAMPLES * HEIGHT * WIDTH * 3];
    static float boxes[SAMPLES * 4];
    static int32_t lengths[SAMPLES];
    static const char *const inputs[] = {"image"};
    const sluice_array arrays[] = {
        {"image", images, SLUICE_U8, 4, {SAMPLES, HEIGHT, WIDTH, 3}},
        {"box", boxes, SLUICE_F32, 3, {SAMPLES, 1, 4}},
        {"box_length", lengths, SLUICE_I32, 1, {SAMPLES}},
    };
    sluice_device *device = NULL;
    sluice_dataset *dataset = NULL;
    sluice_model model;
    sluice_train_config config;
    sluice_map map;
    sluice_status st;

    draw(images, boxes);
    for (uint32_t i = 0; i < SAMPLES; i++) {
        lengths[i] = 1;
    }
    sluice_map_init(&map);
    map.name = "jitter";
    map.version = 1;
    map.inputs = inputs;
    map.input_count = 1;
    map.outputs = outputs;
    map.output_count = 1;
    map.map = jitter;
    sluice_model_init(&model);
    model.step = step;
    model.user = stdout;
    model.reads_valid_rows = true;
    sluice_train_config_init(&config);
    config.epochs = 1;
    config.seed = 7;
    st = sluice_device_open("host:0", &device);
    st = st < 0 ? st : sluice_dataset_memory(arrays, 3, &dataset);
    st = st < 0 ? st : sluice_dataset_add(dataset, "column box boxes | shuffle");
    st = st < 0 ? st : sluice_dataset_map(dataset, &map);
    st = st < 0 ? st : sluice_dataset_add(dataset, "resize 48,48 filter=nearest | batch 8");
    st = st < 0 ? st : sluice_train(device, &model, dataset, &config, NULL);
    if (st < 0) {
        fprintf(stderr, "%s: %s\n", sluice_status_name(st), sluice_last_error());
    }
    sluice_device_close(device);
    sluice_dataset_destroy(dataset);
    return st < 0 ? 1 : 0;
}
