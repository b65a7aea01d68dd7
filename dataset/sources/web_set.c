/* SPDX-License-Identifier: Apache-2.0 */
#include "web_set.h"

#include <string.h>

#include "alloc_int.h"
#include "log_int.h"
#include "pack_files.h"
#include "status_int.h"
#include "web_array.h"
#include "web_fields_auto.h"
#include "web_packs.h"

void web_set_close(web_set *set)
{
    for (size_t i = 0; i < set->shard_count; i++) {
        fields_shard_close(&set->shards[i]);
    }
    web_fields_free(&set->fields);
    pack_class_names_free(&set->class_names);
    sli_free(set->found);
    sli_free(set->shards);
    file_list_free(&set->list);
}

static sluice_status open_shard(web_set *set, const char *path)
{
    fields_shard *shard = &set->shards[set->shard_count];
    struct stat info;
    int fd = -1;
    sluice_status st = web_shard_open(path, NULL, &fd, &info);

    if (st != SLUICE_OK) {
        return st;
    }
    shard->file.first = set->count;
    set->shard_count++;
    st = fields_shard_walk(&set->fields, path, fd, (uint64_t)info.st_size, shard, &set->skipped);
    web_shard_hold(&shard->file, path, fd, &info, set->drops);
    set->count += shard->count;
    return st;
}

fields_shard *web_set_shard(const web_set *set, uint64_t *index)
{
    return web_shard_find(set->shards, set->shard_count, sizeof(*set->shards), index);
}

sluice_status web_member_error(const fields_shard *shard, const web_field *field,
                               sluice_status status)
{
    return sli_fail_quoting(status, "member .%s in the shard %s: %.600s", field->field,
                            shard->file.path, sluice_last_error());
}

/* Sets the dtype and shape of an array field to those of the first sample. */
static sluice_status find_type(web_set *set, uint32_t i, sample_io *io)
{
    uint64_t index = 0;
    fields_shard *shard = web_set_shard(set, &index);
    const member_place *place = &shard->places[i];
    bool lent = false;
    int fd = -1;
    sluice_status st = web_shard_borrow(&shard->file, io, &lent, &fd);

    if (st != SLUICE_OK) {
        return st;
    }
    st = place->offset == MEMBER_TWICE
             ? sli_fail(SLUICE_E_CORRUPT, "it appears twice")
             : web_array_type(shard, fd, place, set->fields.fields[i].most, io, &set->types[i]);
    web_shard_give_back(&shard->file, lent, fd);
    return st == SLUICE_OK ? st : web_member_error(shard, &set->fields.fields[i], st);
}

/* Sets the dtypes and shapes of all array fields from sample 0. web_set_shard() finds it in the
 * first shard that has samples. */
static sluice_status find_types(web_set *set)
{
    sample_io io = {.bytes_read = 0};
    sluice_status st = SLUICE_OK;

    for (uint32_t i = 0; i < set->fields.count && st == SLUICE_OK; i++) {
        if (set->fields.fields[i].kind == WEB_ARRAY) {
            st = find_type(set, i, &io);
        }
    }
    sample_io_free(&io);
    return st;
}

sluice_status web_member_object(const fields_shard *shard, int fd, const member_place *place,
                                sample_io *io)
{
    sluice_status st;

    if (place->size > JSON_OBJECT_MOST) {
        return sli_fail(SLUICE_E_CORRUPT, "it has %llu bytes, and must have at most %d",
                        (unsigned long long)place->size, JSON_OBJECT_MOST);
    }
    st = image_buffer_reserve(&io->item.bytes, (size_t)place->size + 1);
    return st == SLUICE_OK ? web_shard_read(&shard->file, fd, place->offset, io->item.bytes.data,
                                            (size_t)place->size)
                           : st;
}

