/* SPDX-License-Identifier: Apache-2.0 */
/* qsort_r() needs this. */
#define _GNU_SOURCE
#include "class_folders.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "alloc_int.h"
#include "descriptor_int.h"
#include "image_extensions.h"
#include "status_int.h"

/* Limit on the folders within each other below a class folder; it bounds the open descriptors. */
enum { MOST_DEPTH = 64 };

/* A folder that is listed, below dir. */
typedef struct open_folder {
    const struct open_folder *above; /* NULL: a class folder */
    const char *path;                /* below dir: CLASS/a/b */
    uint32_t depth;
    dev_t device;
    ino_t inode;
} open_folder;

/* ---- names -------------------------------------------------------------------------------- */

static int compare_names(const void *a, const void *b, void *names)
{
    return strcmp((const char *)names + *(const uint64_t *)a,
                  (const char *)names + *(const uint64_t *)b);
}

/* Compares paths by their folders, then by their names: the order of sorted(os.walk()) in Python.
 * So a/z.jpg is before a/b/c.jpg, and "a b/c.jpg" before a/b/c.jpg. */
static int compare_paths(const void *a, const void *b, void *names)
{
    const char *one = (const char *)names + *(const uint64_t *)a;
    const char *other = (const char *)names + *(const uint64_t *)b;
    const size_t one_length = (size_t)(strrchr(one, '/') - one);
    const size_t other_length = (size_t)(strrchr(other, '/') - other);
    const int order = memcmp(one, other, one_length < other_length ? one_length : other_length);

    if (order != 0 || one_length != other_length) {
        return order != 0 ? order : one_length < other_length ? -1 : 1;
    }
    return strcmp(one + one_length, other + other_length);
}

static int compare_classes(const void *a, const void *b)
{
    return strcmp(((const folder_class *)a)->name, ((const folder_class *)b)->name);
}

/* True if the entry is a folder, or a link to a folder. */
static bool is_folder(int fd, const struct dirent *entry)
{
    struct stat info;

    if (entry->d_type != DT_LNK && entry->d_type != DT_UNKNOWN) {
        return entry->d_type == DT_DIR;
    }
    return fstatat(fd, entry->d_name, &info, 0) == 0 && S_ISDIR(info.st_mode);
}

static sluice_status no_memory(const char *dir)
{
    return sli_fail(SLUICE_E_NO_MEMORY, "the list of files in %s", dir);
}

/* ---- folders ------------------------------------------------------------------------------ */

/* Opens dir/name for readdir(). The caller closes it by closedir(). */
static sluice_status open_entries(int fd, const char *dir, const char *name, DIR **entries_out)
{
    int own = sli_openat(fd, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC, 0, NULL);
    DIR *entries = own >= 0 ? fdopendir(own) : NULL;

    if (entries == NULL) {
        sluice_status st =
            sli_fail_errno(SLUICE_E_IO, errno, "image_folder: cannot list %s/%s", dir, name);

        if (own >= 0) {
            close(own);
        }
        return st;
    }
    *entries_out = entries;
    return SLUICE_OK;
}

/*
 * Returns the next entry; NULL after the last. E_IO: readdir() failed, so the listing is
 * incomplete.
 */
static sluice_status next_entry(DIR *entries, const char *dir, const char *name,
                                struct dirent **entry_out)
{
    errno = 0;
    *entry_out = readdir(entries);
    return *entry_out != NULL || errno == 0
               ? SLUICE_OK
               : sli_fail_errno(SLUICE_E_IO, errno, "image_folder: cannot list %s/%s", dir, name);
}

static sluice_status add_class(class_folders *folders, const char *name, const char *dir)
{
    folder_class *grown = sli_grow(folders->classes, &folders->classes_capacity,
                                   folders->class_count + 1, sizeof(*grown));

    if (grown == NULL) {
        return no_memory(dir);
    }
    folders->classes = grown;
    grown[folders->class_count].name = sli_strdup(name);
    if (grown[folders->class_count].name == NULL) {
        return no_memory(dir);
    }
    folders->class_count++;
    return SLUICE_OK;
}

