/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Any bytes as a shard, as they are and with checksums of headers that are right: what the index
 * says lies within it, and is the same when it is made with checksums of images. In sequence, where
 * the bytes may be compressed, too, the samples are those of the index.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "byte_feed.h"
#include "compression.h"
#include "fuzz_file.h"
#include "fuzz_target.h"
#include "shard_walk.h"

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

/* A walk in sequence; data is NULL where it is compressed. */
typedef struct stream_walk {
    const uint8_t *data;
    size_t size;
    const shard_index *want; /* NULL: there is none to compare with */
    shard_walk walk;
    shard_index index;
    uint64_t count;
} stream_walk;

static sluice_status keep_image(void *arg, const tar_member *member)
{
    stream_walk *stream = arg;
    uint8_t *image = member->size <= FUZZ_MAX_PIXELS ? malloc(member->size + 1) : NULL;
    sluice_status st = SLUICE_OK;

    if (image != NULL) {
        st = tar_read(&stream->walk.tar, member->offset, image, (size_t)member->size);
        if (st == SLUICE_OK && stream->data != NULL &&
            memcmp(image, stream->data + member->offset, (size_t)member->size) != 0) {
            fuzz_fail("other bytes in sequence");
        }
        free(image);
    }
    return st;
}

static void check_next(stream_walk *stream)
{
    const shard_index *want = stream->want;
    const shard_sample *got = &stream->index.samples[0];

    if (want != NULL &&
        (stream->count >= want->count || got->offset != want->samples[stream->count].offset ||
         got->size != want->samples[stream->count].size ||
         got->label != want->samples[stream->count].label ||
         got->flags != want->samples[stream->count].flags ||
         strcmp(shard_sample_name(&stream->index, 0), shard_sample_name(want, stream->count)) !=
             0)) {
        fuzz_fail("another sample in sequence");
    }
    stream->count++;
    shard_walk_forget(&stream->walk);
}

static void walk_in_sequence(const uint8_t *data, size_t size, const shard_index *want)
{
    static int stop = -1;
    const bool is_plain = compression_of(data, size) == COMPRESSION_NONE;
    stream_walk stream = {.data = is_plain ? data : NULL, .size = size, .want = want};
    byte_feed *feed = NULL;
    sluice_status st;

    stop = stop < 0 ? eventfd(0, EFD_CLOEXEC) : stop;
    (void)fuzz_file(data, size);
    if (byte_feed_open(fuzz_file_path(), false, stop, &feed) != SLUICE_OK) {
        return;
    }
    stream.walk.fields = &shard_default_fields;
    stream.walk.index = &stream.index;
    stream.walk.keep_image = keep_image;
    stream.walk.arg = &stream;
    tar_begin_feed(&stream.walk.tar, feed, "x.tar");
    do {
        st = shard_walk_step(&stream.walk);
        if (stream.index.count > 0) {
            check_next(&stream);
        }
    } while (st == SLUICE_OK);
    if (st == SLUICE_END_OF_DATA && is_plain && (want == NULL || stream.count != want->count)) {
        fuzz_fail("an archive that is one in sequence alone, or has other samples there");
    }
    shard_walk_end(&stream.walk);
    shard_index_free(&stream.index);
    byte_feed_close(feed);
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
    }
    walk_in_sequence(data, size, st == SLUICE_OK ? &plain : NULL);
    shard_index_free(&plain);
    shard_index_free(&summed);
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
