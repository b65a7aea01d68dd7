/* SPDX-License-Identifier: Apache-2.0 */
/* Builds the index of a shard by walking over its headers. */
#include "shard_walk.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "alloc_int.h"
#include "crc32c_int.h"
#include "format_int.h"
#include "status_int.h"

enum { MOST_LABEL = 64, CRC_CHUNK = 1 << 18 };

const shard_fields shard_default_fields = {"jpg,jpeg,png,ppm", "cls"};

void shard_index_free(shard_index *index)
{
    sli_free(index->samples);
    sli_free(index->names);
    memset(index, 0, sizeof(*index));
}

/* ---- names -------------------------------------------------------------------------------- */

static const char *base_of(const char *name)
{
    const char *slash = strrchr(name, '/');

    return slash != NULL ? slash + 1 : name;
}

size_t shard_key_length(const char *name)
{
    const char *base = base_of(name);

    return (size_t)(base - name) + strcspn(base, ".");
}

void shard_seen_merge(char seen[SHARD_SEEN_SIZE], const char *more)
{
    static const char rest[] = "..."; /* stands for the names without room */

    while (*more != '\0') {
        const size_t length = strcspn(more, ",");
        const size_t used = strlen(seen);
        char name[SHARD_SEEN_SIZE];

        snprintf(name, sizeof(name), "%.*s", (int)length, more);
        if (used + strlen(name) + 2 + sizeof(rest) > SHARD_SEEN_SIZE) {
            snprintf(name, sizeof(name), "%s", rest);
        }
        if (sli_word_rank(name, seen) == UINT32_MAX) {
            snprintf(seen + used, SHARD_SEEN_SIZE - used, "%s%s", used > 0 ? "," : "", name);
        }
        more += length + (more[length] == ',');
    }
}

/* Adds a field name to index->seen. */
static void note_seen(shard_index *index, const char *field)
{
    char small[24];
    size_t i = 0;

    for (; field[i] != '\0' && i + 1 < sizeof(small); i++) {
        bool is_text = field[i] > ' ' && field[i] < 0x7F && field[i] != ',';

        small[i] = is_text ? sli_lower(field[i]) : '?';
    }
    small[i] = '\0';
    if (sli_word_rank(small, index->seen) == UINT32_MAX) {
        shard_seen_merge(index->seen, small);
    }
}

/* ---- contents of members ------------------------------------------------------------------ */

bool shard_parse_label(const char *text, size_t size, int32_t *label_out)
{
    static const char blanks[] = " \t\r\n";
    int64_t number = 0;
    size_t i = 0;
    size_t first;
    bool negative;

    while (i < size && text[i] != '\0' && strchr(blanks, text[i]) != NULL) {
        i++;
    }
    negative = i < size && text[i] == '-';
    i += negative || (i < size && text[i] == '+');
    for (first = i; i < size && text[i] >= '0' && text[i] <= '9'; i++) {
        number = number * 10 + (text[i] - '0');
        if (number > (int64_t)INT32_MAX + 1) {
            return false;
        }
    }
    if (i == first) {
        return false;
    }
    while (i < size && text[i] != '\0' && strchr(blanks, text[i]) != NULL) {
        i++;
    }
    number = negative ? -number : number;
    if (i < size || number > INT32_MAX) {
        return false;
    }
    *label_out = (int32_t)number;
    return true;
}

static sluice_status take_label(shard_walk *walk, const tar_member *member)
{
    open_sample *current = &walk->current;
    char text[MOST_LABEL];
    bool is_number = false;

    if (current->has_label) {
        current->sample.flags |= SHARD_DUPLICATE;
    }
    current->has_label = true;
    if (member->size <= sizeof(text)) {
        sluice_status st = tar_read(&walk->tar, member->offset, text, (size_t)member->size);

        if (st != SLUICE_OK) {
            return st;
        }
        is_number = shard_parse_label(text, (size_t)member->size, &current->sample.label);
    }
    current->sample.flags |= is_number ? SHARD_HAS_LABEL : SHARD_BAD_LABEL;
    return SLUICE_OK;
}

