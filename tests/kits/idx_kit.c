/* SPDX-License-Identifier: Apache-2.0 */
#include "idx_kit.h"

#include <stdlib.h>

#include "testing.h"

enum { HEIGHT = 5, WIDTH = 4 };

size_t idx_head(uint8_t type, uint32_t rank, const uint32_t *shape, uint8_t *bytes)
{
    const uint8_t head[] = {0, 0, type, (uint8_t)rank};
    size_t size = sizeof(head);

    memcpy(bytes, head, sizeof(head));
    for (uint32_t i = 0; i < rank; i++) {
        for (int shift = 24; shift >= 0; shift -= 8) {
            bytes[size++] = (uint8_t)(shape[i] >> shift);
        }
    }
    return size;
}

void idx_write(const char *folder, const char *name, uint32_t rank, const uint32_t *shape,
               const uint8_t *data, size_t size)
{
    uint8_t *bytes = malloc(100 + size);
    size_t head;

    T_TRUE(bytes != NULL && rank < 20);
    head = idx_head(8, rank, shape, bytes);
    memcpy(bytes + head, data, size);
    t_write_file(t_path(folder, name), bytes, head + size);
    free(bytes);
}

uint8_t idx_pixel(uint32_t seed, uint32_t image, uint32_t i)
{
    return (uint8_t)(seed * 7 + image * 13 + i * 3);
}

void idx_write_pair(const char *folder, const char *stem, uint32_t count, uint32_t seed)
{
    const uint32_t shape[] = {count, HEIGHT, WIDTH};
    const size_t size = (size_t)count * HEIGHT * WIDTH;
    uint8_t *bytes = malloc(size);
    char name[200];

    T_TRUE(bytes != NULL);
    for (size_t i = 0; i < size; i++) {
        bytes[i] =
            idx_pixel(seed, (uint32_t)(i / (HEIGHT * WIDTH)), (uint32_t)(i % (HEIGHT * WIDTH)));
    }
    snprintf(name, sizeof(name), "%simages-idx3-ubyte", stem);
    idx_write(folder, name, 3, shape, bytes, size);
    for (uint32_t i = 0; i < count; i++) {
        bytes[i] = (uint8_t)((seed + i) % 10);
    }
    snprintf(name, sizeof(name), "%slabels-idx1-ubyte", stem);
    idx_write(folder, name, 1, shape, bytes, count);
    free(bytes);
}
