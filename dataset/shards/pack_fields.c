/* SPDX-License-Identifier: Apache-2.0 */
#define _GNU_SOURCE
#include "pack_fields.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "alloc_int.h"
#include "descriptor_int.h"
#include "file_tree_int.h"
#include "pack_marks.h"
#include "status_int.h"
#include "text_int.h"

/* Limit on the bytes of pack.json and pack.txt. */
enum { FILE_MOST = 1 << 26 };

/* Reads a file of the pack; *text_out is NULL if there is none. */
static sluice_status read_file(int folder_fd, const char *name, const char *folder, char **text_out)
{
    size_t size = 0;

    if (sli_tree_read_file(folder_fd, name, FILE_MOST, text_out, &size) == 0) {
        return SLUICE_OK;
    }
    *text_out = NULL;
    return errno == ENOENT || errno == EACCES
               ? SLUICE_OK
               : sli_fail_errno(errno == ENOMEM ? SLUICE_E_NO_MEMORY : SLUICE_E_IO, errno,
                                "cannot read %s/%s", folder, name);
}

/* Copies the text between `before` and the character `end`. *copy_out is NULL if there is none. */
static sluice_status copy_between(const char *text, const char *before, char end, char **copy_out)
{
    const char *at = text != NULL ? strstr(text, before) : NULL;
    const char *last;

    *copy_out = NULL;
    if (at == NULL) {
        return SLUICE_OK;
    }
    at += strlen(before);
    last = strchr(at, end);
    if (last == NULL || last == at) {
        return SLUICE_OK;
    }
    *copy_out = sli_calloc((size_t)(last - at) + 1, 1);
    if (*copy_out == NULL) {
        return sli_fail(SLUICE_E_NO_MEMORY, "the columns of a pack");
    }
    memcpy(*copy_out, at, (size_t)(last - at));
    return SLUICE_OK;
}

/* Finds the columns in the files of a folder. Names of columns need no escapes in JSON. */
static sluice_status find_in(int folder_fd, const char *folder, char **fields_out)
{
    char *text = NULL;
    sluice_status st = read_file(folder_fd, PACK_SUMMARY, folder, &text);

    if (st == SLUICE_OK) {
        st = copy_between(text, ",\"" PACK_FIELDS "\":\"", '"', fields_out);
    }
    sli_free(text);
    if (st != SLUICE_OK || *fields_out != NULL) {
        return st;
    }
    text = NULL;
    st = read_file(folder_fd, PACK_OPTIONS, folder, &text);
    if (st == SLUICE_OK) {
        st = copy_between(text, "\n" PACK_FIELDS " ", '\n', fields_out);
    }
    sli_free(text);
    return st;
}

sluice_status pack_fields_read(const char *folder, char **fields_out)
{
    const int fd = sli_openat(AT_FDCWD, folder, O_PATH | O_DIRECTORY | O_CLOEXEC, 0, NULL);
    sluice_status st = SLUICE_OK;

    *fields_out = NULL;
    if (fd >= 0) { /* else its reader reports that it cannot be opened */
        st = find_in(fd, folder, fields_out);
        close(fd);
    }
    return st;
}

sluice_status pack_fields_format(const char *folder, char **format_out)
{
    const int fd = sli_openat(AT_FDCWD, folder, O_PATH | O_DIRECTORY | O_CLOEXEC, 0, NULL);
    char *text = NULL;
    sluice_status st = SLUICE_OK;

    *format_out = NULL;
    if (fd < 0) {
        return SLUICE_OK;
    }
    st = read_file(fd, PACK_OPTIONS, folder, &text);
    if (st == SLUICE_OK) {
        st = copy_between(text, "\nformat ", '\n', format_out);
    }
    sli_free(text);
    text = NULL;
    if (st == SLUICE_OK && *format_out == NULL) {
        st = read_file(fd, PACK_SUMMARY, folder, &text);
        if (st == SLUICE_OK) {
            st = copy_between(text, PACK_SUMMARY_OF_CONVERSION "\"", '"', format_out);
        }
        sli_free(text);
    }
    close(fd);
    return st;
}

sluice_status pack_fields_are_more(const char *folder, bool *more_out)
{
    char *fields = NULL;
    char *format = NULL;
    sluice_status st = pack_fields_read(folder, &fields);

    if (st == SLUICE_OK) {
        st = pack_fields_format(folder, &format);
    }
    *more_out = fields != NULL && (format != NULL || strpbrk(fields, ".=") != NULL);
    sli_free(fields);
    sli_free(format);
    return st;
}

sluice_status pack_fields_find(const char *shard, char **fields_out)
{
    const char *slash = strrchr(shard, '/');
    sli_text path = {0};
    char *folder = NULL;
    sluice_status st;

    sli_text_add(&path, "%.*s", slash != NULL ? (int)(slash - shard) + 1 : 1,
                 slash != NULL ? shard : ".");
    st = sli_text_take(&path, &folder);
    if (st == SLUICE_OK) {
        st = pack_fields_read(folder, fields_out);
        sli_free(folder);
    }
    return st;
}

/* Finds a number after its name. */
static bool find_count(const char *text, const char *name, uint64_t *count_out)
{
    const char *at = strstr(text, name);

    return at != NULL && sscanf(at + strlen(name), "%" SCNu64, count_out) == 1;
}

bool pack_counts_parse(const char *text, pack_counts *counts_out)
{
    pack_counts counts = {0, 0, 0};

    if (text == NULL ||
        (strncmp(text, PACK_SUMMARY_OF_PACK, strlen(PACK_SUMMARY_OF_PACK)) != 0 &&
         strncmp(text, PACK_SUMMARY_OF_CONVERSION, strlen(PACK_SUMMARY_OF_CONVERSION)) != 0) ||
        !find_count(text, "\"samples\":", &counts.samples) ||
        !find_count(text, "\"written\":", &counts.written) ||
        !find_count(text, "\"shards\":", &counts.shards)) {
        return false;
    }
    *counts_out = counts;
    return true;
}

/* True if a summary is of files that a source reads; a pack has those of webdataset. */
static bool is_of_format(const char *text, const char *format)
{
    const size_t begin = strlen(PACK_SUMMARY_OF_CONVERSION);
    const size_t length = strlen(format);

    if (strncmp(text, PACK_SUMMARY_OF_CONVERSION, begin) != 0) {
        return strcmp(format, "webdataset") == 0;
    }
    return text[begin] == '"' && strncmp(text + begin + 1, format, length) == 0 &&
           text[begin + 1 + length] == '"';
}

sluice_status pack_counts_read(const char *folder, const char *format, pack_counts *counts_out,
                               bool *is_known_out)
{
    const int fd = sli_openat(AT_FDCWD, folder, O_PATH | O_DIRECTORY | O_CLOEXEC, 0, NULL);
    char *text = NULL;
    sluice_status st = fd >= 0 ? read_file(fd, PACK_SUMMARY, folder, &text) : SLUICE_OK;

    *is_known_out =
        st == SLUICE_OK && pack_counts_parse(text, counts_out) && is_of_format(text, format);
    sli_free(text);
    if (fd >= 0) {
        close(fd);
    }
    return st;
}
