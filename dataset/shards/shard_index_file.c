/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The format of an index file; numbers are little-endian:
 *
 *     0   "SLUICEIX"        48  u64 samples without an image    96  the samples, 32 bytes each:
 *     8   u32 version 2     56  u64 members skipped                 u64 offset, u64 size, u32 name,
 *     12  u32 flags         64  u32 bytes of the texts              i32 label, u32 crc, u32 flags
 *     16  u64 shard's size  68  u32 0                           ..  the texts, the names
 *     24  u64 samples       72  u64 stamp, 0: by content        ..  u32 CRC-32C of the above
 *     32  u64 bytes of the names
 *     40  u64 size of this file     80  16 zeros
 *
 * Flags: 1, data follow the end of the archive; 2, there is no end-of-archive block. Texts, each
 * terminated by a zero: the image's fields, the label's field, the key of the first sample without
 * an image, the fields found.
 *
 * Version 1 has no stamp. Those of its indexes that are bound by content need none, and are read.
 */
#include <stdio.h>
#include <string.h>

#include "alloc_int.h"
#include "bytes_int.h"
#include "crc32c_int.h"
#include "index_file.h"
#include "shard_index.h"
#include "status_int.h"

enum {
    VERSION = 2,
    WITHOUT_STAMP = 1,
    HEAD = 96,
    SAMPLE = 32,
    TEXTS = 4,
    HAS_MORE = 1,
    LACKS_END = 2
};

static const char magic[8] = "SLUICEIX";

/* ---- writing ------------------------------------------------------------------------------ */

static void put_head(uint8_t *to, const shard_index *index, uint32_t texts, uint64_t size)
{
    memset(to, 0, HEAD);
    memcpy(to, magic, sizeof(magic));
    sli_put_u32(to + 8, VERSION);
    sli_put_u32(to + 12, (index->has_more ? HAS_MORE : 0) | (index->lacks_end ? LACKS_END : 0));
    sli_put_u64(to + 16, index->shard_size);
    sli_put_u64(to + 24, index->count);
    sli_put_u64(to + 32, index->names_size);
    sli_put_u64(to + 40, size);
    sli_put_u64(to + 48, index->imageless);
    sli_put_u64(to + 56, index->passed_over);
    sli_put_u32(to + 64, texts);
    sli_put_u64(to + 72, shard_index_is_by_content(index) ? 0 : index->stamp);
}

static uint8_t *put_samples(uint8_t *to, const shard_index *index)
{
    for (uint64_t i = 0; i < index->count; i++, to += SAMPLE) {
        const shard_sample *sample = &index->samples[i];

        sli_put_u64(to, sample->offset);
        sli_put_u64(to + 8, sample->size);
        sli_put_u32(to + 16, sample->name);
        sli_put_u32(to + 20, (uint32_t)sample->label);
        sli_put_u32(to + 24, sample->crc);
        sli_put_u32(to + 28, sample->flags);
    }
    return to;
}

/* Encodes the index file in memory; the caller frees it by sli_free(). */
static sluice_status encode_index(const shard_index *index, const shard_fields *fields,
                                  uint8_t **bytes_out, size_t *size_out)
{
    const char *const texts[TEXTS] = {fields->image, fields->label, index->first_imageless,
                                      index->seen};
    size_t text_size = 0;
    size_t size;
    uint8_t *bytes;
    uint8_t *to;

    for (int i = 0; i < TEXTS; i++) {
        text_size += strlen(texts[i]) + 1;
    }
    size = HEAD + index->count * SAMPLE + text_size + index->names_size + 4;
    bytes = sli_calloc(1, size);
    if (bytes == NULL) {
        return sli_fail(SLUICE_E_NO_MEMORY, "an index of %zu bytes", size);
    }
    put_head(bytes, index, (uint32_t)text_size, size);
    to = put_samples(bytes + HEAD, index);
    for (int i = 0; i < TEXTS; i++) {
        memcpy(to, texts[i], strlen(texts[i]) + 1);
        to += strlen(texts[i]) + 1;
    }
    if (index->names_size > 0) {
        memcpy(to, index->names, index->names_size);
    }
    sli_put_u32(bytes + size - 4, sli_crc32c(0, bytes, size - 4));
    *bytes_out = bytes;
    *size_out = size;
    return SLUICE_OK;
}

sluice_status shard_index_write(const shard_index *index, const shard_fields *fields, bool synced,
                                const char *path)
{
    uint8_t *bytes = NULL;
    size_t size = 0;
    sluice_status st = encode_index(index, fields, &bytes, &size);

    if (st == SLUICE_OK) {
        st = index_file_write(path, bytes, size, synced);
    }
    sli_free(bytes);
    return st;
}

/* ---- reading ------------------------------------------------------------------------------ */

static sluice_status corrupt_index(const char *path, const char *what)
{
    return sli_fail(SLUICE_E_CORRUPT, "the index %s %s", path, what);
}

/* Pointers to the parts of an index file in memory; their lengths have been checked. */
typedef struct index_parts {
    uint64_t count;
    const uint8_t *samples;
    const char *texts[TEXTS];
    const char *names;
    size_t names_size;
} index_parts;

/*
 * Locates the parts of an index file. False: a length exceeds the file, or a text is not
 * terminated.
 */
