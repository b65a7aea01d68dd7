/* SPDX-License-Identifier: Apache-2.0 */
/* Streams that callers of a channel have, on the fake of CUDA: the default ones, and those of green
 * contexts. */
#include <pthread.h>
#include <string.h>

#include "channel_kit.h"
#include "cuda_kit.h"
#include "fake_kit.h"
#include "testing.h"

static const char plain[] =
    "synthetic samples=60 shape=8,16,3 classes=10 | shuffle | normalize 0.5 0.5 | batch 6";

static void start(channel_kit *k, const char *device, uint64_t batches, uint32_t held)
{
    memset(k, 0, sizeof(*k));
    fake_cuda_start(&channel_kit_machine);
    fake_cuda_allow_users_calls(true);
    fake_cuda_use(0);
    T_OK(channel_kit_try_held(k, device, plain, NULL, batches, held));
    T_OK(sluice_channel_start(k->channel));
}

/* Readers are late, and work of the default streams and of a plain one takes turns. */
static void default_streams_are_ordered_as_others(void)
{
    for (int i = 0; i < CHANNEL_KIT_TRANSPORTS; i++) {
        cudaStream_t streams[] = {cudaStreamLegacy, cudaStreamLegacy, cudaStreamPerThread, NULL,
                                  cudaStreamPerThread};
        channel_kit k;

        start(&k, channel_kit_transports[i], 20, 1);
        streams[3] = channel_kit_stream(0);
        for (int n = 0; n < 20; n++) {
            const cudaStream_t stream = streams[n % 5];

            T_OK(channel_kit_fetch(&k, stream, stream, n % 3 == 0 ? 400 : 0));
        }
        T_CUDA(cudaDeviceSynchronize());
        channel_kit_check(&k, plain);
        channel_kit_close(&k);
        channel_kit_stream_destroy(0, streams[3]);
        cuda_kit_nothing_is_live();
    }
}

/* ---- one handle, two streams -------------------------------------------------------------------
 */

typedef struct other_thread {
    channel_kit *k;
    cudaStream_t stream;
    const sluice_batch *batch;
    sluice_status st;
    char error[600];
} other_thread;

static void *fetch_in_own(void *arg)
{
    other_thread *o = arg;

    fake_cuda_use(0);
    o->st = sluice_channel_get_next(o->k->channel, o->stream, SLUICE_FOREVER, &o->batch);
    snprintf(o->error, sizeof(o->error), "%s", sluice_last_error());
    return NULL;
}

static void fetch_elsewhere(other_thread *o)
{
    pthread_t thread;

    T_EQ(pthread_create(&thread, NULL, fetch_in_own, o), 0);
    pthread_join(thread, NULL);
}

/* Its readers cannot be waited for, so nothing is overwritten. */
static void the_stream_of_another_thread_is_no_stream_before(void)
{
    const cudaStream_t streams[] = {cudaStreamPerThread, cudaStreamLegacy, NULL};
    other_thread o = {.st = SLUICE_OK};
    channel_kit k;

    start(&k, "cuda:0", 4, 1);
    o.k = &k;
    T_OK(channel_kit_fetch(&k, cudaStreamPerThread, cudaStreamPerThread, 300));
    for (int i = 0; i < 3; i++) {
        o.stream = streams[i];
        fetch_elsewhere(&o);
        T_STATUS(o.st, SLUICE_E_INVALID);
        T_CONTAINS(o.error, "cudaStreamPerThread of another thread");
    }
    T_OK(channel_kit_fetch(&k, cudaStreamPerThread, cudaStreamPerThread, 0));
    T_CUDA(cudaDeviceSynchronize());
    channel_kit_check(&k, plain);
    channel_kit_close(&k);
    cuda_kit_nothing_is_live();
}

