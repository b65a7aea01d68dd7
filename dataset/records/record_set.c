/* SPDX-License-Identifier: Apache-2.0 */
#include "record_set.h"

#include <string.h>
#include <unistd.h>

#include "alloc_int.h"
#include "log_int.h"
#include "pack_fields.h"
#include "pack_files.h"
#include "page_cache.h"
#include "record_index.h"
#include "status_int.h"

/* Limit on the bytes of a record, which bounds memory; and records in which a value must be. */
static const uint64_t MOST_RECORD_BYTES = UINT64_C(1) << 30;
static const uint64_t CHECKED_RECORDS = 100;

static sluice_status file_error(const record_set *set, const record_file *file,
                                sluice_status status)
{
    return sli_fail_quoting(status, "%s %.400s: %.600s", set->format->files.source, file->file.path,
                            sluice_last_error());
}

void record_set_close(record_set *set)
{
    for (size_t i = 0; i < set->file_count; i++) {
        record_file *file = &set->files[i];

        sli_held_file_close(&file->file.held);
        record_index_free(&file->index);
        if (set->format->close != NULL) {
            set->format->close(file->input.state);
        }
    }
    list_columns_free(&set->fields.columns);
    pack_class_names_free(&set->class_names);
    sli_free(set->chosen);
    sli_free(set->files);
    file_list_free(&set->list);
}

/* ---- opening --------------------------------------------------------------------------------- */

static sluice_status open_file(record_set *set, const char *path, const char *index_folder)
{
    record_file *file = &set->files[set->file_count];
    struct stat info;
    int fd = -1;
    sluice_status st = web_shard_open(path, NULL, &fd, &info);

    if (st != SLUICE_OK) {
        return st;
    }
    file->file.first = set->count;
    file->file.path = path;
    file->input = (record_input){.path = path, .fd = fd, .size = (uint64_t)info.st_size};
    set->file_count++;
    if (set->format->open != NULL) {
        st = set->format->open(&file->input);
    }
    if (st == SLUICE_OK) {
        st = record_index_find(set->format, &file->input, index_folder, &file->index);
    }
    if (st != SLUICE_OK) {
        close(fd);
        return file_error(set, file, st);
    }
    set->count += file->index.count;
    web_shard_hold(&file->file, path, fd, &info, set->drops);
    return SLUICE_OK;
}

/* ---- columns --------------------------------------------------------------------------------- */

/* Lets the format choose the columns by the first file that has records, unless that is one of
 * `sluice convert`, which knows them. */
static sluice_status choose_fields(record_set *set)
{
    uint64_t index = 0;
    record_file *file = record_set_file(set, &index);
    sample_io io = {.bytes_read = 0};
    record_input input = file->input;
    sli_text text = {0};
    bool lent = false;
    bool guessed = false;
    sluice_status st = pack_fields_find(file->file.path, &set->chosen);

    if (st == SLUICE_OK && set->chosen != NULL) {
        sli_log(SLUICE_LOG_INFO, "%s %.400s: the columns are those of pack.json: fields=%s",
                set->format->files.source, file->file.path, set->chosen);
        return SLUICE_OK;
    }
    if (st == SLUICE_OK) {
        st = web_shard_borrow(&file->file, &io, &lent, &input.fd);
    }
    if (st != SLUICE_OK) {
        return st;
    }
    st = set->format->choose(&input, &file->index, &text, &guessed);
    web_shard_give_back(&file->file, lent, input.fd);
    if (st != SLUICE_OK) {
        sli_text_free(&text);
        return file_error(set, file, st);
    }
    st = sli_text_take(&text, &set->chosen);
    if (st == SLUICE_OK) {
        sli_log(guessed ? SLUICE_LOG_WARN : SLUICE_LOG_INFO,
                "%s %.400s: the columns are chosen by %s: fields=%s%s", set->format->files.source,
                file->file.path, guessed ? "its first records" : "the file", set->chosen,
                guessed ? "; write that, or other columns, into the pipeline" : "");
    }
    return st;
}