static bool find_parts(const uint8_t *bytes, size_t size, index_parts *parts)
{
    const size_t room = size - HEAD - 4;
    const uint32_t text_size = sli_get_u32(bytes + 64);
    const uint64_t names_size = sli_get_u64(bytes + 32);
    const char *text;
    const char *end;

    parts->count = sli_get_u64(bytes + 24);
    if (parts->count > room / SAMPLE || text_size > room - parts->count * SAMPLE ||
        names_size != room - parts->count * SAMPLE - text_size) {
        return false;
    }
    parts->samples = bytes + HEAD;
    text = (const char *)parts->samples + parts->count * SAMPLE;
    parts->names = text + text_size;
    parts->names_size = (size_t)names_size;
    for (int i = 0; i < TEXTS; i++) {
        end = memchr(text, '\0', (size_t)(parts->names - text));
        if (end == NULL) {
            return false;
        }
        parts->texts[i] = text;
        text = end + 1;
    }
    return text == parts->names &&
           (names_size == 0 ? parts->count == 0 : parts->names[names_size - 1] == '\0');
}

/* Decodes one sample entry; false if it is invalid. */
static bool get_sample(const uint8_t *from, uint64_t shard_size, size_t names_size,
                       shard_sample *sample)
{
    const uint32_t all = SHARD_HAS_LABEL | SHARD_BAD_LABEL | SHARD_HAS_CRC | SHARD_DUPLICATE;

    *sample = (shard_sample){.offset = sli_get_u64(from),
                             .size = sli_get_u64(from + 8),
                             .name = sli_get_u32(from + 16),
                             .label = (int32_t)sli_get_u32(from + 20),
                             .crc = sli_get_u32(from + 24),
                             .flags = sli_get_u32(from + 28)};
    return sample->offset <= shard_size && sample->size <= shard_size - sample->offset &&
           sample->name < names_size && (sample->flags & ~all) == 0;
}

static sluice_status decode_index(const uint8_t *bytes, const index_parts *parts, const char *path,
                                  shard_index *index)
{
    index->shard_size = sli_get_u64(bytes + 16);
    index->stamp = sli_get_u64(bytes + 72);
    index->imageless = sli_get_u64(bytes + 48);
    index->passed_over = sli_get_u64(bytes + 56);
    index->has_more = (sli_get_u32(bytes + 12) & HAS_MORE) != 0;
    index->lacks_end = (sli_get_u32(bytes + 12) & LACKS_END) != 0;
    snprintf(index->first_imageless, sizeof(index->first_imageless), "%s", parts->texts[2]);
    snprintf(index->seen, sizeof(index->seen), "%s", parts->texts[3]);
    index->samples = sli_calloc((size_t)parts->count, sizeof(*index->samples));
    index->names = sli_calloc(parts->names_size, 1);
    if (index->samples == NULL || index->names == NULL) {
        return sli_fail(SLUICE_E_NO_MEMORY, "the index %s", path);
    }
    memcpy(index->names, parts->names, parts->names_size);
    index->names_size = index->names_capacity = parts->names_size;
    index->capacity = (size_t)parts->count;
    for (; index->count < parts->count; index->count++) {
        if (!get_sample(parts->samples + index->count * SAMPLE, index->shard_size,
                        parts->names_size, &index->samples[index->count])) {
            return corrupt_index(path, "has a sample that lies outside of the shard");
        }
    }
    return SLUICE_OK;
}

static sluice_status unknown_version(const char *path, uint32_t version)
{
    return sli_fail(
        SLUICE_E_CORRUPT,
        "the index %s is of version %u, and must be of version %d or %d; use the version "
        "of Sluice that wrote it or, unless it is of a pack, delete it",
        path, (unsigned)version, WITHOUT_STAMP, VERSION);
}

static sluice_status check_and_decode(const uint8_t *bytes, size_t size, const char *path,
                                      uint64_t shard_size, const shard_fields *fields,
                                      shard_index *index)
{
    const uint32_t version = sli_get_u32(bytes + 8);
    index_parts parts;
    sluice_status st;

    if (memcmp(bytes, magic, sizeof(magic)) != 0) {
        return corrupt_index(path, "is not an index");
    }
    if (sli_get_u32(bytes + size - 4) != sli_crc32c(0, bytes, size - 4)) {
        return corrupt_index(path, "is corrupt: its checksum is wrong");
    }
    if (version != VERSION && version != WITHOUT_STAMP) {
        return unknown_version(path, version);
    }
    if (sli_get_u64(bytes + 16) != shard_size) {
        return corrupt_index(path, "is of a shard of another size");
    }
    if (sli_get_u64(bytes + 40) != size || !find_parts(bytes, size, &parts)) {
        return corrupt_index(path, "is corrupt: its parts do not fit");
    }
    if (strcmp(parts.texts[0], fields->image) != 0 || strcmp(parts.texts[1], fields->label) != 0) {
        return corrupt_index(path, "is for other fields");
    }
    st = decode_index(bytes, &parts, path, index);
    return st == SLUICE_OK && version == WITHOUT_STAMP && !shard_index_is_by_content(index)
               ? sli_fail(SLUICE_E_UNSUPPORTED,
                          "the index %s is of version %d, which does not tell of which file it is",
                          path, WITHOUT_STAMP)
               : st;
}

sluice_status shard_index_read(const char *path, uint64_t shard_size, const shard_fields *fields,
                               shard_index *index_out)
{
    shard_index index = {0};
    uint8_t *bytes = NULL;
    size_t size = 0;
    sluice_status st = index_file_read(path, HEAD + 4, &bytes, &size);

    if (st != SLUICE_OK) {
        return st;
    }
    st = check_and_decode(bytes, size, path, shard_size, fields, &index);
    sli_free(bytes);
    if (st != SLUICE_OK) {
        shard_index_free(&index);
        return st;
    }
    *index_out = index;
    return SLUICE_OK;
}
