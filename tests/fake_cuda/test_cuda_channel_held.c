/* SPDX-License-Identifier: Apache-2.0 */
/* sluice_channel on the fake of CUDA: several batches held at once, each in a set of tensors. */
#include <sluice/log.h>

#include "channel_kit.h"
#include "cuda_kit.h"
#include "fake_kit.h"
#include "testing.h"

static const char *const converting =
    "synthetic samples=60 shape=8,16,3 | shuffle | random_horizontal_flip | normalize "
    "mean=0.5,0.4,0.3 std=0.2,0.3,0.4 | to_chw | batch 6";

enum { HELD = 3, BATCHES = 30 };

static void open_held(channel_kit *k, size_t transport, uint32_t held)
{
    T_OK(channel_kit_try_held(k, channel_kit_transports[transport], converting, NULL, BATCHES,
                              held));
    T_OK(sluice_channel_start(k->channel));
}

static cudaEvent_t events[BATCHES];
static size_t event_count;

/* What `stream` holds now runs before what `later` is given from here on. */
static void order(cudaStream_t stream, cudaStream_t later)
{
    cudaEvent_t *event = &events[event_count++];

    T_CUDA(cudaEventCreateWithFlags(event, cudaEventDisableTiming));
    T_CUDA(cudaEventRecord(*event, stream));
    T_CUDA(cudaStreamWaitEvent(later, *event, 0));
}

static void destroy_events(void)
{
    while (event_count > 0) {
        T_CUDA(cudaEventDestroy(events[--event_count]));
    }
}

/* Fetched in one stream, read slowly in another, released behind the readers, in any order. */
static void readers_in_other_streams_see_their_batch(void)
{
    for (size_t t = 0; t < CHANNEL_KIT_TRANSPORTS; t++) {
        const sluice_batch *batches[HELD] = {NULL};
        cudaStream_t fetches;
        cudaStream_t readers[HELD];
        cudaStream_t streams[HELD] = {NULL};
        size_t held = 0;
        channel_kit k;

        fake_cuda_start(&channel_kit_machine);
        fetches = channel_kit_stream(0);
        for (int i = 0; i < HELD; i++) {
            readers[i] = channel_kit_stream(0);
        }
        open_held(&k, t, HELD);
        for (size_t n = 0; n < BATCHES; n++) {
            cudaStream_t reader = readers[n % HELD];
            const size_t which = n * 5 % HELD;

            if (held == HELD) {
                T_OK(sluice_channel_release(k.channel, batches[which], streams[which]));
                batches[which] = batches[--held];
                streams[which] = streams[held];
            }
            /* The kit's reader is in the stream of the fetch, or behind an event. */
            T_OK(channel_kit_fetch_ordered(&k, n % 4 == 3 ? NULL : fetches, reader, 700, order));
            batches[held] = k.batch;
            streams[held++] = reader;
        }
        for (int i = 0; i < HELD; i++) {
            T_CUDA(cudaStreamSynchronize(readers[i]));
        }
        channel_kit_check(&k, converting);
        destroy_events();
        channel_kit_close(&k); /* batches are held */
        channel_kit_stream_destroy(0, fetches);
        for (int i = 0; i < HELD; i++) {
            channel_kit_stream_destroy(0, readers[i]);
        }
        cuda_kit_nothing_is_live();
    }
}

/* The reader of the first batch stands still behind a gate. The second batch has another set; the
 * third has the first one's. */
static void only_the_readers_of_a_set_are_waited_for(void)
{
    for (size_t t = 0; t < CHANNEL_KIT_TRANSPORTS; t++) {
        const uint64_t order_of_ends[] = {20, 10, 30};
        cudaStream_t other;
        const sluice_batch *first;
        channel_kit k;

        fake_kit_start();
        other = channel_kit_stream(0);
        open_held(&k, t, 2);
        T_OK(channel_kit_fetch(&k, other, other, 0));
        first = k.batch;
        T_CUDA(fake_kit_gate(fake_kit_words + 8));
        T_CUDA(fake_kit_append(10));
        T_OK(channel_kit_fetch(&k, other, other, 0));
        T_CUDA(fake_kit_append_on(other, 20));
        T_CUDA(cudaStreamSynchronize(other)); /* it has not waited for the gate */
        T_OK(sluice_channel_release(k.channel, first, fake_kit_stream));
        T_OK(channel_kit_fetch(&k, other, other, 0));
        T_CUDA(fake_kit_append_on(other, 30));
        fake_kit_open(fake_kit_words + 8);
        T_CUDA(cudaStreamSynchronize(fake_kit_stream));
        T_CUDA(cudaStreamSynchronize(other));
        T_EQ(fake_kit_words[9], 1); /* the gate did not give up */
        fake_kit_appended(3, order_of_ends);
        channel_kit_check(&k, converting);
        channel_kit_close(&k);
        channel_kit_stream_destroy(0, other);
        fake_kit_finish();
    }
}

