/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Source `image_folder`: image files DIR/CLASS/FILE. The folders are listed once, when the source
 * is opened; each file takes the bytes of its name plus 8 bytes of memory. The files of a class are
 * consecutive samples, so a binary search finds the class of a sample.
 */
#define _GNU_SOURCE
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "alloc_int.h"
#include "crc32c_int.h"
#include "descriptor_int.h"
#include "file_reader.h"
#include "image_extensions.h"
#include "index_store.h"
#include "left_out.h"
#include "log_int.h"
#include "page_cache.h"
#include "path_stage.h"
#include "rng_int.h"
#include "source_stage_ops.h"
#include "stage.h"
#include "status_int.h"

typedef struct folder_args {
    const char *dir;
    const char *extensions;
    const char *index; /* folder for indexes; "": no indexes */
    uint32_t cache;
} folder_args;

typedef struct folder_class {
    char *name;
    uint64_t first; /* number of its first sample */
} folder_class;

typedef struct image_folder {
    int fd;                /* descriptor of dir */
    bool drops;            /* cache=drop */
    folder_class *classes; /* sorted by name, in byte order */
    size_t class_count;
    size_t classes_capacity;
    char *names; /* file names, each zero-terminated */
    size_t names_length;
    size_t names_capacity;
    uint64_t *files; /* offset in names of each sample's file */
    size_t count;
    size_t files_capacity;
    index_store *indexes;  /* stored indexes of JPEG files (argument index); NULL: not used */
    uint64_t loose_images; /* images directly in dir, outside of class folders */
    left_out *left_out;    /* files and folders that are not read, while it is opened */
    char *left_text;       /* what was left out; NULL: nothing */
} image_folder;

/* ---- names -------------------------------------------------------------------------------- */