static sluice_status take_class(class_folders *folders, const struct dirent *entry,
                                const class_folders_args *args)
{
    if (entry->d_name[0] == '.') {
        return SLUICE_OK;
    }
    if (!is_folder(folders->fd, entry)) {
        folders->loose_images += image_name_is_in(entry->d_name, args->extensions);
        left_out_file(&folders->left_out, "", entry->d_name);
        return SLUICE_OK;
    }
    return add_class(folders, entry->d_name, args->dir);
}

/* Lists the class folders in dir, sorted by name. */
static sluice_status list_classes(class_folders *folders, const class_folders_args *args)
{
    DIR *entries = NULL;
    struct dirent *entry;
    sluice_status st = open_entries(folders->fd, args->dir, ".", &entries);

    if (st != SLUICE_OK) {
        return st;
    }
    do {
        st = next_entry(entries, args->dir, ".", &entry);
        if (st == SLUICE_OK && entry != NULL) {
            st = take_class(folders, entry, args);
        }
    } while (st == SLUICE_OK && entry != NULL);
    closedir(entries);
    if (folders->class_count > 0) {
        qsort(folders->classes, folders->class_count, sizeof(*folders->classes), compare_classes);
    }
    return st;
}

/* ---- files -------------------------------------------------------------------------------- */

/* Adds a file. `folder` is its folder below dir, or NULL if names are not whole paths. */
static sluice_status add_file(class_folders *folders, const char *folder, const char *name,
                              const char *dir)
{
    const size_t before = folder != NULL ? strlen(folder) + 1 : 0;
    size_t length = strlen(name) + 1;
    char *names = sli_grow(folders->names, &folders->names_capacity,
                           folders->names_length + before + length, 1);
    uint64_t *files;

    if (names == NULL) {
        return no_memory(dir);
    }
    folders->names = names;
    files = sli_grow(folders->files, &folders->files_capacity, folders->count + 1, sizeof(*files));
    if (files == NULL) {
        return no_memory(dir);
    }
    folders->files = files;
    files[folders->count++] = folders->names_length;
    names += folders->names_length;
    if (folder != NULL) {
        memcpy(names, folder, before - 1);
        names[before - 1] = '/';
    }
    memcpy(names + before, name, length);
    folders->names_length += before + length;
    return SLUICE_OK;
}

static sluice_status list_below(class_folders *folders, const open_folder *folder,
                                const class_folders_args *args);

/* Lists a folder in another one. */
static sluice_status enter(class_folders *folders, const open_folder *above, const char *name,
                           const class_folders_args *args)
{
    char path[PATH_MAX];
    const open_folder folder = {.above = above, .path = path, .depth = above->depth + 1};
    const int length = snprintf(path, sizeof(path), "%s/%s", above->path, name);

    /* NAME_MAX for a file in it. */
    if (folder.depth > MOST_DEPTH || length < 0 || length + 1 + NAME_MAX >= PATH_MAX) {
        return sli_fail(SLUICE_E_INVALID,
                        "image_folder: %s/%.600s: folders may be nested %d deep below a class, "
                        "and a path may have %d bytes",
                        args->dir, above->path, MOST_DEPTH, PATH_MAX);
    }
    return list_below(folders, &folder, args);
}

/* E_INVALID: a folder is one of those above it, by a link, so that its files have no end. */
static sluice_status check_circle(const open_folder *folder, const char *dir)
{
    const open_folder *above = folder->above;

    while (above != NULL && (above->device != folder->device || above->inode != folder->inode)) {
        above = above->above;
    }
    return above == NULL
               ? SLUICE_OK
               : sli_fail(SLUICE_E_INVALID,
                          "image_folder: the link %s/%.600s leads back to %s/%.600s, which it is "
                          "in; remove the link",
                          dir, folder->path, dir, above->path);
}

static sluice_status take_file(class_folders *folders, const open_folder *folder, int fd,
                               const struct dirent *entry, const class_folders_args *args)
{
    const bool is_image = image_name_is_in(entry->d_name, args->extensions);

    if (entry->d_type != DT_REG && is_folder(fd, entry)) {
        if (!args->recursive) {
            left_out_folder(&folders->left_out, folder->path, entry->d_name);
        } else if (strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0) {
            return enter(folders, folder, entry->d_name, args);
        }
    } else if (!is_image) {
        left_out_file(&folders->left_out, folder->path, entry->d_name);
    } else {
        return add_file(folders, args->recursive ? folder->path : NULL, entry->d_name, args->dir);
    }
    return SLUICE_OK;
}

