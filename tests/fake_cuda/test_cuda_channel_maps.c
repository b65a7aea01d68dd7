/* SPDX-License-Identifier: Apache-2.0 */
/* config.device_maps of a channel on the CUDA device, on the fake of CUDA: their kernels run in the
 * caller's stream, between GetNext and the readers. */
#include "channel_kit.h"
#include "cuda_kit.h"
#include "device_map_kit.h"
#include "fake_kit.h"
#include "testing.h"

static const char pipeline[] =
    "synthetic samples=50 shape=4,4,3 classes=10 | shuffle | random_horizontal_flip | batch 8";

enum { HELD = 3, BATCHES = 24 };

typedef struct mapped {
    sluice_device_map maps[3];
    const sluice_device_map *list[3];
    sluice_device *device;
    sluice_dataset *dataset;
    sluice_channel *channel;
} mapped;

static void open_channel(mapped *m, const char *device, uint32_t held)
{
    sluice_channel_config config;

    device_map_init(&m->maps[0], "row sums", device_map_sum, &device_map_sum_column);
    device_map_init(&m->maps[1], "pairs", device_map_pair, &device_map_pair_column);
    device_map_init(&m->maps[2], "view", device_map_look, &device_map_view_column);
    for (int i = 0; i < 3; i++) {
        m->list[i] = &m->maps[i];
    }
    sluice_channel_config_init(&config);
    config.device_maps = m->list;
    config.device_map_count = 3;
    config.held = held;
    T_OK(sluice_device_open(device, &m->device));
    T_OK(sluice_dataset_parse(pipeline, &m->dataset));
    T_OK(sluice_channel_open(m->device, m->dataset, &config, &m->channel));
    T_OK(sluice_channel_start(m->channel));
}

static void close_channel(mapped *m)
{
    sluice_channel_close(m->channel);
    sluice_dataset_destroy(m->dataset);
    sluice_device_close(m->device);
}

/* What a reader in the stream found: 1 if all is as it should be. */
typedef struct found {
    int right;
} found;

/* What a reader needs of a batch; copied when it is enqueued, as the arguments of a kernel are. */
typedef struct reader_args {
    sluice_tensor image;
    sluice_tensor pair;
    sluice_tensor sum;
    sluice_tensor view;
    int64_t number;
    int64_t pass;
    int64_t valid_rows;
    found *found;
} reader_args;

static void reader_body(void *const *args, unsigned blocks, unsigned threads)
{
    const reader_args *a = args[0];
    bool right = true;

    (void)blocks;
    (void)threads;
    for (uint64_t row = 0; row < a->image.shape[0]; row++) {
        const device_map_view *view = (const device_map_view *)a->view.data + row;
        const int32_t *pair = (const int32_t *)a->pair.data + 2 * row;
        int32_t want = 0;

        for (int i = 0; i < 48; i++) {
            want += ((const uint8_t *)a->image.data)[row * 48 + (uint64_t)i];
        }
        right = right && ((const int32_t *)a->sum.data)[row] == want && pair[0] >= 1000 &&
                pair[1] == 2 * want && view->step == a->number && view->epoch == a->pass &&
                view->valid_rows == a->valid_rows;
    }
    a->found->right = right;
}

static const fake_kernel reader = {"kit_reader", reader_body, 1, {sizeof(reader_args)}};

static void read_in(const sluice_batch *batch, cudaStream_t stream, found *found_out)
{
    const dim3 one = {1, 1, 1};
    reader_args read = {.image = *sluice_batch_input(batch, "image"),
                        .pair = *sluice_batch_input(batch, "label"),
                        .sum = *sluice_batch_input(batch, "sum"),
                        .view = *sluice_batch_input(batch, "view"),
                        .number = (int64_t)batch->number,
                        .pass = (int64_t)batch->pass,
                        .valid_rows = batch->valid_rows,
                        .found = found_out};
    void *args[] = {&read};

    T_EQ(batch->input_count, 4);
    if (stream == NULL) {
        reader_body(args, 1, 1);
    } else {
        T_CUDA(cudaLaunchKernel(&reader, one, one, args, 0, stream));
    }
}

static void check_found(const found *found_here)
{
    for (int n = 0; n < BATCHES; n++) {
        T_EQ(found_here[n].right, 1);
    }
}

