/* SPDX-License-Identifier: Apache-2.0 */
/* sluice_channel on the CUDA device, on the fake of CUDA: the batches of host:0, in streams of the
 * caller's. */
#include <sched.h>

#include "channel_kit.h"
#include "cuda_kit.h"
#include "fake_kit.h"
#include "testing.h"

static const char *const pipelines[] = {
    "synthetic samples=70 shape=6,6,3 | shuffle | random_crop 4 | random_horizontal_flip | "
    "batch 8",
    "synthetic samples=60 shape=8,16,3 | shuffle | random_horizontal_flip | normalize "
    "mean=0.5,0.4,0.3 std=0.2,0.3,0.4 | to_chw | batch 6",
    "synthetic samples=60 shape=8,16,3 | to_dtype f16 scale=true | to_chw | batch 6",
};

/* A case of every pipeline and transport. */
enum { CASES = COUNT(pipelines) * CHANNEL_KIT_TRANSPORTS };

static const char *device_of(size_t i)
{
    return channel_kit_transports[i % CHANNEL_KIT_TRANSPORTS];
}

static const char *pipeline_of(size_t i)
{
    return pipelines[i / CHANNEL_KIT_TRANSPORTS];
}

/* ---- batches --------------------------------------------------------------------------------- */

/* Readers are behind each batch, in its stream; nobody waits before the end. */
static void batches_are_the_hosts(void)
{
    for (size_t i = 0; i < CASES; i++) {
        cudaStream_t stream;
        channel_kit k;

        fake_cuda_start(&channel_kit_machine);
        stream = channel_kit_stream(0);
        channel_kit_open(&k, device_of(i), pipeline_of(i), 21);
        for (int n = 0; n < 21; n++) {
            T_OK(channel_kit_fetch(&k, stream, stream, n % 4 == 0 ? 1000 : 0));
        }
        T_STATUS(channel_kit_fetch(&k, stream, stream, 0), SLUICE_END_OF_DATA);
        T_STATUS(channel_kit_fetch(&k, NULL, NULL, 0), SLUICE_END_OF_DATA);
        T_CUDA(cudaStreamSynchronize(stream));
        channel_kit_check(&k, pipeline_of(i));
        channel_kit_close(&k);
        channel_kit_stream_destroy(0, stream);
        cuda_kit_nothing_is_live();
    }
}

/* Without a stream the tensors are ready when the call returns, for whoever reads them. */
static void without_a_stream_tensors_are_ready_at_once(void)
{
    for (size_t i = 0; i < CASES; i++) {
        channel_kit k;

        fake_cuda_start(&channel_kit_machine);
        channel_kit_open(&k, device_of(i), pipeline_of(i), 21);
        for (int n = 0; n < 21; n++) {
            T_OK(channel_kit_fetch(&k, NULL, NULL, 0));
        }
        T_STATUS(channel_kit_fetch(&k, NULL, NULL, 0), SLUICE_END_OF_DATA);
        channel_kit_check(&k, pipeline_of(i));
        channel_kit_close(&k);
        cuda_kit_nothing_is_live();
    }
}

/* A call with another stream waits on the device for slow readers in the one before. */
static void streams_may_change_from_call_to_call(void)
{
    for (size_t i = 0; i < CASES; i++) {
        cudaStream_t streams[3];
        channel_kit k;

        fake_cuda_start(&channel_kit_machine);
        for (int s = 0; s < 3; s++) {
            streams[s] = channel_kit_stream(0);
        }
        channel_kit_open(&k, device_of(i), pipeline_of(i), 30);
        for (int n = 0; n < 30; n++) {
            cudaStream_t stream = n % 7 == 6 ? NULL : streams[n * n % 3];

            T_OK(channel_kit_fetch(&k, stream, stream, 700));
        }
        for (int s = 0; s < 3; s++) {
            T_CUDA(cudaStreamSynchronize(streams[s]));
        }
        channel_kit_check(&k, pipeline_of(i));
        channel_kit_close(&k);
        for (int s = 0; s < 3; s++) {
            channel_kit_stream_destroy(0, streams[s]);
        }
        cuda_kit_nothing_is_live();
    }
}

