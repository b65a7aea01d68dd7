/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "alloc_int.h"
#include "mindrecord_format.h"
#include "mindrecord_header.h"
#include "status_int.h"
#include "web_shard_file.h"

/* A file that the list has, by whatever path. */
typedef struct file_identity {
    dev_t device;
    ino_t number;
} file_identity;

/* The list that is being made. */
typedef struct completion {
    file_list list;
    file_identity *files; /* (list.count) */
    size_t capacity;
} completion;

static bool is_known(const completion *made, const struct stat *info)
{
    for (size_t i = 0; i < made->list.count; i++) {
        if (made->files[i].device == info->st_dev && made->files[i].number == info->st_ino) {
            return true;
        }
    }
    return false;
}

/* Adds a file, unless it is known. */
static sluice_status add_file(completion *made, const char *path, const struct stat *info)
{
    file_identity *grown;

    if (is_known(made, info)) {
        return SLUICE_OK;
    }
    grown = sli_grow(made->files, &made->capacity, made->list.count + 1, sizeof(*grown));
    if (grown == NULL) {
        return sli_fail(SLUICE_E_NO_MEMORY, "a list of files");
    }
    made->files = grown;
    grown[made->list.count] = (file_identity){info->st_dev, info->st_ino};
    return file_list_add(&made->list, path);
}

/* Adds the file `name` in the folder of a path. */
static sluice_status add_sibling(completion *made, const char *path, const char *name)
{
    const char *slash = strrchr(path, '/');
    const size_t folder = slash != NULL ? (size_t)(slash - path) + 1 : 0;
    const size_t size = folder + strlen(name) + 1;
    char *sibling = sli_calloc(size, 1);
    struct stat info;
    sluice_status st;

    if (sibling == NULL) {
        return sli_fail(SLUICE_E_NO_MEMORY, "a list of files");
    }
    snprintf(sibling, size, "%.*s%s", (int)folder, path, name);
    st = stat(sibling, &info) == 0
             ? add_file(made, sibling, &info)
             : sli_fail_errno(SLUICE_E_IO, errno, "%s %.400s: the file %.300s of its dataset",
                              made->list.kind->source, path, sibling);
    sli_free(sibling);
    return st;
}

/* Reads the header of a file. */
static sluice_status read_header(const completion *made, const char *path, struct stat *info,
                                 mindrecord_header *header_out)
{
    int fd = -1;
    sluice_status st = web_shard_open(path, NULL, &fd, info);

    if (st != SLUICE_OK) {
        return st;
    }
    st = mindrecord_header_read(fd, (uint64_t)info->st_size, header_out);
    close(fd);
    if (st != SLUICE_OK) {
        return sli_fail_quoting(st, "%s %.400s: %.600s", made->list.kind->source, path,
                                sluice_last_error());
    }
    return SLUICE_OK;
}

/* Adds the files of the dataset that a file belongs to. */
static sluice_status add_dataset(completion *made, const char *path)
{
    mindrecord_header header = {0};
    struct stat info;
    sluice_status st = read_header(made, path, &info, &header);

    if (st != SLUICE_OK) {
        return st;
    }
    if (header.file_count == 1) { /* it may have been renamed */
        st = add_file(made, path, &info);
    }
    for (uint32_t i = 0; header.file_count > 1 && i < header.file_count && st == SLUICE_OK; i++) {
        st = add_sibling(made, path, header.files[i]);
    }
    if (st == SLUICE_OK && !is_known(made, &info)) {
        st = sli_fail(SLUICE_E_CORRUPT,
                      "%s %.400s: its name must be one of those of its dataset, such as %.200s",
                      made->list.kind->source, path, header.files[0]);
    }
    mindrecord_header_free(&header);
    return st;
}

/* ---- schemas --------------------------------------------------------------------------------- */

static bool is_same_column(const mindrecord_column *a, const mindrecord_column *b)
{
    return a != NULL && b != NULL && a->type == b->type && a->rank == b->rank &&
           memcmp(a->shape, b->shape, sizeof(a->shape)) == 0;
}

/* Returns the name of a column in which two schemas differ; NULL: they are equal. */
static const char *find_difference(const mindrecord_header *a, const mindrecord_header *b)
{
    for (uint32_t i = 0; i < a->column_count; i++) {
        if (!is_same_column(&a->columns[i], mindrecord_find_column(b, a->columns[i].name))) {
            return a->columns[i].name;
        }
    }
    for (uint32_t i = 0; i < b->column_count; i++) {
        if (mindrecord_find_column(a, b->columns[i].name) == NULL) {
            return b->columns[i].name;
        }
    }
    return NULL;
}

/* Checks that all files have the schema of the first one: else rows would lack columns. */
static sluice_status check_schemas(const completion *made)
{
    mindrecord_header first = {0};
    struct stat info;
    sluice_status st = SLUICE_OK;

    if (made->list.count > 1) {
        st = read_header(made, made->list.paths[0], &info, &first);
    }
    for (size_t i = 1; i < made->list.count && st == SLUICE_OK; i++) {
        mindrecord_header header = {0};
        const char *column = NULL;

        st = read_header(made, made->list.paths[i], &info, &header);
        column = st == SLUICE_OK ? find_difference(&first, &header) : NULL;
        if (column != NULL) {
            st =
                sli_fail(SLUICE_E_INVALID,
                         "%s %.400s: its schema must be that of %.300s; the column %.60s differs",
                         made->list.kind->source, made->list.paths[i], made->list.paths[0], column);
        }
        mindrecord_header_free(&header);
    }
    mindrecord_header_free(&first);
    return st;
}

sluice_status mindrecord_complete(file_list *list)
{
    completion made = {.list = {.kind = list->kind}};
    sluice_status st = SLUICE_OK;

    for (size_t i = 0; i < list->count && st == SLUICE_OK; i++) {
        st = add_dataset(&made, list->paths[i]);
    }
    st = st == SLUICE_OK ? check_schemas(&made) : st;
    sli_free(made.files);
    if (st != SLUICE_OK) {
        file_list_free(&made.list);
        return st;
    }
    file_list_free(list);
    *list = made.list;
    return SLUICE_OK;
}