/* The stream changes from call to call; every fourth call has none. */
static void outputs_are_ready_for_work_behind_the_call(void)
{
    for (int i = 0; i < CHANNEL_KIT_TRANSPORTS; i++) {
        found seen[BATCHES] = {{0}};
        cudaStream_t streams[2];
        mapped m;

        fake_cuda_start(&channel_kit_machine);
        streams[0] = channel_kit_stream(0);
        streams[1] = channel_kit_stream(0);
        open_channel(&m, channel_kit_transports[i], 1);
        for (int n = 0; n < BATCHES; n++) {
            const cudaStream_t stream = n % 4 == 3 ? NULL : streams[n / 2 % 2];
            const sluice_batch *batch = NULL;

            T_OK(sluice_channel_get_next(m.channel, stream, SLUICE_FOREVER, &batch));
            if (stream != NULL && n % 3 == 0) {
                T_CUDA(channel_kit_rest(stream, 300));
            }
            read_in(batch, stream, &seen[n]);
        }
        T_CUDA(cudaStreamSynchronize(streams[0]));
        T_CUDA(cudaStreamSynchronize(streams[1]));
        check_found(seen);
        close_channel(&m);
        channel_kit_stream_destroy(0, streams[0]);
        channel_kit_stream_destroy(0, streams[1]);
        cuda_kit_nothing_is_live();
    }
}

/* Readers are late: each batch keeps its outputs until it is released. */
static void held_batches_have_outputs_of_their_own(void)
{
    found seen[BATCHES] = {{0}};
    cudaStream_t stream;
    mapped m;

    fake_cuda_start(&channel_kit_machine);
    stream = channel_kit_stream(0);
    open_channel(&m, "cuda:0", HELD);
    for (int n = 0; n < BATCHES; n += HELD) {
        const sluice_batch *held[HELD];

        for (int i = 0; i < HELD; i++) {
            T_OK(sluice_channel_get_next(m.channel, stream, SLUICE_FOREVER, &held[i]));
        }
        for (int i = 0; i < HELD; i++) {
            T_CUDA(channel_kit_rest(stream, 200));
            read_in(held[i], stream, &seen[n + i]);
            T_OK(sluice_channel_release(m.channel, held[i], stream));
        }
    }
    T_CUDA(cudaStreamSynchronize(stream));
    check_found(seen);
    T_OK(sluice_channel_rewind(m.channel)); /* discards batches, whose maps are not called */
    close_channel(&m);
    channel_kit_stream_destroy(0, stream);
    cuda_kit_nothing_is_live();
}

/* Fetches batches; the call after `good` ones fails. Returns the number of calls. */
static int64_t loop_and_fail(const char *device, int64_t good)
{
    sluice_channel_config config;
    mapped m = {.channel = NULL};
    sluice_status st;
    int64_t calls;

    device_map_init(&m.maps[0], "row sums", device_map_sum, &device_map_sum_column);
    m.list[0] = &m.maps[0];
    sluice_channel_config_init(&config);
    config.device_maps = m.list;
    config.device_map_count = 1;
    fake_cuda_start(&channel_kit_machine);
    calls = fake_cuda_calls();
    fake_cuda_fail_after(good, cudaErrorIllegalAddress);
    T_OK(sluice_dataset_parse(pipeline, &m.dataset));
    st = sluice_device_open(device, &m.device);
    if (st == SLUICE_OK) {
        st = sluice_channel_open(m.device, m.dataset, &config, &m.channel);
    }
    if (st == SLUICE_OK) {
        st = sluice_channel_start(m.channel);
    }
    for (int n = 0; n < 3 && st == SLUICE_OK; n++) {
        const sluice_batch *batch = NULL;

        st = sluice_channel_get_next(m.channel, NULL, SLUICE_FOREVER, &batch);
        T_TRUE(st != SLUICE_OK || batch->input_count == 3);
    }
    T_TRUE(st == SLUICE_OK || good >= 0);
    sluice_channel_close(m.channel);
    fake_cuda_fail_after(-1, cudaSuccess);
    calls = fake_cuda_calls() - calls;
    sluice_dataset_destroy(m.dataset);
    sluice_device_close(m.device);
    cuda_kit_nothing_is_live();
    return calls;
}

static void every_call_of_cuda_may_fail(void)
{
    T_TRUE(channel_kit_fail_calls(loop_and_fail, 3) > 60);
}

const t_test cuda_channel_maps_tests[] = {
    T_TEST(outputs_are_ready_for_work_behind_the_call),
    T_TEST(held_batches_have_outputs_of_their_own),
    T_TEST(every_call_of_cuda_may_fail),
    T_END,
};
