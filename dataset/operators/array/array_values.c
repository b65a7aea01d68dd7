/* SPDX-License-Identifier: Apache-2.0 */
#include "array_values.h"

#include <inttypes.h>
#include <stdio.h>

#include "format_int.h"
#include "status_int.h"

void array_print(sluice_dtype dtype, const void *array, size_t i, char *text, size_t size)
{
    float value;

    if (dtype == SLUICE_U64) {
        snprintf(text, size, "%" PRIu64, ((const uint64_t *)array)[i]);
    } else if (array_is_integer(dtype)) {
        snprintf(text, size, "%" PRId64, array_integer(dtype, array, i));
    } else if (dtype == SLUICE_F64) {
        sli_print(text, size, "%.17g", ((const double *)array)[i]);
    } else {
        array_convert(dtype, (const uint8_t *)array + i * sluice_dtype_size(dtype), SLUICE_F32,
                      &value, 1);
        sli_print(text, size, "%.9g", (double)value);
    }
}

sluice_status array_one_hot(const sluice_column *type, const void *number, uint64_t classes,
                            double smoothing, float *vector)
{
    const int64_t class_number = array_integer(type->dtype, number, 0);
    const double off = smoothing / (double)classes;

    if (class_number < 0 || (uint64_t)class_number >= classes) {
        char text[32];

        array_print(type->dtype, number, 0, text, sizeof(text));
        return sli_fail(SLUICE_E_CORRUPT, "%s is %s, and must be from 0 to %" PRIu64, type->name,
                        text, classes - 1);
    }
    for (uint64_t i = 0; i < classes; i++) {
        vector[i] = (float)off;
    }
    vector[class_number] = (float)(1 - smoothing + off);
    return SLUICE_OK;
}
