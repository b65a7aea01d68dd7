/* SPDX-License-Identifier: Apache-2.0 */
/* Two datasets of one seed draw alike: pictures and their masks stay pairs. */
#include <sluice/sluice.h>

#include "testing.h"

enum { SAMPLES = 24, SIDE = 16, BATCH = 5, BATCHES = 12 };

/* Pictures of noise in folder/NAME/a; with mask 0xFF their negatives. */
static void write_pictures(const char *folder, const char *name, uint8_t mask)
{
    static const char header[] = "P6\n16 16\n255\n";
    unsigned char file[sizeof(header) - 1 + SIDE * SIDE * 3];

    memcpy(file, header, sizeof(header) - 1);
    for (uint32_t i = 0; i < SAMPLES; i++) {
        char path[64];

        for (uint32_t p = 0; p < SIDE * SIDE * 3; p++) {
            file[sizeof(header) - 1 + p] =
                (unsigned char)(((i * 7919 + p) * 2654435761U) >> 24 ^ mask);
        }
        snprintf(path, sizeof(path), "%s/a/%03u.ppm", name, i);
        t_write_file(t_path(folder, path), file, sizeof(file));
    }
}

typedef struct side {
    sluice_dataset *dataset;
    sluice_channel *channel;
    const sluice_batch *batch;
} side;

static side open_side(sluice_device *device, const char *folder, const char *name, uint64_t seed)
{
    char pipeline[500];
    sluice_channel_config config;
    side s;

    snprintf(pipeline, sizeof(pipeline),
             "image_folder %.300s extensions=ppm | shuffle | decode | random_resized_crop 8 | "
             "random_horizontal_flip | batch %d",
             t_path(folder, name), BATCH);
    sluice_channel_config_init(&config);
    config.seed = seed;
    config.batches = BATCHES;
    T_OK(sluice_dataset_parse(pipeline, &s.dataset));
    T_OK(sluice_channel_open(device, s.dataset, &config, &s.channel));
    T_OK(sluice_channel_start(s.channel));
    return s;
}

static void close_side(side *s)
{
    sluice_channel_close(s->channel);
    sluice_dataset_destroy(s->dataset);
}

/* Bytes of the batches of both that are not each other's negative, but for the rounding of a
 * resize; and rows of different samples. */
static uint64_t count_differences(const char *folder, uint64_t seed, uint64_t other_seed)
{
    sluice_device *device = NULL;
    uint64_t differences = 0;
    side a;
    side b;

    T_OK(sluice_device_open("host:0", &device));
    a = open_side(device, folder, "pictures", seed);
    b = open_side(device, folder, "negatives", other_seed);
    for (uint32_t n = 0; n < BATCHES; n++) {
        const uint8_t *pixels;
        const uint8_t *negative;

        T_OK(sluice_channel_get_next(a.channel, NULL, SLUICE_FOREVER, &a.batch));
        T_OK(sluice_channel_get_next(b.channel, NULL, SLUICE_FOREVER, &b.batch));
        T_EQ(a.batch->valid_rows, b.batch->valid_rows);
        pixels = sluice_batch_input(a.batch, "image")->data;
        negative = sluice_batch_input(b.batch, "image")->data;
        for (uint32_t row = 0; row < a.batch->valid_rows; row++) {
            differences += a.batch->samples[row] != b.batch->samples[row];
            for (uint32_t p = row * 192; p < (row + 1) * 192; p++) {
                const int sum = pixels[p] + negative[p];

                differences += sum < 254 || sum > 256;
            }
        }
    }
    close_side(&a);
    close_side(&b);
    sluice_device_close(device);
    return differences;
}

static void datasets_of_one_seed_draw_alike(void)
{
    char folder[300];

    snprintf(folder, sizeof(folder), "%s", t_folder());
    write_pictures(folder, "pictures", 0);
    write_pictures(folder, "negatives", 0xFF);
    T_EQ(count_differences(folder, 7, 7), 0);
    T_TRUE(count_differences(folder, 7, 8) > BATCHES);
}

const t_test paired_datasets_tests[] = {
    T_TEST(datasets_of_one_seed_draw_alike),
    T_END,
};
