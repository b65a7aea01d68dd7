/* SPDX-License-Identifier: Apache-2.0 */
#include "path_stage.h"

#include <dirent.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "format_int.h"
#include "image_extensions.h"

/* Entries of a folder that are looked at. */
enum { MOST_ENTRIES = 10000 };

/* Ends of file names, with the source that reads such a file, and the one that reads a folder with
 * such a file; NULL: none does. */
#define PATH(end, of_file, of_folder) {end, of_file, of_folder},
static const struct {
    const char *end;
    const char *of_file;
    const char *of_folder;
} names[] = {
#include "stages.def"
};

enum { NAMES = sizeof(names) / sizeof(names[0]) };

bool path_is_folder(const char *path)
{
    struct stat info;

    return stat(path, &info) == 0 && S_ISDIR(info.st_mode);
}

static bool ends_in(const char *name, const char *end)
{
    return end != NULL ? sli_ends_alike(name, end) : image_name_is_in(name, image_extensions);
}

/* True if a line fits an entry of a folder. A folder labels/ is one of YOLO beside images/. */
static bool fits(size_t line, DIR *folder, const char *name)
{
    return names[line].of_folder != NULL && ends_in(name, names[line].end) &&
           (strcmp(name, "labels/") != 0 || strcmp(names[line].of_folder, "yolo") != 0 ||
            faccessat(dirfd(folder), "images", F_OK, 0) == 0);
}

/* Returns the first line that fits an entry of a folder; NAMES: none does. */
static size_t find_in_folder(DIR *folder)
{
    const struct dirent *entry;
    size_t found = NAMES;

    for (uint32_t n = 0; n < MOST_ENTRIES && (entry = readdir(folder)) != NULL; n++) {
        char name[sizeof(entry->d_name) + 1];
        struct stat info;

        if (entry->d_name[0] == '.') {
            continue;
        }
        snprintf(name, sizeof(name), "%s%s", entry->d_name,
                 fstatat(dirfd(folder), entry->d_name, &info, 0) == 0 && S_ISDIR(info.st_mode)
                     ? "/"
                     : "");
        for (size_t i = 0; i < found; i++) {
            if (fits(i, folder, name)) {
                found = i;
            }
        }
    }
    return found;
}

const char *path_stage(const char *path)
{
    DIR *folder;
    size_t found = NAMES;

    if (access(path, F_OK) != 0) {
        return NULL;
    }
    if (!path_is_folder(path)) {
        for (size_t i = 0; i < NAMES; i++) {
            if (names[i].of_file != NULL && ends_in(path, names[i].end)) {
                return names[i].of_file;
            }
        }
        return NULL;
    }
    folder = opendir(path);
    if (folder != NULL) {
        found = find_in_folder(folder);
        closedir(folder);
    }
    return found < NAMES ? names[found].of_folder : NULL;
}

const char *path_stage_more(const char *stage)
{
    return strcmp(stage, "tokens") == 0 ? " seq=1024" : "";
}

const char *path_stage_hint(const char *path, const char *failed, char *text, size_t size)
{
    const char *stage = path_stage(path);
    const char *quote = strpbrk(path, " \t|()#") != NULL ? "'" : "";

    text[0] = '\0';
    if (stage != NULL && strcmp(stage, failed) != 0) {
        snprintf(text, size, "; `%s %s%.300s%s%s` reads it", stage, quote, path, quote,
                 path_stage_more(stage));
    }
    return text;
}
