/* SPDX-License-Identifier: Apache-2.0 */
#include "class_names.h"

#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

/* Length in bytes of the UTF-8 character at c; 0 if it is a control character or not UTF-8. */
static size_t printable_bytes(const unsigned char *c)
{
    const size_t more = *c < 0x80 ? 0 : *c < 0xe0 ? 1 : *c < 0xf0 ? 2 : 3;
    const bool is_lead = *c < 0x80 || (*c >= 0xc2 && *c < 0xf5);

    if (!is_lead || *c < ' ' || *c == 0x7f || (*c == 0xc2 && c[1] < 0xa0)) {
        return 0;
    }
    for (size_t i = 1; i <= more; i++) {
        if ((c[i] & 0xc0) != 0x80) {
            return 0;
        }
    }
    return 1 + more;
}

void print_name(FILE *file, const char *name)
{
    while (*name != '\0') {
        const size_t bytes = printable_bytes((const unsigned char *)name);

        if (bytes > 0) {
            fwrite(name, 1, bytes, file);
        } else {
            fputc('?', file);
        }
        name += bytes > 0 ? bytes : 1;
    }
}

/* Adds a name of `length` bytes; false if out of memory. */
static bool add_name(class_names *c, const char *name, size_t length)
{
    char **names = realloc(c->names, (c->count + 1U) * sizeof(*names));

    if (names == NULL) {
        return false;
    }
    c->names = names;
    names[c->count] = strndup(name, length);
    if (names[c->count] == NULL) {
        return false;
    }
    c->count++;
    return true;
}

static int compare_names(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

static bool is_class_folder(const char *dir, const char *name)
{
    char path[PATH_MAX];
    struct stat info;

    return name[0] != '.' && snprintf(path, sizeof(path), "%s/%s", dir, name) < (int)sizeof(path) &&
           stat(path, &info) == 0 && S_ISDIR(info.st_mode);
}

bool class_names_read(class_names *c, const char *dir)
{
    const struct dirent *entry;
    bool is_fine = true;
    DIR *listing = opendir(dir);

    *c = (class_names){.count = 0};
    if (listing == NULL) {
        fprintf(stderr, "cannot open %s: %s\n", dir, strerror(errno));
        return false;
    }
    while (is_fine && (entry = readdir(listing)) != NULL) {
        is_fine = !is_class_folder(dir, entry->d_name) ||
                  add_name(c, entry->d_name, strlen(entry->d_name));
    }
    closedir(listing);
    if (!is_fine) {
        fprintf(stderr, "no memory for the classes in %s\n", dir);
        class_names_free(c);
        return false;
    }
    if (c->count > 0) {
        qsort(c->names, c->count, sizeof(*c->names), compare_names);
    }
    return true;
}

/* True if `b` has every class of `a`; false after printing the first class that is missing. */
static bool has_all(const class_names *a, const char *dir_a, const class_names *b,
                    const char *dir_b)
{
    for (uint32_t i = 0; i < a->count; i++) {
        if (b->count == 0 ||
            bsearch(&a->names[i], b->names, b->count, sizeof(*b->names), compare_names) == NULL) {
            fprintf(stderr, "class ");
            print_name(stderr, a->names[i]);
            fprintf(stderr, " is in %s, but not in %s\n", dir_a, dir_b);
            return false;
        }
    }
    return true;
}

bool class_names_agree(const class_names *a, const char *dir_a, const class_names *b,
                       const char *dir_b)
{
    return has_all(a, dir_a, b, dir_b) && has_all(b, dir_b, a, dir_a);
}

bool class_names_write(const class_names *c, FILE *file)
{
    for (uint32_t i = 0; i < c->count; i++) {
        if (fprintf(file, "%s/\n", c->names[i]) < 0) {
            return false;
        }
    }
    return true;
}

bool class_names_load(class_names *c, FILE *file)
{
    char *line = NULL;
    size_t size = 0;
    ssize_t length;
    bool is_fine = true;

    *c = (class_names){.count = 0};
    while (is_fine && (length = getdelim(&line, &size, '/', file)) > 0) {
        /* the line break after the previous slash belongs to neither name */
        const size_t skip = c->count > 0 && line[0] == '\n' ? 1 : 0;

        if (line[length - 1] != '/') { /* the last line break */
            is_fine = length == 1 && line[0] == '\n';
            break;
        }
        is_fine = memchr(line, '\0', (size_t)length) == NULL &&
                  add_name(c, line + skip, (size_t)length - 1 - skip);
    }
    free(line);
    is_fine = is_fine && !ferror(file) && c->count > 0;
    if (!is_fine) {
        class_names_free(c);
    }
    return is_fine;
}

void class_names_free(class_names *c)
{
    for (uint32_t i = 0; i < c->count; i++) {
        free(c->names[i]);
    }
    free(c->names);
    *c = (class_names){.count = 0};
}
