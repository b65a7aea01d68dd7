/* SPDX-License-Identifier: Apache-2.0 */
#include "web_fields_auto.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "alloc_int.h"
#include "format_int.h"
#include "image_extensions.h"
#include "log_int.h"
#include "pack_fields.h"
#include "shard_index.h"
#include "status_int.h"
#include "tar_reader.h"
#include "text_int.h"
#include "web_shard_file.h"
#include "webdataset_args.h"

/* ---- the first sample ------------------------------------------------------------------------ */

/* What the members of the first sample are. */
typedef struct first_sample {
    sli_text key;
    sli_text fields;
    sli_text left_out; /* members that are in no column */
} first_sample;

static bool is_image(const char *extension)
{
    return image_extension_is_in(extension, image_extensions) || sli_same_word(extension, "png");
}

/* Adds a name, with a comma between two. */
static void add_listed(sli_text *list, const char *name)
{
    sli_text_add(list, "%s%s", list->length > 0 ? "," : "", name);
}

/* Adds "NAME:", where NAME is made of a member's part before its extension. */
static void add_name(sli_text *fields, const char *stem, size_t length, const char *usual)
{
    sli_text_add(fields, "%s", fields->length > 0 ? "," : "");
    for (size_t i = 0; i < length; i++) {
        const char c = stem[i];
        const bool fits = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' ||
                          (i > 0 && c >= '0' && c <= '9');

        sli_text_add(fields, "%c", fits ? c : '_');
    }
    sli_text_add(fields, "%s:", length == 0 ? usual : "");
}

/* Adds the column of a member of the first sample, by the part of its name after its first dot. */
static void add_member(first_sample *first, const char *field)
{
    const char *dot = strrchr(field, '.');
    const char *end = dot != NULL ? dot + 1 : field;
    const size_t stem = dot != NULL ? (size_t)(dot - field) : 0;

    if (strpbrk(field, ",[]@=:/ ") != NULL || stem >= SLUICE_NAME_SIZE ||
        !(is_image(end) || sli_same_word(end, "cls") || sli_same_word(end, "npy"))) {
        add_listed(&first->left_out, field);
    } else if (stem == 0 && sli_word_rank(field, shard_default_fields.image) != UINT32_MAX) {
        add_name(&first->fields, "", 0, "image");
        sli_text_add(&first->fields, "jpg/jpeg/png/ppm");
    } else {
        add_name(&first->fields, field, stem,
                 is_image(end)               ? "image"
                 : sli_same_word(end, "cls") ? "label"
                                             : "array");
        sli_text_add(&first->fields, "%s", field);
    }
}

/* Reads the headers of the members of the first sample of an archive. */
static sluice_status read_first(tar_reader *tar, first_sample *first)
{
    tar_member member;
    sluice_status st;

    while ((st = tar_next(tar, &member)) == SLUICE_OK) {
        const size_t length = shard_key_length(member.name);

        if (!shard_has_field(member.name, length)) {
            continue;
        }
        if (first->key.length == 0) {
            sli_text_add(&first->key, "%.*s", (int)length, member.name);
        }
        if (first->key.failed || first->key.length != length ||
            memcmp(first->key.data, member.name, length) != 0) {
            break;
        }
        add_member(first, member.name + length + 1);
    }
    return st == SLUICE_END_OF_DATA ? SLUICE_OK : st;
}

static sluice_status read_shard(const char *path, first_sample *first)
{
    tar_reader tar;
    struct stat info;
    int fd = -1;
    sluice_status st = web_shard_open(path, NULL, &fd, &info);

    if (st == SLUICE_OK) {
        tar_begin(&tar, fd, (uint64_t)info.st_size, path);
        st = read_first(&tar, first);
        tar_end(&tar);
        close(fd);
    }
    return st;
}

/* Finds the columns of the first sample of the first shard that has one. */
static sluice_status find_by_sample(const file_list *list, char **fields_out)
{
    first_sample first = {.key = {0}};
    sluice_status st = SLUICE_OK;

    for (size_t i = 0; i < list->count && first.key.length == 0 && st == SLUICE_OK; i++) {
        st = read_shard(list->paths[i], &first);
    }
    if (st == SLUICE_OK && first.fields.length == 0 && !first.key.failed && !first.fields.failed) {
        st = sli_fail(SLUICE_E_INVALID,
                      "webdataset: fields=auto finds no member that is an image, a label (cls) or "
                      "an array (npy) in the first sample %s; its members: %s; name the columns, "
                      "such as fields=caption:txt[512]",
                      first.key.length > 0 ? first.key.data : "",
                      first.left_out.length > 0 ? first.left_out.data : "none");
    }
    if (st == SLUICE_OK) {
        st = sli_text_take(&first.fields, fields_out);
    }
    if (st == SLUICE_OK) {
        sli_log(SLUICE_LOG_WARN,
                "webdataset: fields=auto is fields=%s by the sample %s%s%s; write that, or other "
                "columns, into the pipeline",
                *fields_out, first.key.data, first.left_out.length > 0 ? "; in no column: " : "",
                first.left_out.length > 0 ? first.left_out.data : "");
    }
    sli_text_free(&first.key);
    sli_text_free(&first.fields);
    sli_text_free(&first.left_out);
    return st;
}

/* ---- packs ----------------------------------------------------------------------------------- */

static bool are_equal(const char *a, const char *b)
{
    return a == b || (a != NULL && b != NULL && strcmp(a, b) == 0);
}

static bool has_other_folder(const char *path, const char *other)
{
    const size_t length = (size_t)(web_base_of(path) - path);

    return (size_t)(web_base_of(other) - other) != length || strncmp(path, other, length) != 0;
}

/* Finds the columns that the packs of all shards have; *fields_out is NULL if none is a pack. */
static sluice_status find_by_packs(const file_list *list, char **fields_out)
{
    sluice_status st = pack_fields_find(list->paths[0], fields_out);

    for (size_t i = 1; i < list->count && st == SLUICE_OK; i++) {
        char *other = NULL;

        if (!has_other_folder(list->paths[i], list->paths[i - 1])) {
            continue;
        }
        st = pack_fields_find(list->paths[i], &other);
        if (st == SLUICE_OK && !are_equal(*fields_out, other)) {
            st = sli_fail(SLUICE_E_INVALID,
                          "webdataset: fields=auto: %s has the columns %s, and %s has %s; name "
                          "those that both have",
                          list->paths[0], *fields_out != NULL ? *fields_out : "of no pack",
                          list->paths[i], other != NULL ? other : "those of no pack");
        }
        sli_free(other);
    }
    if (st != SLUICE_OK) {
        sli_free(*fields_out);
        *fields_out = NULL;
    }
    return st;
}

sluice_status web_fields_auto(const file_list *list, char **fields_out)
{
    sluice_status st = find_by_packs(list, fields_out);

    if (st == SLUICE_OK && *fields_out == NULL) {
        return find_by_sample(list, fields_out);
    }
    if (st == SLUICE_OK) {
        sli_log(
            SLUICE_LOG_INFO,
            "webdataset: fields=auto is fields=%s, the columns of the pack; its checksums are not "
            "compared",
            *fields_out);
    }
    return st;
}
