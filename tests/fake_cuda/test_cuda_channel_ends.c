/* SPDX-License-Identifier: Apache-2.0 */
/* How sluice_channel ends on the CUDA device, on the fake of CUDA: errors, CUDA's own among them,
 * streams that are refused, pauses, stops, closing at any moment. */
#include <pthread.h>
#include <sched.h>

#include <sluice/log.h>

#include "alloc_int.h"
#include "channel_kit.h"
#include "cuda_kit.h"
#include "devices.h"
#include "fake_kit.h"
#include "status_int.h"
#include "testing.h"

static const char *const plain = "synthetic samples=70 shape=4,4,3 | shuffle | batch 8";

/* A machine, and two streams on it. */
static void start_with_streams(cudaStream_t streams[2])
{
    fake_cuda_start(&channel_kit_machine);
    streams[0] = channel_kit_stream(0);
    streams[1] = channel_kit_stream(0);
}

static void end_with_streams(cudaStream_t streams[2])
{
    channel_kit_stream_destroy(0, streams[0]);
    channel_kit_stream_destroy(0, streams[1]);
    cuda_kit_nothing_is_live();
}

/* ---- what is refused ------------------------------------------------------------------------- */

static void streams_of_other_devices_are_refused(void)
{
    const sluice_batch *batch = NULL;
    cudaStream_t streams[2];
    channel_kit k;

    fake_cuda_start(&channel_kit_machine);
    streams[0] = channel_kit_stream(0);
    streams[1] = channel_kit_stream(1);
    fake_cuda_use(0);
    channel_kit_open(&k, "cuda:0", plain, 2);
    for (int n = 0; n < 2; n++) {
        T_STATUS(sluice_channel_get_next(k.channel, streams[1], SLUICE_FOREVER, &batch),
                 SLUICE_E_INVALID);
        T_CONTAINS(sluice_last_error(),
                   "another device or context, and must be of the primary context of cuda:0");
        T_OK(channel_kit_fetch(&k, streams[0], streams[0], 0));
        T_STATUS(sluice_channel_get_next(k.channel, streams[1], 0, &batch), SLUICE_E_INVALID);
    }
    CU_ASSERT_PTR_NULL(batch);
    T_CUDA(cudaStreamSynchronize(streams[0]));
    channel_kit_check(&k, plain);
    channel_kit_close(&k);
    channel_kit_stream_destroy(0, streams[0]);
    channel_kit_stream_destroy(1, streams[1]);
    cuda_kit_nothing_is_live();
}

static void begin_capture(cudaStream_t stream)
{
    T_CUDA(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal));
}

static void end_capture(cudaStream_t stream)
{
    cudaGraph_t graph = NULL;

    T_CUDA(cudaStreamEndCapture(stream, &graph)); /* nothing has spoilt it */
    T_CUDA(cudaGraphDestroy(graph));
}

/* Nor may the stream of the call before be captured when another one is to wait for it. */
static void streams_that_are_captured_are_refused(void)
{
    const sluice_batch *batch = NULL;
    cudaStream_t streams[2];
    channel_kit k;

    start_with_streams(streams);
    channel_kit_open(&k, "cuda:0", plain, 3);
    begin_capture(streams[0]);
    T_STATUS(sluice_channel_get_next(k.channel, streams[0], SLUICE_FOREVER, &batch),
             SLUICE_E_INVALID);
    T_CONTAINS(sluice_last_error(), "the stream is being captured");
    T_OK(channel_kit_fetch(&k, streams[1], streams[1], 0)); /* beside the capture */
    T_STATUS(sluice_channel_get_next(k.channel, streams[0], SLUICE_FOREVER, &batch),
             SLUICE_E_INVALID);
    end_capture(streams[0]);
    T_OK(channel_kit_fetch(&k, streams[0], streams[0], 0));
    begin_capture(streams[0]);
    T_STATUS(sluice_channel_get_next(k.channel, streams[1], SLUICE_FOREVER, &batch),
             SLUICE_E_INVALID);
    T_CONTAINS(sluice_last_error(), "the stream of the call before is being captured");
    T_STATUS(sluice_channel_get_next(k.channel, NULL, SLUICE_FOREVER, &batch), SLUICE_E_INVALID);
    end_capture(streams[0]);
    T_OK(channel_kit_fetch(&k, streams[1], streams[1], 0));
    T_STATUS(channel_kit_fetch(&k, NULL, NULL, 0), SLUICE_END_OF_DATA);
    T_CUDA(cudaStreamSynchronize(streams[1]));
    channel_kit_check(&k, plain);
    channel_kit_close(&k);
    end_with_streams(streams);
}