/* Computes the CRC of the image's bytes. */
static sluice_status take_crc(shard_walk *walk, shard_sample *sample)
{
    uint64_t done = 0;

    sample->crc = 0;
    while (done < sample->size) {
        const uint64_t left = sample->size - done;
        const size_t size = left < CRC_CHUNK ? (size_t)left : CRC_CHUNK;
        sluice_status st = tar_read(&walk->tar, sample->offset + done, walk->chunk, size);

        if (st != SLUICE_OK) {
            return st;
        }
        sample->crc = sli_crc32c(sample->crc, walk->chunk, size);
        done += size;
    }
    sample->flags |= SHARD_HAS_CRC;
    return SLUICE_OK;
}

/* ---- samples ------------------------------------------------------------------------------ */

static sluice_status no_memory(const shard_walk *walk)
{
    return sli_fail(SLUICE_E_NO_MEMORY, "the index of %s", walk->tar.path);
}

/*
 * Stores the image's member name, which contains the sample's key. It replaces the name of an
 * earlier image of the same sample.
 */
static sluice_status add_name(shard_walk *walk, const char *name)
{
    shard_index *index = walk->index;
    const size_t length = strlen(name) + 1;
    char *grown;

    if (walk->current.has_image) {
        index->names_size = walk->current.sample.name;
    }
    if (index->names_size > UINT32_MAX - length) {
        return sli_fail(SLUICE_E_UNSUPPORTED, "%s: the names of its members are more than 4 GiB",
                        walk->tar.path);
    }
    grown = sli_grow(index->names, &index->names_capacity, index->names_size + length, 1);
    if (grown == NULL) {
        return no_memory(walk);
    }
    index->names = grown;
    memcpy(grown + index->names_size, name, length);
    walk->current.sample.name = (uint32_t)index->names_size;
    index->names_size += length;
    return SLUICE_OK;
}

/*
 * Adds an image to the current sample. If a sample has several images, the one whose field comes
 * first in the list of image fields is used.
 */
static sluice_status take_image(shard_walk *walk, const tar_member *member, uint32_t rank)
{
    open_sample *current = &walk->current;
    sluice_status st = SLUICE_OK;

    if (current->has_image && rank >= current->rank) {
        current->sample.flags |= rank == current->rank ? SHARD_DUPLICATE : 0;
        return SLUICE_OK;
    }
    st = add_name(walk, member->name);
    if (st == SLUICE_OK) {
        current->has_image = true;
        current->rank = rank;
        current->sample.offset = member->offset;
        current->sample.size = member->size;
        st = walk->keep_image != NULL ? walk->keep_image(walk->arg, member) : SLUICE_OK;
    }
    return st;
}

static void note_imageless(shard_walk *walk)
{
    shard_index *index = walk->index;

    if (index->imageless++ == 0) {
        snprintf(index->first_imageless, sizeof(index->first_imageless), "%s", walk->current.key);
    }
}

/*
 * Completes the current sample when a member of another sample, or the end of the archive, is
 * reached.
 */
static sluice_status close_sample(shard_walk *walk)
{
    open_sample *current = &walk->current;
    shard_index *index = walk->index;
    shard_sample *grown;
    sluice_status st = SLUICE_OK;

    if (!current->is_open) {
        return SLUICE_OK;
    }
    current->is_open = false;
    if (!current->has_image) {
        note_imageless(walk);
        return SLUICE_OK;
    }
    if (walk->with_crc) {
        st = take_crc(walk, &current->sample);
    }
    if (st != SLUICE_OK) {
        return st;
    }
    grown = sli_grow(index->samples, &index->capacity, index->count + 1, sizeof(*grown));
    if (grown == NULL) {
        return no_memory(walk);
    }
    index->samples = grown;
    grown[index->count++] = current->sample;
    return SLUICE_OK;
}

/* Begins a new sample, whose key is the first key_length bytes of the member name. */
static sluice_status open_next(shard_walk *walk, const char *name, size_t key_length)
{
    open_sample *current = &walk->current;
    char *grown = sli_grow(current->key, &current->key_capacity, key_length + 1, 1);

    if (grown == NULL) {
        return no_memory(walk);
    }
    memcpy(grown, name, key_length);
    grown[key_length] = '\0';
    *current = (open_sample){.key = grown,
                             .key_length = key_length,
                             .key_capacity = current->key_capacity,
                             .is_open = true};
    return SLUICE_OK;
}

