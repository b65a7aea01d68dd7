/* SPDX-License-Identifier: Apache-2.0 */
#include "npy_arrays.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "alloc_int.h"
#include "compressed_file.h"
#include "log_int.h"
#include "plain_file.h"
#include "status_int.h"
#include "text_int.h"
#include "zero_padding_int.h"
#include "zip_directory.h"

static const file_list_kind npy_list_kind = {"npy", ".npy", false};

/* Limit on an array that is held in memory, since its rows are not in one piece in the file. */
static const uint64_t MOST_HELD = UINT64_C(1) << 32;

/* A part of an open file: all of it, or a member. */
typedef struct file_part {
    const char *path;
    int fd;
    uint64_t at;
    uint64_t bytes;
} file_part;

void npy_arrays_close(npy_arrays *arrays)
{
    for (uint32_t i = 0; i < arrays->fd_count; i++) {
        close(arrays->fds[i]);
    }
    for (uint32_t i = 0; i < arrays->count; i++) {
        sli_free(arrays->arrays[i].memory);
        sli_free(arrays->arrays[i].starts);
    }
    file_list_free(&arrays->list);
}

sluice_status npy_array_read(const npy_array *array, uint64_t index, uint8_t *row)
{
    const uint64_t row_bytes = array->header.row_bytes;
    const bool is_ragged = array->starts != NULL;
    const uint64_t first = is_ragged ? array->starts[index] : index;
    const uint64_t count = is_ragged ? array->starts[index + 1] - first : 1;
    const uint64_t bytes = count * row_bytes;
    size_t got = (size_t)bytes;
    sluice_status st = SLUICE_OK;

    if (is_ragged && count > array->column.shape[0]) {
        return sli_fail(SLUICE_E_CORRUPT,
                        "%s has %llu rows, and must have at most %llu by ragged=%s[N]",
                        array->column.name, (unsigned long long)count,
                        (unsigned long long)array->column.shape[0], array->column.name);
    }
    if (array->held != NULL) {
        memcpy(row, array->held + first * row_bytes, (size_t)bytes);
    } else if (bytes > 0) {
        st = plain_file_read(array->fd, array->at + first * row_bytes, row, (size_t)bytes, &got);
    }
    if (st == SLUICE_OK && got < bytes) {
        st = sli_fail(SLUICE_E_CORRUPT, "%s ends within the sample: it was truncated while in use",
                      array->path);
    }
    if (st == SLUICE_OK) {
        npy_swap(&array->header, row, bytes);
    }
    if (is_ragged) {
        sli_zero_padding(row + bytes, (size_t)((array->column.shape[0] - count) * row_bytes));
    }
    return st;
}

/* ---- one array ------------------------------------------------------------------------------- */

/* Fails unless the first dimension counts samples. */
static sluice_status check_samples(const npy_header *header)
{
    if (header->rank == (header->is_complex ? 1U : 0U)) {
        return sli_fail(SLUICE_E_UNSUPPORTED,
                        "it is a single number; the first dimension must count the samples");
    }
    return header->row_bytes > 0 ? SLUICE_OK
                                 : sli_fail(SLUICE_E_UNSUPPORTED, "its samples have no elements");
}

/* Fails if the array ends behind its part of the file. */
static sluice_status check_end(const npy_header *header, uint64_t bytes)
{
    const uint64_t end = header->data_at + header->data_bytes;

    return end <= bytes ? SLUICE_OK
                        : sli_fail(SLUICE_E_CORRUPT,
                                   "it has %llu bytes, and %llu by its header: it is truncated",
                                   (unsigned long long)bytes, (unsigned long long)end);
}

static sluice_status read_header(const file_part *part, npy_header *header)
{
    const size_t most = part->bytes < NPY_HEAD ? (size_t)part->bytes : NPY_HEAD;
    uint8_t *head = sli_calloc(1, NPY_HEAD);
    size_t got = 0;
    sluice_status st;

    if (head == NULL) {
        return sli_fail(SLUICE_E_NO_MEMORY, "the header of a .npy file");
    }
    st = plain_file_read(part->fd, part->at, head, most, &got);
    if (st == SLUICE_OK) {
        st = npy_header_parse(head, got, header);
    }
    sli_free(head);
    return st == SLUICE_OK ? check_end(header, part->bytes) : st;
}

