/* SPDX-License-Identifier: Apache-2.0 */
#include "npy_print.h"

#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
#define ORDER "<"
#else
#define ORDER ">"
#endif

/* The prefix is magic, version and a length of two bytes. */
enum { PREFIX = 10, ALIGNMENT = 64 };

/* Writes the type in NumPy's notation, such as "<f4"; our names of types begin with its letter.
 * Returns false if NumPy has no such type. */
static bool print_type(sluice_dtype dtype, char type[32])
{
    const size_t size = sluice_dtype_size(dtype);

    snprintf(type, 32, "%s%c%zu", size == 1 ? "|" : ORDER, sluice_dtype_name(dtype)[0], size);
    return size > 0 && dtype != SLUICE_BF16;
}

size_t npy_print(sluice_dtype dtype, const uint64_t *shape, uint32_t rank,
                 char header[NPY_PRINT_MOST])
{
    char type[32];
    char *const text = header + PREFIX;
    const size_t size = NPY_PRINT_MOST - PREFIX;
    size_t length;
    size_t total;

    if (!print_type(dtype, type) || rank > SLUICE_MAX_RANK + 1) {
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
