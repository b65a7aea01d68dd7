/* SPDX-License-Identifier: Apache-2.0 */
/* Tensors for other libraries. The struct is written down here once more, by offsets, as the header
 * of DLPack lays it out where pointers have 64 bits. */
#include <string.h>

#include <sluice/sluice.h>

#include "alloc_int.h"
#include "testing.h"

/* Where things lie in a DLManagedTensor. */
enum {
    AT_DATA = 0,
    AT_DEVICE_TYPE = 8,
    AT_DEVICE_ID = 12,
    AT_NDIM = 16,
    AT_CODE = 20,
    AT_BITS = 21,
    AT_LANES = 22,
    AT_SHAPE = 24,
    AT_STRIDES = 32,
    AT_BYTE_OFFSET = 40,
    AT_MANAGER_CTX = 48,
    AT_DELETER = 56
};

/* DLDataTypeCode */
enum { INT = 0, UINT = 1, FLOAT = 2, BFLOAT = 4 };

/* A field of size bytes, as an unsigned number. */
static uint64_t field(const struct DLManagedTensor *managed, size_t at, size_t size)
{
    uint64_t value = 0;

    memcpy(&value, (const uint8_t *)managed + at, size); /* little endian */
    return value;
}

static int64_t entry(const struct DLManagedTensor *managed, size_t at, uint32_t i)
{
    const int64_t *array;

    memcpy(&array, (const uint8_t *)managed + at, sizeof(array));
    return array[i];
}

static void call_deleter(struct DLManagedTensor *managed)
{
    void (*deleter)(struct DLManagedTensor * self);

    memcpy(&deleter, (const uint8_t *)managed + AT_DELETER, sizeof(deleter));
    deleter(managed);
}

static sluice_tensor tensor_of(sluice_dtype dtype, void *data)
{
    return (sluice_tensor){"image", data, dtype, 4, {5, 3, 7, 2}, 210 * sluice_dtype_size(dtype)};
}

static void a_tensor_is_described_as_it_is(void)
{
    static const int64_t strides[] = {42, 14, 2, 1};
    uint8_t bytes[210];
    sluice_tensor tensor = tensor_of(SLUICE_U8, bytes);
    struct DLManagedTensor *managed = NULL;
    sluice_device *device;

    T_OK(sluice_device_open("host:5", &device));
    T_OK(sluice_tensor_to_dlpack(&tensor, device, &managed));
    T_TRUE(field(managed, AT_DATA, 8) == (uintptr_t)bytes);
    T_EQ(field(managed, AT_DEVICE_TYPE, 4), 1); /* kDLCPU */
    T_EQ(field(managed, AT_DEVICE_ID, 4), 0);
    T_EQ(field(managed, AT_NDIM, 4), 4);
    T_EQ(field(managed, AT_BYTE_OFFSET, 8), 0);
    T_EQ(field(managed, AT_MANAGER_CTX, 8), 0);
    for (uint32_t i = 0; i < 4; i++) {
        T_EQ(entry(managed, AT_SHAPE, i), tensor.shape[i]);
        T_EQ(entry(managed, AT_STRIDES, i), strides[i]);
    }
    memset(&tensor, 0, sizeof(tensor)); /* need not outlive the call */
    T_EQ(entry(managed, AT_SHAPE, 2), 7);
    call_deleter(managed);
    sluice_device_close(device);
}