/* Allocates memory that holds an array. `why` it must be held, and `instead`: what to do. */
static sluice_status hold(npy_array *array, uint64_t bytes, const char *why, const char *instead)
{
    if (bytes > MOST_HELD) {
        return sli_fail(SLUICE_E_UNSUPPORTED,
                        "it is %s, so it is held in memory, and has %llu bytes, more than 4 GiB; "
                        "%s, then its samples are read as they are needed",
                        why, (unsigned long long)bytes, instead);
    }
    array->memory = sli_realloc_array(NULL, (size_t)bytes + 1, 1);
    array->memory_size = bytes;
    return array->memory != NULL
               ? SLUICE_OK
               : sli_fail(SLUICE_E_NO_MEMORY, "%llu bytes of an array", (unsigned long long)bytes);
}

/* Puts an array in Fortran order into C order in memory. */
static sluice_status hold_c_order(npy_array *array)
{
    const size_t bytes = (size_t)array->header.data_bytes;
    npy_array c_order = {.memory = NULL};
    size_t got = bytes;
    sluice_status st =
        hold(&c_order, bytes, "in Fortran order", "save np.ascontiguousarray(array)");

    if (st == SLUICE_OK && array->held == NULL) {
        st = hold(array, bytes, "", "");
        array->held = array->memory;
        if (st == SLUICE_OK) {
            st = plain_file_read(array->fd, array->at, array->memory, bytes, &got);
        }
    }
    if (st == SLUICE_OK && got < bytes) {
        st = sli_fail(SLUICE_E_CORRUPT, "it was truncated while in use");
    }
    if (st == SLUICE_OK) {
        npy_to_c_order(&array->header, array->held, c_order.memory);
        sli_free(array->memory);
        array->memory = c_order.memory;
        array->memory_size = bytes;
        array->held = array->memory;
    } else {
        sli_free(c_order.memory);
    }
    return st;
}

/* Completes an array whose header was read, of `bytes` bytes in all. */
static sluice_status complete(npy_array *array, uint64_t bytes)
{
    const npy_header *header = &array->header;
    sluice_status st = check_samples(header);

    if (st == SLUICE_OK && header->is_fortran) {
        st = hold_c_order(array);
    }
    if (st != SLUICE_OK) {
        return st;
    }
    if (header->data_at + header->data_bytes < bytes) {
        sli_log(SLUICE_LOG_WARN, "npy: %s has more bytes than its array: they are not read",
                array->title);
    }
    array->column.dtype = header->dtype;
    array->column.rank = header->rank - 1;
    memcpy(array->column.shape, &header->shape[1],
           array->column.rank * sizeof(array->column.shape[0]));
    return st;
}

static sluice_status open_part(const file_part *part, npy_array *array)
{
    const sluice_status st = read_header(part, &array->header);

    array->path = part->path;
    array->fd = part->fd;
    array->at = part->at + array->header.data_at;
    return st == SLUICE_OK ? complete(array, part->bytes) : st;
}

static sluice_status open_deflated(const file_part *part, const zip_member *member,
                                   npy_array *array)
{
    sluice_status st = hold(array, member->bytes, "compressed", "save it by np.savez");

    array->path = part->path;
    if (st == SLUICE_OK) {
        st = zip_member_inflate(part->fd, member, part->at, array->memory);
    }
    if (st == SLUICE_OK) {
        st = npy_header_parse(array->memory,
                              member->bytes < NPY_HEAD ? (size_t)member->bytes : NPY_HEAD,
                              &array->header);
    }
    if (st == SLUICE_OK) {
        st = check_end(&array->header, member->bytes);
    }
    if (st != SLUICE_OK) {
        return st;
    }
    array->held = array->memory + array->header.data_at;
    return complete(array, member->bytes);
}

/* ---- files ----------------------------------------------------------------------------------- */

/* Adds the file, and the member if it is one, to the text of an error. */
static sluice_status name_error(sluice_status st, const char *path, const char *member)
{
    return member == NULL
               ? sli_fail_quoting(st, "npy: %s: %.700s", path, sluice_last_error())
               : sli_fail_quoting(st, "npy: %s: member %s: %.700s; members=A,B,... chooses others",
                                  path, member, sluice_last_error());
}

