/* SPDX-License-Identifier: Apache-2.0 */
#include "recordio_kit.h"

#include <string.h>

#include "bytes_int.h"

void recordio_add_part(recordio_bytes *to, uint32_t flag, const void *data, uint32_t size)
{
    uint8_t *at = to->data + to->size;
    const uint32_t padded = (size + 3) & ~UINT32_C(3);

    sli_put_u32(at, RECORDIO_MAGIC);
    sli_put_u32(at + 4, flag << 29 | size);
    memset(at + 8, 0, padded);
    memcpy(at + 8, data, size);
    to->size += 8 + (size_t)padded;
}

size_t recordio_add(recordio_bytes *to, const void *data, size_t size)
{
    const uint8_t *bytes = data;
    const size_t offset = to->size;
    size_t begin = 0;

    for (size_t i = 0; i + 4 <= size; i += 4) {
        if (sli_get_u32(bytes + i) == RECORDIO_MAGIC) {
            recordio_add_part(to, begin == 0 ? 1 : 2, bytes + begin, (uint32_t)(i - begin));
            begin = i + 4;
        }
    }
    recordio_add_part(to, begin == 0 ? 0 : 3, bytes + begin, (uint32_t)(size - begin));
    return offset;
}

static void put_float(uint8_t *to, float value)
{
    uint32_t word;

    memcpy(&word, &value, sizeof(word));
    sli_put_u32(to, word);
}

size_t recordio_image_bytes(uint8_t *to, uint64_t id, const float *labels, uint32_t count,
                            const void *image, size_t size)
{
    sli_put_u32(to, count);
    put_float(to + 4, count == 0 ? labels[0] : 0);
    sli_put_u64(to + 8, id);
    sli_put_u64(to + 16, 0);
    for (uint32_t i = 0; i < count; i++) {
        put_float(to + 24 + 4 * (size_t)i, labels[i]);
    }
    memcpy(to + 24 + 4 * (size_t)count, image, size);
    return 24 + 4 * (size_t)count + size;
}