/* The reader in the stream of this thread is late, and still finds its batch. */
static void what_was_released_in_its_stream_is_waited_for(void)
{
    static uint8_t there[4096];
    static uint8_t seen[sizeof(there)];
    const sluice_batch *batch = NULL;
    const sluice_tensor *tensor;
    other_thread o = {.stream = cudaStreamPerThread};
    channel_kit k;

    start(&k, "cuda:0", 8, 2);
    o.k = &k;
    T_OK(sluice_channel_get_next(k.channel, cudaStreamPerThread, SLUICE_FOREVER, &batch));
    tensor = sluice_batch_input(batch, "image");
    T_TRUE(tensor->bytes >= sizeof(there));
    T_CUDA(cudaMemcpy(there, tensor->data, sizeof(there), cudaMemcpyDeviceToHost));
    T_CUDA(channel_kit_rest(cudaStreamPerThread, 5000));
    T_CUDA(cudaMemcpyAsync(seen, tensor->data, sizeof(seen), cudaMemcpyDeviceToHost,
                           cudaStreamPerThread));
    T_OK(sluice_channel_release(k.channel, batch, cudaStreamPerThread));
    for (int n = 0; n < 2; n++) { /* the second is in the first one's set */
        fetch_elsewhere(&o);
        T_OK(o.st);
        T_TRUE(n == 0 || sluice_batch_input(o.batch, "image")->data == tensor->data);
        T_OK(sluice_channel_release(k.channel, o.batch, NULL));
    }
    T_CUDA(cudaDeviceSynchronize());
    T_EQ(memcmp(seen, there, sizeof(there)), 0);
    sluice_channel_close(k.channel);
    sluice_dataset_destroy(k.dataset);
    sluice_device_close(k.device);
    cuda_kit_nothing_is_live();
}

/* ---- green contexts ----------------------------------------------------------------------------
 */

static void streams_of_green_contexts_are_refused_by_name(void)
{
    const sluice_batch *batch = NULL;
    cudaStream_t stream;
    channel_kit k;

    start(&k, "cuda:0", 4, 2);
    stream = channel_kit_stream(0);
    fake_cuda_make_green(stream);
    T_STATUS(sluice_channel_get_next(k.channel, stream, SLUICE_FOREVER, &batch),
             SLUICE_E_UNSUPPORTED);
    T_CONTAINS(sluice_last_error(), "sluice_channel_get_next: the stream is of a green context");
    T_OK(sluice_channel_get_next(k.channel, NULL, SLUICE_FOREVER, &batch));
    T_STATUS(sluice_channel_release(k.channel, batch, stream), SLUICE_E_UNSUPPORTED);
    T_CONTAINS(sluice_last_error(), "sluice_channel_release: the stream is of a green context");
    T_OK(sluice_channel_release(k.channel, batch, NULL));
    channel_kit_close(&k);
    channel_kit_stream_destroy(0, stream);
    cuda_kit_nothing_is_live();
}

/* Which has no green contexts, nor the call that knows them. */
static void an_older_driver_is_asked_for_the_context_alone(void)
{
    fake_cuda_machine machine = channel_kit_machine;
    cudaStream_t stream;
    channel_kit k;

    machine.driver = 12040;
    machine.oldest = 12000;
    fake_cuda_start(&machine);
    stream = channel_kit_stream(0);
    channel_kit_open(&k, "cuda:0", plain, 4);
    for (int n = 0; n < 4; n++) {
        T_OK(channel_kit_fetch(&k, stream, stream, 100));
    }
    T_CUDA(cudaStreamSynchronize(stream));
    channel_kit_check(&k, plain);
    channel_kit_close(&k);
    channel_kit_stream_destroy(0, stream);
    cuda_kit_nothing_is_live();
}

const t_test cuda_channel_streams_tests[] = {
    T_TEST(default_streams_are_ordered_as_others),
    T_TEST(the_stream_of_another_thread_is_no_stream_before),
    T_TEST(what_was_released_in_its_stream_is_waited_for),
    T_TEST(streams_of_green_contexts_are_refused_by_name),
    T_TEST(an_older_driver_is_asked_for_the_context_alone),
    T_END,
};
