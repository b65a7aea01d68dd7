/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Source `image_folder`: image files DIR/CLASS/FILE. The folders are listed once, when the source
 * is opened (class_folders.h).
 */
#include <stdio.h>
#include <string.h>

#include "alloc_int.h"
#include "class_folders.h"
#include "crc32c_int.h"
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
    bool recursive;
} folder_args;

typedef struct image_folder {
    class_folders folders;
    bool drops;           /* cache=drop */
    index_store *indexes; /* stored indexes of JPEG files (argument index); NULL: not used */
    char *left_text;      /* what was left out; NULL: nothing */
} image_folder;

/* ---- opening ------------------------------------------------------------------------------- */

/* If a folder that should be a class has the name of a split, as in DIR/train/CLASS/FILE, writes an
 * advice to read that one. Else "". */
static const char *split_hint(const class_folders *folders, const char *dir, char *text,
                              size_t size)
{
    static const char *const names[] = {"train", "training", "test", "val", "valid", "validation"};

    text[0] = '\0';
    for (size_t n = 0; n < sizeof(names) / sizeof(names[0]); n++) {
        for (size_t i = 0; i < folders->class_count; i++) {
            if (strcmp(folders->classes[i].name, names[n]) == 0) {
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
    const class_folders *folders = &folder->folders;
    char text[LEFT_OUT_TEXT];
    char hint[400];

    if (left_out_print(&folders->left_out, text, sizeof(text))) {
        folder->left_text = sli_strdup(text);
        sli_log(SLUICE_LOG_WARN,
                "image_folder %s: left out: %s; it reads DIR/CLASS/%sFILE with extensions=%s%s",
                args->dir, text, args->recursive ? ".../" : "", args->extensions,
                folders->left_out.folders > 0 ? "; recursive=true reads folders in a class" : "");
    }
    if (folders->class_count == 0) {
        return sli_fail(SLUICE_E_INVALID,
                        "no valid data in the dataset: image_folder %s has no class folders in it, "
                        "and images must be in %s/CLASS/FILE%s%s",
                        args->dir, args->dir,
                        folders->loose_images > 0 ? " (images lie directly in it)" : "",
                        path_stage_hint(args->dir, "image_folder", hint, sizeof(hint)));
    }
    if (folders->count == 0) {
        return sli_fail(SLUICE_E_INVALID,
                        "no valid data in the dataset: the %zu class folders of image_folder %s "
                        "hold no files with extensions %s%s%s%s%s",
                        folders->class_count, args->dir, args->extensions,
                        text[0] != '\0' ? "; left out: " : "", text,
                        folders->left_out.folders > 0 ? "; try recursive=true" : "",
                        split_hint(folders, args->dir, hint, sizeof(hint)));
    }
    return SLUICE_OK;
}

static void folder_close(void *source)
{
    image_folder *folder = source;

    class_folders_free(&folder->folders);
    index_store_close(folder->indexes);
    sli_free(folder->left_text);
    sli_free(folder);
}

static sluice_status folder_open(const void *opaque, void **source_out)
{
    const folder_args *args = opaque;
    const class_folders_args listed = {args->dir, args->extensions, args->recursive};
    image_folder *folder = sli_calloc(1, sizeof(*folder));
    sluice_status st;

    if (folder == NULL) {
        return sli_fail(SLUICE_E_NO_MEMORY, "the list of files in %s", args->dir);
    }
    folder->drops = args->cache == PAGE_CACHE_DROP;
    st = class_folders_list(&folder->folders, &listed);
    if (st == SLUICE_OK) {
        st = warn_of_folder(folder, args);
    }
    if (st == SLUICE_OK && args->index[0] != '\0') {
        st = index_store_open(args->index, folder->folders.count, &folder->indexes);
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
    return ((const image_folder *)source)->folders.count;
}

static uint64_t folder_memory(const void *source)
{
    const image_folder *folder = source;
    uint64_t bytes = sizeof(*folder) + class_folders_memory(&folder->folders);

    if (folder->indexes != NULL) {
        bytes += index_store_memory(folder->indexes);
    }
    return bytes;
}

static void folder_name(const void *source, uint64_t index, char *text, size_t size)
{
    char path[CLASS_PATH_SIZE];

    snprintf(text, size, "%s",
             class_folders_path(&((const image_folder *)source)->folders, index, path));
}

/* The key of a file's index in the store: names of class and file, size and CRC of the bytes. */
static index_key key_of(const image_folder *folder, uint64_t index, const sample_data *data)
{
    const class_folders *folders = &folder->folders;
    const uint64_t class =
        sli_hash_text(folders->classes[class_folders_class(folders, index)].name);

    return (index_key){sli_mix_in(class, sli_hash_text(folders->names + folders->files[index])),
                       data->size, sli_crc32c(0, data->bytes, data->size)};
}

static bool folder_keep_index(const void *source, uint64_t index, const sample_io *io,
                              const sample_data *data)
{
    const image_folder *folder = source;
    const index_key key = key_of(folder, index, data);

    return index_store_keep(folder->indexes, &key, &io->index);
}

static bool folder_locate(const void *source, uint64_t index, sample_location *location_out)
{
    const image_folder *folder = source;

    location_out->fd = -1;
    location_out->held = NULL;
    location_out->folder_fd = folder->folders.fd;
    location_out->path = class_folders_path(&folder->folders, index, location_out->name);
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
    char path[CLASS_PATH_SIZE];
    sluice_status st;

    if (row[1] != NULL) {
        *(int32_t *)row[1] = (int32_t)class_folders_class(&folder->folders, index);
    }
    st = file_read(folder->folders.fd, class_folders_path(&folder->folders, index, path), io,
                   data_out);
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
        *(int32_t *)row[1] =
            (int32_t)class_folders_class(&((const image_folder *)source)->folders, index);
    }
    return SLUICE_OK;
}

static uint32_t folder_classes(const void *source)
{
    return (uint32_t)((const image_folder *)source)->folders.class_count;
}

static void folder_class_name(const void *source, uint32_t label, char *text, size_t size)
{
    snprintf(text, size, "%s", ((const image_folder *)source)->folders.classes[label].name);
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
    PARAM_(folder_args, recursive, PARAM_BOOL, "false", 0, 0, NULL,
           "read the images in all folders below a class folder, too"),
};

const stage_def stage_image_folder = {
    .name = "image_folder",
    .summary = "Images in one folder per class, DIR/CLASS/FILE; a label is the position of the "
               "class in byte order of the names, from 0.",
    .elsewhere = "ImageFolder ImageFolderDataset",
    .gives = "image (encoded), label i32",
    .details =
        "Links are followed. Folders in a class folder are ignored with a warning. The files "
        "are listed at the first use of the dataset.\n"
        "recursive=true reads the images in them, too, at any depth up to 64, in the order "
        "of torchvision's ImageFolder: a class's files sorted by their folders, then by "
        "their names, both in byte order. E_INVALID: a link to a folder above it.\n"
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