/* The next array, with its title. E_INVALID: there are too many. */
static sluice_status next_array(npy_arrays *arrays, const char *path, const char *title,
                                size_t length, npy_array **array_out)
{
    npy_array *array = &arrays->arrays[arrays->count];

    if (arrays->count == SLUICE_MAX_COLUMNS) {
        return sli_fail(SLUICE_E_INVALID,
                        "npy: with %s there are more than %d arrays, each of them a column; they "
                        "must be at most %d (members=A,B,... chooses those of .npz files)",
                        path, SLUICE_MAX_COLUMNS, SLUICE_MAX_COLUMNS);
    }
    if (length >= sizeof(array->title)) {
        return sli_fail(SLUICE_E_INVALID,
                        "npy: %s: the name '%.100s...' has %zu bytes, and must have fewer than %zu",
                        path, title, length, sizeof(array->title));
    }
    arrays->count++;
    snprintf(array->title, sizeof(array->title), "%.*s", (int)length, title);
    *array_out = array;
    return SLUICE_OK;
}

/* Length of a member's name without .npy. */
static size_t stem_length(const zip_member *member)
{
    const size_t length = member->name_length;

    return length > 4 && memcmp(member->name + length - 4, ".npy", 4) == 0 ? length - 4 : length;
}

static sluice_status add_member(npy_arrays *arrays, const file_part *file,
                                const zip_directory *directory, const zip_member *member)
{
    file_part part = *file;
    npy_array *array = NULL;
    sluice_status st = next_array(arrays, file->path, member->name, stem_length(member), &array);

    if (st != SLUICE_OK) {
        return st;
    }
    st = zip_member_find(file->fd, directory, member, &part.at);
    part.bytes = member->bytes;
    if (st == SLUICE_OK) {
        st = zip_member_is_deflated(member) ? open_deflated(&part, member, array)
                                            : open_part(&part, array);
    }
    return st == SLUICE_OK ? st : name_error(st, file->path, array->title);
}

/* Fails because an archive has no member of this name; lists those that it has. */
static sluice_status no_member(const char *path, const char *name, int length,
                               const zip_directory *directory)
{
    char names[400] = "";
    size_t used = 0;

    for (size_t i = 0; i < directory->count && used < sizeof(names) - 100; i++) {
        const zip_member *member = &directory->members[i];
        const int most = (int)(stem_length(member) < 90 ? stem_length(member) : 90);

        used += (size_t)snprintf(names + used, sizeof(names) - used, "%s%.*s", i > 0 ? ", " : "",
                                 most, member->name);
    }
    return sli_fail(SLUICE_E_INVALID, "npy: %s has no member '%.*s'; it has %s", path, length, name,
                    names);
}

/* Adds the member of a name, with or without .npy. */
static sluice_status add_named(npy_arrays *arrays, const file_part *file,
                               const zip_directory *directory, const char *name, size_t length)
{
    const zip_member *found = NULL;

    for (size_t i = 0; i < directory->count; i++) {
        const zip_member *member = &directory->members[i];

        if ((length == stem_length(member) || length == member->name_length) &&
            memcmp(member->name, name, length) == 0) {
            if (found != NULL) {
                return sli_fail(SLUICE_E_CORRUPT, "npy: %s has two members '%.*s'", file->path,
                                (int)length, name);
            }
            found = member;
        }
    }
    return found != NULL ? add_member(arrays, file, directory, found)
                         : no_member(file->path, name, (int)length, directory);
}

static sluice_status add_archive(npy_arrays *arrays, const file_part *file, const char *members)
{
    zip_directory directory;
    sluice_status st = zip_directory_read(file->fd, file->bytes, &directory);

    if (st != SLUICE_OK) {
        return name_error(st, file->path, NULL);
    }
    for (size_t i = 0; members[0] == '\0' && st == SLUICE_OK && i < directory.count; i++) {
        const zip_member *member = &directory.members[i];
        const bool is_folder =
            member->name_length > 0 && member->name[member->name_length - 1] == '/';

        st = is_folder ? st : add_member(arrays, file, &directory, member);
    }
    while (members[0] != '\0' && st == SLUICE_OK) {
        const size_t length = strcspn(members, ",");

        st = add_named(arrays, file, &directory, members, length);
        members += length + (members[length] == ',' ? 1 : 0);
    }
    zip_directory_free(&directory);
    return st;
}

static sluice_status add_array(npy_arrays *arrays, const file_part *file)
{
    const char *slash = strrchr(file->path, '/');
    const char *name = slash != NULL ? slash + 1 : file->path;
    const char *dot = strrchr(name, '.');
    const size_t length = dot != NULL && dot > name ? (size_t)(dot - name) : strlen(name);
    npy_array *array = NULL;
    sluice_status st = next_array(arrays, file->path, name, length, &array);

    if (st != SLUICE_OK) {
        return st;
    }
    st = open_part(file, array);
    return st == SLUICE_OK ? st : name_error(st, file->path, NULL);
}

