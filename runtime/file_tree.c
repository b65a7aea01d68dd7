/* SPDX-License-Identifier: Apache-2.0 */
#include "file_tree_int.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "alloc_int.h"
#include "descriptor_int.h"

typedef struct tree_walker {
    sli_tree_fn visit;
    void *user;
    char path[SLI_TREE_PATH_SIZE];
} tree_walker;

static void close_quietly(int fd)
{
    const int error = errno;

    if (fd >= 0) {
        close(fd);
    }
    errno = error;
}

int sli_tree_open(int at_fd, const char *name)
{
    return sli_openat(at_fd, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW, 0, NULL);
}

static int walk_folder(tree_walker *w, int at_fd, const char *name, int depth);

/* Visits an entry of the folder fd. w->path is the folder's path; the entry's name is appended. */
static int walk_entry(tree_walker *w, int fd, const char *name, int depth)
{
    const size_t length = strlen(w->path);
    struct stat info;
    int result;

    if (strcmp(name, ".") == 0 || strcmp(name, "..") == 0) {
        return 0;
    }
    if (length + strlen(name) + 2 > sizeof(w->path)) {
        errno = ENAMETOOLONG;
        return -1;
    }
    if (fstatat(fd, name, &info, AT_SYMLINK_NOFOLLOW) != 0) {
        return errno == ENOENT ? 0 : -1;
    }
    snprintf(w->path + length, sizeof(w->path) - length, "%s%s", length > 0 ? "/" : "", name);
    if (S_ISDIR(info.st_mode)) {
        result = walk_folder(w, fd, name, depth + 1);
    } else {
        const sli_tree_entry entry = {fd,          name, w->path, false, S_ISREG(info.st_mode),
                                      info.st_size};

        result = w->visit(w->user, &entry);
    }
    w->path[length] = '\0';
    return result;
}

static int walk_folder(tree_walker *w, int at_fd, const char *name, int depth)
{
    const sli_tree_entry entry = {at_fd, name, w->path, true, false, 0};
    int fd = depth < SLI_TREE_DEEPEST ? sli_tree_open(at_fd, name) : (errno = ELOOP, -1);
    DIR *entries = fd >= 0 ? fdopendir(fd) : NULL;
    int result = entries != NULL ? 0 : -1;
    const struct dirent *next;

    if (entries == NULL) {
        close_quietly(fd);
        return -1;
    }
    while (result == 0 && (errno = 0, next = readdir(entries)) != NULL) {
        result = walk_entry(w, fd, next->d_name, depth);
    }
    if (result == 0 && errno != 0) {
        result = -1;
    }
    if (closedir(entries) != 0 && result == 0) {
        result = -1;
    }
    return result == 0 ? w->visit(w->user, &entry) : result;
}

int sli_tree_walk(int at_fd, const char *name, sli_tree_fn visit, void *user)
{
    tree_walker w = {visit, user, ""};

    return walk_folder(&w, at_fd, name, 0);
}

static int remove_entry(void *user, const sli_tree_entry *entry)
{
    (void)user;
    return unlinkat(entry->at_fd, entry->name, entry->is_folder ? AT_REMOVEDIR : 0);
}

int sli_tree_remove(int at_fd, const char *name)
{
    return faccessat(at_fd, name, F_OK, 0) != 0 ? 0
                                                : sli_tree_walk(at_fd, name, remove_entry, NULL);
}

/* Syncs a file or folder. Other entries, such as symbolic links, have no data to sync. */
static int sync_entry(void *user, const sli_tree_entry *entry)
{
    int result;
    int fd;

    (void)user;
    if (!entry->is_folder && !entry->is_file) {
        return 0;
    }
    fd = sli_openat(
        entry->at_fd, entry->name,
        (entry->is_folder ? O_DIRECTORY : O_NONBLOCK) | O_RDONLY | O_CLOEXEC | O_NOFOLLOW, 0, NULL);
    if (fd < 0) {
        return errno == ENOENT ? 0 : -1;
    }
    result = fsync(fd);
    close_quietly(fd);
    return result;
}

int sli_tree_sync(int at_fd, const char *name)
{
    return sli_tree_walk(at_fd, name, sync_entry, NULL);
}

int sli_tree_write_file(int at_fd, const char *name, const char *bytes, size_t size)
{
    int fd = sli_openat(at_fd, name, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666, NULL);
    int result = fd >= 0 ? sli_write(fd, bytes, size) : -1;

    if (result == 0) {
        result = fsync(fd);
    }
    close_quietly(fd);
    return result;
}

int sli_tree_read_file(int at_fd, const char *name, size_t most, char **text_out, size_t *size_out)
{
    int fd = sli_openat(at_fd, name, O_RDONLY | O_CLOEXEC | O_NONBLOCK, 0, NULL);
    struct stat info;
    char *text = NULL;
    ssize_t size = -1;

    if (fd >= 0 && fstat(fd, &info) == 0) {
        if (info.st_size > (off_t)most) {
            errno = EFBIG;
        } else if ((text = sli_calloc(1, (size_t)info.st_size + 1)) == NULL) {
            errno = ENOMEM;
        } else {
            size = sli_read(fd, text, (size_t)info.st_size);
        }
    }
    close_quietly(fd);
    if (size < 0) {
        sli_free(text);
        return -1;
    }
    *text_out = text;
    *size_out = (size_t)size;
    return 0;
}
