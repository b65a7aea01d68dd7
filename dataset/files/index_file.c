/* SPDX-License-Identifier: Apache-2.0 */
#define _GNU_SOURCE
#include "index_file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "alloc_int.h"
#include "descriptor_int.h"
#include "rng_int.h"
#include "status_int.h"
#include "text_int.h"

enum { TRIES = 100 };

void index_await_tick(const struct stat *info)
{
    const int64_t ticks_ns = 20000000;
    struct timespec now = {0};
    int64_t age_ns;

    clock_gettime(CLOCK_REALTIME, &now);
    age_ns = ((int64_t)now.tv_sec - info->st_ctim.tv_sec) * 1000000000 + now.tv_nsec -
             info->st_ctim.tv_nsec;
    if (age_ns >= 0 && age_ns < ticks_ns) {
        (void)nanosleep(&(struct timespec){.tv_nsec = (long)(ticks_ns - age_ns)}, NULL);
    }
}

/* ---- places ---------------------------------------------------------------------------------- */

sluice_status index_cache_folder(char **folder_out)
{
    const char *cache = getenv("XDG_CACHE_HOME");
    const char *home = getenv("HOME");
    sli_text text = {0};

    if (cache != NULL && cache[0] == '/') {
        sli_text_add(&text, "%s/sluice", cache);
    } else if (home != NULL && home[0] == '/') {
        sli_text_add(&text, "%s/.cache/sluice", home);
    } else {
        sli_text_add(&text, "%s", "");
    }
    return sli_text_take(&text, folder_out);
}

sluice_status index_path_in(const char *folder, const char *file, uint64_t hash, char **path_out)
{
    char *real = realpath(file, NULL);
    const char *whole = real != NULL ? real : file;
    const char *slash = strrchr(whole, '/');
    sli_text text = {0};

    sli_text_add(&text, "%s/%.100s.%016llx.sluice", folder, slash != NULL ? slash + 1 : whole,
                 (unsigned long long)sli_mix_in(sli_hash_text(whole), hash));
    free(real);
    return sli_text_take(&text, path_out);
}

void index_make_folders(char *path)
{
    for (char *slash = strchr(path + 1, '/'); slash != NULL; slash = strchr(slash + 1, '/')) {
        *slash = '\0';
        (void)mkdir(path, 0700);
        *slash = '/';
    }
    (void)mkdir(path, 0700);
}

/* ---- files ----------------------------------------------------------------------------------- */

/*
 * Creates a temporary file with a unique name in the folder of `path`. Returns its descriptor, or
 * -1 with errno set.
 */
static int open_temporary(const char *path, char *name, size_t size)
{
    static atomic_uint next;
    int fd = -1;

    for (int i = 0; fd < 0 && i < TRIES; i++) {
        unsigned number = atomic_fetch_add_explicit(&next, 1, memory_order_relaxed);

        snprintf(name, size, "%s.%ld-%u.tmp", path, (long)getpid(), number);
        fd = sli_openat(AT_FDCWD, name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666, NULL);
        if (fd < 0 && errno != EEXIST) {
            break;
        }
    }
    return fd;
}

sluice_status index_file_write(const char *path, const void *bytes, size_t size, bool synced)
{
    const size_t name_size = strlen(path) + 64;
    char *name = sli_calloc(1, name_size);
    int fd;
    int error = 0;

    if (name == NULL) {
        return sli_fail(SLUICE_E_NO_MEMORY, "the index %s", path);
    }
    fd = open_temporary(path, name, name_size);
    if (fd < 0) {
        error = errno;
    } else {
        error = sli_write(fd, bytes, size) == 0 && (!synced || fsync(fd) == 0) ? 0 : errno;
        error = close(fd) != 0 && error == 0 ? errno : error;
        error = error == 0 && rename(name, path) != 0 ? errno : error;
        if (error != 0) {
            unlink(name);
        }
    }
    sli_free(name);
    return error == 0 ? SLUICE_OK : sli_fail_errno(SLUICE_E_IO, error, "cannot write %s", path);
}

sluice_status index_file_read(const char *path, size_t least, uint8_t **bytes_out, size_t *size_out)
{
    int fd = sli_openat(AT_FDCWD, path, O_RDONLY | O_CLOEXEC | O_NONBLOCK, 0, NULL);
    struct stat info;
    uint8_t *bytes = NULL;
    ssize_t got = 0;
    sluice_status st = SLUICE_OK;

    if (fd < 0) {
        return sli_fail_errno(SLUICE_E_IO, errno, "cannot open the index %s", path);
    }
    if (fstat(fd, &info) != 0 || !S_ISREG(info.st_mode) || (size_t)info.st_size < least) {
        st = sli_fail(SLUICE_E_CORRUPT, "the index %s is not an index", path);
    } else {
        bytes = sli_calloc(1, (size_t)info.st_size);
        st = bytes == NULL ? sli_fail(SLUICE_E_NO_MEMORY, "the index %s", path) : SLUICE_OK;
    }
    if (st == SLUICE_OK) {
        got = sli_read(fd, bytes, (size_t)info.st_size);
    }
    if (st == SLUICE_OK && got < info.st_size) {
        st = got < 0 ? sli_fail_errno(SLUICE_E_IO, errno, "cannot read the index %s", path)
                     : sli_fail(SLUICE_E_CORRUPT, "the index %s became shorter while it was read",
                                path);
    }
    close(fd);
    if (st != SLUICE_OK) {
        sli_free(bytes);
        return st;
    }
    *bytes_out = bytes;
    *size_out = (size_t)got;
    return SLUICE_OK;
}
