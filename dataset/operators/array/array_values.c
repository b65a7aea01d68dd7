/* SPDX-License-Identifier: Apache-2.0 */
#include "array_values.h"

#include <inttypes.h>

#include "status_int.h"

sluice_status array_one_hot(const sluice_column *type, const void *number, uint64_t classes,
                            double smoothing, float *vector)
{
    const int64_t class_number = array_integer(type->dtype, number, 0);
    const double off = smoothing / (double)classes;

    if (class_number < 0 || (uint64_t)class_number >= classes) {
        return sli_fail(SLUICE_E_CORRUPT, "%s is %" PRId64 ", and must be from 0 to %" PRIu64,
                        type->name, class_number, classes - 1);
    }
    for (uint64_t i = 0; i < classes; i++) {
        vector[i] = (float)off;
    }
    vector[class_number] = (float)(1 - smoothing + off);
    return SLUICE_OK;
}