/* A poll of a busy device invalidates no capture, not even one of the strictest mode. */
static void polling_the_device_spoils_no_capture(void)
{
    cudaStream_t other;
    channel_kit k;

    fake_kit_start();
    other = channel_kit_stream(0);
    channel_kit_open(&k, "cuda:0,transport=pull", plain, 0);
    T_CUDA(fake_kit_gate(fake_kit_words));
    begin_capture(other);
    while (sluice_channel_get_next(k.channel, fake_kit_stream, 20, &k.batch) == SLUICE_OK) {
    }
    T_TRUE(fake_cuda_count_of("cudaEventQuery") > 0);
    end_capture(other);
    fake_kit_open(fake_kit_words);
    T_OK(sluice_channel_get_next(k.channel, NULL, SLUICE_FOREVER, &k.batch));
    channel_kit_close(&k);
    channel_kit_stream_destroy(0, other);
    fake_kit_finish();
}

/* Nor does waiting: of the library's threads for copies, of the caller's for a gather. */
static void waiting_for_the_device_spoils_no_capture(void)
{
    enum cudaStreamCaptureMode mode = cudaStreamCaptureModeThreadLocal;
    cudaStream_t other;
    channel_kit k;

    fake_kit_start();
    other = channel_kit_stream(0);
    channel_kit_open(&k, "cuda:0", plain, 0);
    fake_cuda_slow_copies(2000); /* beyond what is polled before a wait */
    begin_capture(other);
    for (int n = 0; n < 20; n++) {
        T_OK(sluice_channel_get_next(k.channel, NULL, SLUICE_FOREVER, &k.batch));
    }
    T_TRUE(fake_cuda_count_of("cudaEventSynchronize") > 20);
    fake_cuda_slow_copies(0);
    end_capture(other);
    T_CUDA(cudaThreadExchangeStreamCaptureMode(&mode)); /* the caller's mode is what it was */
    T_EQ(mode, cudaStreamCaptureModeGlobal);
    T_CUDA(cudaThreadExchangeStreamCaptureMode(&mode));
    T_OK(sluice_channel_get_next(k.channel, NULL, SLUICE_FOREVER, &k.batch));
    channel_kit_close(&k);
    channel_kit_stream_destroy(0, other);
    fake_kit_finish();
}

/* ---- errors of the pipeline ------------------------------------------------------------------ */

static void an_error_of_the_pipeline_comes_in_its_place(void)
{
    for (size_t t = 0; t < CHANNEL_KIT_TRANSPORTS; t++) {
        sluice_dataset *dataset;
        cudaStream_t stream;
        kit_source source;
        channel_kit k;

        fake_cuda_start(&channel_kit_machine);
        stream = channel_kit_stream(0);
        kit_source_init(&source, 60);
        source.fail_at = 14;
        dataset = kit_source_dataset(&source, 4);
        T_OK(channel_kit_try(&k, channel_kit_transports[t], NULL, dataset, 0));
        T_OK(sluice_channel_start(k.channel));
        for (uint64_t n = 0; n < 3; n++) {
            T_OK(channel_kit_fetch(&k, stream, stream, 1000));
            T_EQ(k.batch->number, n);
        }
        for (int again = 0; again < 3; again++) {
            T_STATUS(channel_kit_fetch(&k, again == 1 ? NULL : stream, NULL, 0), SLUICE_E_CORRUPT);
            T_CONTAINS(sluice_last_error(), "read: sample 14, kit/14: told to fail; on_error ");
        }
        T_CUDA(cudaStreamSynchronize(stream));
        channel_kit_check(&k, NULL);
        channel_kit_close(&k);
        sluice_dataset_destroy(dataset);
        channel_kit_stream_destroy(0, stream);
        cuda_kit_nothing_is_live();
    }
}

/* ---- pauses, stops, closing ------------------------------------------------------------------ */

