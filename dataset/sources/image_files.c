/* SPDX-License-Identifier: Apache-2.0 */
/* qsort_r() needs this. */
#define _GNU_SOURCE
#include "image_files.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "alloc_int.h"
#include "descriptor_int.h"
#include "file_tree_int.h"
#include "image_extensions.h"
#include "status_int.h"

/* One walk of image_files_find(). */
typedef struct files_walk {
    image_files *files;
    const char *folder;
    const char *extensions;
    sluice_status status;
} files_walk;

void image_files_free(image_files *files)
{
    sli_free(files->names);
    sli_free(files->files);
    *files = (image_files){.names = NULL};
}

sluice_status image_files_add(image_files *files, const char *path, size_t length)
{
    char *names = sli_grow(files->names, &files->names_capacity, files->names_size + length + 1, 1);
    size_t *grown;

    if (names == NULL) {
        return sli_fail(SLUICE_E_NO_MEMORY, "the list of images");
    }
    files->names = names;
    grown = sli_grow(files->files, &files->capacity, files->count + 1, sizeof(*grown));
    if (grown == NULL) {
        return sli_fail(SLUICE_E_NO_MEMORY, "the list of images");
    }
    files->files = grown;
    grown[files->count++] = files->names_size;
    memcpy(names + files->names_size, path, length);
    names[files->names_size + length] = '\0';
    files->names_size += length + 1;
    return SLUICE_OK;
}

/* True if an entry that is neither file nor folder is a link to one, whose type is in `mode`. */
static bool is_link_to(const sli_tree_entry *entry, mode_t mode)
{
    struct stat info;

    return fstatat(entry->at_fd, entry->name, &info, 0) == 0 && (info.st_mode & S_IFMT) == mode;
}

/* Counts a file that is left out, by the path of its folder and its name. */
static void leave_out(left_out *files, char *path)
{
    char *slash = strrchr(path, '/');

    if (slash == NULL) {
        left_out_file(files, "", path);
        return;
    }
    *slash = '\0';
    left_out_file(files, path, slash + 1);
}

static int take_entry(void *user, const sli_tree_entry *entry)
{
    files_walk *walk = user;
    char path[PATH_MAX];
    size_t length;

    if (entry->is_folder || entry->path[0] == '.' || strstr(entry->path, "/.") != NULL) {
        return 0; /* hidden files, and those of hidden folders, are not counted either */
    }
    if (!entry->is_file && is_link_to(entry, S_IFDIR)) {
        left_out_folder(&walk->files->left_out, walk->folder, entry->path);
        return 0;
    }
    length = (size_t)snprintf(path, sizeof(path), "%s%s%s", walk->folder,
                              walk->folder[0] != '\0' ? "/" : "", entry->path);
    if (length >= sizeof(path)) {
        walk->status = sli_fail(SLUICE_E_IO, "a path of more than %d bytes", PATH_MAX - 1);
    } else if (!image_name_is_in(entry->name, walk->extensions) ||
               (!entry->is_file && !is_link_to(entry, S_IFREG))) {
        leave_out(&walk->files->left_out, path);
    } else {
        walk->status = image_files_add(walk->files, path, length);
    }
    return walk->status == SLUICE_OK ? 0 : 1;
}

static int compare_names(const void *a, const void *b, void *names)
{
    return strcmp((const char *)names + *(const size_t *)a,
                  (const char *)names + *(const size_t *)b);
}

sluice_status image_files_find(image_files *files, int root_fd, const char *folder,
                               const char *extensions)
{
    const char *path = folder[0] != '\0' ? folder : ".";
    const size_t before = files->count;
    files_walk walk = {.files = files, .folder = folder, .extensions = extensions};
    const int fd = sli_openat(root_fd, path, O_RDONLY | O_DIRECTORY | O_CLOEXEC, 0, NULL);

    if (fd < 0) {
        return sli_fail_errno(SLUICE_E_IO, errno, "cannot open the folder %s", path);
    }
    if (sli_tree_walk(fd, ".", take_entry, &walk) != 0 && walk.status == SLUICE_OK) {
        walk.status = sli_fail_errno(SLUICE_E_IO, errno, "cannot list the folder %s", path);
    }
    close(fd);
    if (walk.status == SLUICE_OK && files->count > before) {
        qsort_r(files->files + before, files->count - before, sizeof(*files->files), compare_names,
                files->names);
    }
    return walk.status;
}
