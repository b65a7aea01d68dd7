/* SPDX-License-Identifier: Apache-2.0 */
#include "npy_kit.h"

#include <stdlib.h>

#include "testing.h"

size_t npy_head(unsigned version, const char *dict, uint8_t *bytes)
{
    const size_t begin = version == 1 ? 10 : 12;
    const size_t end = (begin + strlen(dict) + 1 + 63) / 64 * 64;
    const size_t size = end < 128 ? 128 : end;

    T_TRUE(strlen(dict) < 900);
    memset(bytes, ' ', size);
    memcpy(bytes, "\x93NUMPY", 6);
    bytes[6] = (uint8_t)version;
    bytes[7] = 0;
    memset(bytes + 8, 0, begin - 8);
    bytes[8] = (uint8_t)(size - begin);
    bytes[9] = (uint8_t)((size - begin) >> 8);
    memcpy(bytes + begin, dict, strlen(dict));
    bytes[size - 1] = '\n';
    return size;
}

void npy_write(const char *folder, const char *name, const char *descr, const char *shape,
               const void *data, size_t size)
{
    uint8_t *bytes = malloc(1000 + size);
    char dict[500];
    size_t head;

    T_TRUE(bytes != NULL);
    snprintf(dict, sizeof(dict), "{'descr': '%s', 'fortran_order': False, 'shape': %s, }", descr,
             shape);
    head = npy_head(1, dict, bytes);
    memcpy(bytes + head, data, size);
    t_write_file(t_path(folder, name), bytes, head + size);
    free(bytes);
}
