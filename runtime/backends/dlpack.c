/* SPDX-License-Identifier: Apache-2.0 */
/*
 * DLPack. The structs below match include/dlpack/dlpack.h, release 1.1, of
 * https://github.com/dmlc/dlpack. DLManagedTensor has no version field, and is unchanged since
 * release 0.2. Strides are always set, since from release 1.2 on they must not be NULL.
 */
#include <sluice/dlpack.h>

#include "alloc_int.h"
#include "device_int.h"
#include "status_int.h"

enum { DLPACK_INT = 0, DLPACK_UINT = 1, DLPACK_FLOAT = 2, DLPACK_BFLOAT = 4 };

typedef struct dlpack_dtype {
    uint8_t code;
    uint8_t bits;
    uint16_t lanes;
} dlpack_dtype;

typedef struct dlpack_tensor {
    void *data;
    int32_t device_type;
    int32_t device_id;
    int32_t ndim;
    dlpack_dtype dtype;
    int64_t *shape;   /* (ndim) */
    int64_t *strides; /* (ndim) in elements */
    uint64_t byte_offset;
} dlpack_tensor;

struct DLManagedTensor {
    dlpack_tensor tensor;
    void *manager_ctx;
    void (*deleter)(struct DLManagedTensor *self);
};

/* A single allocation: the struct, which comes first, and the arrays that it points to. */
typedef struct dlpack_wrapper {
    struct DLManagedTensor managed;
    int64_t shape[SLUICE_MAX_RANK + 1];
    int64_t strides[SLUICE_MAX_RANK + 1];
} dlpack_wrapper;

static void delete_wrapper(struct DLManagedTensor *self)
{
    sli_free(self);
}

static bool dtype_of(sluice_dtype dtype, dlpack_dtype *dtype_out)
{
    static const dlpack_dtype known[] = {
        [SLUICE_U8] = {DLPACK_UINT, 8, 1},      [SLUICE_I32] = {DLPACK_INT, 32, 1},
        [SLUICE_F32] = {DLPACK_FLOAT, 32, 1},   [SLUICE_F16] = {DLPACK_FLOAT, 16, 1},
        [SLUICE_BF16] = {DLPACK_BFLOAT, 16, 1}, [SLUICE_I64] = {DLPACK_INT, 64, 1},
        [SLUICE_U16] = {DLPACK_UINT, 16, 1},    [SLUICE_U32] = {DLPACK_UINT, 32, 1},
        [SLUICE_I8] = {DLPACK_INT, 8, 1},       [SLUICE_I16] = {DLPACK_INT, 16, 1},
        [SLUICE_U64] = {DLPACK_UINT, 64, 1},    [SLUICE_F64] = {DLPACK_FLOAT, 64, 1},
    };

    if ((unsigned)dtype >= sizeof(known) / sizeof(known[0]) || known[dtype].lanes == 0) {
        return false;
    }
    *dtype_out = known[dtype];
    return true;
}

static sluice_status check_tensor(const sluice_tensor *tensor, const sluice_device *device,
                                  struct DLManagedTensor *const *managed_out,
                                  dlpack_dtype *dtype_out)
{
    static const char function[] = "sluice_tensor_to_dlpack";
    sluice_status st;

    if (tensor == NULL || managed_out == NULL) {
        return sli_fail(SLUICE_E_INVALID, "%s: %s is NULL", function,
                        tensor == NULL ? "tensor" : "managed_out");
    }
    st = sli_device_check(device, function);
    if (st != SLUICE_OK) {
        return st;
    }
    if (device->caps.dlpack_type == 0) {
        return sli_fail(SLUICE_E_UNSUPPORTED, "%s: DLPack has no device type for %s", function,
                        sluice_device_name(device));
    }
    if (tensor->rank > SLUICE_MAX_RANK + 1 || !dtype_of(tensor->dtype, dtype_out)) {
        return sli_fail(SLUICE_E_INVALID,
                        "%s: the tensor has %u dimensions of type %s, and must have at most %d "
                        "and a type of DLPack",
                        function, tensor->rank, sluice_dtype_name(tensor->dtype),
                        SLUICE_MAX_RANK + 1);
    }
    return SLUICE_OK;
}

sluice_status sluice_tensor_to_dlpack(const sluice_tensor *tensor, const sluice_device *device,
                                      struct DLManagedTensor **managed_out)
{
    dlpack_dtype dtype;
    sluice_status st = check_tensor(tensor, device, managed_out, &dtype);
    dlpack_wrapper *wrapper;
    int64_t stride = 1;

    if (st != SLUICE_OK) {
        return st;
    }
    wrapper = sli_calloc(1, sizeof(*wrapper));
    if (wrapper == NULL) {
        return sli_fail(SLUICE_E_NO_MEMORY, "a DLPack tensor");
    }
    for (uint32_t i = tensor->rank; i-- > 0;) {
        wrapper->shape[i] = (int64_t)tensor->shape[i];
        wrapper->strides[i] = stride;
        stride *= wrapper->shape[i];
    }
    wrapper->managed = (struct DLManagedTensor){.tensor = {.data = tensor->data,
                                                           .device_type = device->caps.dlpack_type,
                                                           .device_id = device->caps.dlpack_id,
                                                           .ndim = (int32_t)tensor->rank,
                                                           .dtype = dtype,
                                                           .shape = wrapper->shape,
                                                           .strides = wrapper->strides},
                                                .deleter = delete_wrapper};
    *managed_out = &wrapper->managed;
    return SLUICE_OK;
}