static void a_paused_channel_goes_on_as_if_nothing_had_been(void)
{
    sluice_channel_stats stats = {.struct_size = sizeof(stats)};
    cudaStream_t stream;
    channel_kit k;

    fake_cuda_start(&channel_kit_machine);
    stream = channel_kit_stream(0);
    channel_kit_open(&k, "cuda:0", plain, 20);
    T_OK(channel_kit_fetch(&k, stream, stream, 0));
    T_OK(sluice_channel_pause(k.channel));
    while (sluice_channel_get_next(k.channel, stream, 20, &k.batch) == SLUICE_OK) {
        T_CUDA(cudaStreamSynchronize(stream)); /* what was complete is given all the same */
        k.count = 0;
    }
    T_OK(sluice_channel_resume(k.channel));
    while (channel_kit_fetch(&k, stream, stream, 0) == SLUICE_OK) {
    }
    T_OK(sluice_channel_stats_get(k.channel, &stats));
    T_EQ(stats.batches, 20);
    T_EQ(stats.samples, 20 * 8 - 2 * 2); /* two last batches of a pass */
    T_EQ(stats.ready, 0);
    T_TRUE(stats.wait_seconds > 0.02);
    T_CUDA(cudaStreamSynchronize(stream));
    channel_kit_close(&k);
    channel_kit_stream_destroy(0, stream);
    cuda_kit_nothing_is_live();
}

static void *stop(void *user)
{
    channel_kit *k = user;
    sluice_channel_stats stats = {.struct_size = sizeof(stats)};

    while (stats.batches < 1) {
        sched_yield();
        T_OK(sluice_channel_stats_get(k->channel, &stats));
    }
    sluice_channel_stop(k->channel);
    return NULL;
}

static void a_stop_ends_a_wait(void)
{
    for (size_t t = 0; t < CHANNEL_KIT_TRANSPORTS; t++) {
        sluice_dataset *dataset;
        cudaStream_t stream;
        kit_source source;
        pthread_t thread;
        channel_kit k;

        fake_cuda_start(&channel_kit_machine);
        stream = channel_kit_stream(0);
        kit_source_init(&source, 60);
        source.block_at = 6;
        dataset = kit_source_dataset(&source, 4);
        T_OK(channel_kit_try(&k, channel_kit_transports[t], NULL, dataset, 0));
        T_OK(sluice_channel_start(k.channel));
        T_EQ(pthread_create(&thread, NULL, stop, &k), 0);
        T_OK(channel_kit_fetch(&k, stream, stream, 2000));
        T_STATUS(channel_kit_fetch(&k, stream, stream, 0), SLUICE_CLOSED);
        T_STATUS(channel_kit_fetch(&k, NULL, NULL, 0), SLUICE_CLOSED);
        pthread_join(thread, NULL);
        kit_source_release(&source);
        T_CUDA(cudaStreamSynchronize(stream));
        channel_kit_check(&k, NULL); /* the batch that was lent is whole */
        channel_kit_close(&k);
        sluice_dataset_destroy(dataset);
        channel_kit_stream_destroy(0, stream);
        cuda_kit_nothing_is_live();
    }
}

/* Kernels of the library's that are still to run write into what a close frees. */
static void a_channel_can_be_closed_at_any_moment(void)
{
    for (int batches = -2; batches < 12; batches++) {
        cudaStream_t streams[2];
        channel_kit k;

        start_with_streams(streams);
        T_OK(channel_kit_try(&k, channel_kit_transports[batches & 1], plain, NULL, 0));
        if (batches >= -1) {
            T_OK(sluice_channel_start(k.channel));
        }
        for (int n = 0; n < batches; n++) {
            cudaStream_t stream = streams[batches % 3 == 0 ? n / 2 % 2 : 0];

            T_CUDA(channel_kit_rest(stream, 1500)); /* what a gather waits for */
            T_OK(sluice_channel_get_next(k.channel, stream, SLUICE_FOREVER, &k.batch));
        }
        channel_kit_close(&k);
        end_with_streams(streams);
    }
}

/* ---- errors of CUDA -------------------------------------------------------------------------- */

/* A loop over six batches; what it ended with, and the text of an error. */
static sluice_status loop_over(const char *device, cudaStream_t *streams, uint64_t *fetched,
                               char *error)
{
    channel_kit k;
    sluice_status st = channel_kit_try(&k, device, plain, NULL, 6);

    if (st == SLUICE_OK) {
        st = sluice_channel_start(k.channel);
    }
    for (*fetched = 0; st == SLUICE_OK; *fetched += st == SLUICE_OK) {
        cudaStream_t stream = streams[*fetched / 2 % 3]; /* the last is NULL */

        st = sluice_channel_get_next(k.channel, stream, SLUICE_FOREVER, &k.batch);
        if (st == SLUICE_OK && stream != NULL) {
            (void)channel_kit_rest(stream, 200);
        }
    }
    snprintf(error, SLI_ERROR_SIZE, "%s", sluice_last_error());
    if (st < 0 && k.channel != NULL) {
        const sluice_status again =
            sluice_channel_get_next(k.channel, streams[0], SLUICE_FOREVER, &k.batch);

        T_TRUE(again < 0 || again == SLUICE_OK || again == SLUICE_END_OF_DATA);
    }
    channel_kit_close(&k);
    return st;
}

