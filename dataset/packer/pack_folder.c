/* SPDX-License-Identifier: Apache-2.0 */
#define _GNU_SOURCE
#include "pack_folder.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "alloc_int.h"
#include "decompressor_ops.h"
#include "descriptor_int.h"
#include "error_int.h"
#include "file_tree_int.h"
#include "pack_marks.h"
#include "status_int.h"
#include "write_failure.h"

static const char LOCK[] = "pack.lock";

enum { FILE_MOST = 1 << 30, NAME_MOST = 64 };

sluice_status pack_folder_failed(const pack_folder *folder, const char *what, const char *name,
                                 int error)
{
    return sli_fail_errno(error == ENOMEM ? SLUICE_E_NO_MEMORY : SLUICE_E_IO, error,
                          "cannot %s %s/%s%s", what, folder->path, name, write_advice(error));
}

/* ---- the lock ------------------------------------------------------------------------------- */

/*
 * True if the open lock file still has its name in the folder. A process removes the lock file when
 * it ends, while it holds the lock. That may happen between open() and flock() here.
 */
static bool has_name(int folder_fd, int fd)
{
    struct stat opened;
    struct stat named;

    return fstat(fd, &opened) == 0 && fstatat(folder_fd, LOCK, &named, 0) == 0 &&
           opened.st_dev == named.st_dev && opened.st_ino == named.st_ino;
}

static sluice_status lock_folder(pack_folder *folder)
{
    for (;;) {
        const int fd =
            sli_openat(folder->fd, LOCK, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0666, NULL);
        int error;

        if (fd < 0) {
            return pack_folder_failed(folder, "make", LOCK, errno);
        }
        if (flock(fd, LOCK_EX | LOCK_NB) == 0) {
            if (has_name(folder->fd, fd)) {
                folder->lock_fd = fd;
                return SLUICE_OK;
            }
            close(fd);
            continue;
        }
        error = errno;
        close(fd);
        if (error == EWOULDBLOCK) {
            return sli_fail(SLUICE_E_BUSY, "another process writes to %s; wait for its end",
                            folder->path);
        }
        if (error != EINTR) {
            return pack_folder_failed(folder, "lock", LOCK, error);
        }
    }
}

