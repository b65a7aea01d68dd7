/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Any bytes as a shard, as they are and with checksums of headers that are right: what the index
 * says lies within it, and is the same when it is made with checksums of images.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "fuzz_file.h"
#include "fuzz_target.h"
#include "shard_index.h"

static void check(const shard_index *index, size_t size)
{
    for (uint64_t i = 0; i < index->count; i++) {
        const shard_sample *sample = &index->samples[i];

        if (sample->offset > size || sample->size > size - sample->offset) {
            fuzz_fail("a sample outside of the shard");
        }
        if (sample->name >= index->names_size ||
            memchr(index->names + sample->name, '\0', index->names_size - sample->name) == NULL) {
            fuzz_fail("a name without an end");
        }
        if (index->names[sample->name + shard_key_length(index->names + sample->name)] != '.') {
            fuzz_fail("a name without a field");
        }
    }
    if (strlen(index->seen) >= sizeof(index->seen)) {
        fuzz_fail("too many fields");
    }
}

static void walk(const uint8_t *data, size_t size)
{
    const int fd = fuzz_file(data, size);
    shard_index plain = {0};
    shard_index summed = {0};
    sluice_status st = shard_index_build(fd, "x.tar", &shard_default_fields, false, &plain);

    if (shard_index_build(fd, "x.tar", &shard_default_fields, true, &summed) != st) {
        fuzz_fail("checksums change the answer");
    }
    if (st == SLUICE_OK) {
        check(&plain, size);
        check(&summed, size);
        if (plain.count != summed.count || plain.names_size != summed.names_size) {
            fuzz_fail("checksums change the samples");
        }
        shard_index_free(&plain);
        shard_index_free(&summed);
    }
}

/* Makes the checksum of each block that looks like a header right. */
static void seal(uint8_t *bytes, size_t size)
{
    for (size_t at = 0; at + 512 <= size; at += 512) {
        uint8_t *header = bytes + at;
        unsigned sum = 0;
        char text[16];

        if (memcmp(header + 257, "ustar", 5) != 0) {
            continue;
        }
        memset(header + 148, ' ', 8);
        for (int i = 0; i < 512; i++) {
            sum += header[i];
        }
        snprintf(text, sizeof(text), "%06o", sum);
        memcpy(header + 148, text, 7);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    uint8_t *copy = malloc(size + 1);

    if (copy == NULL) {
        return 0;
    }
    memcpy(copy, data, size);
    walk(copy, size);
    seal(copy, size);
    walk(copy, size);
    free(copy);
    return 0;
}
