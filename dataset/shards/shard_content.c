/* SPDX-License-Identifier: Apache-2.0 */
/* How the index of a pack is bound to its shard: by the content of each sample. */
#include <string.h>

#include "plain_file.h"
#include "shard_index.h"
#include "status_int.h"
#include "tar_header.h"

/* Bytes of a member with a label: its header and one block, which holds any number. */
enum { LABEL_MEMBER = 2 * TAR_BLOCK };

bool shard_index_is_by_content(const shard_index *index)
{
    for (uint64_t i = 0; i < index->count; i++) {
        if ((index->samples[i].flags & SHARD_HAS_CRC) == 0) {
            return false;
        }
    }
    return index->count > 0;
}

static uint64_t padded(uint64_t size)
{
    return (size + TAR_BLOCK - 1) / TAR_BLOCK * TAR_BLOCK;
}

uint64_t shard_sample_extent(const shard_sample *sample)
{
    return TAR_BLOCK + padded(sample->size) +
           ((sample->flags & SHARD_HAS_LABEL) != 0 ? LABEL_MEMBER : 0);
}

/* True if the header is that of the label of a sample whose image has this name. */
static bool is_label_of(const uint8_t *header, const char *image, uint64_t *size_out)
{
    const size_t length = shard_key_length(image);
    const size_t field = strlen(shard_default_fields.label);
    char name[TAR_HEADER_NAME];

    if (!tar_checksum_holds(header) ||
        !tar_parse_number(header + TAR_AT_SIZE, TAR_NUMBER_SIZE, size_out)) {
        return false;
    }
    tar_header_name(header, name);
    return strlen(name) == length + 1 + field && memcmp(name, image, length) == 0 &&
           name[length] == '.' && strcmp(name + length + 1, shard_default_fields.label) == 0;
}

sluice_status shard_sample_check(int fd, const shard_index *index, uint64_t sample)
{
    const shard_sample *s = &index->samples[sample];
    const char *name = shard_sample_name(index, sample);
    const size_t label_bytes = (s->flags & SHARD_HAS_LABEL) != 0 ? LABEL_MEMBER : 0;
    uint8_t header[TAR_BLOCK];
    uint8_t member[LABEL_MEMBER];
    uint64_t label_size = 0;
    int32_t label = 0;
    size_t got = 0;
    size_t got_label = 0;
    bool holds;
    sluice_status st = SLUICE_OK;

    if (s->offset >= TAR_BLOCK) {
        st = plain_file_read(fd, s->offset - TAR_BLOCK, header, TAR_BLOCK, &got);
    }
    if (st == SLUICE_OK && label_bytes > 0) {
        st = plain_file_read(fd, s->offset + padded(s->size), member, label_bytes, &got_label);
    }
    if (st != SLUICE_OK) {
        return st;
    }
    holds = got == TAR_BLOCK && tar_header_is_of(header, name, s->size) && got_label == label_bytes;
    if (holds && label_bytes > 0) {
        holds = is_label_of(member, name, &label_size) && label_size <= TAR_BLOCK &&
                shard_parse_label((const char *)member + TAR_BLOCK, (size_t)label_size, &label) &&
                label == s->label;
    }
    return holds ? SLUICE_OK
                 : sli_fail(SLUICE_E_CORRUPT, "its key or its label is not that of the index");
}