static void tensors_are_in_as_many_places_as_batches_are_held(void)
{
    const void *data[HELD] = {NULL};
    const sluice_batch *batches[HELD] = {NULL};
    sluice_channel_info one = {.struct_size = sizeof(one)};
    sluice_channel_info three = {.struct_size = sizeof(three)};
    channel_kit k;

    fake_cuda_start(&channel_kit_machine);
    open_held(&k, 0, 1);
    T_OK(sluice_channel_inspect(k.channel, &one));
    channel_kit_close(&k);
    open_held(&k, 0, HELD);
    T_OK(sluice_channel_inspect(k.channel, &three));
    /* Images of 4 bytes a value; labels and a header, aligned. */
    T_EQ(three.slot_bytes - one.slot_bytes, (HELD - 1) * (6 * 8 * 16 * 3 * 4 + 2 * 256));
    for (size_t n = 0; n < 4 * HELD; n++) {
        if (n >= HELD) {
            T_OK(sluice_channel_release(k.channel, batches[n % HELD], NULL));
        }
        T_OK(channel_kit_fetch(&k, NULL, NULL, 0));
        batches[n % HELD] = k.batch;
        T_TRUE(n < HELD || k.batch->inputs[0].data == data[n % HELD]);
        data[n % HELD] = k.batch->inputs[0].data;
    }
    T_TRUE(data[0] != data[1] && data[1] != data[2] && data[0] != data[2]);
    channel_kit_close(&k);
    cuda_kit_nothing_is_live();
}

static void what_may_not_be_released_stays_held(void)
{
    const sluice_batch *batch = NULL;
    cudaStream_t streams[2];
    cudaGraph_t graph = NULL;
    channel_kit k;

    fake_cuda_start(&channel_kit_machine);
    streams[0] = channel_kit_stream(0);
    streams[1] = channel_kit_stream(1);
    fake_cuda_use(0);
    open_held(&k, 0, 2);
    T_OK(channel_kit_fetch(&k, streams[0], streams[0], 0));
    T_STATUS(sluice_channel_release(k.channel, k.batch, streams[1]), SLUICE_E_INVALID);
    T_CONTAINS(sluice_last_error(),
               "sluice_channel_release: the stream is of another device or context");
    T_CUDA(cudaStreamBeginCapture(streams[0], cudaStreamCaptureModeGlobal));
    T_STATUS(sluice_channel_release(k.channel, k.batch, streams[0]), SLUICE_E_INVALID);
    T_CONTAINS(sluice_last_error(), "sluice_channel_release: the stream is being captured");
    T_CUDA(cudaStreamEndCapture(streams[0], &graph));
    T_CUDA(cudaGraphDestroy(graph));
    T_OK(sluice_channel_get_next(k.channel, NULL, SLUICE_FOREVER, &batch));
    T_STATUS(sluice_channel_get_next(k.channel, NULL, 0, &batch), SLUICE_E_INVALID);
    T_CONTAINS(sluice_last_error(), "2 batches are held");
    T_OK(sluice_channel_release(k.channel, k.batch, streams[0]));
    T_STATUS(sluice_channel_release(k.channel, k.batch, streams[0]), SLUICE_E_INVALID);
    channel_kit_close(&k);
    channel_kit_stream_destroy(0, streams[0]);
    channel_kit_stream_destroy(1, streams[1]);
    cuda_kit_nothing_is_live();
}

/* A loop that holds two batches; fails in whatever call of CUDA it is told to. */
static sluice_status loop_of_two(const char *device, cudaStream_t stream, uint64_t *fetched)
{
    const sluice_batch *before = NULL;
    channel_kit k;
    sluice_status st = channel_kit_try_held(&k, device, converting, NULL, 5, 2);

    if (st == SLUICE_OK) {
        st = sluice_channel_start(k.channel);
    }
    for (*fetched = 0; st == SLUICE_OK; *fetched += st == SLUICE_OK) {
        before = k.batch;
        st = sluice_channel_get_next(k.channel, stream, SLUICE_FOREVER, &k.batch);
        if (st == SLUICE_OK && before != NULL) {
            st = sluice_channel_release(k.channel, before, *fetched % 2 == 0 ? stream : NULL);
        }
    }
    channel_kit_close(&k);
    return st;
}