static void tensors_stay_where_they_are(void)
{
    cudaStream_t stream;
    channel_kit k;

    fake_cuda_start(&channel_kit_machine);
    stream = channel_kit_stream(0);
    channel_kit_open(&k, "cuda:0", pipelines[1], 0);
    for (int n = 0; n < 9; n++) {
        static const sluice_tensor *inputs;
        static void *data;

        T_OK(channel_kit_fetch(&k, n % 2 == 0 ? stream : NULL, n % 2 == 0 ? stream : NULL, 0));
        T_TRUE(n == 0 || (k.batch->inputs == inputs && k.batch->inputs[0].data == data));
        inputs = k.batch->inputs;
        data = inputs[0].data;
        T_TRUE(sluice_batch_input(k.batch, "label") == &inputs[1]);
        T_EQ(fake_cuda_device_of(data), 0);
        T_CUDA(cudaStreamSynchronize(stream));
    }
    channel_kit_close(&k);
    channel_kit_stream_destroy(0, stream);
    cuda_kit_nothing_is_live();
}

/* What a channel will give and takes is known before it starts; two slots are enough. */
static void what_will_come_is_known_from_the_start(void)
{
    sluice_channel_info info = {.struct_size = sizeof(info)};
    channel_kit k;

    fake_cuda_start(&channel_kit_machine);
    T_OK(channel_kit_try(&k, "cuda:0,transport=push", pipelines[1], NULL, 0));
    T_OK(sluice_channel_inspect(k.channel, &info));
    T_EQ(info.batches, 10);
    T_EQ(info.columns[0].dtype, SLUICE_F32);
    T_EQ(info.columns[0].shape[0], 3);
    T_TRUE(info.staging_bytes > 0 && info.slot_bytes > info.staging_bytes);
    channel_kit_close(&k);
    cuda_kit_nothing_is_live();
}

/* Slots of a device with this much free memory; 0: more than enough. */
static uint32_t default_slots(const char *uri, const char *text, uint32_t workers, size_t available)
{
    fake_cuda_machine machine = channel_kit_machine;
    sluice_channel_info info = {.struct_size = sizeof(info)};
    sluice_channel_config config;
    sluice_device *device = NULL;
    sluice_dataset *dataset = NULL;
    sluice_channel *channel = NULL;

    machine.available = available;
    fake_cuda_start(&machine);
    sluice_channel_config_init(&config);
    config.workers = workers;
    T_OK(sluice_dataset_parse(text, &dataset));
    T_OK(sluice_device_open(uri, &device));
    T_OK(sluice_channel_open(device, dataset, &config, &channel));
    T_OK(sluice_channel_inspect(channel, &info));
    T_EQ(fake_cuda_count_of("cudaMemGetInfo"), 1);
    sluice_channel_close(channel);
    sluice_device_close(device);
    sluice_dataset_destroy(dataset);
    cuda_kit_nothing_is_live();
    return info.slots;
}

/* By the size of a batch, the number of workers, and the memory that is free on the device. */
static void slots_suit_the_device(void)
{
    static const char small[] = "synthetic samples=70 shape=6,6,3 | batch 8";
    static const char large[] = "synthetic samples=70 shape=256,256,4 | batch 8"; /* 2 MiB, a bit */

    for (size_t t = 0; t < CHANNEL_KIT_TRANSPORTS; t++) {
        T_EQ(default_slots(channel_kit_transports[t], small, 2, 0), 64);
        T_EQ(default_slots(channel_kit_transports[t], small, 64, 0), 128);
        T_EQ(default_slots(channel_kit_transports[t], large, 2, 0), 7);
        T_EQ(default_slots(channel_kit_transports[t], large, 4, 0), 8);
        T_EQ(default_slots(channel_kit_transports[t], large, 4, 16 * (11 << 20)), 5);
        T_EQ(default_slots(channel_kit_transports[t], large, 64, 1 << 20), 4);
    }
}

