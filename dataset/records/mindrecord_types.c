/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "alloc_int.h"
#include "mindrecord_header.h"

static const struct type_info {
    const char *name;
    sluice_dtype dtype; /* of numbers */
} types[MINDRECORD_TYPES] = {
    [MINDRECORD_BYTES] = {"bytes", SLUICE_ENCODED},
    [MINDRECORD_STRING] = {"string", SLUICE_ENCODED},
    [MINDRECORD_INT32] = {"int32", SLUICE_I32},
    [MINDRECORD_INT64] = {"int64", SLUICE_I64},
    [MINDRECORD_FLOAT32] = {"float32", SLUICE_F32},
    [MINDRECORD_FLOAT64] = {"float64", SLUICE_F64},
};

const char *mindrecord_type_name(mindrecord_type type)
{
    return types[type].name;
}

size_t mindrecord_type_size(mindrecord_type type)
{
    return sluice_dtype_size(types[type].dtype);
}

sluice_dtype mindrecord_dtype(mindrecord_type type)
{
    return types[type].dtype;
}

const mindrecord_column *mindrecord_find_column(const mindrecord_header *header, const char *name)
{
    for (uint32_t i = 0; i < header->column_count; i++) {
        if (strcmp(header->columns[i].name, name) == 0) {
            return &header->columns[i];
        }
    }
    return NULL;
}

void mindrecord_header_free(mindrecord_header *header)
{
    for (uint32_t i = 0; header->columns != NULL && i < header->column_count; i++) {
        sli_free(header->columns[i].name);
    }
    for (uint32_t i = 0; i < header->file_count; i++) {
        sli_free(header->files[i]);
    }
    sli_free(header->columns);
    sli_free(header->description);
    sli_free(header->files);
    sli_free(header->pages);
    sli_free(header->groups);
    *header = (mindrecord_header){0};
}
