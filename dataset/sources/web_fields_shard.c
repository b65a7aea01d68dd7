/* SPDX-License-Identifier: Apache-2.0 */
#include "web_fields_shard.h"

#include <stdio.h>
#include <string.h>

#include "alloc_int.h"
#include "shard_index.h"
#include "status_int.h"
#include "tar_reader.h"
#include "webdataset_args.h"

/* The state of a walk over a shard, with the sample whose members are being collected. */
typedef struct fields_walk {
    const web_fields *fields;
    fields_shard *shard;
    fields_skipped *skipped;
    tar_reader tar;
    char *key;
    size_t key_capacity;
    bool is_open;
    uint64_t name; /* offset of the sample's name in the shard's text */
    member_place places[SLUICE_MAX_COLUMNS];
} fields_walk;

static sluice_status no_memory(const fields_walk *walk)
{
    return sli_fail(SLUICE_E_NO_MEMORY, "the samples of %s", walk->tar.path);
}

static sluice_status append_sample(fields_walk *walk)
{
    fields_shard *shard = walk->shard;
    const uint32_t fields = walk->fields->count;
    member_place *places = sli_grow(shard->places, &shard->capacity,
                                    (size_t)(shard->count + 1) * fields, sizeof(*places));
    uint64_t *names;

    if (places == NULL) {
        return no_memory(walk);
    }
    shard->places = places;
    names =
        sli_grow(shard->names, &shard->names_capacity, (size_t)shard->count + 1, sizeof(*names));
    if (names == NULL) {
        return no_memory(walk);
    }
    shard->names = names;
    memcpy(&places[shard->count * fields], walk->places, fields * sizeof(*places));
    names[shard->count++] = walk->name;
    return SLUICE_OK;
}

/* Ends the open sample: appends it if it has all fields, else counts it as skipped. */
static sluice_status close_sample(fields_walk *walk)
{
    fields_skipped *skipped = walk->skipped;

    if (!walk->is_open) {
        return SLUICE_OK;
    }
    walk->is_open = false;
    for (uint32_t i = 0; i < walk->fields->count; i++) {
        if (walk->places[i].offset == MEMBER_NOWHERE) {
            if (skipped->count++ == 0) {
                snprintf(skipped->first, sizeof(skipped->first), "%.120s/%.120s",
                         web_base_of(walk->tar.path), walk->key);
            }
            return SLUICE_OK;
        }
    }
    return append_sample(walk);
}

static sluice_status open_sample_of(fields_walk *walk, const char *name, size_t key_length)
{
    char *key = sli_grow(walk->key, &walk->key_capacity, key_length + 1, 1);

    if (key == NULL) {
        return no_memory(walk);
    }
    memcpy(key, name, key_length);
    key[key_length] = '\0';
    walk->key = key;
    walk->is_open = true;
    for (uint32_t i = 0; i < walk->fields->count; i++) {
        walk->places[i] = (member_place){MEMBER_NOWHERE, 0};
    }
    return SLUICE_OK;
}

static sluice_status keep_name(fields_walk *walk, const char *name)
{
    fields_shard *shard = walk->shard;
    const size_t length = strlen(name) + 1;
    char *text =
        sli_grow(shard->text, &shard->text_capacity, shard->text_size + length, sizeof(*text));

    if (text == NULL) {
        return no_memory(walk);
    }
    shard->text = text;
    walk->name = shard->text_size;
    memcpy(text + shard->text_size, name, length);
    shard->text_size += length;
    return SLUICE_OK;
}

/* Adds a member to the open sample; a member with another key begins a new sample. */
static sluice_status take_member(fields_walk *walk, const tar_member *member)
{
    const size_t key_length = shard_key_length(member->name);
    sluice_status st = SLUICE_OK;
    int field;

    if (!shard_has_field(member->name, key_length)) {
        return SLUICE_OK;
    }
    if (walk->is_open &&
        (strlen(walk->key) != key_length || memcmp(walk->key, member->name, key_length) != 0)) {
        st = close_sample(walk);
    }
    if (st == SLUICE_OK && !walk->is_open) {
        st = open_sample_of(walk, member->name, key_length);
    }
    if (st != SLUICE_OK) {
        return st;
    }
    field = web_fields_find(walk->fields, member->name + key_length + 1);
    if (field < 0) {
        return SLUICE_OK;
    }
    walk->places[field] = walk->places[field].offset == MEMBER_NOWHERE
                              ? (member_place){member->offset, member->size}
                              : (member_place){MEMBER_TWICE, 0};
    return field == 0 ? keep_name(walk, member->name) : SLUICE_OK;
}

sluice_status fields_shard_walk(const web_fields *fields, const char *path, int fd, uint64_t size,
                                fields_shard *shard, fields_skipped *skipped)
{
    fields_walk walk = {.fields = fields, .shard = shard, .skipped = skipped};
    sluice_status st = SLUICE_OK;

    tar_begin(&walk.tar, fd, size, path);
    while (st == SLUICE_OK) {
        tar_member member;

        st = tar_next(&walk.tar, &member);
        if (st == SLUICE_OK) {
            st = take_member(&walk, &member);
        }
    }
    if (st == SLUICE_END_OF_DATA) {
        st = close_sample(&walk);
    }
    tar_end(&walk.tar);
    sli_free(walk.key);
    return st;
}

void fields_shard_close(fields_shard *shard)
{
    sli_held_file_close(&shard->file.held);
    sli_free(shard->places);
    sli_free(shard->names);
    sli_free(shard->text);
}
