/* SPDX-License-Identifier: Apache-2.0 */
#include "checkpoint_files.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "alloc_int.h"
#include "file_tree_int.h"
#include "status_int.h"
#include "text_int.h"

static const char LIST[] = "sluice_files";

/* Maximum size of a list in bytes; a larger file is not a valid list. */
enum { LIST_MOST = 64 << 20 };

/* Omits names that contain a newline, since the list has one name per line. */
static int add_file(void *user, const sli_tree_entry *entry)
{
    if (entry->is_file && strchr(entry->path, '\n') == NULL) {
        sli_text_add(user, "%lld %s\n", (long long)entry->bytes, entry->path);
    }
    return 0;
}

sluice_status checkpoint_files_write(int at_fd, const char *name, const char *path)
{
    sli_text text = {0};
    char *lines = NULL;
    sluice_status st = SLUICE_OK;
    int fd = sli_tree_open(at_fd, name);

    if (fd < 0 || sli_tree_walk(at_fd, name, add_file, &text) != 0) {
        st = sli_fail_errno(SLUICE_E_IO, errno, "checkpoint: cannot list %s", path);
        sli_text_free(&text);
    } else {
        sli_text_add(&text, "%s", "");
        st = sli_text_take(&text, &lines);
    }
    if (st == SLUICE_OK && sli_tree_write_file(fd, LIST, lines, strlen(lines)) != 0) {
        st = sli_fail_errno(SLUICE_E_IO, errno, "checkpoint: cannot write %s/%s", path, LIST);
    }
    sluice_string_free(lines);
    if (fd >= 0) {
        close(fd);
    }
    return st;
}

/* Removes the next line from the text and parses "BYTES PATH"; false if the line is not in this
 * form. */
static bool take_line(char **text, uint64_t *bytes_out, const char **path_out)
{
    char *at = *text;
    char *end = strchr(at, '\n');
    uint64_t bytes = 0;

    if (end == NULL || *at < '0' || *at > '9') {
        return false;
    }
    for (; *at >= '0' && *at <= '9'; at++) {
        if (__builtin_mul_overflow(bytes, 10, &bytes) ||
            __builtin_add_overflow(bytes, (uint64_t)(*at - '0'), &bytes)) {
            return false;
        }
    }
    *end = '\0';
    if (*at != ' ' || at[1] == '\0') {
        return false;
    }
    *text = end + 1;
    *bytes_out = bytes;
    *path_out = at + 1;
    return true;
}

static sluice_status check_file(int fd, const char *folder, const char *path, uint64_t bytes)
{
    struct stat info;

    if (fstatat(fd, path, &info, AT_SYMLINK_NOFOLLOW) != 0) {
        return sli_fail_errno(SLUICE_E_CORRUPT, errno, "%s/%.200s is missing", folder, path);
    }
    if (!S_ISREG(info.st_mode) || (uint64_t)info.st_size != bytes) {
        return sli_fail(SLUICE_E_CORRUPT, "%s/%.200s has %lld bytes, want %" PRIu64, folder, path,
                        (long long)info.st_size, bytes);
    }
    return SLUICE_OK;
}

sluice_status checkpoint_files_check(int at_fd, const char *name, const char *path)
{
    sluice_status st = SLUICE_OK;
    char *text = NULL;
    char *next;
    int fd = sli_tree_open(at_fd, name);

    if (fd < 0 || sli_tree_read_file(fd, LIST, LIST_MOST, &text) != 0) {
        st = sli_fail_errno(SLUICE_E_CORRUPT, errno, "cannot read %s/%s", path, LIST);
    }
    for (next = text; st == SLUICE_OK && *next != '\0';) {
        uint64_t bytes;
        const char *file;

        st = take_line(&next, &bytes, &file)
                 ? check_file(fd, path, file, bytes)
                 : sli_fail(SLUICE_E_CORRUPT, "%s/%s is damaged, at \"%.20s\"", path, LIST, next);
    }
    sli_free(text);
    if (fd >= 0) {
        close(fd);
    }
    return st;
}