/* Lists the files of a folder, and of those below it with `recursive`. */
static sluice_status list_below(class_folders *folders, const open_folder *folder,
                                const class_folders_args *args)
{
    open_folder own = *folder;
    DIR *entries = NULL;
    struct dirent *entry;
    struct stat info;
    sluice_status st = open_entries(folders->fd, args->dir, folder->path, &entries);

    if (st != SLUICE_OK) {
        return st;
    }
    if (fstat(dirfd(entries), &info) == 0) {
        own.device = info.st_dev;
        own.inode = info.st_ino;
        st = check_circle(&own, args->dir);
    }
    do {
        entry = NULL;
        st = st == SLUICE_OK ? next_entry(entries, args->dir, folder->path, &entry) : st;
        if (st == SLUICE_OK && entry != NULL) {
            st = take_file(folders, &own, dirfd(entries), entry, args);
        }
    } while (st == SLUICE_OK && entry != NULL);
    closedir(entries);
    return st;
}

/* Lists the files of one class, sorted by name. */
static sluice_status list_files(class_folders *folders, folder_class *class,
                                const class_folders_args *args)
{
    const open_folder folder = {.path = class->name};
    sluice_status st;

    class->first = folders->count;
    st = list_below(folders, &folder, args);
    if (folders->count > class->first) {
        qsort_r(folders->files + class->first, folders->count - class->first,
                sizeof(*folders->files), args->recursive ? compare_paths : compare_names,
                folders->names);
    }
    return st;
}

/* Releases the unused capacity of the lists. If realloc() fails, a list keeps its capacity. */
static void shrink_lists(class_folders *folders)
{
    char *names = sli_realloc_array(folders->names, folders->names_length, 1);
    uint64_t *files = sli_realloc_array(folders->files, folders->count, sizeof(*files));

    if (names != NULL) {
        folders->names = names;
        folders->names_capacity = folders->names_length;
    }
    if (files != NULL) {
        folders->files = files;
        folders->files_capacity = folders->count;
    }
}

sluice_status class_folders_list(class_folders *folders, const class_folders_args *args)
{
    sluice_status st;

    folders->whole_paths = args->recursive;
    folders->fd = sli_openat(AT_FDCWD, args->dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC, 0, NULL);
    if (folders->fd < 0) {
        return sli_fail_errno(SLUICE_E_IO, errno, "image_folder: cannot open %s", args->dir);
    }
    st = list_classes(folders, args);
    for (size_t i = 0; st == SLUICE_OK && i < folders->class_count; i++) {
        st = list_files(folders, &folders->classes[i], args);
    }
    if (st == SLUICE_OK && folders->count > 0) {
        shrink_lists(folders);
    }
    return st;
}

void class_folders_free(class_folders *folders)
{
    if (folders->fd >= 0) {
        close(folders->fd);
    }
    for (size_t i = 0; i < folders->class_count; i++) {
        sli_free(folders->classes[i].name);
    }
    sli_free(folders->classes);
    sli_free(folders->names);
    sli_free(folders->files);
}

uint64_t class_folders_memory(const class_folders *folders)
{
    uint64_t bytes = folders->names_capacity + folders->files_capacity * sizeof(*folders->files) +
                     folders->classes_capacity * sizeof(*folders->classes);

    for (size_t i = 0; i < folders->class_count; i++) {
        bytes += strlen(folders->classes[i].name) + 1;
    }
    return bytes;
}

/* ---- samples ------------------------------------------------------------------------------- */

size_t class_folders_class(const class_folders *folders, uint64_t index)
{
    size_t low = 0;
    size_t high = folders->class_count;

    while (high - low > 1) {
        size_t middle = (low + high) / 2;

        *(folders->classes[middle].first <= index ? &low : &high) = middle;
    }
    return low;
}

const char *class_folders_path(const class_folders *folders, uint64_t index, char *path)
{
    const char *file = folders->names + folders->files[index];
    const char *class_name = folders->classes[class_folders_class(folders, index)].name;
    const size_t length = strlen(class_name);

    if (folders->whole_paths) {
        return file;
    }
    memcpy(path, class_name, length);
    path[length] = '/';
    memcpy(path + length + 1, file, strlen(file) + 1);
    return path;
}
