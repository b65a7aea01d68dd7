/* SPDX-License-Identifier: Apache-2.0 */
#include "loop_kit.h"

#include "digest_int.h"
#include "rng_int.h"
#include "testing.h"

const char *const loop_kit_padded =
    "synthetic samples=70 shape=6,6,3 | shuffle | random_crop 4 | random_horizontal_flip | "
    "normalize imagenet | batch 8";

loop_kit loop_kit_open_dataset(const char *device, sluice_dataset *dataset,
                               const sluice_channel_config *config)
{
    loop_kit loop = {.own = NULL};

    T_OK(sluice_device_open(device, &loop.device));
    T_OK(sluice_channel_open(loop.device, dataset, config, &loop.channel));
    return loop;
}

loop_kit loop_kit_open(const char *device, const char *text, const sluice_channel_config *config)
{
    sluice_dataset *dataset = NULL;
    loop_kit loop;

    T_OK(sluice_dataset_parse(text, &dataset));
    loop = loop_kit_open_dataset(device, dataset, config);
    loop.own = dataset;
    return loop;
}

void loop_kit_close(loop_kit *loop)
{
    sluice_channel_close(loop->channel);
    sluice_dataset_destroy(loop->own);
    sluice_device_close(loop->device);
}

sluice_channel_config loop_kit_config(uint64_t first_batch, uint64_t batches)
{
    sluice_channel_config config;

    sluice_channel_config_init(&config);
    config.first_batch = first_batch;
    config.batches = batches;
    return config;
}

sluice_status loop_kit_next(const loop_kit *loop, const sluice_batch **batch)
{
    return sluice_channel_get_next(loop->channel, NULL, SLUICE_FOREVER, batch);
}

sluice_report *loop_kit_report(const loop_kit *loop)
{
    sluice_report *report = NULL;

    T_OK(sluice_channel_report(loop->channel, &report));
    return report;
}

kit_step loop_kit_step(const sluice_batch *batch)
{
    kit_step step = {.step = batch->number,
                     .pass = batch->pass,
                     .first_sample = batch->samples[0],
                     .valid_rows = batch->valid_rows};

    for (uint32_t i = 0; i < batch->input_count; i++) {
        step.digest = sli_mix_in(step.digest,
                                 sli_digest_bytes(batch->inputs[i].data, batch->inputs[i].bytes));
    }
    step.digest = sli_mix_in(step.digest, batch->valid_rows);
    for (uint32_t row = 0; row < batch->rows; row++) {
        step.samples = sli_mix_in(step.samples, batch->samples[row]);
    }
    return step;
}

void loop_kit_check_same(const kit_step *got, const kit_step *want)
{
    T_EQ(got->step, want->step);
    T_EQ(got->pass, want->pass);
    T_EQ(got->first_sample, want->first_sample);
    T_EQ(got->valid_rows, want->valid_rows);
    T_EQ(got->samples, want->samples);
    T_EQ(got->digest, want->digest);
}

void loop_kit_check_next(const loop_kit *loop, const kit_step *want)
{
    const sluice_batch *batch = NULL;
    kit_step step;

    T_OK(loop_kit_next(loop, &batch));
    step = loop_kit_step(batch);
    loop_kit_check_same(&step, want);
}

void loop_kit_check_pass(const loop_kit *loop, const kit_step *want, size_t count)
{
    const sluice_batch *batch;

    for (size_t i = 0; i < count; i++) {
        loop_kit_check_next(loop, &want[i]);
    }
    T_STATUS(loop_kit_next(loop, &batch), SLUICE_END_OF_PASS);
}

void loop_kit_check_rewinds(sluice_dataset *dataset, uint32_t i, size_t fetched,
                            const kit_step *steps, const size_t *lengths)
{
    sluice_channel_config config = loop_kit_config(0, 0);
    loop_kit loop;

    config.end_of_pass = true;
    config.workers = i % 3 + 1;
    config.slots = i % 4 + 3;
    loop = loop_kit_open_dataset(i % 2 == 0 ? "host:0" : "host:0,copy=1", dataset, &config);
    T_OK(sluice_channel_start(loop.channel));
    for (int round = 0; round < 3; round++) {
        const sluice_batch *batch = NULL;

        for (size_t n = 0; n < fetched; n++) {
            kit_step step;

            T_OK(loop_kit_next(&loop, &batch));
            step = loop_kit_step(batch);
            loop_kit_check_same(&step, &steps[n]);
        }
        if (batch != NULL) {
            T_OK(sluice_channel_release(loop.channel, batch, NULL));
        }
        T_OK(sluice_channel_rewind(loop.channel));
    }
    loop_kit_check_pass(&loop, steps, lengths[0]);
    loop_kit_check_pass(&loop, steps + lengths[0], lengths[1]);
    loop_kit_close(&loop);
    sluice_dataset_destroy(dataset);
}

void loop_kit_train_padded(kit *k, uint64_t epochs, uint64_t seed)
{
    kit_init(k);
    k->pipeline = loop_kit_padded;
    k->config.epochs = epochs;
    k->config.seed = seed;
    k->model.reads_valid_rows = true;
    T_OK(kit_run(k));
    T_EQ(k->count, epochs * LOOP_KIT_PADDED_BATCHES);
}