bool shard_has_field(const char *name, size_t key_length)
{
    return name[key_length] == '.' && name[key_length + 1] != '\0' && base_of(name)[0] != '.';
}

static bool is_of_current(const shard_walk *walk, const char *name, size_t key_length)
{
    return key_length == walk->current.key_length &&
           memcmp(name, walk->current.key, key_length) == 0;
}

static sluice_status take_member(shard_walk *walk, const tar_member *member)
{
    const size_t key_length = shard_key_length(member->name);
    const char *field = member->name + key_length + 1;
    uint32_t rank;
    sluice_status st = SLUICE_OK;

    if (!shard_has_field(member->name, key_length)) {
        return SLUICE_OK;
    }
    if (walk->current.is_open && !is_of_current(walk, member->name, key_length)) {
        walk->member = *member;
        walk->has_member = true;
        return close_sample(walk);
    }
    if (!walk->current.is_open) {
        st = open_next(walk, member->name, key_length);
    }
    if (st != SLUICE_OK) {
        return st;
    }
    note_seen(walk->index, field);
    rank = sli_word_rank(field, walk->fields->image);
    if (rank != UINT32_MAX) {
        return take_image(walk, member, rank);
    }
    return sli_same_word(field, walk->fields->label) ? take_label(walk, member) : SLUICE_OK;
}

sluice_status shard_walk_step(shard_walk *walk)
{
    tar_member member = walk->member;
    sluice_status st = walk->has_member ? SLUICE_OK : tar_next(&walk->tar, &member);
    sluice_status closed;

    walk->has_member = false;
    if (st == SLUICE_OK) {
        return take_member(walk, &member);
    }
    walk->index->passed_over = walk->tar.links + walk->tar.specials + walk->tar.sparse;
    walk->index->has_more = walk->tar.has_more;
    walk->index->lacks_end = walk->tar.lacks_end;
    closed = st == SLUICE_END_OF_DATA ? close_sample(walk) : SLUICE_OK;
    return closed == SLUICE_OK ? st : closed;
}

void shard_walk_forget(shard_walk *walk)
{
    walk->index->count = 0;
    walk->index->names_size = 0;
}

void shard_walk_end(shard_walk *walk)
{
    tar_end(&walk->tar);
    sli_free(walk->chunk);
    sli_free(walk->current.key);
}

/* Releases the unused capacity of the lists. If realloc() fails, a list keeps its capacity. */
static void shrink_index(shard_index *index)
{
    shard_sample *samples = sli_realloc_array(index->samples, index->count, sizeof(*samples));
    char *names = sli_realloc_array(index->names, index->names_size, 1);

    if (samples != NULL) {
        index->samples = samples;
        index->capacity = index->count;
    }
    if (names != NULL) {
        index->names = names;
        index->names_capacity = index->names_size;
    }
}

sluice_status shard_index_build(int fd, const char *path, const shard_fields *fields, bool with_crc,
                                shard_index *index_out)
{
    shard_index index = {0};
    shard_walk walk = {.fields = fields, .with_crc = with_crc, .index = &index};
    struct stat info;
    sluice_status st = SLUICE_OK;

    if (fstat(fd, &info) != 0) {
        return sli_fail_errno(SLUICE_E_IO, errno, "cannot stat %s", path);
    }
    index.shard_size = (uint64_t)info.st_size;
    index.stamp = shard_stamp(&info);
    tar_begin(&walk.tar, fd, index.shard_size, path);
    if (with_crc) {
        walk.chunk = sli_calloc(1, CRC_CHUNK);
        st = walk.chunk == NULL ? no_memory(&walk) : SLUICE_OK;
    }
    while (st == SLUICE_OK) {
        st = shard_walk_step(&walk);
    }
    shard_walk_end(&walk);
    if (st != SLUICE_END_OF_DATA) {
        shard_index_free(&index);
        return st;
    }
    shrink_index(&index);
    *index_out = index;
    return SLUICE_OK;
}