static int64_t loop_and_fail(const char *device, int64_t good)
{
    cudaStream_t stream;
    uint64_t fetched;
    sluice_status st;
    int64_t calls;

    fake_cuda_start(&channel_kit_machine);
    stream = channel_kit_stream(0);
    calls = fake_cuda_calls();
    fake_cuda_fail_after(good, cudaErrorIllegalAddress);
    st = loop_of_two(device, stream, &fetched);
    fake_cuda_fail_after(-1, cudaSuccess);
    calls = fake_cuda_calls() - calls;
    if (st == SLUICE_END_OF_DATA) {
        T_EQ(fetched, 5);
    } else {
        T_TRUE(good >= 0 && (st == SLUICE_E_DEVICE || st == SLUICE_E_NO_DEVICE));
    }
    channel_kit_stream_destroy(0, stream);
    cuda_kit_nothing_is_live();
    return calls;
}

static void every_call_of_cuda_may_fail(void)
{
    T_TRUE(channel_kit_fail_calls(loop_and_fail, 1) > 0);
}

/* Its memory is freed, which the reader in the caller's stream may be reading still. */
static void a_close_waits_for_readers_of_what_was_released(void)
{
    int64_t waits;
    channel_kit k;

    fake_kit_start();
    T_OK(channel_kit_try_held(&k, "cuda:0", converting, NULL, 1, 2));
    T_OK(sluice_channel_start(k.channel));
    T_OK(channel_kit_fetch(&k, fake_kit_stream, fake_kit_stream, 0));
    T_STATUS(channel_kit_fetch(&k, NULL, NULL, 0), SLUICE_END_OF_DATA); /* no copy is to come */
    T_CUDA(channel_kit_rest(fake_kit_stream, 20000));
    T_CUDA(fake_kit_append(1));
    T_OK(sluice_channel_release(k.channel, k.batch, fake_kit_stream));
    waits = fake_cuda_count_of("cudaEventSynchronize");
    channel_kit_close(&k);
    /* For the gather and for the reader: that cudaFree() waits for all is not relied on. */
    T_TRUE(fake_cuda_count_of("cudaEventSynchronize") - waits >= 2);
    T_EQ(__atomic_load_n(&fake_kit_words[0], __ATOMIC_ACQUIRE), 1); /* the kernel has run */
    fake_kit_finish();
}

/* A channel that steps of a training read. */
static sluice_channel *of_steps;
static const sluice_batch *batch_of_steps;

/* What a step enqueues is replayed for each batch; a batch of a channel is fetched but once. */
static sluice_status fetch_in_step(const sluice_step *step, void *user)
{
    (void)user;
    return sluice_channel_get_next(of_steps, step->stream, SLUICE_FOREVER, &batch_of_steps);
}

static sluice_status release_in_step(const sluice_step *step, void *user)
{
    (void)user;
    return sluice_channel_release(of_steps, batch_of_steps, step->stream);
}

static void a_step_under_capture_neither_fetches_nor_releases(void)
{
    static sluice_status (*const steps[])(const sluice_step *, void *) = {fetch_in_step,
                                                                          release_in_step};

    for (size_t i = 0; i < 2; i++) {
        channel_kit c;
        kit k;

        fake_cuda_start(&channel_kit_machine);
        open_held(&c, 0, 2);
        T_OK(channel_kit_fetch(&c, NULL, NULL, 0));
        of_steps = c.channel;
        batch_of_steps = c.batch;
        cuda_kit_init(&k);
        k.model.step = steps[i];
        k.config.mode = SLUICE_MODE_GRAPH;
        T_EQ(kit_run(&k), SLUICE_E_INVALID);
        T_CONTAINS(k.error, "is being captured");
        kit_fini(&k);
        T_OK(channel_kit_fetch(&c, NULL, NULL, 0)); /* the channel goes on */
        T_OK(sluice_channel_release(c.channel, batch_of_steps, NULL));
        channel_kit_check(&c, converting);
        channel_kit_close(&c);
        cuda_kit_nothing_is_live();
    }
}

const t_test cuda_channel_held_tests[] = {T_TEST(readers_in_other_streams_see_their_batch),
                                          T_TEST(only_the_readers_of_a_set_are_waited_for),
                                          T_TEST(tensors_are_in_as_many_places_as_batches_are_held),
                                          T_TEST(what_may_not_be_released_stays_held),
                                          T_TEST(every_call_of_cuda_may_fail),
                                          T_TEST(a_close_waits_for_readers_of_what_was_released),
                                          T_TEST(a_step_under_capture_neither_fetches_nor_releases),
                                          T_END};
