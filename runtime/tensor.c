/* SPDX-License-Identifier: Apache-2.0 */
/* Names and sizes of element types. */
#include "tensor_int.h"

#include <string.h>

static const struct {
    const char *name;
    size_t size;
} dtypes[] = {
    [SLUICE_ENCODED] = {"encoded", 0}, [SLUICE_U8] = {"u8", 1},   [SLUICE_I32] = {"i32", 4},
    [SLUICE_F32] = {"f32", 4},         [SLUICE_F16] = {"f16", 2}, [SLUICE_BF16] = {"bf16", 2},
    [SLUICE_I64] = {"i64", 8},         [SLUICE_U16] = {"u16", 2}, [SLUICE_U32] = {"u32", 4},
    [SLUICE_I8] = {"i8", 1},           [SLUICE_I16] = {"i16", 2}, [SLUICE_U64] = {"u64", 8},
    [SLUICE_F64] = {"f64", 8},
};

enum { DTYPE_COUNT = sizeof(dtypes) / sizeof(dtypes[0]) };

size_t sluice_dtype_size(sluice_dtype dtype)
{
    return (unsigned)dtype < DTYPE_COUNT ? dtypes[dtype].size : 0;
}

const char *sluice_dtype_name(sluice_dtype dtype)
{
    return (unsigned)dtype < DTYPE_COUNT ? dtypes[dtype].name : "?";
}

bool sli_dtype_parse(const char *name, sluice_dtype *dtype_out)
{
    for (int i = SLUICE_U8; i < DTYPE_COUNT; i++) {
        if (strcmp(name, dtypes[i].name) == 0) {
            *dtype_out = (sluice_dtype)i;
            return true;
        }
    }
    return false;
}

bool sli_column_bytes(const sluice_column *column, size_t *bytes_out)
{
    size_t bytes = sluice_dtype_size(column->dtype);

    for (uint32_t i = 0; i < column->rank; i++) {
        if (__builtin_mul_overflow(bytes, column->shape[i], &bytes)) {
            return false;
        }
    }
    if (bytes == 0) {
        return false;
    }
    *bytes_out = bytes;
    return true;
}