/* Fails unless each value is in one of the first records: its name may be a typing error. */
static sluice_status check_names(const record_set *set)
{
    record_reader reader = {.set = NULL};
    sample_io io = {.bytes_read = 0};
    bool found[SLUICE_MAX_COLUMNS] = {false};
    uint32_t missing = set->fields.names.count;
    uint64_t good = 0;
    sluice_status st = SLUICE_OK;

    for (uint64_t k = 0; k < set->count && k < CHECKED_RECORDS && missing > 0; k++) {
        st = record_set_read(set, k, &io, &reader);
        if (st == SLUICE_E_NO_MEMORY) {
            break;
        }
        good += st == SLUICE_OK;
        for (uint32_t i = 0; st == SLUICE_OK && i < set->fields.names.count; i++) {
            const bool is_there = reader.values[i].kind != RECORD_MISSING;

            missing -= is_there && !found[i];
            found[i] = found[i] || is_there;
        }
    }
    record_reader_free(&reader);
    sample_io_free(&io);
    if (st == SLUICE_E_NO_MEMORY || missing == 0 || good == 0) {
        return st == SLUICE_E_NO_MEMORY ? st : SLUICE_OK; /* bad samples have their own errors */
    }
    for (uint32_t i = 0; i < set->fields.names.count; i++) {
        if (!found[i]) {
            return sli_fail(SLUICE_E_INVALID,
                            "%s: fields: the first %llu records have no value %.160s; without "
                            "fields= the columns are chosen by the file",
                            set->format->files.source, (unsigned long long)good,
                            set->fields.names.names[i]);
        }
    }
    return SLUICE_OK;
}

static sluice_status open_fields(record_set *set, const record_args *args)
{
    const char *name = set->format->files.source;
    sluice_status st = SLUICE_OK;

    if (set->count == 0) {
        return sli_fail(SLUICE_E_INVALID,
                        "no valid data in the dataset: %s %.200s: there is no record in %zu files",
                        name, args->files, set->file_count);
    }
    if (args->fields[0] == '\0') {
        st = choose_fields(set);
    }
    if (st == SLUICE_OK) {
        st = record_fields_parse(set->chosen != NULL ? set->chosen : args->fields, name,
                                 &set->fields);
    }
    if (st == SLUICE_OK) {
        set->needed =
            set->format->needs != NULL ? set->format->needs(&set->fields.names) : UINT32_MAX;
    }
    if (st == SLUICE_OK && set->chosen != NULL) {
        st = pack_class_names_read(&set->class_names, &set->list);
    }
    return st == SLUICE_OK ? check_names(set) : st;
}

sluice_status record_set_open(record_set *set, const record_format *format, const record_args *args)
{
    pack_totals totals = {0, 0};
    sluice_status st;

    memset(set, 0, sizeof(*set));
    set->format = format;
    set->drops = args->cache == PAGE_CACHE_DROP;
    st = file_list_make(args->files, &format->files, &set->list);
    st = st == SLUICE_OK ? pack_files_check(&set->list, &totals) : st;
    st = st == SLUICE_OK && format->complete != NULL ? format->complete(&set->list) : st;
    if (st == SLUICE_OK) {
        set->files = sli_calloc(set->list.count, sizeof(*set->files));
        st = set->files == NULL ? sli_fail(SLUICE_E_NO_MEMORY, "%zu files", set->list.count)
                                : SLUICE_OK;
    }
    for (size_t i = 0; st == SLUICE_OK && i < set->list.count; i++) {
        st = open_file(set, set->list.paths[i], args->index);
    }
    if (st == SLUICE_OK) {
        st = pack_files_check_samples(&set->list, &totals, set->count, args->files);
    }
    return st == SLUICE_OK ? open_fields(set, args) : st;
}

