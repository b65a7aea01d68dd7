/* SPDX-License-Identifier: Apache-2.0 */
/* The fake's memory: blocks of devices, and host memory that is page-locked. */
#include <string.h>
#include <sys/mman.h>

#include "fake_cuda_state.h"

/* What a device has, in bytes, and how many blocks and ranges there can be. */
#define DEVICE_BYTES (UINT64_C(1) << 36)
enum { PLACES = 256, POISON = 0xA5 };

static fake_block blocks[PLACES];
static fake_range ranges[PLACES];

static size_t whole_pages(size_t bytes)
{
    return (bytes + 4095) / 4096 * 4096;
}

/* ---- blocks ---------------------------------------------------------------------------------- */

static fake_block *block_of(const void *address, size_t bytes)
{
    const uintptr_t first = (uintptr_t)address;

    for (int i = 0; i < PLACES; i++) {
        const uintptr_t start = (uintptr_t)blocks[i].address;

        if (start != 0 && first >= start && first + bytes <= start + blocks[i].bytes) {
            return &blocks[i];
        }
    }
    return NULL;
}

fake_block *fake_block_of(const void *address, size_t bytes)
{
    return block_of(address, bytes);
}

/* Memory at an address where the host may read and write it, or must not; NULL: there is none. */
static unsigned char *map(size_t bytes, int protection)
{
    void *memory =
        mmap(NULL, bytes, protection, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

    return memory == MAP_FAILED ? NULL : memory;
}

static cudaError_t take_block(fake_block *block, size_t bytes, CUcontext context)
{
    const size_t size = whole_pages(bytes);

    block->storage = map(size, PROT_READ | PROT_WRITE);
    block->address = fake_host_reads() ? block->storage : map(size, PROT_NONE);
    if (block->storage == NULL || block->address == NULL) {
        fake_forbidden("the machine has no memory for the fake");
    }
    memset(block->storage, POISON, size);
    block->bytes = bytes;
    block->context = context;
    block->copies = 0;
    fake_live.blocks++;
    return cudaSuccess;
}

cudaError_t cudaMalloc(void **address, size_t bytes)
{
    cudaError_t error = fake_call();
    CUcontext context;
    int i = 0;

    pthread_mutex_lock(&fake_lock);
    context = fake_context("cudaMalloc");
    error = error != cudaSuccess ? error : context->broken;
    if (error == cudaSuccess && bytes > DEVICE_BYTES) {
        error = cudaErrorMemoryAllocation;
    }
    while (i < PLACES - 1 && blocks[i].address != NULL) {
        i++;
    }
    if (error == cudaSuccess) {
        error = take_block(&blocks[i], bytes, context);
        *address = blocks[i].address;
    }
    pthread_mutex_unlock(&fake_lock);
    return fake_answer(error);
}

/* On a machine whose device memory the host can read, that is managed. */
cudaError_t cudaMallocManaged(void **address, size_t bytes, unsigned int flags)
{
    if (!fake_host_reads() || flags != cudaMemAttachGlobal) {
        fake_forbidden("cudaMallocManaged: the fake has not that");
    }
    return cudaMalloc(address, bytes);
}

cudaError_t cudaMemGetInfo(size_t *available, size_t *total)
{
    cudaError_t error = fake_call();

    error = error != cudaSuccess ? error : fake_context(__func__)->broken;
    if (error == cudaSuccess) {
        *available = fake_available();
        *available = *available > 0 ? *available : DEVICE_BYTES;
        *total = DEVICE_BYTES;
    }
    return fake_answer(error);
}

cudaError_t cudaFree(void *address)
{
    cudaError_t error = fake_call();
    fake_block *block;

    pthread_mutex_lock(&fake_lock);
    block = block_of(address, 1);
    if (block == NULL || block->address != address || block->copies > 0) {
        fake_forbidden("cudaFree: no block begins there, or a copy into it is under way");
    }
    error = error != cudaSuccess ? error : block->context->broken;
    munmap(block->storage, whole_pages(block->bytes));
    if (block->address != block->storage) {
        munmap(block->address, whole_pages(block->bytes));
    }
    memset(block, 0, sizeof(*block));
    fake_live.blocks--;
    pthread_mutex_unlock(&fake_lock);
    return fake_answer(error);
}

int fake_cuda_device_of(const void *address)
{
    const fake_block *block;
    int device;

    pthread_mutex_lock(&fake_lock);
    block = block_of(address, 1);
    device = block != NULL ? block->context->device : -1;
    pthread_mutex_unlock(&fake_lock);
    return device;
}

void fake_cuda_read(void *to, const void *address, size_t bytes)
{
    const fake_block *block;

    pthread_mutex_lock(&fake_lock);
    block = block_of(address, bytes);
    if (block == NULL) {
        fake_forbidden("fake_cuda_read: no block is there");
    }
    memcpy(to, block->storage + ((uintptr_t)address - (uintptr_t)block->address), bytes);
    pthread_mutex_unlock(&fake_lock);
}

/* ---- page-locked memory ---------------------------------------------------------------------- */

fake_range *fake_range_of(const void *from, size_t bytes)
{
    const uintptr_t first = (uintptr_t)from;

    for (int i = 0; i < PLACES; i++) {
        const uintptr_t start = (uintptr_t)ranges[i].start;

        if (start != 0 && first >= start && first + bytes <= start + ranges[i].bytes) {
            return &ranges[i];
        }
    }
    return NULL;
}

static bool overlaps(const void *start, size_t bytes)
{
    const uintptr_t first = (uintptr_t)start;

    for (int i = 0; i < PLACES; i++) {
        const uintptr_t other = (uintptr_t)ranges[i].start;

        if (other != 0 && first < other + ranges[i].bytes && other < first + bytes) {
            return true;
        }
    }
    return false;
}

cudaError_t cudaHostRegister(void *start, size_t bytes, unsigned int flags)
{
    cudaError_t error = fake_call();
    int i = 0;

    pthread_mutex_lock(&fake_lock);
    error = error != cudaSuccess ? error : fake_context("cudaHostRegister")->broken;
    if (flags != (cudaHostRegisterMapped | cudaHostRegisterPortable)) {
        fake_forbidden("cudaHostRegister: flags that the library does not mean");
    }
    if (error == cudaSuccess && fake_no_locking()) {
        error = cudaErrorMemoryAllocation;
    }
    if (error == cudaSuccess && overlaps(start, bytes)) {
        error = cudaErrorHostMemoryAlreadyRegistered;
    }
    while (i < PLACES - 1 && ranges[i].start != NULL) {
        i++;
    }
    if (error == cudaSuccess) {
        ranges[i] = (fake_range){.start = start, .bytes = bytes};
        fake_live.locked++;
    }
    pthread_mutex_unlock(&fake_lock);
    return fake_answer(error);
}

/* Host addresses are the device's, as with unified addressing. */
cudaError_t cudaHostGetDevicePointer(void **address, void *start, unsigned int flags)
{
    cudaError_t error = fake_call();

    pthread_mutex_lock(&fake_lock);
    error = error != cudaSuccess ? error : fake_context("cudaHostGetDevicePointer")->broken;
    if (flags != 0 || fake_range_of(start, 1) == NULL) {
        fake_forbidden("cudaHostGetDevicePointer: no page-locked memory is there");
    }
    if (error == cudaSuccess) {
        *address = start;
    }
    pthread_mutex_unlock(&fake_lock);
    return fake_answer(error);
}

cudaError_t cudaHostUnregister(void *start)
{
    const cudaError_t error = fake_call();
    fake_range *range;

    pthread_mutex_lock(&fake_lock);
    range = fake_range_of(start, 1);
    if (range == NULL || range->start != start || range->copies > 0) {
        fake_forbidden("cudaHostUnregister: no range begins there, or a copy from it is under way");
    }
    memset(range, 0, sizeof(*range));
    fake_live.locked--;
    pthread_mutex_unlock(&fake_lock);
    return fake_answer(error);
}