bool pack_folder_is_locked(const pack_folder *folder)
{
    const int fd = openat(folder->fd, LOCK, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
    bool locked = false;

    if (fd >= 0) {
        locked = flock(fd, LOCK_SH | LOCK_NB) != 0 && errno == EWOULDBLOCK;
        close(fd);
    }
    return locked;
}

/* ---- opening -------------------------------------------------------------------------------- */

sluice_status pack_folder_open(pack_folder *folder, const char *path,
                               const struct sample_writer *writer)
{
    sluice_status st;

    *folder = (pack_folder){.path = path, .fd = -1, .lock_fd = -1, .writer = writer};
    if (mkdir(path, 0777) != 0 && errno != EEXIST) {
        return sli_fail_errno(SLUICE_E_IO, errno, "cannot make the folder %s", path);
    }
    folder->fd = sli_openat(AT_FDCWD, path, O_RDONLY | O_DIRECTORY | O_CLOEXEC, 0, NULL);
    if (folder->fd < 0) {
        return sli_fail_errno(SLUICE_E_IO, errno, "cannot open the folder %s", path);
    }
    st = lock_folder(folder);
    if (st != SLUICE_OK) {
        pack_folder_close(folder);
    }
    return st;
}

void pack_folder_close(pack_folder *folder)
{
    if (folder->lock_fd >= 0) {
        (void)unlinkat(folder->fd, LOCK, 0);
        close(folder->lock_fd);
    }
    if (folder->fd >= 0) {
        close(folder->fd);
    }
    folder->fd = -1;
    folder->lock_fd = -1;
}

/* ---- files ---------------------------------------------------------------------------------- */

sluice_status pack_folder_publish(const pack_folder *folder, const char *name)
{
    char part[NAME_MOST];

    snprintf(part, sizeof(part), "%s" PACK_PART, name);
    if (renameat(folder->fd, part, folder->fd, name) != 0 || fsync(folder->fd) != 0) {
        return pack_folder_failed(folder, "write", name, errno);
    }
    return SLUICE_OK;
}

sluice_status pack_folder_write(const pack_folder *folder, const char *name, const char *text)
{
    char part[NAME_MOST];

    snprintf(part, sizeof(part), "%s" PACK_PART, name);
    if (sli_tree_write_file(folder->fd, part, text, strlen(text)) != 0) {
        const int error = errno;

        (void)unlinkat(folder->fd, part, 0);
        return pack_folder_failed(folder, "write", name, error);
    }
    return pack_folder_publish(folder, name);
}

sluice_status pack_folder_remove(const pack_folder *folder, const char *name)
{
    if (unlinkat(folder->fd, name, 0) != 0) {
        return errno == ENOENT ? SLUICE_OK : pack_folder_failed(folder, "remove", name, errno);
    }
    return fsync(folder->fd) == 0 ? SLUICE_OK : pack_folder_failed(folder, "remove", name, errno);
}

sluice_status pack_folder_read(const pack_folder *folder, const char *name, char **text_out)
{
    size_t size = 0;

    if (sli_tree_read_file(folder->fd, name, FILE_MOST, text_out, &size) == 0) {
        if (strlen(*text_out) < size) {
            (*text_out)[0] = '\0';
        }
        return SLUICE_OK;
    }
    *text_out = NULL;
    return errno == ENOENT ? SLUICE_OK : pack_folder_failed(folder, "read", name, errno);
}

/* ---- options -------------------------------------------------------------------------------- */

/*
 * True if the file may exist although no pack has begun, since a process that is killed at the
 * start leaves it.
 */
static bool is_left_over(const char *name)
{
    return strcmp(name, ".") == 0 || strcmp(name, "..") == 0 || strcmp(name, LOCK) == 0 ||
           strcmp(name, PACK_OPTIONS PACK_PART) == 0;
}

static sluice_status check_empty(const pack_folder *folder)
{
    const int fd = sli_openat(folder->fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC, 0, NULL);
    DIR *entries = fd >= 0 ? fdopendir(fd) : NULL;
    const struct dirent *entry;
    sluice_status st = SLUICE_OK;

    if (entries == NULL) {
        st = sli_fail_errno(SLUICE_E_IO, errno, "cannot list the folder %s", folder->path);
        if (fd >= 0) {
            close(fd);
        }
        return st;
    }
    while (st == SLUICE_OK && (entry = readdir(entries)) != NULL) {
        if (!is_left_over(entry->d_name)) {
            st = sli_fail(SLUICE_E_INVALID,
                          "the folder %s is neither empty nor a %s: it holds %s; name another",
                          folder->path, pack_folder_noun(folder), entry->d_name);
        }
    }
    closedir(entries);
    return st;
}

/* Returns the length of the name in an option line, such as "interval" in "interval 32". */
static size_t name_length(const char *line)
{
    return strcspn(line, " \n");
}

/* Returns the beginning of the next line, or the end of the text after the last line. */
static const char *next_line(const char *line)
{
    line += strcspn(line, "\n");
    return *line != '\0' ? line + 1 : line;
}

static sluice_status options_differ(const pack_folder *folder, const char *had, const char *want)
{
    const size_t name = name_length(want);
    const char *noun = pack_folder_noun(folder);

    if (strncmp(had, "drop ", 5) == 0 || strncmp(want, "drop ", 5) == 0) {
        return sli_fail(SLUICE_E_INVALID,
                        "%s holds a %s with \"%.*s\", this is one with \"%.*s\"; name another "
                        "folder, or drop the same columns to continue",
                        folder->path, noun, (int)strcspn(had, "\n"), had, (int)strcspn(want, "\n"),
                        want);
    }
    if (strncmp(had, "fields ", 7) == 0 || strncmp(want, "fields ", 7) == 0) {
        return sli_fail(SLUICE_E_INVALID,
                        "%s holds a %s with other columns: \"%.*s\" in %s, this one has \"%.*s\"; "
                        "name another folder",
                        folder->path, noun, (int)strcspn(had, "\n"), had, PACK_OPTIONS,
                        (int)strcspn(want, "\n"), want);
    }
    if (strncmp(had, "sluice_", 7) == 0 && strncmp(want, "sluice_", 7) == 0 &&
        (name_length(had) != name || strncmp(had, want, name) != 0)) {
        return sli_fail(SLUICE_E_INVALID,
                        "%s holds files of `sluice %.*s`, and these are of `sluice %.*s`; name "
                        "another folder",
                        folder->path, (int)name_length(had) - 7, had + 7, (int)name - 7, want + 7);
    }
    if (name_length(had) != name || strncmp(had, want, name) != 0) {
        return sli_fail(
            SLUICE_E_INVALID,
            "%s holds a %s of another version of Sluice: the line \"%.*s\" of %s must be "
            "\"%.*s\"; name another folder, or continue with that version",
            folder->path, noun, (int)strcspn(had, "\n"), had, PACK_OPTIONS,
            (int)strcspn(want, "\n"), want);
    }
    if (strncmp(want, "names ", 6) == 0) {
        return sli_fail(SLUICE_E_INVALID,
                        "%s holds a %s of other samples: their names differ; name another folder",
                        folder->path, noun);
    }
    had += name + (had[name] == ' ');
    want += name + (want[name] == ' ');
    return sli_fail(SLUICE_E_INVALID,
                    "%s holds a %s with %.*s \"%.*s\", this is one with \"%.*s\"; name another "
                    "folder, or give the same options to continue",
                    folder->path, noun, (int)name, want - name - 1, (int)strcspn(had, "\n"), had,
                    (int)strcspn(want, "\n"), want);
}

/* Compares two texts of options line by line. Lines that begin with "source" may differ. */
static sluice_status compare_options(const pack_folder *folder, const char *had, const char *want)
{
    for (; *had != '\0' || *want != '\0'; had = next_line(had), want = next_line(want)) {
        const size_t length = strcspn(want, "\n");

        if (strncmp(had, "source", 6) == 0 && strncmp(want, "source", 6) == 0) {
            continue;
        }
        if (strcspn(had, "\n") != length || strncmp(had, want, length) != 0) {
            return options_differ(folder, had, want);
        }
    }
    return SLUICE_OK;
}

sluice_status pack_folder_mark_corrupt(const pack_folder *folder, sluice_status status)
{
    sli_error error;
    sluice_status st;

    if (status != SLUICE_E_CORRUPT || sli_last_errno() != DECOMPRESSOR_CORRUPT) {
        return status;
    }
    sli_error_take(status, &error);
    st = pack_folder_write(folder, PACK_CORRUPT, error.text);
    return st != SLUICE_OK
               ? st
               : sli_fail_with(
                     status, error.error_number,
                     "%.700s; samples in %s may be wrong, and it cannot be continued: write the "
                     "repaired stream to another folder",
                     error.text, folder->path);
}

/* Fails if the pack was marked as corrupt. */
static sluice_status check_mark(const pack_folder *folder)
{
    char *why = NULL;
    sluice_status st = pack_folder_read(folder, PACK_CORRUPT, &why);

    if (st == SLUICE_OK && why != NULL) {
        st = sli_fail(
            SLUICE_E_INVALID,
            "%s holds a %s that was written from a corrupt stream (%.500s): its samples may be "
            "wrong, and it cannot be continued; remove the folder or name another, and read the "
            "repaired stream from its beginning",
            folder->path, pack_folder_noun(folder), why);
    }
    sli_free(why);
    return st;
}

sluice_status pack_folder_claim(const pack_folder *folder, const char *options)
{
    char *had = NULL;
    sluice_status st = check_mark(folder);

    if (st == SLUICE_OK) {
        st = pack_folder_read(folder, PACK_OPTIONS, &had);
    }
    if (st == SLUICE_OK && had != NULL) {
        st = compare_options(folder, had, options);
    } else if (st == SLUICE_OK) {
        st = check_empty(folder);
        if (st == SLUICE_OK) {
            st = pack_folder_write(folder, PACK_OPTIONS, options);
        }
    }
    sli_free(had);
    return st;
}
