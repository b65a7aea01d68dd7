/* SPDX-License-Identifier: Apache-2.0 */
#include "safe_file.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* Allocates path and temporary; false if out of memory. */
static bool make_names(safe_file *file, const char *path)
{
    const char *slash = strrchr(path, '/');
    const char *name = slash != NULL ? slash + 1 : path;
    const size_t size = strlen(path) + 32;

    file->path = malloc(size);
    file->temporary = malloc(size);
    if (file->path == NULL || file->temporary == NULL) {
        errno = ENOMEM;
        return false;
    }
    strcpy(file->path, path);
    snprintf(file->temporary, size, "%.*s.%s.%ld", (int)(name - path), path, name, (long)getpid());
    return true;
}

/* True if the path is a device, a folder or anything else that must not be replaced. */
static bool is_other(const char *path)
{
    struct stat info;

    if (stat(path, &info) != 0 || S_ISREG(info.st_mode)) {
        return false;
    }
    errno = S_ISDIR(info.st_mode) ? EISDIR : EEXIST;
    return true;
}

bool safe_file_create(safe_file *file, const char *path)
{
    int error;

    if (is_other(path) || !make_names(file, path)) {
        return false;
    }
    file->file = fopen(file->temporary, "wbx");
    if (file->file == NULL) {
        error = errno;
        free(file->temporary); /* if a file has this name, it is not ours */
        file->temporary = NULL;
        errno = error;
    }
    return file->file != NULL;
}

bool safe_file_close(safe_file *file)
{
    FILE *const stream = file->file;
    const bool is_whole = fflush(stream) == 0;
    const int error = errno;

    file->file = NULL;
    if (fclose(stream) != 0 && is_whole) {
        return false;
    }
    errno = error;
    return is_whole;
}

bool safe_file_publish(safe_file *file)
{
    if (rename(file->temporary, file->path) != 0) {
        return false;
    }
    free(file->temporary);
    file->temporary = NULL;
    return true;
}

void safe_file_discard(safe_file *file)
{
    if (file->file != NULL) {
        (void)fclose(file->file);
    }
    if (file->temporary != NULL) {
        (void)unlink(file->temporary);
    }
    free(file->temporary);
    free(file->path);
    memset(file, 0, sizeof(*file));
}
