/* SPDX-License-Identifier: Apache-2.0 */
/*
 * custom_source FILE: trains on a format of your own: up to 1000 records of a class, one byte, and
 * an image of 24 x 32 pixels RGB. Prints the label and the first value of each sample.
 *
 *     cc -o custom_source custom_source.c $(pkg-config --cflags --libs sluice)
 */
#include <stdio.h>

#include <sluice/sluice.h>

enum { PIXELS = 24 * 32 * 3, RECORD = 1 + PIXELS, MOST = 1000 };

static const sluice_column_spec columns[] = {
    {"image", SLUICE_U8, 3, {24, 32, 3}, SLUICE_ROLE_IMAGE, 0, NULL},
    {"label", SLUICE_I32, 0, {0}, SLUICE_ROLE_PLAIN, 0, NULL},
};

/* Your code: provides record `index`. Several workers call it concurrently. */
static sluice_status read_record(sluice_sample *sample, uint64_t index, void *user)
{
    const unsigned char *record = (const unsigned char *)user + index * RECORD;
    void *label = NULL;
    sluice_status st = sluice_sample_room(sample, "label", NULL, &label);

    if (st == SLUICE_OK) {
        *(int32_t *)label = record[0];
        st = sluice_sample_lend(sample, "image", NULL, record + 1, PIXELS);
    }
    return st;
}

/* Your training. */
static sluice_status step(const sluice_step *s, void *user)
{
    const float *images = sluice_step_input(s, "image")->data; /* (8, 24, 24, 3) */
    const int32_t *labels = sluice_step_input(s, "label")->data;

    for (uint32_t row = 0; row < *s->valid_rows; row++) {
        fprintf(user, "%d %.0f\n", labels[row], (double)images[(size_t)row * 24 * 24 * 3]);
    }
    return SLUICE_OK;
}

int main(int argc, char **argv)
{
    static unsigned char records[MOST * RECORD];
    FILE *file = argc == 2 ? fopen(argv[1], "rb") : NULL;
    sluice_device *device = NULL;
    sluice_dataset *dataset = NULL;
    sluice_source source;
    sluice_model model;
    sluice_train_config config;
    sluice_status st = sluice_device_open("host:0", &device);

    sluice_source_init(&source);
    source.name = "records";
    source.columns = columns;
    source.column_count = 2;
    source.count = file != NULL ? fread(records, RECORD, MOST, file) : 0;
    source.read = read_record;
    source.user = records;
    sluice_model_init(&model);
    model.step = step;
    model.user = stdout;
    model.reads_valid_rows = true;
    sluice_train_config_init(&config);
    config.epochs = 1;
    st = st < 0 ? st : sluice_dataset_source(&source, &dataset);
    st = st < 0 ? st
                : sluice_dataset_add(dataset, "shuffle | random_crop 24 | to_dtype f32 | batch 8");
    st = st < 0 ? st : sluice_train(device, &model, dataset, &config, NULL);
    if (st < 0) {
        fprintf(stderr, "%s: %s\n", sluice_status_name(st), sluice_last_error());
    }
    sluice_device_close(device);
    sluice_dataset_destroy(dataset);
    return st < 0 ? 1 : 0;
}