/* Collects the names of classes of one sample. E_CORRUPT: it is bad, and gives none. */
static sluice_status learn_sample(const web_set *set, uint32_t i, uint64_t index, sample_io *io)
{
    fields_shard *shard = web_set_shard(set, &index);
    const member_place *place = &shard->places[index * set->fields.count + i];
    bool lent = false;
    int fd = -1;
    sluice_status st = web_shard_borrow(&shard->file, io, &lent, &fd);

    if (st != SLUICE_OK) {
        return st;
    }
    st = place->offset != MEMBER_TWICE ? web_member_object(shard, fd, place, io)
                                       : sli_fail(SLUICE_E_CORRUPT, "it appears twice");
    if (st == SLUICE_OK) {
        st = web_json_learn(set->fields.fields[i].json, (const char *)io->item.bytes.data,
                            (size_t)place->size);
    }
    web_shard_give_back(&shard->file, lent, fd);
    return st == SLUICE_OK ? st : web_member_error(shard, &set->fields.fields[i], st);
}

/* Numbers the classes of a JSON member by the names of all samples. E_CORRUPT: all are bad. */
static sluice_status learn_classes(const web_set *set, uint32_t i)
{
    const list_columns *columns = &set->fields.fields[i].json->columns;
    sample_io io = {.bytes_read = 0};
    uint64_t bad = 0;
    sluice_status st = SLUICE_OK;

    for (uint64_t k = 0; k < set->count && st == SLUICE_OK; k++) {
        st = learn_sample(set, i, k, &io);
        bad += st == SLUICE_E_CORRUPT;
        st = st == SLUICE_E_CORRUPT && bad < set->count ? SLUICE_OK : st;
    }
    sample_io_free(&io);
    for (uint32_t k = 0; k < columns->count && st == SLUICE_OK; k++) {
        vocabulary *names = columns->fields[k].names;

        st = names != NULL ? vocabulary_close(names) : SLUICE_OK;
    }
    return st;
}

/* Numbers the classes in JSON members: by the file of their names, or by reading all samples. */
static sluice_status number_classes(const web_set *set, const web_args *args)
{
    const bool has_file = args->classes[0] != '\0';
    vocabulary *names = NULL;
    uint32_t all = 0;
    sluice_status st = SLUICE_OK;

    for (uint32_t i = 0; i < set->fields.count && st == SLUICE_OK; i++) {
        const web_json *json = set->fields.fields[i].json;
        const uint32_t before = all;
        vocabulary *own = json != NULL ? list_columns_classes(&json->columns, &all) : NULL;

        names = own != NULL ? own : names;
        st = all > before && !has_file ? learn_classes(set, i) : SLUICE_OK;
    }
    if (st != SLUICE_OK || !has_file) {
        return st;
    }
    return all == 1 ? vocabulary_read(names, args->classes)
                    : sli_fail(SLUICE_E_INVALID,
                               "webdataset: classes= is for one column of kind class in fields=, "
                               "such as label:class=json.kind, and there are %u",
                               all);
}

static const char *fields_text(const web_set *set, const web_args *args)
{
    return set->found != NULL ? set->found : args->fields;
}

static sluice_status check_samples(const web_set *set, const web_args *args)
{
    if (set->count == 0) {
        return sli_fail(SLUICE_E_INVALID,
                        "no valid data in the dataset: webdataset %.200s: none of %llu samples in "
                        "%zu shards has all of fields=%.200s%s%s; tar --sort=name puts the members "
                        "of a sample together",
                        args->shards, (unsigned long long)set->skipped.count, set->shard_count,
                        fields_text(set, args), set->skipped.count > 0 ? ", first " : "",
                        set->skipped.first);
    }
    if (set->skipped.count > 0) {
        sli_log(SLUICE_LOG_WARN,
                "webdataset %.200s: %llu samples without all fields are skipped, first %s",
                args->shards, (unsigned long long)set->skipped.count, set->skipped.first);
    }
    return SLUICE_OK;
}

