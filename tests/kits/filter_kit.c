/* SPDX-License-Identifier: Apache-2.0 */
#include "filter_kit.h"

#include "dataset_state.h"
#include "testing.h"

bool third_keeps(uint64_t sample)
{
    return sample % 3 != 0;
}

sluice_status keep_by_label(sluice_sample *sample, uint32_t *keep_out, void *user)
{
    sluice_sample_view label;
    const sluice_status st = sluice_sample_get(sample, "label", &label);

    (void)user;
    if (st == SLUICE_OK) {
        *keep_out = third_keeps((uint64_t) * (const int32_t *)label.data);
    }
    return st;
}

/* The image must be the sample's: it was loaded before the filter. */
sluice_status keep_by_pixels(sluice_sample *sample, uint32_t *keep_out, void *user)
{
    const uint64_t number = sluice_sample_number(sample);
    sluice_sample_view image;
    sluice_status st = sluice_sample_get(sample, "image", &image);

    (void)user;
    for (size_t i = 0; st == SLUICE_OK && i < image.bytes; i++) {
        if (((const uint8_t *)image.data)[i] != script_pixel(number, i)) {
            st = sluice_fail(SLUICE_E_CALLBACK, "the image is not that of the sample");
        }
    }
    *keep_out = third_keeps(number);
    return st;
}

void add_filter(sluice_dataset *dataset, const char *name,
                sluice_status (*filter)(sluice_sample *, uint32_t *, void *), const char *input,
                void *user)
{
    const char *const inputs[] = {input};
    sluice_filter settings;

    sluice_filter_init(&settings);
    settings.name = name;
    settings.version = 1;
    settings.inputs = inputs;
    settings.input_count = input != NULL;
    settings.filter = filter;
    settings.user = user;
    T_OK(sluice_dataset_filter(dataset, &settings));
}

sluice_dataset *filtered_dataset(const char *stages, filter_way way, uint32_t batch,
                                 bool drop_remainder)
{
    sluice_dataset *dataset = NULL;

    T_OK(dataset_begin(&stage_script, "", &dataset));
    if (stages != NULL) {
        T_OK(sluice_dataset_add(dataset, stages));
    }
    if (way == BY_LABEL) {
        add_filter(dataset, "third", keep_by_label, "label", NULL);
    } else {
        add_filter(dataset, "third", keep_by_pixels, "image", NULL);
    }
    T_OK(sluice_dataset_addf(dataset, "batch %u drop_remainder=%s", batch,
                             drop_remainder ? "true" : "false"));
    return dataset;
}

uint64_t samples_of_pass(const char *stages, uint64_t seed, uint64_t pass, uint64_t *samples_out)
{
    const sli_run_settings settings = {.seed = seed, .world = 1};
    sluice_dataset *dataset = NULL;
    sli_plan *plan;
    uint64_t count;

    T_OK(dataset_begin(&stage_script, "", &dataset));
    if (stages != NULL) {
        T_OK(sluice_dataset_add(dataset, stages));
    }
    T_OK(sluice_dataset_add(dataset, "batch 1"));
    T_OK(sli_plan_open(dataset, &settings, &plan));
    count = plan->details->orders.rank.length;
    for (uint64_t i = 0; i < count; i++) {
        uint64_t sample_pass;

        order_at(&plan->details->orders.rank, pass, i, &samples_out[i], &sample_pass);
    }
    sli_plan_close(plan);
    sluice_dataset_destroy(dataset);
    return count;
}