/* The call after `good` ones fails, whichever it is; answers how many there were. */
static int64_t loop_and_fail(const char *device, int64_t good)
{
    cudaStream_t streams[3] = {NULL};
    char error[SLI_ERROR_SIZE];
    uint64_t fetched;
    sluice_status st;
    int64_t calls;

    start_with_streams(streams);
    calls = fake_cuda_calls();
    fake_cuda_fail_after(good, cudaErrorIllegalAddress);
    st = loop_over(device, streams, &fetched, error);
    fake_cuda_fail_after(-1, cudaSuccess);
    calls = fake_cuda_calls() - calls;
    if (st == SLUICE_END_OF_DATA) {
        T_EQ(fetched, 6);
    } else {
        T_TRUE(good >= 0 && (st == SLUICE_E_DEVICE || st == SLUICE_E_NO_DEVICE));
        T_CONTAINS(error, "cuda");
    }
    end_with_streams(streams);
    return calls;
}

static void every_call_of_cuda_may_fail(void)
{
    T_TRUE(channel_kit_fail_calls(loop_and_fail, 1) > 80);
}

/* Whoever broke the device: no slot is released any more, and a wait for a batch must end. */
static void a_kernel_that_fails_ends_the_waits(void)
{
    sluice_log_set_level(SLUICE_LOG_OFF);
    for (int64_t good = 0; good < 24; good++) {
        cudaStream_t streams[3] = {NULL};
        char error[SLI_ERROR_SIZE];
        uint64_t fetched;
        sluice_status st;

        start_with_streams(streams);
        fake_cuda_fail_kernel_after(good, cudaErrorLaunchFailure);
        st = loop_over(channel_kit_transports[good % 2], streams, &fetched, error);
        if (st != SLUICE_END_OF_DATA) {
            T_EQ(st, SLUICE_E_DEVICE);
            T_CONTAINS(error, "cudaErrorLaunchFailure");
        }
        end_with_streams(streams);
    }
    sluice_log_set_level(SLUICE_LOG_WARN);
}

/* The same for a caller who never waits. */
static void a_broken_device_is_told_to_who_does_not_wait(void)
{
    cudaStream_t stream;
    sluice_status st = SLUICE_OK;
    channel_kit k;

    sluice_log_set_level(SLUICE_LOG_OFF);
    fake_cuda_start(&channel_kit_machine);
    stream = channel_kit_stream(0);
    channel_kit_open(&k, "cuda:0,transport=pull", plain, 0);
    fake_cuda_fail_kernel_after(4, cudaErrorLaunchFailure);
    while (st == SLUICE_OK || st == SLUICE_TIMEOUT) {
        sched_yield();
        st = sluice_channel_get_next(k.channel, stream, 0, &k.batch);
    }
    T_EQ(st, SLUICE_E_DEVICE);
    channel_kit_close(&k);
    channel_kit_stream_destroy(0, stream);
    cuda_kit_nothing_is_live();
    sluice_log_set_level(SLUICE_LOG_WARN);
}

static void a_copy_that_fails_ends_the_loop(void)
{
    sluice_log_set_level(SLUICE_LOG_OFF);
    for (int64_t good = 0; good < 7; good++) {
        cudaStream_t streams[3] = {NULL};
        char error[SLI_ERROR_SIZE];
        uint64_t fetched;
        sluice_status st;

        start_with_streams(streams);
        fake_cuda_fail_copy_after(good, cudaErrorIllegalAddress);
        st = loop_over("cuda:0,transport=push", streams, &fetched, error);
        if (good < 2 || st != SLUICE_END_OF_DATA) { /* small batches share a copy */
            T_EQ(st, SLUICE_E_DEVICE);
            T_CONTAINS(error, "cudaErrorIllegalAddress");
        }
        end_with_streams(streams);
    }
    sluice_log_set_level(SLUICE_LOG_WARN);
}