static void channels_do_not_touch_each_other(void)
{
    static const char *const devices[] = {"cuda:0,transport=push", "cuda:0,transport=pull",
                                          "cuda:1,transport=push"};
    cudaStream_t streams[COUNT(devices)];
    channel_kit k[COUNT(devices)];

    fake_cuda_start(&channel_kit_machine);
    for (size_t c = 0; c < COUNT(devices); c++) {
        streams[c] = channel_kit_stream(c == 2);
        channel_kit_open(&k[c], devices[c], pipelines[c], 20);
    }
    for (size_t i = 0; i < 60; i++) {
        const size_t c = i * 7 % 3;

        fake_cuda_use(c == 2);
        T_OK(channel_kit_fetch(&k[c], streams[c], streams[c], 300));
    }
    for (size_t c = 0; c < COUNT(devices); c++) {
        T_CUDA(cudaStreamSynchronize(streams[c]));
        channel_kit_check(&k[c], pipelines[c]);
        channel_kit_close(&k[c]);
        channel_kit_stream_destroy(c == 2, streams[c]);
    }
    cuda_kit_nothing_is_live();
}

/* A process with two devices: a channel for each, ranks 0 and 1 of 2, on one dataset. */
static void devices_of_one_process_share_each_pass(void)
{
    enum { SAMPLES = 64, PASSES = 2, BATCHES = PASSES * SAMPLES / 8 };
    static const char *const transports[] = {"push", "pull"};

    for (size_t t = 0; t < COUNT(transports); t++) {
        uint32_t seen[PASSES][SAMPLES] = {{0}};
        sluice_dataset *dataset = NULL;
        sluice_device *devices[2] = {NULL, NULL};
        sluice_channel *channels[2] = {NULL, NULL};
        cudaStream_t streams[2];

        fake_cuda_start(&channel_kit_machine);
        T_OK(
            sluice_dataset_parse("synthetic samples=64 shape=6,6,3 | shuffle | batch 8", &dataset));
        for (int d = 0; d < 2; d++) {
            sluice_channel_config config;
            char name[32];

            sluice_channel_config_init(&config);
            config.batches = BATCHES / 2;
            config.rank = (uint32_t)d;
            config.world = 2;
            config.workers = 1;
            snprintf(name, sizeof(name), "cuda:%d,transport=%s", d, transports[t]);
            streams[d] = channel_kit_stream(d);
            T_OK(sluice_device_open(name, &devices[d]));
            T_OK(sluice_channel_open(devices[d], dataset, &config, &channels[d]));
            T_OK(sluice_channel_start(channels[d]));
        }
        for (int i = 0; i < BATCHES; i++) {
            const sluice_batch *batch = NULL;

            T_OK(sluice_channel_get_next(channels[i % 2], streams[i % 2], SLUICE_FOREVER, &batch));
            for (uint32_t row = 0; row < batch->rows; row++) {
                T_TRUE(batch->pass < PASSES && batch->samples[row] < SAMPLES);
                seen[batch->pass][batch->samples[row]]++;
            }
        }
        for (size_t i = 0; i < (size_t)PASSES * SAMPLES; i++) {
            T_EQ(seen[i / SAMPLES][i % SAMPLES], 1);
        }
        for (int d = 0; d < 2; d++) {
            sluice_channel_close(channels[d]);
            sluice_device_close(devices[d]);
            channel_kit_stream_destroy(d, streams[d]);
        }
        sluice_dataset_destroy(dataset);
        cuda_kit_nothing_is_live();
    }
}

/* ---- waiting --------------------------------------------------------------------------------- */

