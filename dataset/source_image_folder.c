/* SPDX-License-Identifier: Apache-2.0 */
/*
 * image_folder: dir/CLASS/FILE. One pass over the folders at open; a file then costs its name and
 * eight bytes. The class of a sample is found by where its index falls.
 */
#define _GNU_SOURCE
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>
#include <unistd.h>

#include "alloc_int.h"
#include "file_reader.h"
#include "log_int.h"
#include "status_int.h"

typedef struct folder_args {
    const char *dir;
    const char *extensions;
} folder_args;

/* One class: its name, and where its files begin. */
typedef struct folder_class {
    char *name;
    uint64_t first;
} folder_class;

typedef struct image_folder {
    int fd;                /* of the folder */
    folder_class *classes; /* by name in byte order, then one with the number of samples */
    size_t class_count;
    char *names; /* files' names, each with its zero */
    size_t names_length;
    size_t names_capacity;
    uint64_t *files; /* offset in names of each sample's file */
    size_t count;
    size_t files_capacity;
    uint64_t folders_skipped; /* named like images */
    uint64_t loose_images;    /* directly in dir */
    char first_skipped[520];
} image_folder;

/* ---- names -------------------------------------------------------------------------------- */

/* Does the name end in one of the extensions? Hidden files are nobody's samples. */
static bool is_image_name(const char *name, const char *extensions)
{
    const char *dot = strrchr(name, '.');

    if (dot == NULL || name[0] == '.') {
        return false;
    }
    for (const char *e = extensions; *e != '\0';) {
        size_t length = strcspn(e, ",");

        if (strlen(dot + 1) == length && strncasecmp(dot + 1, e, length) == 0) {
            return true;
        }
        e += length + (e[length] == ',');
    }
    return false;
}

static int compare_names(const void *a, const void *b, void *names)
{
    return strcmp((const char *)names + *(const uint64_t *)a,
                  (const char *)names + *(const uint64_t *)b);
}

static int compare_classes(const void *a, const void *b)
{
    return strcmp(((const folder_class *)a)->name, ((const folder_class *)b)->name);
}

/* Is the entry a folder, links followed? A link that leads nowhere is none. */
static bool is_folder(int fd, const struct dirent *entry)
{
    struct stat info;

    if (entry->d_type != DT_LNK && entry->d_type != DT_UNKNOWN) {
        return entry->d_type == DT_DIR;
    }
    return fstatat(fd, entry->d_name, &info, 0) == 0 && S_ISDIR(info.st_mode);
}

/* ---- opening ------------------------------------------------------------------------------- */

static sluice_status no_memory(const char *dir)
{
    return sli_fail(SLUICE_E_NO_MEMORY, "the list of files in %s", dir);
}

static sluice_status add_class(image_folder *folder, size_t *capacity, const char *name,
                               const char *dir)
{
    folder_class *grown =
        sli_grow(folder->classes, capacity, folder->class_count + 2, sizeof(*grown));

    if (grown == NULL) {
        return no_memory(dir);
    }
    folder->classes = grown;
    grown[folder->class_count].name = sli_strdup(name);
    if (grown[folder->class_count].name == NULL) {
        return no_memory(dir);
    }
    folder->class_count++;
    return SLUICE_OK;
}

/* The folders in dir, sorted. */
static sluice_status list_classes(image_folder *folder, const folder_args *args)
{
    int fd = dup(folder->fd);
    DIR *dir = fd >= 0 ? fdopendir(fd) : NULL;
    size_t capacity = 0;
    sluice_status st = SLUICE_OK;

    if (dir == NULL) {
        return sli_fail_errno(SLUICE_E_IO, errno, "image_folder: cannot list %s", args->dir);
    }
    for (struct dirent *entry; st == SLUICE_OK && (entry = readdir(dir)) != NULL;) {
        if (entry->d_name[0] == '.') {
            continue;
        }
        if (is_folder(folder->fd, entry)) {
            st = add_class(folder, &capacity, entry->d_name, args->dir);
        } else {
            folder->loose_images += is_image_name(entry->d_name, args->extensions);
        }
    }
    closedir(dir);
    if (folder->class_count > 0) {
        qsort(folder->classes, folder->class_count, sizeof(*folder->classes), compare_classes);
    }
    return st;
}

