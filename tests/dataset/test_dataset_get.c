/* SPDX-License-Identifier: Apache-2.0 */
/* sluice_dataset_get(): a sample alone is what it is in a run. */
#include <stdlib.h>

#include "alloc_int.h"
#include "testing.h"
#include "train_kit.h"

typedef struct watcher {
    sluice_dataset *dataset;
    uint64_t seed;
    uint64_t compared;
} watcher;

/* Compares every row of a batch of 5, of 16 samples a pass, with the sample got alone. */
static sluice_status compare(const sluice_step *s, void *user)
{
    watcher *w = user;
    const uint64_t pass = *s->step / 4;

    for (uint32_t row = 0; row < *s->valid_rows; row++) {
        void *columns[SLUICE_MAX_COLUMNS] = {NULL};
        uint64_t sample = UINT64_MAX;

        for (uint32_t i = 0; i < s->input_count; i++) {
            columns[i] = malloc(s->inputs[i].bytes / 5);
        }
        T_OK(sluice_dataset_get(w->dataset, w->seed, pass, *s->step % 4 * 5 + row, columns,
                                &sample));
        for (uint32_t i = 0; i < s->input_count; i++) {
            const size_t bytes = s->inputs[i].bytes / 5;

            T_EQ(memcmp(columns[i], (const uint8_t *)s->inputs[i].data + row * bytes, bytes), 0);
            free(columns[i]);
        }
        T_TRUE(sample < 16);
        w->compared++;
    }
    return SLUICE_OK;
}

static void a_sample_alone_is_what_it_is_in_a_run(void)
{
    static const char *const stages[] = {
        "shuffle | decode | random_resized_crop 20 | random_horizontal_flip 0.5 | "
        "normalize imagenet | to_chw | batch 5",
        "shuffle | decode | random_crop 17 | random_horizontal_flip 0.5 offload=device | "
        "normalize imagenet offload=device | to_chw offload=device | batch 5",
        "decode gray | resize 16,16 | center_crop 8 | to_dtype f16 | batch 5",
    };
    char folder[300];

    snprintf(folder, sizeof(folder), "%s", t_folder());
    kit_write_folder(folder, 8, 48);
    for (size_t i = 0; i < COUNT(stages); i++) {
        watcher w = {.seed = 3};
        sluice_train_config config;
        sluice_device *device;
        sluice_model model;
        char text[600];

        snprintf(text, sizeof(text), "image_folder %s | %s", folder, stages[i]);
        T_OK(sluice_dataset_parse(text, &w.dataset));
        T_OK(sluice_device_open("host:0", &device));
        sluice_model_init(&model);
        model.step = compare;
        model.user = &w;
        model.reads_valid_rows = true;
        sluice_train_config_init(&config);
        config.mode = SLUICE_MODE_DATA; /* the step is called on this thread */
        config.dataset_sink_mode = true;
        config.epochs = 3;
        config.seed = w.seed;
        T_OK(sluice_train(device, &model, w.dataset, &config, NULL));
        T_EQ(w.compared, 3 * 16);
        sluice_device_close(device);
        sluice_dataset_destroy(w.dataset);
    }
}

static void only_what_is_wanted_is_given(void)
{
    sluice_dataset *dataset = NULL;
    int32_t label = -1;
    void *const columns[] = {NULL, &label};
    uint64_t sample = UINT64_MAX;

    T_OK(sluice_dataset_parse("synthetic samples=12 classes=5 shape=2,2,3 | skip 4 | batch 3",
                              &dataset));
    T_OK(sluice_dataset_get(dataset, 0, 0, 7, columns, NULL));
    T_EQ(label, 11 % 5);
    T_OK(sluice_dataset_get(dataset, 0, 0, 7, NULL, &sample));
    T_EQ(sample, 11);
    T_STATUS(sluice_dataset_get(dataset, 0, 0, 8, columns, NULL), SLUICE_E_INVALID);
    T_CONTAINS(sluice_last_error(), "index 8 must be less than 8, the samples of a pass");
    T_STATUS(sluice_dataset_get(NULL, 0, 0, 8, columns, NULL), SLUICE_E_INVALID);
    sluice_dataset_destroy(dataset);
}

static void a_sample_that_cannot_be_made_is_named(void)
{
    sluice_dataset *dataset = NULL;
    char image[3 * 64 * 64];
    int32_t label;
    void *const columns[] = {image, &label};
    char text[400];
    char folder[300];

    snprintf(folder, sizeof(folder), "%s", t_folder());
    kit_write_folder(folder, 2, 16);
    t_write_file(t_path(folder, "b/001.jpg"), "none", 4);
    snprintf(text, sizeof(text), "image_folder %s | decode | resize 16,16 | batch 2", folder);
    T_OK(sluice_dataset_parse(text, &dataset));
    T_OK(sluice_dataset_get(dataset, 0, 0, 2, columns, NULL));
    T_TRUE(sluice_dataset_get(dataset, 0, 0, 3, columns, NULL) < 0);
    T_CONTAINS(sluice_last_error(), "decode: sample 3, b/001.jpg: ");
    sluice_dataset_destroy(dataset);
}

static void running_out_of_memory_is_an_error(void)
{
    sluice_dataset *dataset = NULL;
    int32_t label;
    void *const columns[] = {NULL, &label};
    sluice_status st = SLUICE_E_NO_MEMORY;

    T_OK(sluice_dataset_parse("synthetic samples=12 shape=2,2,3 | batch 3", &dataset));
    for (int64_t passes = 0; st == SLUICE_E_NO_MEMORY && passes < 100; passes++) {
        sli_alloc_fail_after(passes);
        st = sluice_dataset_get(dataset, 0, 0, 1, columns, NULL);
        sli_alloc_fail_after(-1);
    }
    T_EQ(st, SLUICE_OK);
    sluice_dataset_destroy(dataset);
}

const t_test dataset_get_tests[] = {
    T_TEST(a_sample_alone_is_what_it_is_in_a_run),
    T_TEST(only_what_is_wanted_is_given),
    T_TEST(a_sample_that_cannot_be_made_is_named),
    T_TEST(running_out_of_memory_is_an_error),
    T_END,
};
