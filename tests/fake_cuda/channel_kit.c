/* SPDX-License-Identifier: Apache-2.0 */
#include "channel_kit.h"

#include <unistd.h>

#include "digest_int.h"
#include "testing.h"

const fake_cuda_machine channel_kit_machine = {
    .devices = 2, .driver = CUDART_VERSION, .host_reads = true};

const char *const channel_kit_transports[CHANNEL_KIT_TRANSPORTS] = {
    "cuda:0,transport=push", "cuda:0,transport=pull,spin_us=0"};

static const dim3 one = {1, 1, 1};

/* ---- kernels --------------------------------------------------------------------------------- */

static void read_tensors(const sluice_tensor *tensors, uint32_t count, uint64_t *digests)
{
    for (uint32_t i = 0; i < count; i++) {
        digests[i] = sli_digest_bytes(tensors[i].data, tensors[i].bytes);
    }
}

/* Args: the tensors, their count, where the digests go, how long to rest before and after. */
static void read_body(void *const *args, unsigned blocks, unsigned threads)
{
    const sluice_tensor *tensors;
    uint64_t *digests;
    const unsigned rest_us = *(const unsigned *)args[3];

    (void)blocks;
    (void)threads;
    memcpy(&tensors, args[0], sizeof(tensors));
    memcpy(&digests, args[2], sizeof(digests));
    usleep(rest_us);
    read_tensors(tensors, *(const uint32_t *)args[1], digests);
}

static const fake_kernel read_kernel = {
    "read_batch",
    read_body,
    4,
    {sizeof(sluice_tensor *), sizeof(uint32_t), sizeof(uint64_t *), sizeof(unsigned)}};

static void rest_body(void *const *args, unsigned blocks, unsigned threads)
{
    (void)blocks;
    (void)threads;
    usleep(*(const unsigned *)args[0]);
}

static const fake_kernel rest_kernel = {"rest", rest_body, 1, {sizeof(unsigned)}};

cudaError_t channel_kit_rest(cudaStream_t stream, unsigned rest_us)
{
    void *args[] = {&rest_us};

    return cudaLaunchKernel(&rest_kernel, one, one, args, 0, stream);
}

/* ---- channels -------------------------------------------------------------------------------- */

sluice_status channel_kit_try(channel_kit *k, const char *device, const char *text,
                              sluice_dataset *dataset, uint64_t batches)
{
    return channel_kit_try_held(k, device, text, dataset, batches, 1);
}

sluice_status channel_kit_try_held(channel_kit *k, const char *device, const char *text,
                                   sluice_dataset *dataset, uint64_t batches, uint32_t held)
{
    sluice_channel_config config;
    sluice_status st;

    memset(k, 0, sizeof(*k));
    sluice_channel_config_init(&config);
    config.batches = batches;
    config.seed = 3;
    config.workers = 2;
    config.slots = 4;
    config.held = held;
    k->dataset = dataset;
    k->own_dataset = dataset == NULL;
    if (dataset == NULL) {
        T_OK(sluice_dataset_parse(text, &k->dataset));
    }
    st = sluice_device_open(device, &k->device);
    if (st == SLUICE_OK) {
        st = sluice_channel_open(k->device, k->dataset, &config, &k->channel);
    }
    return st;
}

void channel_kit_open(channel_kit *k, const char *device, const char *text, uint64_t batches)
{
    T_OK(channel_kit_try(k, device, text, NULL, batches));
    T_OK(sluice_channel_start(k->channel));
}

void channel_kit_close(channel_kit *k)
{
    sluice_channel_close(k->channel);
    if (k->own_dataset) {
        sluice_dataset_destroy(k->dataset);
    }
    sluice_device_close(k->device);
}

cudaStream_t channel_kit_stream(int device)
{
    cudaStream_t stream = NULL;

    fake_cuda_use(device);
    T_STR(cudaGetErrorName(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking)),
          "cudaSuccess");
    return stream;
}

void channel_kit_stream_destroy(int device, cudaStream_t stream)
{
    fake_cuda_use(device);
    (void)cudaStreamSynchronize(stream);
    (void)cudaStreamDestroy(stream);
}

static sluice_status enqueue_reader(channel_kit *k, channel_kit_batch *b, cudaStream_t reader,
                                    unsigned slow_us)
{
    const sluice_tensor *tensors = k->batch->inputs;
    uint32_t count = k->batch->input_count;
    uint64_t *digests = b->digests;
    void *args[] = {&tensors, &count, &digests, &slow_us};

    return cudaLaunchKernel(&read_kernel, one, one, args, 0, reader) == cudaSuccess
               ? SLUICE_OK
               : sluice_fail(SLUICE_E_DEVICE, "the reader: cudaLaunchKernel");
}

sluice_status channel_kit_fetch(channel_kit *k, cudaStream_t stream, cudaStream_t reader,
                                unsigned slow_us)
{
    return channel_kit_fetch_ordered(k, stream, reader, slow_us, NULL);
}

sluice_status channel_kit_fetch_ordered(channel_kit *k, cudaStream_t stream, cudaStream_t reader,
                                        unsigned slow_us,
                                        void (*order)(cudaStream_t stream, cudaStream_t later))
{
    channel_kit_batch *b = &k->seen[k->count];
    const sluice_status st = sluice_channel_get_next(k->channel, stream, SLUICE_FOREVER, &k->batch);

    if (st != SLUICE_OK) {
        return st;
    }
    T_TRUE(k->count < CHANNEL_KIT_MOST && k->batch->rows <= CHANNEL_KIT_ROWS);
    b->number = k->batch->number;
    b->pass = k->batch->pass;
    b->valid_rows = k->batch->valid_rows;
    b->rows = k->batch->rows;
    memcpy(b->samples, k->batch->samples, b->rows * sizeof(b->samples[0]));
    k->count++;
    if (order != NULL && stream != NULL && reader != NULL) {
        order(stream, reader);
    }
    if (reader != NULL) {
        return enqueue_reader(k, b, reader, slow_us);
    }
    read_tensors(k->batch->inputs, k->batch->input_count, b->digests);
    return SLUICE_OK;
}

int64_t channel_kit_fail_calls(int64_t (*loop)(const char *device, int64_t good), int64_t stride)
{
    int64_t fewest = INT64_MAX;

    sluice_log_set_level(SLUICE_LOG_OFF);
    for (size_t t = 0; t < CHANNEL_KIT_TRANSPORTS; t++) {
        const int64_t calls = loop(channel_kit_transports[t], -1);

        fewest = calls < fewest ? calls : fewest;
        for (int64_t good = 0; good < calls; good += stride) {
            (void)loop(channel_kit_transports[t], good);
        }
    }
    sluice_log_set_level(SLUICE_LOG_WARN);
    return fewest;
}

void channel_kit_check(const channel_kit *k, const char *text)
{
    channel_kit host;

    T_OK(channel_kit_try(&host, "host:0", text, k->own_dataset ? NULL : k->dataset, 0));
    T_OK(sluice_channel_start(host.channel));
    for (size_t i = 0; i < k->count; i++) {
        T_OK(channel_kit_fetch(&host, NULL, NULL, 0));
        T_EQ(memcmp(&k->seen[i], &host.seen[i], sizeof(host.seen[i])), 0);
    }
    channel_kit_close(&host);
}