static void every_type_has_its_code(void)
{
    static const struct {
        sluice_dtype dtype;
        uint8_t code;
        uint8_t bits;
    } types[] = {{SLUICE_U8, UINT, 8},    {SLUICE_I32, INT, 32},     {SLUICE_F32, FLOAT, 32},
                 {SLUICE_F16, FLOAT, 16}, {SLUICE_BF16, BFLOAT, 16}, {SLUICE_I64, INT, 64},
                 {SLUICE_U16, UINT, 16},  {SLUICE_U32, UINT, 32},    {SLUICE_I8, INT, 8},
                 {SLUICE_I16, INT, 16},   {SLUICE_U64, UINT, 64},    {SLUICE_F64, FLOAT, 64}};
    uint64_t data[210];
    sluice_device *device;
    uint32_t known = 0;

    T_OK(sluice_device_open("host:0,copy=1", &device));
    for (size_t i = 0; i < COUNT(types); i++) {
        const sluice_tensor tensor = tensor_of(types[i].dtype, data);
        struct DLManagedTensor *managed = NULL;

        T_OK(sluice_tensor_to_dlpack(&tensor, device, &managed));
        T_EQ(field(managed, AT_CODE, 1), types[i].code);
        T_EQ(field(managed, AT_BITS, 1), types[i].bits);
        T_EQ(field(managed, AT_LANES, 2), 1);
        T_EQ(types[i].bits, 8 * sluice_dtype_size(types[i].dtype));
        call_deleter(managed);
    }
    for (int dtype = 0; dtype < 100; dtype++) { /* a type added later belongs in the list above */
        known += sluice_dtype_size((sluice_dtype)dtype) > 0;
    }
    T_EQ(known, COUNT(types));
    sluice_device_close(device);
}

/* Labels: one dimension, the batch. */
static void a_column_of_scalars_has_one_dimension(void)
{
    int32_t labels[6];
    const sluice_tensor tensor = {"label", labels, SLUICE_I32, 1, {6}, sizeof(labels)};
    struct DLManagedTensor *managed = NULL;
    sluice_device *device;

    T_OK(sluice_device_open("host:0", &device));
    T_OK(sluice_tensor_to_dlpack(&tensor, device, &managed));
    T_EQ(field(managed, AT_NDIM, 4), 1);
    T_EQ(entry(managed, AT_SHAPE, 0), 6);
    T_EQ(entry(managed, AT_STRIDES, 0), 1);
    call_deleter(managed);
    sluice_device_close(device);
}

static void what_is_no_tensor_is_refused(void)
{
    uint8_t bytes[210];
    sluice_tensor tensor = tensor_of(SLUICE_U8, bytes);
    struct DLManagedTensor *managed = NULL;
    sluice_device *device;

    T_OK(sluice_device_open("host:0", &device));
    T_STATUS(sluice_tensor_to_dlpack(NULL, device, &managed), SLUICE_E_INVALID);
    T_STATUS(sluice_tensor_to_dlpack(&tensor, NULL, &managed), SLUICE_E_INVALID);
    T_STATUS(sluice_tensor_to_dlpack(&tensor, device, NULL), SLUICE_E_INVALID);
    T_CONTAINS(sluice_last_error(), "sluice_tensor_to_dlpack: managed_out is NULL");
    tensor.dtype = SLUICE_ENCODED;
    T_STATUS(sluice_tensor_to_dlpack(&tensor, device, &managed), SLUICE_E_INVALID);
    tensor.dtype = (sluice_dtype)-1;
    T_STATUS(sluice_tensor_to_dlpack(&tensor, device, &managed), SLUICE_E_INVALID);
    tensor.dtype = (sluice_dtype)99;
    T_STATUS(sluice_tensor_to_dlpack(&tensor, device, &managed), SLUICE_E_INVALID);
    tensor = tensor_of(SLUICE_U8, bytes);
    tensor.rank = SLUICE_MAX_RANK + 2;
    T_STATUS(sluice_tensor_to_dlpack(&tensor, device, &managed), SLUICE_E_INVALID);
    T_CONTAINS(sluice_last_error(),
               "the tensor has 8 dimensions of type u8, and must have at most");
    tensor.rank = 4;
    sli_alloc_fail_after(0);
    T_STATUS(sluice_tensor_to_dlpack(&tensor, device, &managed), SLUICE_E_NO_MEMORY);
    sli_alloc_fail_after(-1);
    CU_ASSERT_PTR_NULL(managed); /* outputs are set only on OK */
    sluice_device_close(device);
}

const t_test dlpack_tests[] = {
    T_TEST(a_tensor_is_described_as_it_is),
    T_TEST(every_type_has_its_code),
    T_TEST(a_column_of_scalars_has_one_dimension),
    T_TEST(what_is_no_tensor_is_refused),
    T_END,
};