static int compare_names(const void *a, const void *b, void *names)
{
    return strcmp((const char *)names + *(const uint64_t *)a,
                  (const char *)names + *(const uint64_t *)b);
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

/* ---- opening ------------------------------------------------------------------------------- */

static sluice_status no_memory(const char *dir)
{
    return sli_fail(SLUICE_E_NO_MEMORY, "the list of files in %s", dir);
}

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

static sluice_status add_class(image_folder *folder, const char *name, const char *dir)
{
    folder_class *grown = sli_grow(folder->classes, &folder->classes_capacity,
                                   folder->class_count + 1, sizeof(*grown));

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

static sluice_status take_class(image_folder *folder, const struct dirent *entry,
                                const folder_args *args)
{
    if (entry->d_name[0] == '.') {
        return SLUICE_OK;
    }
    if (!is_folder(folder->fd, entry)) {
        folder->loose_images += image_name_is_in(entry->d_name, args->extensions);
        left_out_file(folder->left_out, "", entry->d_name);
        return SLUICE_OK;
    }
    return add_class(folder, entry->d_name, args->dir);
}

/* Lists the class folders in dir, sorted by name. */
static sluice_status list_classes(image_folder *folder, const folder_args *args)
{
    DIR *entries = NULL;
    struct dirent *entry;
    sluice_status st = open_entries(folder->fd, args->dir, ".", &entries);

    if (st != SLUICE_OK) {
        return st;
    }
    do {
        st = next_entry(entries, args->dir, ".", &entry);
        if (st == SLUICE_OK && entry != NULL) {
            st = take_class(folder, entry, args);
        }
    } while (st == SLUICE_OK && entry != NULL);
    closedir(entries);
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

static sluice_status take_file(image_folder *folder, const folder_class *class, int fd,
                               const struct dirent *entry, const folder_args *args)
{
    const bool is_image = image_name_is_in(entry->d_name, args->extensions);

    if (entry->d_type != DT_REG && is_folder(fd, entry)) {
        left_out_folder(folder->left_out, class->name, entry->d_name);
    } else if (!is_image) {
        left_out_file(folder->left_out, class->name, entry->d_name);
    } else {
        return add_file(folder, entry->d_name, args->dir);
    }
    return SLUICE_OK;
}

/* Lists the files of one class, sorted by name. */
static sluice_status list_files(image_folder *folder, folder_class *class, const folder_args *args)
{
    DIR *entries = NULL;
    struct dirent *entry;
    sluice_status st = open_entries(folder->fd, args->dir, class->name, &entries);

    class->first = folder->count;
    if (st != SLUICE_OK) {
        return st;
    }
    do {
        st = next_entry(entries, args->dir, class->name, &entry);
        if (st == SLUICE_OK && entry != NULL) {
            st = take_file(folder, class, dirfd(entries), entry, args);
        }
    } while (st == SLUICE_OK && entry != NULL);
    closedir(entries);
    if (folder->count > class->first) {
        qsort_r(folder->files + class->first, folder->count - class->first, sizeof(*folder->files),
                compare_names, folder->names);
    }
    return st;
}

/* Releases the unused capacity of the lists. If realloc() fails, a list keeps its capacity. */
static void shrink_lists(image_folder *folder)
{
    char *names = sli_realloc_array(folder->names, folder->names_length, 1);
    uint64_t *files = sli_realloc_array(folder->files, folder->count, sizeof(*files));

    if (names != NULL) {
        folder->names = names;
        folder->names_capacity = folder->names_length;
    }
    if (files != NULL) {
        folder->files = files;
        folder->files_capacity = folder->count;
    }
}

/* If a folder that should be a class has the name of a split, as in DIR/train/CLASS/FILE, writes an
 * advice to read that one. Else "". */
static const char *split_hint(const image_folder *folder, const char *dir, char *text, size_t size)
{
    static const char *const names[] = {"train", "training", "test", "val", "valid", "validation"};

    text[0] = '\0';
    for (size_t n = 0; n < sizeof(names) / sizeof(names[0]); n++) {
        for (size_t i = 0; i < folder->class_count; i++) {
            if (strcmp(folder->classes[i].name, names[n]) == 0) {
                snprintf(text, size, "; try image_folder %.300s/%s", dir, names[n]);
                return text;
            }
        }
    }
    return text;
}

/* Warns of what is left out. E_INVALID: dir has no class, or no image. */
static sluice_status warn_of_folder(image_folder *folder, const folder_args *args)
{
    char text[LEFT_OUT_TEXT];
    char hint[400];

    if (left_out_print(folder->left_out, text, sizeof(text))) {
        folder->left_text = sli_strdup(text);
        sli_log(SLUICE_LOG_WARN,
                "image_folder %s: left out: %s; it reads DIR/CLASS/FILE with extensions=%s",
                args->dir, text, args->extensions);
    }
    if (folder->class_count == 0) {
        return sli_fail(SLUICE_E_INVALID,
                        "no valid data in the dataset: image_folder %s has no class folders in it, "
                        "and images must be in %s/CLASS/FILE%s%s",
                        args->dir, args->dir,
                        folder->loose_images > 0 ? " (images lie directly in it)" : "",
                        path_stage_hint(args->dir, "image_folder", hint, sizeof(hint)));
    }
    if (folder->count == 0) {
        return sli_fail(SLUICE_E_INVALID,
                        "no valid data in the dataset: the %zu class folders of image_folder %s "
                        "hold no files with extensions %s%s%s%s",
                        folder->class_count, args->dir, args->extensions,
                        text[0] != '\0' ? "; left out: " : "", text,
                        split_hint(folder, args->dir, hint, sizeof(hint)));
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
    index_store_close(folder->indexes);
    sli_free(folder->classes);
    sli_free(folder->names);
    sli_free(folder->files);
    sli_free(folder->left_text);
    sli_free(folder);
}

static sluice_status folder_open(const void *opaque, void **source_out)
{
    const folder_args *args = opaque;
    image_folder *folder = sli_calloc(1, sizeof(*folder));
    left_out files = {.folders = 0};
    sluice_status st;

    if (folder == NULL) {
        return no_memory(args->dir);
    }
    folder->left_out = &files;
    folder->drops = args->cache == PAGE_CACHE_DROP;
    folder->fd = sli_openat(AT_FDCWD, args->dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC, 0, NULL);
    if (folder->fd < 0) {
        st = sli_fail_errno(SLUICE_E_IO, errno, "image_folder: cannot open %s", args->dir);
    } else {
        st = list_classes(folder, args);
    }
    for (size_t i = 0; st == SLUICE_OK && i < folder->class_count; i++) {
        st = list_files(folder, &folder->classes[i], args);
    }
    if (st == SLUICE_OK) {
        st = warn_of_folder(folder, args);
    }
    if (st == SLUICE_OK && args->index[0] != '\0') {
        st = index_store_open(args->index, folder->count, &folder->indexes);
    }
    if (st != SLUICE_OK) {
        folder_close(folder);
        return st;
    }
    shrink_lists(folder);
    folder->left_out = NULL;
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
    uint64_t bytes = sizeof(*folder) + folder->names_capacity +
                     folder->files_capacity * sizeof(*folder->files) +
                     folder->classes_capacity * sizeof(*folder->classes);

    if (folder->indexes != NULL) {
        bytes += index_store_memory(folder->indexes);
    }
    for (size_t i = 0; i < folder->class_count; i++) {
        bytes += strlen(folder->classes[i].name) + 1;
    }
    return bytes;
}

/* Finds the class of a sample: the last class whose first sample is at or before it. */
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

/* The key of a file's index in the store: names of class and file, size and CRC of the bytes. */
static index_key key_of(const image_folder *folder, uint64_t index, const sample_data *data)
{
    const uint64_t class = sli_hash_text(folder->classes[class_of(folder, index)].name);

    return (index_key){sli_mix_in(class, sli_hash_text(folder->names + folder->files[index])),
                       data->size, sli_crc32c(0, data->bytes, data->size)};
}

static bool folder_keep_index(const void *source, uint64_t index, const sample_io *io,
                              const sample_data *data)
{
    const image_folder *folder = source;
    const index_key key = key_of(folder, index, data);

    return index_store_keep(folder->indexes, &key, &io->index);
}

/* Writes the path CLASS/FILE, each part up to NAME_MAX bytes. */
static void path_of(const image_folder *folder, uint64_t index, size_t class, char *path)
{
    const char *class_name = folder->classes[class].name;
    const char *file = folder->names + folder->files[index];
    const size_t length = strlen(class_name);

    memcpy(path, class_name, length);
    path[length] = '/';
    memcpy(path + length + 1, file, strlen(file) + 1);
}

static bool folder_locate(const void *source, uint64_t index, sample_location *location_out)
{
    const image_folder *folder = source;

    path_of(folder, index, class_of(folder, index), location_out->name);
    location_out->fd = -1;
    location_out->held = NULL;
    location_out->folder_fd = folder->fd;
    location_out->path = location_out->name;
    location_out->offset = 0;
    location_out->size = 0;
    location_out->in_parts = false;
    return true;
}

static bool folder_drops(const void *source)
{
    return ((const image_folder *)source)->drops;
}

static sluice_status folder_read(const void *source, uint64_t index, sample_io *io,
                                 void *const *row, sample_data *data_out)
{
    const image_folder *folder = source;
    size_t class = class_of(folder, index);
    char path[2 * NAME_MAX + 8];
    sluice_status st;

    path_of(folder, index, class, path);
    if (row[1] != NULL) {
        *(int32_t *)row[1] = (int32_t) class;
    }
    st = file_read(folder->fd, path, io, data_out);
    if (st == SLUICE_OK && folder->indexes != NULL) {
        const index_key key = key_of(folder, index, data_out);

        index_store_find(folder->indexes, &key, &io->index);
        data_out->index = &io->index;
    }
    return st;
}

static sluice_status folder_read_plain(const void *source, uint64_t index, sample_io *io,
                                       void *const *row)
{
    (void)io;
    if (row[1] != NULL) {
        *(int32_t *)row[1] = (int32_t)class_of(source, index);
    }
    return SLUICE_OK;
}

static uint32_t folder_classes(const void *source)
{
    return (uint32_t)((const image_folder *)source)->class_count;
}

static void folder_class_name(const void *source, uint32_t label, char *text, size_t size)
{
    snprintf(text, size, "%s", ((const image_folder *)source)->classes[label].name);
}

static const char *folder_left_out(const void *source)
{
    const image_folder *folder = source;

    return folder->left_text != NULL ? folder->left_text : "";
}

static const source_ops folder_ops = {
    .open = folder_open,
    .close = folder_close,
    .count = folder_count,
    .name = folder_name,
    .read = folder_read,
    .read_plain = folder_read_plain,
    .locate = folder_locate,
    .drops = folder_drops,
    .keep_index = folder_keep_index,
    .memory = folder_memory,
    .classes = folder_classes,
    .class_name = folder_class_name,
    .left_out = folder_left_out,
};

/* ---- the stage ----------------------------------------------------------------------------- */

/* Checks the list of extensions. An extension is the part of a name after its last dot. */
static sluice_status folder_check(void *opaque)
{
    const folder_args *args = opaque;
    const char *e = args->extensions;
    size_t length = strcspn(e, ",./");

    while (length > 0 && e[length] == ',') {
        e += length + 1;
        length = strcspn(e, ",./");
    }
    if (length == 0 || e[length] != '\0') {
        return sli_fail(
            SLUICE_E_INVALID,
            "image_folder: extensions=%.100s must be extensions separated by commas, without dots, "
            "such as jpg,jpeg,png",
            args->extensions);
    }
    return SLUICE_OK;
}

static sluice_status folder_infer(const void *args, stage_schema *schema)
{
    (void)args;
    schema_of_files(schema, true);
    return SLUICE_OK;
}

static const stage_param folder_params[] = {
    PARAM_(folder_args, dir, PARAM_TEXT, NULL, 0, 0, NULL,
           "the folder that holds the class folders"),
    PARAM_(folder_args, extensions, PARAM_TEXT, image_extensions, 0, 0, NULL,
           "extensions of image files, in upper or lower case"),
    PARAM_(folder_args, index, PARAM_TEXT, "", 0, 0, NULL,
           "folder for indexes of the JPEG files, by which later passes decode only the blocks "
           "under a crop"),
    PARAM_(folder_args, cache, PARAM_CHOICE, "keep", 0, 0, page_cache_choices,
           "drop: drop read files from the page cache, for datasets larger than memory"),
};

const stage_def stage_image_folder = {
    .name = "image_folder",
    .summary = "Images in one folder per class, DIR/CLASS/FILE; a label is the position of the "
               "class in byte order of the names, from 0.",
    .elsewhere = "ImageFolder ImageFolderDataset",
    .gives = "image (encoded), label i32",
    .details = "Links are followed. A folder whose name looks like an image is ignored with a "
               "warning. The files are listed at the first use of the dataset.\n"
               "index= is for JPEG files without restart markers; the folder is created if it "
               "is missing. In the first pass each file is read in full, and an index of about "
               "3 % of its size is written. Later passes and runs decode only the region of "
               "the crop. Files whose bytes have changed are indexed again. Several processes "
               "may share the folder.\n"
               "cache=keep leaves files in the page cache for later passes; drop drops each "
               "file from it after it was read.",
    .kind = STAGE_SOURCE,
    STAGE_PARAMS(folder_params),
    .args_size = sizeof(folder_args),
    .check = folder_check,
    .infer = folder_infer,
    .source =
        &(const source_stage_ops){
            .ops = &folder_ops,
        },
};
