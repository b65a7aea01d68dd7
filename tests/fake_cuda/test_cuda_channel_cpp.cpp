// SPDX-License-Identifier: Apache-2.0
// A loop of one's own in C++, by the wrapper, with streams and DLPack, on the fake of CUDA. It
// takes nothing of the C++ library, so that the tests are linked as C.
#include <cuda_runtime_api.h>
#include <math.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <sluice/sluice.hpp>

extern "C" {
#include "fake_cuda.h"
#include "testing.h"

extern const t_test cuda_channel_cpp_tests[];
}

#define T_CUDA(call) T_STR(cudaGetErrorName(call), "cudaSuccess")

// As dlpack/dlpack.h, release 1.1, has them.
struct DLDevice {
    int32_t device_type;
    int32_t device_id;
};

struct DLDataType {
    uint8_t code;
    uint8_t bits;
    uint16_t lanes;
};

struct DLTensor {
    void *data;
    DLDevice device;
    int32_t ndim;
    DLDataType dtype;
    int64_t *shape;
    int64_t *strides;
    uint64_t byte_offset;
};

struct DLManagedTensor {
    DLTensor dl_tensor;
    void *manager_ctx;
    void (*deleter)(DLManagedTensor *self);
};

namespace
{

enum { BATCH = 4, SAMPLES = 18, BATCHES = 5, CUDA_DEVICE = 2 };

void close_stream(CUstream_st *stream)
{
    (void)cudaStreamSynchronize(stream);
    (void)cudaStreamDestroy(stream);
}

using stream = sluice::owner<CUstream_st, close_stream>;

// A device, a dataset and a channel on it, in the order in which they depend on each other.
struct loop {
    sluice::device device;
    sluice::dataset dataset;
    sluice::channel channel;