/* Adds the arrays of a file. *has_archive is set if it is an archive. */
static sluice_status add_file(npy_arrays *arrays, const char *path, const char *members,
                              bool *has_archive)
{
    file_part file = {.path = path};
    uint8_t head[4];
    size_t got = 0;
    sluice_status st = plain_file_open(path, NULL, &file.fd, &file.bytes);

    if (st == SLUICE_OK) {
        arrays->fds[arrays->fd_count++] = file.fd;
        st = compressed_file_refuse(file.fd, NULL);
    }
    if (st == SLUICE_OK) {
        st = plain_file_read(file.fd, 0, head, sizeof(head), &got);
    }
    if (st != SLUICE_OK) {
        return name_error(st, path, NULL);
    }
    if (!zip_begins(head, got)) {
        return add_array(arrays, &file);
    }
    *has_archive = true;
    return add_archive(arrays, &file, members);
}

/* ---- all arrays ------------------------------------------------------------------------------ */

sluice_status npy_arrays_check(const npy_arrays *arrays)
{
    const npy_array *first = &arrays->arrays[0];
    const unsigned long long samples = npy_array_samples(first);

    for (uint32_t i = 1; i < arrays->count; i++) {
        const npy_array *array = &arrays->arrays[i];

        if (npy_array_samples(array) != samples) {
            return sli_fail(
                SLUICE_E_INVALID,
                "npy: %s of %s has %llu samples and %s of %s has %llu; the first dimension of all "
                "must be the same; files= and members= choose arrays, and ragged= has the "
                "lengths of samples",
                array->title, array->path, (unsigned long long)npy_array_samples(array),
                first->title, first->path, samples);
        }
    }
    return samples > 0
               ? SLUICE_OK
               : sli_fail(SLUICE_E_INVALID, "no valid data in the dataset: npy: %s has no samples",
                          first->path);
}

/* Sets the names of all columns: those of a list with commas, or the titles. */
static sluice_status name_columns(npy_arrays *arrays, const char *names)
{
    uint32_t count = 1;

    for (const char *c = names; *c != '\0'; c++) {
        count += *c == ',';
    }
    if (names[0] != '\0' && count != arrays->count) {
        return sli_fail(SLUICE_E_INVALID,
                        "npy: names has %u names, and must have %u, one for each array", count,
                        arrays->count);
    }
    for (uint32_t i = 0; i < arrays->count; i++) {
        sluice_column *column = &arrays->arrays[i].column;
        const size_t named = strcspn(names, ",");
        const char *name = names[0] != '\0' ? names : arrays->arrays[i].title;
        const size_t length = names[0] != '\0' ? named : strlen(name);

        if (length >= sizeof(column->name)) {
            return sli_fail(SLUICE_E_INVALID,
                            "npy: '%.*s' is longer than the %zu bytes of a column's name; "
                            "names=A,B,... gives others",
                            (int)(length < 300 ? length : 300), name, sizeof(column->name) - 1);
        }
        memcpy(column->name, name, length);
        column->name[length] = '\0';
        names += named + (names[named] == ',' ? 1 : 0);
    }
    return SLUICE_OK;
}

sluice_status npy_arrays_open(const char *files, const char *members, const char *names,
                              npy_arrays *arrays)
{
    bool has_archive = false;
    sluice_status st = file_list_make(files, &npy_list_kind, &arrays->list);

    if (st == SLUICE_OK && arrays->list.count > SLUICE_MAX_COLUMNS) {
        st = sli_fail(SLUICE_E_INVALID,
                      "npy: %zu files, each of them a column; they must be at most %d",
                      arrays->list.count, SLUICE_MAX_COLUMNS);
    }
    for (size_t i = 0; st == SLUICE_OK && i < arrays->list.count; i++) {
        st = add_file(arrays, arrays->list.paths[i], members, &has_archive);
    }
    if (st == SLUICE_OK && arrays->count == 0) {
        st = sli_fail(SLUICE_E_INVALID, "no valid data in the dataset: npy: %s has no arrays",
                      arrays->list.paths[0]);
    }
    if (st == SLUICE_OK && members[0] != '\0' && !has_archive) {
        st = sli_fail(SLUICE_E_INVALID,
                      "npy: members=%.100s is for .npz files, and %s is a .npy file", members,
                      arrays->list.paths[0]);
    }
    return st == SLUICE_OK ? name_columns(arrays, names) : st;
}