static sluice_status add_file(image_folder *folder, const char *name, const char *dir)
{
    size_t length = strlen(name) + 1;
    char *names =
        sli_grow(folder->names, &folder->names_capacity, folder->names_length + length, 1);
    uint64_t *files;

    if (names == NULL) {
        return no_memory(dir);
    }
    folder->names = names;
    files = sli_grow(folder->files, &folder->files_capacity, folder->count + 1, sizeof(*files));
    if (files == NULL) {
        return no_memory(dir);
    }
    folder->files = files;
    files[folder->count++] = folder->names_length;
    memcpy(names + folder->names_length, name, length);
    folder->names_length += length;
    return SLUICE_OK;
}

static void note_skipped(image_folder *folder, const char *class_name, const char *name)
{
    if (folder->folders_skipped++ == 0) {
        snprintf(folder->first_skipped, sizeof(folder->first_skipped), "%s/%s", class_name, name);
    }
}

/* The files of one class, sorted. */
static sluice_status list_files(image_folder *folder, folder_class *class, const folder_args *args)
{
    int fd = openat(folder->fd, class->name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR *dir = fd >= 0 ? fdopendir(fd) : NULL;
    sluice_status st = SLUICE_OK;

    class->first = folder->count;
    if (dir == NULL) {
        st = sli_fail_errno(SLUICE_E_IO, errno, "image_folder: cannot list %s/%s", args->dir,
                            class->name);
        if (fd >= 0) {
            close(fd);
        }
        return st;
    }
    for (struct dirent *entry; st == SLUICE_OK && (entry = readdir(dir)) != NULL;) {
        if (!is_image_name(entry->d_name, args->extensions)) {
            continue;
        }
        if (entry->d_type != DT_REG && is_folder(fd, entry)) {
            note_skipped(folder, class->name, entry->d_name);
        } else {
            st = add_file(folder, entry->d_name, args->dir);
        }
    }
    closedir(dir);
    if (folder->count > class->first) {
        qsort_r(folder->files + class->first, folder->count - class->first, sizeof(*folder->files),
                compare_names, folder->names);
    }
    return st;
}

/* What was left out, and what makes the folder useless. */
static sluice_status remarks(const image_folder *folder, const folder_args *args)
{
    if (folder->folders_skipped > 0) {
        sli_log(SLUICE_LOG_WARN,
                "image_folder %s: %llu folder%s named like images left out, "
                "first %s",
                args->dir, (unsigned long long)folder->folders_skipped,
                folder->folders_skipped == 1 ? "" : "s", folder->first_skipped);
    }
    if (folder->class_count == 0) {
        return sli_fail(SLUICE_E_INVALID,
                        "no valid data in the dataset: image_folder %s has no class folders in it; "
                        "want %s/CLASS/FILE%s",
                        args->dir, args->dir,
                        folder->loose_images > 0 ? " (images lie directly in it)" : "");
    }
    if (folder->count == 0) {
        return sli_fail(SLUICE_E_INVALID,
                        "no valid data in the dataset: the %zu class folders of image_folder %s "
                        "hold no files with extensions %s",
                        folder->class_count, args->dir, args->extensions);
    }
    return SLUICE_OK;
}

static void folder_close(void *source)
{
    image_folder *folder = source;

    if (folder->fd >= 0) {
        close(folder->fd);
    }
    for (size_t i = 0; i < folder->class_count; i++) {
        sli_free(folder->classes[i].name);
    }
    sli_free(folder->classes);
    sli_free(folder->names);
    sli_free(folder->files);
    sli_free(folder);
}

static sluice_status folder_open(const void *opaque, void **source_out)
{
    const folder_args *args = opaque;
    image_folder *folder = sli_calloc(1, sizeof(*folder));
    sluice_status st;

    if (folder == NULL) {
        return no_memory(args->dir);
    }
    folder->fd = open(args->dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (folder->fd < 0) {
        st = sli_fail_errno(SLUICE_E_IO, errno, "image_folder: cannot open %s", args->dir);
    } else {
        st = list_classes(folder, args);
    }
    for (size_t i = 0; st == SLUICE_OK && i < folder->class_count; i++) {
        st = list_files(folder, &folder->classes[i], args);
    }
    if (st == SLUICE_OK) {
        st = remarks(folder, args);
    }
    if (st != SLUICE_OK) {
        folder_close(folder);
        return st;
    }
    *source_out = folder;
    return SLUICE_OK;
}

/* ---- samples ------------------------------------------------------------------------------- */

static uint64_t folder_count(const void *source)
{
    return ((const image_folder *)source)->count;
}

static uint64_t folder_memory(const void *source)
{
    const image_folder *folder = source;

    return folder->names_capacity + folder->files_capacity * sizeof(*folder->files) +
           folder->class_count * sizeof(*folder->classes);
}

/* The class whose files hold this index: the last that begins at or before it. */
static size_t class_of(const image_folder *folder, uint64_t index)
{
    size_t low = 0;
    size_t high = folder->class_count;

    while (high - low > 1) {
        size_t middle = (low + high) / 2;

        *(folder->classes[middle].first <= index ? &low : &high) = middle;
    }
    return low;
}

static void folder_name(const void *source, uint64_t index, char *text, size_t size)
{
    const image_folder *folder = source;

    snprintf(text, size, "%s/%s", folder->classes[class_of(folder, index)].name,
             folder->names + folder->files[index]);
}

static sluice_status folder_read(const void *source, uint64_t index, sample_io *io,
                                 void *const *row, sample_data *data_out)
{
    const image_folder *folder = source;
    size_t class = class_of(folder, index);
    const char *class_name = folder->classes[class].name;
    const char *file = folder->names + folder->files[index];
    size_t class_length = strlen(class_name);
    char path[2 * NAME_MAX + 8];

    /* Both are single names of at most NAME_MAX bytes. */
    memcpy(path, class_name, class_length);
    path[class_length] = '/';
    memcpy(path + class_length + 1, file, strlen(file) + 1);
    if (row[1] != NULL) {
        *(int32_t *)row[1] = (int32_t) class;
    }
    return file_read(folder->fd, path, io, data_out);
}

static const source_ops folder_ops = {
    .open = folder_open,
    .close = folder_close,
    .count = folder_count,
    .name = folder_name,
    .read = folder_read,
    .memory = folder_memory,
};

/* ---- the stage ----------------------------------------------------------------------------- */

static sluice_status folder_infer(const void *args, stage_schema *schema)
{
    (void)args;
    schema->column_count = 2;
    schema->columns[0] = (sluice_column){.name = "image", .dtype = SLUICE_ENCODED};
    schema->columns[1] = (sluice_column){.name = "label", .dtype = SLUICE_I32};
    schema->image = 0;
    return SLUICE_OK;
}

static const stage_param folder_params[] = {
    PARAM_(folder_args, dir, PARAM_TEXT, NULL, 0, 0, NULL,
           "the folder that holds the class folders"),
    PARAM_(folder_args, extensions, PARAM_TEXT, "jpg,jpeg,png", 0, 0, NULL,
           "of files that count, any case"),
};

const stage_def stage_image_folder = {
    .name = "image_folder",
    .summary = "Images in one folder a class, DIR/CLASS/FILE; a class's number is the rank of its "
               "name in byte order.",
    .gives = "image (encoded), label i32",
    .kind = STAGE_SOURCE,
    STAGE_PARAMS(folder_params),
    .args_size = sizeof(folder_args),
    .infer = folder_infer,
    .source = &folder_ops,
};

sluice_status sluice_dataset_image_folder(const char *dir, const char *extensions,
                                          sluice_dataset **dataset_out)
{
    const folder_args args = {dir, extensions != NULL ? extensions : "jpg,jpeg,png"};

    return dataset_begin(&stage_image_folder, &args, dataset_out);
}