uint64_t record_set_memory(const record_set *set)
{
    uint64_t bytes = sizeof(*set) + set->class_names.memory +
                     set->list.capacity * sizeof(*set->list.paths) +
                     set->file_count * sizeof(*set->files);

    for (size_t i = 0; i < set->file_count; i++) {
        bytes += set->files[i].index.capacity * sizeof(record_range) +
                 strlen(set->files[i].file.path) + 1;
    }
    return bytes;
}

/* ---- records --------------------------------------------------------------------------------- */

record_file *record_set_file(const record_set *set, uint64_t *index)
{
    return web_shard_find(set->files, set->file_count, sizeof(*set->files), index);
}

void record_reader_free(record_reader *reader)
{
    image_buffer_free(&reader->bytes);
    image_buffer_free(&reader->scratch);
    image_buffer_free(&reader->pixels);
}

/* Reads the ranges of a record, one after another, into a buffer. */
static sluice_status read_ranges(const record_file *file, int fd, const record_range *all,
                                 uint32_t needed, image_buffer *bytes, record_part *parts)
{
    const uint32_t count = file->index.per_record;
    record_range ranges[RECORD_MOST_RANGES];
    uint64_t size = 0;
    sluice_status st = SLUICE_OK;

    for (uint32_t i = 0; i < count; i++) {
        ranges[i] = (record_range){all[i].offset, (needed >> i & 1) != 0 ? all[i].size : 0};
        if (ranges[i].size > MOST_RECORD_BYTES - size) {
            return sli_fail(SLUICE_E_IO, "it has more than %llu bytes",
                            (unsigned long long)MOST_RECORD_BYTES);
        }
        size += ranges[i].size;
    }
    st = image_buffer_reserve(bytes, (size_t)size);
    for (uint32_t i = 0, at = 0; i < count && st == SLUICE_OK;) {
        const uint64_t offset = ranges[i].offset;
        size_t run = 0; /* bytes of ranges that follow one another in the file */

        for (; i < count && ranges[i].offset == offset + run; i++) {
            parts[i] = (record_part){bytes->data + at + run, (size_t)ranges[i].size};
            run += (size_t)ranges[i].size;
        }
        st = web_shard_read(&file->file, fd, offset, bytes->data + at, run);
        at += (uint32_t)run;
    }
    return st;
}

static sluice_status record_error(const record_file *file, uint64_t index, sluice_status status)
{
    return sli_fail_quoting(
        status, "record %llu of %.400s, at byte %llu: %.500s", (unsigned long long)index,
        file->file.path,
        (unsigned long long)file->index.ranges[index * file->index.per_record].offset,
        sluice_last_error());
}

sluice_status record_set_read(const record_set *set, uint64_t index, sample_io *io,
                              record_reader *reader)
{
    const record_range *ranges;
    record_part parts[RECORD_MOST_RANGES];
    const uint64_t number = index;
    record_file *file;
    bool lent = false;
    int fd = -1;
    sluice_status st;

    if (reader->set == set && reader->index == index) {
        return SLUICE_OK;
    }
    reader->set = NULL;
    file = record_set_file(set, &index);
    ranges = &file->index.ranges[index * file->index.per_record];
    st = web_shard_borrow(&file->file, io, &lent, &fd);
    if (st != SLUICE_OK) {
        return st;
    }
    st = read_ranges(file, fd, ranges, set->needed, &reader->bytes, parts);
    web_shard_give_back(&file->file, lent, fd);
    for (uint32_t i = 0; st == SLUICE_OK && i < file->index.per_record; i++) {
        io->bytes_read += parts[i].size;
    }
    if (st == SLUICE_OK && set->format->check != NULL) {
        st = set->format->check(file->input.state, ranges, parts);
    }
    if (st == SLUICE_OK) {
        st = set->format->parse(file->input.state, parts, &set->fields.names, &reader->scratch,
                                reader->values);
    }
    if (st != SLUICE_OK) {
        return record_error(file, index, st);
    }
    reader->set = set;
    reader->index = number;
    return SLUICE_OK;
}
