/* SPDX-License-Identifier: Apache-2.0 */
/* Any bytes as the index of a shard, as they are and with a checksum that is right. */
#include <stdlib.h>
#include <string.h>

#include "crc32c_int.h"
#include "fuzz_file.h"
#include "fuzz_target.h"
#include "shard_index.h"

static uint64_t number_at(const uint8_t *bytes)
{
    uint64_t number = 0;

    for (int i = 7; i >= 0; i--) {
        number = number << 8 | bytes[i];
    }
    return number;
}

static void read_index(const uint8_t *bytes, size_t size, uint64_t shard_size)
{
    shard_index index = {0};
    const int fd = fuzz_file(bytes, size);

    if (shard_index_read(fuzz_file_path(), shard_size, &shard_default_fields, &index) !=
        SLUICE_OK) {
        return;
    }
    for (uint64_t i = 0; i < index.count; i++) {
        const shard_sample *sample = &index.samples[i];

        if (sample->offset > shard_size || sample->size > shard_size - sample->offset) {
            fuzz_fail("a sample outside of the shard");
        }
        if (sample->name >= index.names_size ||
            memchr(index.names + sample->name, '\0', index.names_size - sample->name) == NULL) {
            fuzz_fail("a name without an end");
        }
        (void)shard_key_length(index.names + sample->name);
        (void)shard_sample_check(fd, &index, i); /* the index as the shard */
    }
    shard_index_free(&index);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    uint8_t *copy = malloc(size + 1);

    if (copy == NULL) {
        return 0;
    }
    memcpy(copy, data, size);
    read_index(copy, size, size >= 24 ? number_at(copy + 16) : 0);
    if (size >= 100) {
        uint32_t crc;

        for (int i = 0; i < 8; i++) {
            copy[40 + i] = (uint8_t)((uint64_t)size >> 8 * i);
        }
        crc = sli_crc32c(0, copy, size - 4);
        for (int i = 0; i < 4; i++) {
            copy[size - 4 + i] = (uint8_t)(crc >> 8 * i);
        }
        read_index(copy, size, number_at(copy + 16));
    }
    free(copy);
    return 0;
}
