/* SPDX-License-Identifier: Apache-2.0 */
#include "output_int.h"

#include <string.h>

#include "status_int.h"
#include "tensor_int.h"

bool sli_widens(sluice_dtype from, sluice_dtype to)
{
    return (from == SLUICE_U8 || from == SLUICE_U16 || from == SLUICE_U32 || from == SLUICE_I32) &&
           (to == SLUICE_I32 || to == SLUICE_I64);
}

/* One function per pair of types: a simple loop, which compilers vectorise. */
#define WIDEN(name, from_type, to_type)                                                            \
    static void name(const from_type *restrict in, to_type *restrict out, size_t count)            \
    {                                                                                              \
        for (size_t i = 0; i < count; i++) {                                                       \
            out[i] = (to_type)in[i];                                                               \
        }                                                                                          \
    }

WIDEN(widen_u8_i32, uint8_t, int32_t)
WIDEN(widen_u16_i32, uint16_t, int32_t)
WIDEN(widen_u8_i64, uint8_t, int64_t)
WIDEN(widen_u16_i64, uint16_t, int64_t)
WIDEN(widen_u32_i64, uint32_t, int64_t)
WIDEN(widen_i32_i64, int32_t, int64_t)

static void widen_to_i64(sluice_dtype from, const void *in, int64_t *out, size_t count)
{
    switch (from) {
    case SLUICE_U8:
        widen_u8_i64(in, out, count);
        break;
    case SLUICE_U16:
        widen_u16_i64(in, out, count);
        break;
    case SLUICE_U32:
        widen_u32_i64(in, out, count);
        break;
    default:
        widen_i32_i64(in, out, count);
        break;
    }
}

void sli_widen(sluice_dtype from, const void *in, sluice_dtype to, void *out, size_t count)
{
    if (to == SLUICE_I64) {
        widen_to_i64(from, in, out, count);
    } else if (from == SLUICE_U16) {
        widen_u16_i32(in, out, count);
    } else if (from == SLUICE_U8) {
        widen_u8_i32(in, out, count);
    } else {
        memcpy(out, in, count * sizeof(int32_t)); /* i32; u32 has the same bits */
    }
}

uint64_t sli_output_count(const sli_output *output)
{
    uint64_t count = 1;

    for (uint32_t i = 0; i < output->type.rank; i++) {
        count *= output->type.shape[i];
    }
    return count;
}

bool sli_output_is_copy(const sli_output *output, const sli_layout *layout)
{
    const sluice_column *from = &layout->columns[output->column];
    size_t bytes = 0;

    return output->type.dtype == from->dtype && output->offset == 0 &&
           sli_column_bytes(&output->type, &bytes) && bytes == layout->row_bytes[output->column];
}

/* True if the output lies within the rows of its column and the column's type can be widened to the
 * output's type. */
static bool is_window(const sli_output *output, const sli_layout *layout)
{
    const sluice_dtype from = layout->columns[output->column].dtype;
    const sluice_dtype to = output->type.dtype;
    const uint64_t room = layout->row_bytes[output->column] / sluice_dtype_size(from);
    size_t bytes = 0;

    return sli_widens(from, to) && sli_column_bytes(&output->type, &bytes) &&
           output->offset <= room && bytes / sluice_dtype_size(to) <= room - output->offset;
}

sluice_status sli_output_check(const sli_output *output, const sli_layout *layout)
{
    if (output->column < layout->column_count &&
        (sli_output_is_copy(output, layout) || is_window(output, layout))) {
        return SLUICE_OK;
    }
    return sli_fail(SLUICE_E_INVALID,
                    "GetNext cannot make %s (%s) of column %u of the batch, from element %llu on",
                    output->type.name, sluice_dtype_name(output->type.dtype), output->column,
                    (unsigned long long)output->offset);
}

void sli_output_make(const sli_output *output, const sli_layout *layout, const uint8_t *column,
                     void *tensor)
{
    const sluice_dtype from = layout->columns[output->column].dtype;
    const size_t row_bytes = layout->row_bytes[output->column];
    const size_t count = (size_t)sli_output_count(output);
    const size_t out_bytes = count * sluice_dtype_size(output->type.dtype);
    const uint8_t *first = column + output->offset * sluice_dtype_size(from);

    if (sli_output_is_copy(output, layout)) {
        memcpy(tensor, column, row_bytes * layout->batch_size);
        return;
    }
    for (uint32_t row = 0; row < layout->batch_size; row++) {
        sli_widen(from, first + row * row_bytes, output->type.dtype,
                  (uint8_t *)tensor + row * out_bytes, count);
    }
}