static void running_out_of_memory_is_an_error(void)
{
    sluice_status st = SLUICE_E_NO_MEMORY;

    for (int64_t good = 0; st == SLUICE_E_NO_MEMORY; good++) {
        sluice_channel_config config;
        sluice_dataset *dataset = NULL;
        sluice_channel *channel = NULL;
        sluice_device *device = NULL;

        fake_cuda_start(&channel_kit_machine);
        T_OK(sluice_device_open("cuda:0", &device));
        T_OK(sluice_dataset_parse(plain, &dataset));
        sluice_channel_config_init(&config);
        sli_alloc_fail_after(good);
        st = sluice_channel_open(device, dataset, &config, &channel);
        sli_alloc_fail_after(-1);
        T_TRUE((channel != NULL) == (st == SLUICE_OK));
        sluice_channel_close(channel);
        sluice_dataset_destroy(dataset);
        sluice_device_close(device);
        cuda_kit_nothing_is_live();
    }
    T_EQ(st, SLUICE_OK);
}

/* ---- a slot that is wrong -------------------------------------------------------------------- */

typedef struct lent {
    sluice_device *device;
    sluice_dataset *dataset;
    device_maps maps; /* none */
    data_feed data;
    batch_lender *lender;
} lent;

/* A channel's parts, with batch 1 on the device, and another number in its slot. */
static void open_spoilt(lent *l)
{
    feed_config config = {.settings = {.world = 1}};
    sli_batch_header *header;
    sli_getnext g;

    memset((void *)l, 0, sizeof(*l));
    memset(&g, 0, sizeof(g));
    T_OK(sluice_device_open("cuda:0,transport=push", &l->device));
    T_OK(sluice_dataset_parse(plain, &l->dataset));
    config.device = l->device;
    config.dataset = l->dataset;
    config.maps = &l->maps;
    T_OK(feed_open(&config, &l->data));
    T_OK(device_lender(l->device)->create(&l->data, &l->lender));
    T_OK(feed_start(&l->data, UINT64_MAX));
    T_OK(sli_queue_wait(l->data.queue, 1, -1, false));
    sli_queue_getnext(l->data.queue, &g);
    header = (sli_batch_header *)(uintptr_t)g.slots;
    header->seq = 77;
}

static void close_spoilt(lent *l)
{
    feed_stop(&l->data);
    l->lender->ops->destroy(l->lender);
    feed_close(&l->data);
    sluice_dataset_destroy(l->dataset);
    sluice_device_close(l->device);
}

/* By the call that waits for the device; without one, by a poll of the device. */
static void a_slot_that_is_wrong_is_noticed(void)
{
    for (int waits = 0; waits < 2; waits++) {
        lend_request request = {.seq = 1};
        cudaStream_t stream;
        sluice_status st;
        sli_inputs inputs;
        lent l;

        fake_cuda_start(&channel_kit_machine);
        stream = channel_kit_stream(0);
        open_spoilt(&l);
        request.stream = waits == 1 ? NULL : stream;
        st = l.lender->ops->lend(l.lender, &request, &inputs);
        T_EQ(st, waits == 1 ? SLUICE_E_CORRUPT : SLUICE_OK);
        while (st == SLUICE_OK) {
            st = l.lender->ops->poll_device(l.lender);
        }
        T_EQ(st, SLUICE_E_CORRUPT);
        T_CONTAINS(sluice_last_error(), "the slot of batch 1 holds another batch");
        T_STATUS(l.lender->ops->check(l.lender, 0, stream), SLUICE_E_CORRUPT);
        close_spoilt(&l);
        channel_kit_stream_destroy(0, stream);
        cuda_kit_nothing_is_live();
    }
}

const t_test cuda_channel_ends_tests[] = {T_TEST(streams_of_other_devices_are_refused),
                                          T_TEST(streams_that_are_captured_are_refused),
                                          T_TEST(polling_the_device_spoils_no_capture),
                                          T_TEST(waiting_for_the_device_spoils_no_capture),
                                          T_TEST(an_error_of_the_pipeline_comes_in_its_place),
                                          T_TEST(a_paused_channel_goes_on_as_if_nothing_had_been),
                                          T_TEST(a_stop_ends_a_wait),
                                          T_TEST(a_channel_can_be_closed_at_any_moment),
                                          T_TEST(every_call_of_cuda_may_fail),
                                          T_TEST(a_kernel_that_fails_ends_the_waits),
                                          T_TEST(a_broken_device_is_told_to_who_does_not_wait),
                                          T_TEST(a_copy_that_fails_ends_the_loop),
                                          T_TEST(running_out_of_memory_is_an_error),
                                          T_TEST(a_slot_that_is_wrong_is_noticed),
                                          T_END};