    loop(const char *uri, uint32_t held)
    {
        sluice::channel_config config;

        config.batches = BATCHES;
        config.held = held;
        T_OK(device.open(uri).get());
        T_OK(
            dataset.parse("synthetic samples=18 classes=18 shape=4,4,3 | shuffle | batch 4").get());
        T_OK(channel.open(device, dataset, config).get());
        T_OK(channel.start().get());
    }
};

void check_image(const sluice_batch *batch, const sluice_device *d, int ordinal)
{
    static const int64_t shape[] = {BATCH, 4, 4, 3};
    const sluice_tensor *image = sluice_batch_input(batch, "image");
    DLManagedTensor *managed = nullptr;

    T_OK(sluice_tensor_to_dlpack(image, d, &managed));
    T_TRUE(managed->dl_tensor.data == image->data);
    T_EQ(managed->dl_tensor.device.device_type, CUDA_DEVICE);
    T_EQ(managed->dl_tensor.device.device_id, ordinal);
    T_EQ(managed->dl_tensor.ndim, 4);
    T_EQ(memcmp(managed->dl_tensor.shape, shape, sizeof(shape)), 0);
    T_EQ(managed->dl_tensor.byte_offset, 0);
    managed->deleter(managed);
}

// Behind the batch, in its stream: its labels to the host, by DLPack.
void copy_labels(const sluice_batch *batch, const sluice_device *d, int32_t *to, cudaStream_t s)
{
    DLManagedTensor *managed = nullptr;

    T_OK(sluice_tensor_to_dlpack(sluice_batch_input(batch, "label"), d, &managed));
    T_EQ(managed->dl_tensor.dtype.bits, 32);
    T_CUDA(cudaMemcpyAsync(to, managed->dl_tensor.data, BATCH * sizeof(*to), cudaMemcpyDeviceToHost,
                           s));
    managed->deleter(managed);
}

int64_t sum_of(const int32_t *labels, uint32_t count)
{
    int64_t sum = 0;

    for (uint32_t i = 0; i < count; i++) {
        sum += labels[i];
    }
    return sum;
}

void fetch_all(int ordinal)
{
    int32_t labels[BATCHES * BATCH] = {};
    uint32_t valid[BATCHES] = {};
    int64_t sum = 0;
    int fetched = 0;
    stream s;
    sluice::status st;

    fake_cuda_use(ordinal);
    T_CUDA(cudaStreamCreateWithFlags(s.out(), cudaStreamNonBlocking));
    loop l(ordinal == 0 ? "cuda:0" : "cuda:1", 1);
    sluice::batch batch;
    while ((st = l.channel.get_next(batch, s.get(), 0)) != SLUICE_END_OF_DATA) {
        if (st == SLUICE_TIMEOUT) {
            continue;
        }
        T_STATUS(st.get(), SLUICE_OK);
        check_image(batch.get(), l.device.get(), ordinal);
        copy_labels(batch.get(), l.device.get(), labels + fetched * BATCH, s.get());
        valid[fetched++] = batch->valid_rows;
    }
    T_CUDA(cudaStreamSynchronize(s.get()));
    T_EQ(fetched, BATCHES);
    for (int i = 0; i < BATCHES; i++) {
        sum += sum_of(labels + i * BATCH, valid[i]);
    }
    T_EQ(sum, SAMPLES * (SAMPLES - 1) / 2);
}

// One stream fetches, another one reads: each batch is released in the stream that reads it.
int64_t sum_of_pass(loop &l, const stream &fetching, const stream &reading)
{
    int32_t labels[BATCHES * BATCH] = {};
    uint32_t valid[BATCHES] = {};
    int64_t sum = 0;
    cudaEvent_t arrived = nullptr;
    sluice::batch before;

    T_CUDA(cudaEventCreateWithFlags(&arrived, cudaEventDisableTiming));
    for (int i = 0; i < BATCHES; i++) {
        sluice::batch batch;

        T_OK(l.channel.get_next(batch, fetching.get()).get());
        T_CUDA(cudaEventRecord(arrived, fetching.get()));
        T_CUDA(cudaStreamWaitEvent(reading.get(), arrived, 0));
        copy_labels(batch.get(), l.device.get(), labels + i * BATCH, reading.get());
        valid[i] = batch->valid_rows;
        T_OK(before.release(reading.get()).get());
        before = static_cast<sluice::batch &&>(batch);
    }
    T_OK(before.release(reading.get()).get());
    T_CUDA(cudaStreamSynchronize(reading.get()));
    T_CUDA(cudaEventDestroy(arrived));
    for (int i = 0; i < BATCHES; i++) {
        sum += sum_of(labels + i * BATCH, valid[i]);
    }
    return sum;
}

void hold_and_rewind()
{
    stream streams[2];
    sluice::batch none;

    fake_cuda_use(0);
    T_CUDA(cudaStreamCreateWithFlags(streams[0].out(), cudaStreamNonBlocking));
    T_CUDA(cudaStreamCreateWithFlags(streams[1].out(), cudaStreamNonBlocking));
    loop l("cuda:0", 2);
    for (int pass = 0; pass < 3; pass++) {
        T_EQ(sum_of_pass(l, streams[0], streams[1]), SAMPLES * (SAMPLES - 1) / 2);
        T_STATUS(l.channel.get_next(none, streams[0].get()).get(), SLUICE_END_OF_DATA);
        T_OK(l.channel.rewind().get());
    }
}

// Runs a function on two devices of which nothing is left.
void on_two_devices(void (*run)())
{
    static const fake_cuda_live nothing = {};
    fake_cuda_machine machine = {};

    machine.devices = 2;
    machine.driver = CUDART_VERSION;
    machine.host_reads = true;
    fake_cuda_start(&machine);
    run();
    const fake_cuda_live live = fake_cuda_count();
    T_EQ(memcmp(&live, &nothing, sizeof(live)), 0);
}

void a_loop_in_cpp_reads_batches_by_dlpack()
{
    on_two_devices([] {
        fetch_all(0);
        fetch_all(1);
    });
}

void a_loop_in_cpp_holds_two_batches_and_rewinds()
{
    on_two_devices(hold_and_rewind);
}

} // namespace

const t_test cuda_channel_cpp_tests[] = {T_TEST(a_loop_in_cpp_reads_batches_by_dlpack),
                                         T_TEST(a_loop_in_cpp_holds_two_batches_and_rewinds),
                                         T_END};
