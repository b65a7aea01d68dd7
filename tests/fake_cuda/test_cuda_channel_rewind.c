/* SPDX-License-Identifier: Apache-2.0 */
/* sluice_channel on the fake of CUDA: beginning anew, from any point, with readers under way. */
#include <sluice/log.h>

#include "channel_kit.h"
#include "cuda_kit.h"
#include "fake_kit.h"
#include "testing.h"

static const char *const converting =
    "synthetic samples=60 shape=8,16,3 | shuffle | random_horizontal_flip | normalize "
    "mean=0.5,0.4,0.3 std=0.2,0.3,0.4 | to_chw | batch 6";

/* Fetches batches in turn in two streams, NULL among them, each behind slow readers. */
static void fetch(channel_kit *k, cudaStream_t streams[3], uint32_t held, int count)
{
    const sluice_batch *before = NULL;

    k->count = 0;
    for (int n = 0; n < count; n++) {
        cudaStream_t stream = streams[n % 3];

        T_OK(channel_kit_fetch(k, stream, stream, 300));
        if (held > 1 && before != NULL) {
            T_OK(sluice_channel_release(k->channel, before, streams[(n + 2) % 3]));
        }
        before = k->batch;
    }
    if (before != NULL) {
        T_OK(sluice_channel_release(k->channel, before, streams[(count + 2) % 3]));
    }
}

static void a_rewound_channel_gives_the_same_bits(void)
{
    for (int i = 0; i < 24; i++) {
        const int fetched = i / 2;
        const uint32_t held = 1 + (uint32_t)i % 3;
        cudaStream_t streams[3] = {NULL};
        channel_kit k;

        fake_cuda_start(&channel_kit_machine);
        streams[0] = channel_kit_stream(0);
        streams[1] = channel_kit_stream(0);
        T_OK(channel_kit_try_held(&k, channel_kit_transports[i % 2], converting, NULL,
                                  i % 4 < 2 ? 0 : (uint64_t)fetched, held));
        T_OK(sluice_channel_start(k.channel));
        for (int round = 0; round < 3; round++) {
            fetch(&k, streams, held, fetched);
            T_OK(sluice_channel_rewind(k.channel)); /* the readers are still to run */
            T_CUDA(cudaStreamSynchronize(streams[0]));
            T_CUDA(cudaStreamSynchronize(streams[1]));
            channel_kit_check(&k, converting);
        }
        channel_kit_close(&k);
        channel_kit_stream_destroy(0, streams[0]);
        channel_kit_stream_destroy(0, streams[1]);
        cuda_kit_nothing_is_live();
    }
}

static void a_stream_under_capture_is_no_reader(void)
{
    cudaGraph_t graph = NULL;
    cudaStream_t stream;
    channel_kit k;

    fake_cuda_start(&channel_kit_machine);
    stream = channel_kit_stream(0);
    channel_kit_open(&k, "cuda:0", converting, 0);
    T_OK(channel_kit_fetch(&k, stream, stream, 0));
    T_STATUS(sluice_channel_get_next(k.channel, stream, SLUICE_FOREVER, &k.batch), SLUICE_OK);
    T_STATUS(sluice_channel_rewind(k.channel), SLUICE_E_INVALID);
    T_CONTAINS(sluice_last_error(), "1 batches are held");
    T_OK(sluice_channel_release(k.channel, k.batch, stream));
    T_CUDA(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal));
    T_OK(sluice_channel_rewind(k.channel)); /* beside the capture */
    T_CUDA(cudaStreamEndCapture(stream, &graph));
    T_CUDA(cudaGraphDestroy(graph));
    k.count = 0;
    T_OK(channel_kit_fetch(&k, stream, stream, 0));
    T_CUDA(cudaStreamSynchronize(stream));
    channel_kit_check(&k, converting);
    channel_kit_close(&k);
    channel_kit_stream_destroy(0, stream);
    cuda_kit_nothing_is_live();
}

/* A loop of two rounds; fails in whatever call of CUDA it is told to. */
static sluice_status two_rounds(const char *device, cudaStream_t stream)
{
    channel_kit k;
    sluice_status st = channel_kit_try(&k, device, converting, NULL, 3);

    if (st == SLUICE_OK) {
        st = sluice_channel_start(k.channel);
    }
    for (int i = 0; st == SLUICE_OK && i < 2; i++) {
        while (st == SLUICE_OK) {
            st = sluice_channel_get_next(k.channel, stream, SLUICE_FOREVER, &k.batch);
        }
        st = st == SLUICE_END_OF_DATA ? sluice_channel_rewind(k.channel) : st;
    }
    if (st < 0 && k.channel != NULL) {
        T_TRUE(sluice_channel_rewind(k.channel) <= 0);
    }
    channel_kit_close(&k);
    return st;
}

static int64_t rewind_and_fail(const char *device, int64_t good)
{
    cudaStream_t stream;
    sluice_status st;
    int64_t calls;

    fake_cuda_start(&channel_kit_machine);
    stream = channel_kit_stream(0);
    calls = fake_cuda_calls();
    fake_cuda_fail_after(good, cudaErrorIllegalAddress);
    st = two_rounds(device, stream);
    fake_cuda_fail_after(-1, cudaSuccess);
    calls = fake_cuda_calls() - calls;
    T_TRUE(st == SLUICE_OK || (good >= 0 && (st == SLUICE_E_DEVICE || st == SLUICE_E_NO_DEVICE)));
    channel_kit_stream_destroy(0, stream);
    cuda_kit_nothing_is_live();
    return calls;
}

static void every_call_of_cuda_may_fail(void)
{
    T_TRUE(channel_kit_fail_calls(rewind_and_fail, 7) > 0);
}

const t_test cuda_channel_rewind_tests[] = {T_TEST(a_rewound_channel_gives_the_same_bits),
                                            T_TEST(a_stream_under_capture_is_no_reader),
                                            T_TEST(every_call_of_cuda_may_fail), T_END};
