/* SPDX-License-Identifier: Apache-2.0 */
#include "yolo_images.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "file_reader.h"
#include "image_extensions.h"
#include "path_parts.h"
#include "status_int.h"
#include "text_lines.h"

/* ---- the layout of a folder ------------------------------------------------------------------ */

static bool is_folder(int fd, const char *path)
{
    struct stat info;

    return fstatat(fd, path, &info, 0) == 0 && S_ISDIR(info.st_mode);
}

/* Names that the folder of a split may have. */
static const char *const split_names[] = {"train", "val", "valid", "test", "train2017", "val2017"};

sluice_status yolo_fail_splits(const char *path, const char *splits)
{
    const char *quote = strpbrk(path, " \t|()#") != NULL ? "'" : "";

    if (splits[0] == '\0') {
        return sli_fail(SLUICE_E_INVALID,
                        "split= must name the images to read, a key of %.300s; it has no key "
                        "train, val, valid, validation or test",
                        path);
    }
    return sli_fail(SLUICE_E_INVALID,
                    "split= must name the images to read; the set has %s; `yolo %s%.300s%s "
                    "split=%.*s` reads one of its splits",
                    splits, quote, path, quote, (int)strcspn(splits, ","), splits);
}

/* Fails if a folder holds splits, in images/SPLIT, or without a folder `images` in SPLIT/images:
 * one dataset must not mix them. */
static sluice_status check_unsplit(int root_fd, const char *dir)
{
    const bool has_images = is_folder(root_fd, "images");
    char found[200] = "";

    for (size_t i = 0; i < sizeof(split_names) / sizeof(split_names[0]); i++) {
        const size_t length = strlen(found);
        char path[64];

        snprintf(path, sizeof(path), has_images ? "images/%s" : "%s/images", split_names[i]);
        if (is_folder(root_fd, path)) {
            snprintf(found + length, sizeof(found) - length, "%s%s", length > 0 ? ", " : "",
                     split_names[i]);
        }
    }
    return found[0] != '\0' ? yolo_fail_splits(dir, found) : SLUICE_OK;
}

/* Finds the folder of the images of a split. */
static sluice_status find_folder(int root_fd, const char *dir, const char *split, char *path,
                                 size_t size)
{
    if (split[0] == '\0') {
        const sluice_status st = check_unsplit(root_fd, dir);

        snprintf(path, size, "images");
        if (st != SLUICE_OK || is_folder(root_fd, path)) {
            return st;
        }
        return sli_fail(SLUICE_E_INVALID,
                        "there is no folder images; images must be in DIR/images and label files "
                        "in DIR/labels, and with split=train in DIR/images/train and "
                        "DIR/labels/train");
    }
    snprintf(path, size, "images/%s", split);
    if (is_folder(root_fd, path)) {
        return SLUICE_OK;
    }
    snprintf(path, size, "%s/images", split);
    if (is_folder(root_fd, path)) {
        return SLUICE_OK;
    }
    return sli_fail(SLUICE_E_INVALID,
                    "there is neither a folder images/%s nor %s/images, which must hold the images "
                    "of split=%s",
                    split, split, split);
}

/* Adds the images in a folder, which must have some. */
static sluice_status add_folder(int root_fd, const char *folder, image_files *images)
{
    const size_t before = images->count;
    const sluice_status st = image_files_find(images, root_fd, folder, image_extensions);

    return st == SLUICE_OK && images->count == before
               ? sli_fail(SLUICE_E_INVALID,
                          "no valid data in the dataset: the folder %s has no files with "
                          "extensions %s",
                          folder, image_extensions)
               : st;
}

sluice_status yolo_images_of_split(int root_fd, const char *dir, const char *split,
                                   image_files *images)
{
    char folder[NAME_MAX + 16];
    const sluice_status st = find_folder(root_fd, dir, split, folder, sizeof(folder));

    return st == SLUICE_OK ? add_folder(root_fd, folder, images) : st;
}

/* ---- lists of images ------------------------------------------------------------------------- */