/* The device stands still behind a gate: batches that have arrived are given all the same. */
static void the_device_is_not_waited_for(void)
{
    for (size_t t = 0; t < CHANNEL_KIT_TRANSPORTS; t++) {
        sluice_channel_stats stats = {.struct_size = sizeof(stats)};
        channel_kit k;

        fake_kit_start();
        channel_kit_open(&k, channel_kit_transports[t], pipelines[0], 12);
        while (stats.ready < 4) { /* all slots */
            sched_yield();
            T_OK(sluice_channel_stats_get(k.channel, &stats));
        }
        T_CUDA(fake_kit_gate(fake_kit_words));
        for (int n = 0; n < 4; n++) {
            T_OK(channel_kit_fetch(&k, fake_kit_stream, fake_kit_stream, 0));
        }
        T_STATUS(sluice_channel_get_next(k.channel, fake_kit_stream, 0, &k.batch),
                 SLUICE_TIMEOUT); /* no slot is free for another */
        T_STATUS(sluice_channel_get_next(k.channel, fake_kit_stream, 2, &k.batch), SLUICE_TIMEOUT);
        T_EQ(k.batch->number, 3); /* outputs are set only on OK */
        fake_kit_open(fake_kit_words);
        for (int n = 4; n < 12; n++) {
            T_OK(channel_kit_fetch(&k, fake_kit_stream, fake_kit_stream, 0));
        }
        T_CUDA(cudaStreamSynchronize(fake_kit_stream));
        T_EQ(fake_kit_words[1], 1); /* the gate did not give up */
        channel_kit_check(&k, pipelines[0]);
        channel_kit_close(&k);
        fake_kit_finish();
    }
}

/* Copies are held: what has not arrived is not given, and is not waited for either. */
static void a_batch_that_has_not_arrived_is_a_time_out(void)
{
    cudaStream_t stream;
    channel_kit k;

    fake_cuda_start(&channel_kit_machine);
    stream = channel_kit_stream(0);
    T_OK(channel_kit_try(&k, "cuda:0,transport=push", pipelines[1], NULL, 6));
    fake_cuda_hold_copies_after(0);
    T_OK(sluice_channel_start(k.channel));
    for (int n = 0; n < 50; n++) {
        T_STATUS(sluice_channel_get_next(k.channel, n % 2 == 0 ? stream : NULL, 0, &k.batch),
                 SLUICE_TIMEOUT);
    }
    T_STATUS(sluice_channel_get_next(k.channel, stream, 5, &k.batch), SLUICE_TIMEOUT);
    CU_ASSERT_PTR_NULL(k.batch);
    T_EQ(fake_cuda_count_of("cudaLaunchKernel"), 0);
    fake_cuda_hold_copies_after(-1);
    for (int n = 0; n < 6; n++) {
        T_OK(channel_kit_fetch(&k, stream, stream, 0));
    }
    T_STATUS(channel_kit_fetch(&k, stream, stream, 0), SLUICE_END_OF_DATA);
    T_STATUS(sluice_channel_get_next(k.channel, stream, 0, &k.batch), SLUICE_END_OF_DATA);
    T_CUDA(cudaStreamSynchronize(stream));
    channel_kit_check(&k, pipelines[1]);
    channel_kit_close(&k);
    channel_kit_stream_destroy(0, stream);
    cuda_kit_nothing_is_live();
}

/* Longer than the interval between two polls of the device. */
static void a_batch_that_is_late_is_waited_for(void)
{
    kit_source source;
    channel_kit k;
    sluice_dataset *dataset;

    fake_cuda_start(&channel_kit_machine);
    kit_source_init(&source, 60);
    source.block_at = 6;
    dataset = kit_source_dataset(&source, 4);
    T_OK(channel_kit_try(&k, "cuda:0", NULL, dataset, 4));
    T_OK(sluice_channel_start(k.channel));
    T_OK(channel_kit_fetch(&k, NULL, NULL, 0));
    T_STATUS(sluice_channel_get_next(k.channel, NULL, 250, &k.batch), SLUICE_TIMEOUT);
    kit_source_release(&source);
    for (int n = 1; n < 4; n++) {
        T_OK(channel_kit_fetch(&k, NULL, NULL, 0));
    }
    channel_kit_check(&k, NULL);
    channel_kit_close(&k);
    sluice_dataset_destroy(dataset);
    cuda_kit_nothing_is_live();
}

/* ---- what it takes --------------------------------------------------------------------------- */

