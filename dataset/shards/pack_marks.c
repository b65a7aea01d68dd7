/* SPDX-License-Identifier: Apache-2.0 */
#define _GNU_SOURCE
#include "pack_marks.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "alloc_int.h"
#include "descriptor_int.h"
#include "plain_file.h"
#include "status_int.h"
#include "text_int.h"

/* An open folder, and its path for messages. */
typedef struct open_folder {
    int fd;
    const char *path;
} open_folder;

/* Finds whether the folder has an entry of this name: a file, a link or anything else. */
static sluice_status exists(open_folder folder, const char *name, bool *exists_out)
{
    *exists_out = faccessat(folder.fd, name, F_OK, AT_SYMLINK_NOFOLLOW) == 0;
    return *exists_out || errno == ENOENT || errno == EACCES
               ? SLUICE_OK
               : sli_fail_errno(SLUICE_E_IO, errno, "cannot look for %s/%s", folder.path, name);
}

/* Finds whether a file can be read and begins with this text. */
static sluice_status begins_with(open_folder folder, const char *name, const char *text,
                                 bool *does_out)
{
    /* O_NONBLOCK, since opening a FIFO would otherwise wait for a writer. */
    const int fd = sli_openat(folder.fd, name, O_RDONLY | O_CLOEXEC | O_NONBLOCK, 0, NULL);
    char bytes[sizeof(PACK_SUMMARY_OF_PACK)];
    struct stat info;
    size_t got = 0;
    sluice_status st = SLUICE_OK;

    *does_out = false;
    if (fd < 0) {
        return errno == ENOENT || errno == EACCES || errno == ELOOP || errno == ENXIO
                   ? SLUICE_OK
                   : sli_fail_errno(SLUICE_E_IO, errno, "cannot open %s/%s", folder.path, name);
    }
    if (fstat(fd, &info) == 0 && S_ISREG(info.st_mode)) {
        st = plain_file_read(fd, 0, bytes, strlen(text), &got);
        *does_out = st == SLUICE_OK && got == strlen(text) && memcmp(bytes, text, got) == 0;
    }
    close(fd);
    return st;
}

static sluice_status look_at(open_folder folder, pack_marks *marks)
{
    sluice_status st = exists(folder, PACK_CORRUPT, &marks->is_corrupt);

    if (st == SLUICE_OK) {
        st = begins_with(folder, PACK_OPTIONS, PACK_OPTIONS_OF_PACK, &marks->is_pack);
    }
    if (st == SLUICE_OK && !marks->is_pack) {
        st = begins_with(folder, PACK_OPTIONS, PACK_OPTIONS_OF_CONVERSION, &marks->is_converted);
    }
    if (st == SLUICE_OK) {
        st = exists(folder, PACK_SUMMARY, &marks->is_complete);
    }
    if (st == SLUICE_OK && !marks->is_pack && !marks->is_converted && marks->is_complete) {
        st = begins_with(folder, PACK_SUMMARY, PACK_SUMMARY_OF_PACK, &marks->is_pack);
    }
    if (st == SLUICE_OK && !marks->is_pack && !marks->is_converted && marks->is_complete) {
        st = begins_with(folder, PACK_SUMMARY, PACK_SUMMARY_OF_CONVERSION, &marks->is_converted);
    }
    marks->is_pack = marks->is_pack || marks->is_converted;
    return st;
}

sluice_status pack_marks_read(const char *folder, pack_marks *marks_out)
{
    const int fd = sli_openat(AT_FDCWD, folder, O_PATH | O_DIRECTORY | O_CLOEXEC, 0, NULL);
    pack_marks marks = {.shard = NULL};
    sluice_status st;

    if (fd < 0 && errno != ENOENT && errno != ENOTDIR && errno != EACCES) {
        return sli_fail_errno(SLUICE_E_IO, errno, "cannot open the folder %s", folder);
    }
    st = fd >= 0 ? look_at((open_folder){fd, folder}, &marks) : SLUICE_OK;
    if (fd >= 0) {
        close(fd);
    }
    if (st == SLUICE_OK) {
        *marks_out = marks;
    }
    return st;
}

void pack_shard_name(uint32_t number, const char *end, char *name)
{
    snprintf(name, PACK_SHARD_NAME_SIZE, "shard-%06" PRIu32 "%s", number, end);
}

size_t pack_folder_length(const char *path)
{
    const char *slash = strrchr(path, '/');

    return slash != NULL ? (size_t)(slash - path) + 1 : 0;
}

sluice_status pack_marks_of(pack_marks *marks, const char *shard)
{
    const size_t length = pack_folder_length(shard);
    sli_text text = {0};
    char *folder = NULL;
    sluice_status st;

    if (marks->shard != NULL && pack_folder_length(marks->shard) == length &&
        memcmp(marks->shard, shard, length) == 0) {
        return SLUICE_OK;
    }
    sli_text_add(&text, "%.*s", (int)length, shard);
    sli_text_add(&text, "%s", length == 0 ? "." : "");
    st = sli_text_take(&text, &folder);
    if (st == SLUICE_OK) {
        st = pack_marks_read(folder, marks);
        sli_free(folder);
    }
    marks->shard = st == SLUICE_OK ? shard : NULL;
    return st;
}

bool pack_marks_has(const pack_marks *marks, const char *path)
{
    const char *name = path + pack_folder_length(path);

    return marks->is_pack && strncmp(name, "shard-", 6) == 0 &&
           strspn(name + 6, "0123456789") == 6 &&
           (marks->is_converted ? name[12] == '.' && strchr(name + 13, '.') == NULL
                                : strcmp(name + 12, ".tar") == 0);
}
