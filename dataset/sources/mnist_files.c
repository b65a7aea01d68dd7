/* SPDX-License-Identifier: Apache-2.0 */
#include "mnist_files.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "compression.h"
#include "status_int.h"

/*
 * Endings of file names after the part: with a hyphen as published, with a dot as some archives
 * unpack them.
 */
static const char *const image_ends[] = {"images-idx3-ubyte", "images.idx3-ubyte", NULL};
static const char *const label_ends[] = {"labels-idx1-ubyte", "labels.idx1-ubyte", NULL};

static const char *const train_parts[] = {"train-", NULL};
static const char *const test_parts[] = {"t10k-", "test-", NULL};

/* A search in a folder, and its result. */
typedef struct file_search {
    const char *const *parts; /* image files: names of the part */
    const char *stem;         /* label files: the whole name without suffix; NULL: image files are
                                 searched */
    char found[NAME_MAX + 1];
    char other[NAME_MAX + 1]; /* a match with another prefix; "": no such match */
} file_search;

/* The length of a name without the suffix of a compressed file. */
static size_t stem_length(const char *name)
{
    return compression_has_suffix(name) ? (size_t)(strrchr(name, '.') - name) : strlen(name);
}

static bool ends_in(const char *name, size_t length, const char *part, const char *end)
{
    const size_t tail = strlen(part) + strlen(end);

    return length >= tail && memcmp(name + length - tail, part, strlen(part)) == 0 &&
           memcmp(name + length - strlen(end), end, strlen(end)) == 0;
}

static bool is_match(const file_search *search, const char *name)
{
    const size_t length = stem_length(name);

    if (search->stem != NULL) {
        return strlen(search->stem) == length && memcmp(search->stem, name, length) == 0;
    }
    for (const char *const *part = search->parts; *part != NULL; part++) {
        for (const char *const *end = image_ends; *end != NULL; end++) {
            if (ends_in(name, length, *part, *end)) {
                return true;
            }
        }
    }
    return false;
}

/*
 * Stores a match. Of names that differ only in the suffix, the first in byte order is kept, which
 * is the one without a suffix.
 */
static void keep_name(file_search *search, const char *name)
{
    const size_t length = stem_length(name);
    const bool same =
        length == stem_length(search->found) && memcmp(name, search->found, length) == 0;
    const bool first = search->found[0] == '\0' || strcmp(name, search->found) < 0;

    if (search->found[0] != '\0' && !same) {
        snprintf(search->other, sizeof(search->other), "%s", first ? search->found : name);
    }
    if (first) {
        snprintf(search->found, sizeof(search->found), "%s", name);
    }
}

/* Searches a folder. A folder that does not exist counts as empty. */
static sluice_status search_folder(const char *dir, file_search *search)
{
    DIR *folder = opendir(dir);
    const struct dirent *entry;
    int error;

    if (folder == NULL) {
        return errno == ENOENT
                   ? SLUICE_OK
                   : sli_fail_errno(SLUICE_E_IO, errno, "cannot read the folder %s", dir);
    }
    for (errno = 0; (entry = readdir(folder)) != NULL; errno = 0) {
        if (is_match(search, entry->d_name)) {
            keep_name(search, entry->d_name);
        }
    }
    error = errno;
    closedir(folder);
    return error == 0 ? SLUICE_OK
                      : sli_fail_errno(SLUICE_E_IO, error, "cannot read the folder %s", dir);
}

static sluice_status join_path(const char *dir, const char *name, char *path)
{
    return snprintf(path, PATH_MAX, "%s/%s", dir, name) < PATH_MAX
               ? SLUICE_OK
               : sli_fail(SLUICE_E_INVALID, "the path %.200s... is longer than %d bytes", dir,
                          PATH_MAX - 1);
}

/* Finds the label file that belongs to an image file. */
static sluice_status find_labels(const char *dir, const char *images, mnist_paths *paths)
{
    const size_t length = stem_length(images) - strlen(image_ends[0]);
    const bool dotted = images[length + strlen("images")] == '.';
    char stem[NAME_MAX + 32];
    file_search search = {.stem = stem};
    sluice_status st;

    snprintf(stem, sizeof(stem), "%.*s%s", (int)length, images, label_ends[dotted]);
    st = search_folder(dir, &search);
    if (st == SLUICE_OK && search.found[0] == '\0') {
        st = sli_fail(SLUICE_E_INVALID,
                      "%s has the images %s, but not their labels; the file must be %s or %s.gz",
                      dir, images, stem, stem);
    }
    return st == SLUICE_OK ? join_path(dir, search.found, paths->labels) : st;
}

sluice_status mnist_files_find(const char *dir, bool test, mnist_paths *paths_out)
{
    file_search search = {.parts = test ? test_parts : train_parts};
    char raw[PATH_MAX];
    const char *folder = dir;
    sluice_status st = search_folder(dir, &search);

    if (st == SLUICE_OK && search.found[0] == '\0') {
        folder = raw;
        st = join_path(dir, "raw", raw);
        if (st == SLUICE_OK) {
            st = search_folder(raw, &search);
        }
    }
    if (st == SLUICE_OK && search.found[0] == '\0') {
        st = sli_fail(SLUICE_E_INVALID,
                      "%s: neither it nor its folder raw has a file %s%s, or that with .gz behind "
                      "it; other names are given as IMAGES,LABELS",
                      dir, search.parts[0], image_ends[0]);
    }
    if (st == SLUICE_OK && search.other[0] != '\0') {
        st = sli_fail(SLUICE_E_INVALID,
                      "%s has several sets of images, %s and %s; give the files of one as "
                      "IMAGES,LABELS",
                      folder, search.found, search.other);
    }
    if (st == SLUICE_OK) {
        st = join_path(folder, search.found, paths_out->images);
    }
    return st == SLUICE_OK ? find_labels(folder, search.found, paths_out) : st;
}