static void a_batch_is_three_kernels_and_nothing_is_allocated(void)
{
    /* With one copy stream nothing but the caller's stream could wait for an event. */
    static const char *const devices[] = {"cuda:0,copy_streams=1", "cuda:0,transport=pull"};

    for (size_t t = 0; t < sizeof(devices) / sizeof(devices[0]); t++) {
        cudaStream_t stream;
        channel_kit k;

        fake_cuda_start(&channel_kit_machine);
        stream = channel_kit_stream(0);
        channel_kit_open(&k, devices[t], pipelines[1], 0);
        T_CUDA(channel_kit_rest(stream, 0)); /* loads the test's own kernel */
        fake_cuda_guard_sinks(true);
        for (int n = 0; n < 30; n++) {
            T_OK(sluice_channel_get_next(k.channel, stream, SLUICE_FOREVER, &k.batch));
            T_CUDA(channel_kit_rest(stream, 100));
        }
        T_EQ(fake_cuda_count_of("cudaLaunchKernel"), 1 + 30 * 4);
        T_EQ(fake_cuda_count_of("cudaStreamWaitEvent"), 0);
        T_CUDA(cudaStreamSynchronize(stream));
        fake_cuda_guard_sinks(false);
        channel_kit_close(&k);
        channel_kit_stream_destroy(0, stream);
        cuda_kit_nothing_is_live();
    }
}

/* A device that does one thing at a time, copies and kernels of all streams in their order. */
static void the_least_concurrency_is_enough(void)
{
    for (size_t i = 0; i < CASES; i++) {
        cudaStream_t streams[2];
        channel_kit k;

        fake_cuda_start(&channel_kit_machine);
        fake_cuda_least_concurrency(true);
        streams[0] = channel_kit_stream(0);
        streams[1] = channel_kit_stream(0);
        channel_kit_open(&k, device_of(i), pipeline_of(i), 24);
        for (int n = 0; n < 24; n++) {
            cudaStream_t stream = n % 5 == 4 ? NULL : streams[n / 2 % 2];

            T_OK(channel_kit_fetch(&k, stream, stream, 100));
        }
        T_CUDA(cudaStreamSynchronize(streams[0]));
        T_CUDA(cudaStreamSynchronize(streams[1]));
        channel_kit_check(&k, pipeline_of(i));
        channel_kit_close(&k);
        channel_kit_stream_destroy(0, streams[0]);
        channel_kit_stream_destroy(0, streams[1]);
        cuda_kit_nothing_is_live();
    }
}

static void the_callers_context_stays_current(void)
{
    cudaStream_t stream;
    channel_kit k;
    void *own;

    fake_cuda_start(&channel_kit_machine);
    stream = channel_kit_stream(0);
    fake_cuda_use(1);
    own = fake_cuda_current();
    channel_kit_open(&k, "cuda:0", pipelines[0], 0);
    T_OK(sluice_channel_get_next(k.channel, stream, SLUICE_FOREVER, &k.batch));
    CU_ASSERT_PTR_EQUAL(fake_cuda_current(), own);
    T_OK(sluice_channel_get_next(k.channel, NULL, SLUICE_FOREVER, &k.batch));
    CU_ASSERT_PTR_EQUAL(fake_cuda_current(), own);
    channel_kit_close(&k);
    CU_ASSERT_PTR_EQUAL(fake_cuda_current(), own);
    channel_kit_stream_destroy(0, stream);
    cuda_kit_nothing_is_live();
}

const t_test cuda_channel_tests[] = {T_TEST(batches_are_the_hosts),
                                     T_TEST(without_a_stream_tensors_are_ready_at_once),
                                     T_TEST(streams_may_change_from_call_to_call),
                                     T_TEST(tensors_stay_where_they_are),
                                     T_TEST(what_will_come_is_known_from_the_start),
                                     T_TEST(slots_suit_the_device),
                                     T_TEST(channels_do_not_touch_each_other),
                                     T_TEST(devices_of_one_process_share_each_pass),
                                     T_TEST(the_device_is_not_waited_for),
                                     T_TEST(a_batch_that_has_not_arrived_is_a_time_out),
                                     T_TEST(a_batch_that_is_late_is_waited_for),
                                     T_TEST(a_batch_is_three_kernels_and_nothing_is_allocated),
                                     T_TEST(the_least_concurrency_is_enough),
                                     T_TEST(the_callers_context_stays_current),
                                     T_END};
