// SPDX-License-Identifier: Apache-2.0
// A loop of one's own in C++, with streams and DLPack, on the fake of CUDA. It takes nothing of the
// C++ library, so that the tests are linked as C.
#include <cuda_runtime_api.h>
#include <math.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <sluice/sluice.h>

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

template <typename T, void (*close)(T *)> class owned
{
  public:
    owned() = default;
    owned(const owned &) = delete;
    owned &operator=(const owned &) = delete;
    ~owned()
    {
        close(value);
    }
    operator T *() const
    {
        return value;
    }
    T **out()
    {
        return &value;
    }

  private:
    T *value = nullptr;
};

using device = owned<sluice_device, sluice_device_close>;
using dataset = owned<sluice_dataset, sluice_dataset_destroy>;
using channel = owned<sluice_channel, sluice_channel_close>;

void close_stream(CUstream_st *stream)
{
    (void)cudaStreamSynchronize(stream);
    (void)cudaStreamDestroy(stream);
}

using stream = owned<CUstream_st, close_stream>;

void open_channel(int ordinal, device &d, dataset &s, channel &c)
{
    sluice_channel_config config;

    T_OK(sluice_device_open(ordinal == 0 ? "cuda:0" : "cuda:1", d.out()));
    T_OK(sluice_dataset_parse("synthetic samples=18 classes=18 shape=4,4,3 | shuffle | batch 4",
                              s.out()));
    sluice_channel_config_init(&config);
    config.batches = BATCHES;
    T_OK(sluice_channel_open(d, s, &config, c.out()));
    T_OK(sluice_channel_start(c));
}

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

void fetch_all(int ordinal)
{
    const sluice_batch *batch = nullptr;
    int32_t labels[BATCHES * BATCH] = {};
    uint32_t valid[BATCHES] = {};
    int64_t sum = 0;
    int fetched = 0;
    stream s;
    device d;
    dataset data;
    channel c;
    sluice_status st;

    fake_cuda_use(ordinal);
    T_CUDA(cudaStreamCreateWithFlags(s.out(), cudaStreamNonBlocking));
    open_channel(ordinal, d, data, c);
    while ((st = sluice_channel_get_next(c, s, 0, &batch)) != SLUICE_END_OF_DATA) {
        if (st == SLUICE_TIMEOUT) {
            continue;
        }
        T_STATUS(st, SLUICE_OK);
        check_image(batch, d, ordinal);
        copy_labels(batch, d, labels + fetched * BATCH, s);
        valid[fetched++] = batch->valid_rows;
    }
    T_CUDA(cudaStreamSynchronize(s));
    T_EQ(fetched, BATCHES);
    for (int i = 0; i < BATCHES; i++) {
        for (uint32_t row = 0; row < valid[i]; row++) {
            sum += labels[i * BATCH + static_cast<int>(row)];
        }
    }
    T_EQ(sum, SAMPLES * (SAMPLES - 1) / 2);
}

void a_loop_in_cpp_reads_batches_by_dlpack()
{
    static const fake_cuda_live nothing = {};
    fake_cuda_machine machine = {};

    machine.devices = 2;
    machine.driver = CUDART_VERSION;
    machine.host_reads = true;
    fake_cuda_start(&machine);
    fetch_all(0);
    fetch_all(1);
    const fake_cuda_live live = fake_cuda_count();
    T_EQ(memcmp(&live, &nothing, sizeof(live)), 0);
}

} // namespace

const t_test cuda_channel_cpp_tests[] = {T_TEST(a_loop_in_cpp_reads_batches_by_dlpack), T_END};
