/* SPDX-License-Identifier: Apache-2.0 */
/* realpath() and qsort_r() need this. */
#define _GNU_SOURCE
#include "folder_pairs.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "alloc_int.h"
#include "image_extensions.h"
#include "left_out.h"
#include "log_int.h"
#include "path_stage.h"
#include "status_int.h"
#include "text_int.h"

/* The image files of a folder, sorted by their names up to the last dot. */
typedef struct file_names {
    const char *folder;
    const char *suffix; /* of all names before their last dots, which does not count; "": none */
    const char *not_suffix; /* of names that belong to others in the same folder; "": none */
    bool skips_others;      /* files without the suffix belong to others in the same folder */
    char **names;
    size_t count;
    size_t capacity;
    left_out left_out; /* files and folders in it that are not read */
} file_names;

static void free_names(file_names *files)
{
    for (size_t i = 0; i < files->count; i++) {
        sli_free(files->names[i]);
    }
    sli_free(files->names);
}

static sluice_status add_name(file_names *files, const char *name)
{
    char **grown = sli_grow(files->names, &files->capacity, files->count + 1, sizeof(*grown));

    if (grown == NULL) {
        return sli_fail(SLUICE_E_NO_MEMORY, "the names in %s", files->folder);
    }
    files->names = grown;
    grown[files->count] = sli_strdup(name);
    if (grown[files->count] == NULL) {
        return sli_fail(SLUICE_E_NO_MEMORY, "the names in %s", files->folder);
    }
    files->count++;
    return SLUICE_OK;
}

/* Compares names up to their last dots, and without suffixes of these lengths before them,
 * bytewise. */
static int compare_stems(const char *a, size_t a_suffix, const char *b, size_t b_suffix)
{
    const size_t one = (size_t)(strrchr(a, '.') - a) - a_suffix;
    const size_t other = (size_t)(strrchr(b, '.') - b) - b_suffix;
    const int order = memcmp(a, b, one < other ? one : other);

    return order != 0 ? order : (one > other) - (one < other);
}

static int compare_names(const void *a, const void *b, void *suffix)
{
    const size_t length = strlen(suffix);
    const char *one = *(char *const *)a;
    const char *other = *(char *const *)b;
    const int order = compare_stems(one, length, other, length);

    return order != 0 ? order : strcmp(one, other);
}

/* True if a name has this suffix before its last dot, and more before it. */
static bool has_suffix(const char *name, const char *suffix)
{
    const char *dot = strrchr(name, '.');
    const size_t length = strlen(suffix);

    return dot != NULL && (size_t)(dot - name) > length &&
           memcmp(dot - length, suffix, length) == 0;
}

/* Adds an image file, unless it belongs to others in the folder by its suffix. */
static sluice_status take_image(file_names *files, const char *name)
{
    if (files->not_suffix[0] != '\0' && has_suffix(name, files->not_suffix)) {
        return SLUICE_OK;
    }
    if (files->suffix[0] == '\0' || has_suffix(name, files->suffix)) {
        return add_name(files, name);
    }
    return files->skips_others
               ? SLUICE_OK
               : sli_fail(SLUICE_E_INVALID,
                          "%s/%s must be NAME%s and an extension, since suffix=%s is part of the "
                          "names of masks",
                          files->folder, name, files->suffix, files->suffix);
}

static sluice_status take_entry(file_names *files, int fd, const struct dirent *entry)
{
    const char *name = entry->d_name;
    struct stat info;

    if (entry->d_type != DT_REG && fstatat(fd, name, &info, 0) == 0 && S_ISDIR(info.st_mode)) {
        left_out_folder(&files->left_out, "", name);
    } else if (name[0] == '.' || !image_name_is_in(name, image_extensions)) {
        left_out_file(&files->left_out, "", name);
    } else {
        return take_image(files, name);
    }
    return SLUICE_OK;
}

/* Warns of what is left out of a folder, and adds it to the text. */
static void tell_left_out(const file_names *files, char *all, size_t size)
{
    char text[LEFT_OUT_TEXT];
    const size_t length = strlen(all);

    if (!left_out_print(&files->left_out, text, sizeof(text))) {
        return;
    }
    sli_log(SLUICE_LOG_WARN,
            "image_list %s: left out: %s; of a folder it reads the files directly in it with "
            "extensions %s, and a list names any others",
            files->folder, text, image_extensions);
    snprintf(all + length, size - length, "%s%s", length > 0 ? "; of the masks " : "", text);
}

static sluice_status read_names(file_names *files)
{
    DIR *folder = opendir(files->folder);
    struct dirent *entry;
    char hint[400];
    sluice_status st = SLUICE_OK;

    if (folder == NULL) {
        return sli_fail_errno(SLUICE_E_IO, errno, "%s: cannot open", files->folder);
    }
    while (st == SLUICE_OK && (errno = 0, entry = readdir(folder)) != NULL) {
        st = take_entry(files, dirfd(folder), entry);
    }
    if (st == SLUICE_OK && errno != 0) {
        st = sli_fail_errno(SLUICE_E_IO, errno, "%s: cannot read", files->folder);
    }
    closedir(folder);
    if (st != SLUICE_OK) {
        return st;
    }
    if (files->count == 0) {
        return sli_fail(SLUICE_E_INVALID,
                        "no valid data in the dataset: %s has no files with extensions %s "
                        "(subfolders are not searched)%s",
                        files->folder, image_extensions,
                        path_stage_hint(files->folder, "image_list", hint, sizeof(hint)));
    }
    qsort_r(files->names, files->count, sizeof(*files->names), compare_names,
            (void *)(uintptr_t)files->suffix);
    return SLUICE_OK;
}