/* Adds the image of a line, from `at` to `end`. `folder` is that of the list, with its slash. */
static sluice_status add_line(const char *folder, const char *at, const char *end,
                              image_files *images)
{
    char path[PATH_MAX];
    int length;

    while (end - at >= 2 && at[0] == '.' && at[1] == '/') {
        at += 2;
    }
    if (at == end) {
        return SLUICE_OK;
    }
    length = snprintf(path, sizeof(path), "%s%.*s", *at != '/' ? folder : "", (int)(end - at), at);
    if (end - at >= PATH_MAX || (size_t)length >= sizeof(path) ||
        memchr(at, '\0', (size_t)(end - at)) != NULL) {
        return sli_fail(SLUICE_E_CORRUPT, "a path must have at most %d bytes, none of them zero",
                        PATH_MAX - 1);
    }
    if (*at != '/' && path_leads_up(path + strlen(folder))) {
        return sli_fail(SLUICE_E_CORRUPT,
                        "%.300s must be in the folder of the list; for an image elsewhere write "
                        "its absolute path",
                        path + strlen(folder));
    }
    if (!image_name_is_in(strrchr(path, '/') != NULL ? strrchr(path, '/') + 1 : path,
                          image_extensions)) {
        left_out_file(&images->left_out, "", path);
        return SLUICE_OK;
    }
    return image_files_add(images, path, (size_t)length);
}

static sluice_status add_lines(const char *list, const char *text, size_t size, image_files *images)
{
    text_lines lines = text_lines_of(text, size);
    const char *slash = strrchr(list, '/');
    sluice_status st = SLUICE_OK;
    char folder[PATH_MAX];
    const char *at;
    const char *end;

    snprintf(folder, sizeof(folder), "%.*s", slash != NULL ? (int)(slash - list) + 1 : 0, list);
    while (st == SLUICE_OK && text_lines_next(&lines, &at, &end)) {
        st = add_line(folder, at, end, images);
    }
    if (st == SLUICE_OK || st == SLUICE_E_NO_MEMORY) {
        return st;
    }
    return sli_fail_quoting(st, "%.300s:%llu: %.600s", list, (unsigned long long)lines.number,
                            sluice_last_error());
}

static sluice_status add_list(int root_fd, const char *list, image_files *images)
{
    const size_t before = images->count;
    sample_io io = {.lent = NULL};
    sample_data data = {.bytes = NULL};
    sluice_status st = file_read(root_fd, list, &io, &data);

    if (st != SLUICE_OK) {
        st = sli_fail_quoting(st, "%.400s: %.400s", list, sluice_last_error());
    } else {
        st = add_lines(list, (const char *)data.bytes, data.size, images);
    }
    sample_io_free(&io);
    return st == SLUICE_OK && images->count == before
               ? sli_fail(SLUICE_E_INVALID,
                          "no valid data in the dataset: the list %.400s has no images with "
                          "extensions %s",
                          list, image_extensions)
               : st;
}

sluice_status yolo_images_of_entry(int root_fd, const char *entry, image_files *images)
{
    char path[PATH_MAX];
    size_t length;

    if (strncmp(entry, "../", 3) == 0 && faccessat(root_fd, entry, F_OK, 0) != 0) {
        entry += 3;
    }
    while (strncmp(entry, "./", 2) == 0) {
        entry += 2;
    }
    snprintf(path, sizeof(path), "%s", strcmp(entry, ".") != 0 ? entry : "");
    length = strlen(path);
    while (length > 1 && path[length - 1] == '/') {
        path[--length] = '\0';
    }
    if (path[0] == '\0' || is_folder(root_fd, path)) {
        return add_folder(root_fd, path, images);
    }
    if (faccessat(root_fd, path, F_OK, 0) != 0) {
        return sli_fail_errno(SLUICE_E_IO, errno,
                              "cannot open %.400s, which must be a folder of images or a list of "
                              "them",
                              path);
    }
    return add_list(root_fd, path, images);
}