sluice_status web_set_open(web_set *set, const web_args *args)
{
    web_packs packs = {.marks.shard = NULL};
    pack_totals totals = {0, 0};
    const bool is_auto = strcmp(args->fields, WEB_FIELDS_AUTO) == 0;
    sluice_status st = is_auto ? SLUICE_OK : web_fields_parse(args->fields, &set->fields);

    if (st == SLUICE_OK) {
        st = file_list_make(args->shards, &web_list_kind, &set->list);
    }
    if (st == SLUICE_OK) {
        st = pack_files_check(&set->list, &totals);
    }
    if (st == SLUICE_OK && is_auto) {
        st = web_fields_auto(&set->list, &set->found);
        st = st == SLUICE_OK ? web_fields_parse(set->found, &set->fields) : st;
    }
    if (st == SLUICE_OK) {
        st = web_packs_add_all(&packs, &set->list);
    }
    if (st != SLUICE_OK) {
        return st;
    }
    set->shards = sli_calloc(set->list.count, sizeof(*set->shards));
    if (set->shards == NULL) {
        return sli_fail(SLUICE_E_NO_MEMORY, "%zu shards", set->list.count);
    }
    for (size_t i = 0; st == SLUICE_OK && i < set->list.count; i++) {
        st = open_shard(set, set->list.paths[i]);
    }
    if (st == SLUICE_OK) {
        st = pack_files_check_samples(&set->list, &totals, set->count + set->skipped.count,
                                      args->shards);
    }
    if (st == SLUICE_OK) {
        st = check_samples(set, args);
    }
    if (st == SLUICE_OK) {
        if (is_auto) { /* a choice that says so */
            packs.unchecked.count = 0;
        }
        web_packs_warn(&packs, args);
        st = find_types(set);
    }
    if (st == SLUICE_OK && set->found != NULL) {
        st = pack_class_names_read(&set->class_names, &set->list);
    }
    return st == SLUICE_OK ? number_classes(set, args) : st;
}

/* ---- what is open ---------------------------------------------------------------------------- */

uint64_t web_set_memory(const web_set *set)
{
    uint64_t bytes = sizeof(*set) + set->class_names.memory +
                     set->list.capacity * sizeof(*set->list.paths) +
                     set->shard_count * sizeof(*set->shards);

    for (size_t i = 0; i < set->shard_count; i++) {
        const fields_shard *shard = &set->shards[i];

        bytes += shard->capacity * sizeof(*shard->places) +
                 shard->names_capacity * sizeof(*shard->names) + shard->text_capacity;
    }
    for (uint32_t i = 0; i < set->fields.count; i++) {
        const web_json *json = set->fields.fields[i].json;

        for (uint32_t k = 0; json != NULL && k < json->columns.count; k++) {
            const vocabulary *names = json->columns.fields[k].names;

            bytes += names != NULL ? vocabulary_memory(names) : 0;
        }
    }
    return bytes;
}

/* The names of classes in JSON members; NULL: there are none. */
static const vocabulary *find_names(const web_set *set)
{
    const vocabulary *first = NULL;

    for (uint32_t i = 0; i < set->fields.count; i++) {
        const web_field *field = &set->fields.fields[i];
        const vocabulary *names = NULL;

        if (strcmp(field->name, "label") == 0 ||
            (field->json != NULL && list_columns_names(&field->json->columns, &names))) {
            return names;
        }
        first = first == NULL ? names : first;
    }
    return first;
}

uint32_t web_set_classes(const web_set *set)
{
    const vocabulary *names = find_names(set);

    return names != NULL ? names->count : set->class_names.count;
}

const char *web_set_class(const web_set *set, uint32_t label)
{
    const vocabulary *names = find_names(set);

    return names != NULL ? vocabulary_text(names, label) : set->class_names.names[label];
}

uint64_t web_set_identity(const web_set *set)
{
    uint64_t hash = 0;

    for (uint32_t i = 0; i < set->fields.count; i++) {
        const web_json *json = set->fields.fields[i].json;

        hash = json != NULL ? list_columns_identity(&json->columns, hash) : hash;
    }
    return hash;
}