/* Refuses two masks, or an image and another one, of one name. */
static sluice_status check_distinct(const file_names *files)
{
    for (size_t i = 1; i < files->count; i++) {
        if (compare_stems(files->names[i - 1], 0, files->names[i], 0) == 0) {
            return sli_fail(
                SLUICE_E_INVALID,
                "%s and %s in %s have the same name without extension, by which masks are "
                "found",
                files->names[i - 1], files->names[i], files->folder);
        }
    }
    return SLUICE_OK;
}

/* Checks that each image has a mask, and each mask an image. */
static sluice_status check_pairs(const file_names *images, const file_names *masks)
{
    const size_t count = images->count > masks->count ? images->count : masks->count;

    for (size_t i = 0; i < count; i++) {
        const int order = i == images->count  ? 1
                          : i == masks->count ? -1
                                              : compare_stems(images->names[i], 0, masks->names[i],
                                                              strlen(masks->suffix));

        if (order != 0) {
            return sli_fail(
                SLUICE_E_INVALID,
                "%s/%s has no %s of the same name%s%s in %s (%zu images, %zu masks); for masks "
                "such as NAME_mask.png give suffix=_mask, for names that differ otherwise a list "
                "with the columns image and mask:mask",
                order < 0 ? images->folder : masks->folder,
                order < 0 ? images->names[i] : masks->names[i], order < 0 ? "mask" : "image",
                masks->suffix[0] != '\0' ? " and suffix " : "", masks->suffix,
                order < 0 ? masks->folder : images->folder, images->count, masks->count);
        }
    }
    return SLUICE_OK;
}

/* Adds a field in quotes. */
static void add_field(sli_text *text, const char *folder, const char *name, char end)
{
    const char *const parts[] = {folder, folder[0] != '\0' ? "/" : "", name};

    sli_text_add(text, "\"");
    for (size_t i = 0; i < 3; i++) {
        for (const char *at = parts[i]; *at != '\0';) {
            const size_t length = strcspn(at, "\"");

            sli_text_add(text, "%.*s%s", (int)length, at, at[length] == '"' ? "\"\"" : "");
            at += length + (at[length] == '"');
        }
    }
    sli_text_add(text, "\"%c", end);
}

static sluice_status write_list(const file_names *images, const file_names *masks,
                                const char *mask_folder, char **text_out, size_t *size_out)
{
    sli_text text = {0};

    sli_text_add(&text, "image%s\n", masks != NULL ? "\tmask:mask" : "");
    for (size_t i = 0; i < images->count; i++) {
        add_field(&text, "", images->names[i], masks != NULL ? '\t' : '\n');
        if (masks != NULL) {
            add_field(&text, mask_folder, masks->names[i], '\n');
        }
    }
    *size_out = text.length;
    return sli_text_take(&text, text_out);
}

/* Returns the real path of a folder of masks, which the caller frees, if it is not that of the
 * images; *one_out: it is. NULL: there is no such folder. */
static char *find_masks(const char *images, const char *masks, bool *one_out)
{
    char *folder = realpath(masks, NULL);
    char *others = realpath(images, NULL);

    *one_out = folder != NULL && others != NULL && strcmp(folder, others) == 0;
    free(others);
    return folder;
}

sluice_status folder_pairs_text(const char *images, const char *masks, const char *suffix,
                                char **text_out, size_t *size_out, char *left_text,
                                size_t left_size)
{
    const bool has_masks = masks[0] != '\0';
    bool one = false;
    char *folder = has_masks ? find_masks(images, masks, &one) : NULL;
    file_names pictures = {.folder = images, .suffix = "", .not_suffix = one ? suffix : ""};
    file_names classes = {.folder = masks, .suffix = suffix, .not_suffix = "", .skips_others = one};
    sluice_status st;

    if (one && suffix[0] == '\0') {
        free(folder);
        return sli_fail(SLUICE_E_INVALID,
                        "masks=%s is the folder of the images, so suffix= must tell masks from "
                        "images, such as suffix=_mask",
                        masks);
    }
    st = read_names(&pictures);

    if (st == SLUICE_OK && has_masks) {
        st = folder != NULL ? read_names(&classes)
                            : sli_fail_errno(SLUICE_E_IO, errno, "%s: cannot open", masks);
        st = st == SLUICE_OK ? check_distinct(&pictures) : st;
        st = st == SLUICE_OK ? check_distinct(&classes) : st;
        st = st == SLUICE_OK ? check_pairs(&pictures, &classes) : st;
    }
    if (st == SLUICE_OK) {
        left_text[0] = '\0';
        tell_left_out(&pictures, left_text, left_size);
        if (!one) {
            tell_left_out(&classes, left_text, left_size);
        }
        st = write_list(&pictures, has_masks ? &classes : NULL, folder, text_out, size_out);
    }
    free(folder);
    free_names(&pictures);
    free_names(&classes);
    return st;
}
