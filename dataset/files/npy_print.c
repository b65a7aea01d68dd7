/* SPDX-License-Identifier: Apache-2.0 */
#include "npy_print.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
#define ORDER "<"
#else
#define ORDER ">"
#endif

/* The prefix is magic, version and a length of two bytes. */
enum { PREFIX = 10, ALIGNMENT = 64 };

static const char *type_of(sluice_dtype dtype)
{
    switch (dtype) {
    case SLUICE_U8:
        return "|u1";
    case SLUICE_I8:
        return "|i1";
    case SLUICE_I16:
        return ORDER "i2";
    case SLUICE_U16:
        return ORDER "u2";
    case SLUICE_U32:
        return ORDER "u4";
    case SLUICE_I32:
        return ORDER "i4";
    case SLUICE_I64:
        return ORDER "i8";
    case SLUICE_U64:
        return ORDER "u8";
    case SLUICE_F16:
        return ORDER "f2";
    case SLUICE_F32:
        return ORDER "f4";
    case SLUICE_F64:
        return ORDER "f8";
    case SLUICE_BF16:
    case SLUICE_ENCODED:
        break;
    }
    return NULL;
}

size_t npy_print(sluice_dtype dtype, const uint64_t *shape, uint32_t rank,
                 char header[NPY_PRINT_MOST])
{
    const char *type = type_of(dtype);
    char *const text = header + PREFIX;
    const size_t size = NPY_PRINT_MOST - PREFIX;
    size_t length;
    size_t total;

    if (type == NULL || rank > SLUICE_MAX_RANK + 1) {
        return 0;
    }
    memset(header, 0, NPY_PRINT_MOST);
    memcpy(header, "\x93NUMPY\x01", 7);
    length =
        (size_t)snprintf(text, size, "{'descr': '%s', 'fortran_order': False, 'shape': (", type);
    for (uint32_t i = 0; i < rank; i++) {
        length += (size_t)snprintf(text + length, size - length, "%s%" PRIu64, i > 0 ? ", " : "",
                                   shape[i]);
    }
    length += (size_t)snprintf(text + length, size - length, "%s), }", rank == 1 ? "," : "");
    total = (PREFIX + length + 1 + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
    memset(text + length, ' ', total - PREFIX - length);
    header[total - 1] = '\n';
    header[8] = (char)((total - PREFIX) & 0xFF);
    header[9] = (char)((total - PREFIX) >> 8);
    return total;
}
