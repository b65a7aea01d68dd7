/* SPDX-License-Identifier: Apache-2.0 */
/* qsort_r() needs this. */
#define _GNU_SOURCE
#include "voc_set.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "alloc_int.h"
#include "class_lines.h"
#include "error_int.h"
#include "fault_int.h"
#include "file_reader.h"
#include "image_extensions.h"
#include "image_files.h"
#include "log_int.h"
#include "path_parts.h"
#include "status_int.h"
#include "text_lines.h"
#include "voc_file.h"

/* Classes that are found in annotations, at most. */
enum { MOST_CLASSES = 1 << 16 };

/* A class. */
typedef struct voc_class {
    size_t name; /* offset in the set's names */
    uint32_t label;
} voc_class;

typedef struct set_reader {
    box_source *source;
    const voc_options *options;
    image_files stems; /* names of the images, without folder and extension */
    voc_file file;
    sample_io io;
    voc_class *classes; /* sorted by name */
    size_t class_capacity;
    size_t class_count;
    bool finds_classes; /* the names that occur are the classes; until they are all known, labels
                           are in the order in which names were found */
    size_t difficult;   /* objects that are dropped */
    size_t unread;      /* annotations whose classes are not known */
    size_t marked;      /* lines of the split with a second column */
    char first_unread[300];
} set_reader;

/* ---- the images of the split ----------------------------------------------------------------- */

/* True if there are annotations of this name. */
static bool has_annotations(const set_reader *reader, const char *name, size_t length)
{
    char path[PATH_MAX];

    return snprintf(path, sizeof(path), "Annotations/%.*s.xml", (int)length, name) <
               (int)sizeof(path) &&
           faccessat(reader->source->root_fd, path, F_OK, 0) == 0;
}

/* Returns the end of the name in a line, which may have blanks. A last word -1, 0 or 1 says whether
 * a class is in the image, unless there are annotations of a name with it. */
static const char *end_of_name(const set_reader *reader, const char *at, const char *end)
{
    const char *word = end;
    const char *stop;
    size_t digits;

    while (word > at && !text_is_blank(word[-1])) {
        word--;
    }
    digits = word < end && *word == '-' ? 1 : 0;
    stop = word;
    while (stop > at && text_is_blank(stop[-1])) {
        stop--;
    }
    return stop > at && (size_t)(end - word) == digits + 1 &&
                   (word[digits] == '1' || (digits == 0 && *word == '0')) &&
                   !has_annotations(reader, at, (size_t)(end - at))
               ? stop
               : end;
}

/* Adds the image of a line of the split: NAME, or NAME and a number. */
static sluice_status add_line(set_reader *reader, const char *at, const char *end)
{
    const char *stop = end_of_name(reader, at, end);
    char name[PATH_MAX / 2];

    if (at == end) {
        return SLUICE_OK;
    }
    snprintf(name, sizeof(name), "%.*s", stop - at < (ptrdiff_t)sizeof(name) ? (int)(stop - at) : 0,
             at);
    if (strlen(name) != (size_t)(stop - at) || name[0] == '/' || path_leads_up(name)) {
        return sli_fail(SLUICE_E_CORRUPT,
                        "'%.*s' must be the name of an image in JPEGImages, without extension",
                        stop - at < 100 ? (int)(stop - at) : 100, at);
    }
    if (stop < end) {
        reader->marked++;
    }
    return image_files_add(&reader->stems, name, strlen(name));
}

static sluice_status read_split(set_reader *reader, const char *path)
{
    sample_data data = {.bytes = NULL};
    sluice_status st = file_read(reader->source->root_fd, path, &reader->io, &data);
    text_lines lines = text_lines_of((const char *)data.bytes, data.size);
    const char *at;
    const char *end;

    while (st == SLUICE_OK && text_lines_next(&lines, &at, &end)) {
        st = add_line(reader, at, end);
    }
    if (st == SLUICE_OK || st == SLUICE_E_NO_MEMORY) {
        return st;
    }
    return lines.number > 0
               ? sli_fail_quoting(st, "%s:%llu: %.600s", path, (unsigned long long)lines.number,
                                  sluice_last_error())
               : sli_fail_quoting(st, "%s: %.600s", path, sluice_last_error());
}

/* The annotations of the folder, as stems. */
static sluice_status list_annotations(const set_reader *reader, image_files *stems)
{
    static const size_t folder = sizeof("Annotations/") - 1;
    image_files files = {.names = NULL};
    sluice_status st = image_files_find(&files, reader->source->root_fd, "Annotations", "xml");

    for (size_t i = 0; i < files.count && st == SLUICE_OK; i++) {
        const char *path = files.names + files.files[i] + folder;

        st = image_files_add(stems, path, strlen(path) - 4);
    }
    image_files_free(&files);
    return st;
}

static sluice_status find_images(set_reader *reader)
{
    const voc_options *options = reader->options;
    char path[PATH_MAX] = "Annotations";
    sluice_status st;

    if (options->split[0] == '\0') {
        st = list_annotations(reader, &reader->stems);
    } else {
        snprintf(path, sizeof(path), "ImageSets/%s/%s.txt",
                 options->has_masks ? "Segmentation" : "Main", options->split);
        st = read_split(reader, path);
    }
    if (st == SLUICE_OK && reader->marked > 0) {
        sli_log(SLUICE_LOG_WARN,
                "voc: %s: %s: %zu lines have a second column, whether a class is in the image; it "
                "is not read, and all images of the list are samples",
                options->dir, path, reader->marked);
    }
    return st == SLUICE_OK && reader->stems.count == 0
               ? sli_fail(SLUICE_E_INVALID, "no valid data in the dataset: %s has no images", path)
               : st;
}

/* ---- classes --------------------------------------------------------------------------------- */

/* Returns the position of a class in `classes`, or where it must be inserted. */
static size_t find_class(const set_reader *reader, const char *name, bool *found_out)
{
    const char *names = reader->source->set.names;
    size_t low = 0;
    size_t high = reader->class_count;

    *found_out = false;
    while (low < high && !*found_out) {
        const size_t middle = low + (high - low) / 2;
        const int order = strcmp(names + reader->classes[middle].name, name);

        *found_out = order == 0;
        if (order < 0) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return *found_out ? high : low;
}

/* Inserts a class at its position, with the next label. */
static sluice_status insert_class(set_reader *reader, size_t at, size_t name)
{
    const size_t count = reader->class_count;
    voc_class *grown =
        sli_grow(reader->classes, &reader->class_capacity, count + 1, sizeof(*grown));

    if (grown == NULL) {
        return sli_fail(SLUICE_E_NO_MEMORY, "the names of the classes");
    }
    reader->classes = grown;
    memmove(grown + at + 1, grown + at, (count - at) * sizeof(*grown));
    grown[at] = (voc_class){.name = name, .label = (uint32_t)count};
    reader->class_count++;
    return SLUICE_OK;
}

/* Adds the class of an object, unless it is known. */
static sluice_status add_class(set_reader *reader, const char *name)
{
    bool found = false;
    const size_t at = find_class(reader, name, &found);
    size_t offset = 0;
    sluice_status st;

    if (found) {
        return SLUICE_OK;
    }
    if (reader->class_count == MOST_CLASSES) {
        return sli_fail(SLUICE_E_CORRUPT, "the annotations have more than %d classes",
                        MOST_CLASSES);
    }
    st = box_set_add_name(&reader->source->set, name, strlen(name), &offset);
    return st == SLUICE_OK ? insert_class(reader, at, offset) : st;
}

/* Adds the classes of the argument names=, without blanks around them. */
static sluice_status split_names(box_set *set, const char *names)
{
    sluice_status st = SLUICE_OK;

    while (st == SLUICE_OK) {
        const size_t length = strcspn(names, ",");
        const char *at = names + strspn(names, " \t");
        const char *end = names + length;
        size_t name = 0;

        while (end > at && text_is_blank(end[-1])) {
            end--;
        }
        st = end > at && end - at <= CLASS_NAME_MOST
                 ? box_set_add_name(set, at, (size_t)(end - at), &name)
                 : sli_fail(SLUICE_E_INVALID,
                            "names= must be names of classes with commas between them");
        st = st == SLUICE_OK ? box_set_add_class(set, name) : st;
        if (names[length] == '\0') {
            break;
        }
        names += length + 1;
    }
    return st;
}

/* Reads Annotations/STEM.xml. `path` is for PATH_MAX bytes. */
static sluice_status read_file(set_reader *reader, const char *stem, char *path)
{
    sample_data data = {.bytes = NULL};
    sluice_status st;

    snprintf(path, PATH_MAX, "Annotations/%s.xml", stem);
    reader->file.line = 0;
    st = file_read_most(reader->source->root_fd, path, VOC_FILE_MOST, &reader->io, &data);
    return st == SLUICE_OK ? voc_file_read(&reader->file, (const char *)data.bytes, data.size) : st;
}

/* True if an error is not one of the file that was read: no file can be read. */
static bool ends_reading(const set_reader *reader, sluice_status st)
{
    return st == SLUICE_E_NO_MEMORY || sli_fault_is_of_process(sli_fault_of_last(st)) ||
           (st == SLUICE_E_UNSUPPORTED && reader->file.line == 0);
}

/* Adds the classes of all objects of the file that was read last. */
static sluice_status add_classes(set_reader *reader)
{
    sluice_status st = SLUICE_OK;

    for (size_t k = 0; k < reader->file.object_count && st == SLUICE_OK; k++) {
        st = add_class(reader, reader->file.names + reader->file.objects[k].name);
    }
    return st;
}

/* Counts a file of annotations that cannot be read, if its classes are needed. */
static void count_unread(set_reader *reader, const char *path)
{
    if (reader->finds_classes && reader->unread++ == 0) {
        snprintf(reader->first_unread, sizeof(reader->first_unread), "%s", path);
    }
}

static int compare_stems(const void *a, const void *b, void *names)
{
    return strcmp((const char *)names + *(const size_t *)a,
                  (const char *)names + *(const size_t *)b);
}

/* Adds the classes of the annotations that are not of the split, so that all splits have the same
 * ones. */
static sluice_status read_others(set_reader *reader)
{
    image_files *split = &reader->stems;
    image_files all = {.names = NULL};
    sluice_status st = list_annotations(reader, &all);
    size_t next = 0;

    qsort_r(split->files, split->count, sizeof(*split->files), compare_stems, split->names);
    if (all.count > 0) {
        qsort_r(all.files, all.count, sizeof(*all.files), compare_stems, all.names);
    }
    for (size_t i = 0; i < all.count && st == SLUICE_OK; i++) {
        const char *stem = all.names + all.files[i];
        char path[PATH_MAX];

        while (next < split->count && strcmp(split->names + split->files[next], stem) < 0) {
            next++;
        }
        if (next < split->count && strcmp(split->names + split->files[next], stem) == 0) {
            continue;
        }
        st = read_file(reader, stem, path);
        if (st == SLUICE_OK) {
            st = add_classes(reader);
        } else if (!ends_reading(reader, st)) {
            count_unread(reader, path);
            st = SLUICE_OK;
        }
    }
    image_files_free(&all);
    return st;
}

/* Makes the names that were found the classes of the set, and their positions the labels. */
static sluice_status settle_labels(set_reader *reader)
{
    uint32_t *positions = sli_calloc(reader->class_count + 1, sizeof(*positions));
    box_set *set = &reader->source->set;
    sluice_status st = SLUICE_OK;

    if (positions == NULL) {
        return sli_fail(SLUICE_E_NO_MEMORY, "the names of the classes");
    }
    for (uint32_t i = 0; i < reader->class_count && st == SLUICE_OK; i++) {
        positions[reader->classes[i].label] = i;
        st = box_set_add_class(set, reader->classes[i].name);
    }
    for (size_t i = 0; i < set->box_count; i++) {
        set->boxes[i].label = (int32_t)positions[set->boxes[i].label];
    }
    sli_free(positions);
    return st;
}

/* Finds the classes that are given. */
static sluice_status find_classes(set_reader *reader)
{
    static const char *const files[] = {"classes.txt", NULL};
    box_set *set = &reader->source->set;
    sluice_status st = reader->options->names[0] != '\0'
                           ? split_names(set, reader->options->names)
                           : class_lines_find(reader->source->root_fd, files, set);

    for (size_t i = 0; i < set->class_count && st == SLUICE_OK; i++) {
        const char *name = set->names + set->classes[i];
        bool found = false;
        const size_t at = find_class(reader, name, &found);

        st = found ? sli_fail(SLUICE_E_INVALID, "two classes have the name %.100s", name)
                   : insert_class(reader, at, set->classes[i]);
    }
    reader->finds_classes = set->class_count == 0;
    return st;
}

/* ---- samples --------------------------------------------------------------------------------- */

/* Converts ASCII letters. */
static void make_upper(char *text)
{
    for (; *text != '\0'; text++) {
        *text = (char)(*text >= 'a' && *text <= 'z' ? *text - 'a' + 'A' : *text);
    }
}

/* Writes the path of an image: that with the first extension, in lower or upper case, of which
 * there is a file, else .jpg. */
static void find_file(const set_reader *reader, const char *stem, char *path)
{
    const char *extension = image_extensions;

    while (*extension != '\0') {
        const size_t length = strcspn(extension, ",");

        for (int upper = 0; upper < 2; upper++) {
            const int stop =
                snprintf(path, PATH_MAX, "JPEGImages/%s.%.*s", stem, (int)length, extension);

            if (upper == 1 && stop < PATH_MAX) {
                make_upper(path + stop - length);
            }
            if (faccessat(reader->source->root_fd, path, F_OK, 0) == 0) {
                return;
            }
        }
        extension += length + (extension[length] == ',');
    }
    snprintf(path, PATH_MAX, "JPEGImages/%s.jpg", stem);
}

static sluice_status add_object(set_reader *reader, uint32_t number, const char *path)
{
    const voc_object *object = &reader->file.objects[number];
    const char *name = reader->file.names + object->name;
    const box_place place = {.file = path, .line = object->line};
    box_set *set = &reader->source->set;
    set_box box = {.flag = object->is_difficult};
    bool found = false;
    const size_t at = find_class(reader, name, &found);

    if (object->is_difficult && !reader->options->keeps_difficult) {
        reader->difficult++;
        return SLUICE_OK;
    }
    if (!found) {
        return box_set_mark_bad(set, &place,
                                sli_fail(SLUICE_E_CORRUPT,
                                         "the class %.100s is not among the names of the classes",
                                         name));
    }
    box.label = (int32_t)reader->classes[at].label;
    memcpy(box.corners, object->corners, sizeof(box.corners));
    return box_set_add_box(set, &box, "object", number, &place);
}

static sluice_status add_image(set_reader *reader, size_t i)
{
    const char *stem = reader->stems.names + reader->stems.files[i];
    box_set *set = &reader->source->set;
    box_image about = {.id = (int64_t)i};
    char path[PATH_MAX];
    sli_error error;
    sluice_status read;
    sluice_status st;

    find_file(reader, stem, path);
    st = box_set_add_name(set, path, strlen(path), &about.name);
    if (st != SLUICE_OK) {
        return st;
    }
    read = read_file(reader, stem, path);
    sli_error_take(read, &error);
    about.width = read == SLUICE_OK ? reader->file.width : 0;
    about.height = read == SLUICE_OK ? reader->file.height : 0;
    st = box_set_add_image(set, &about);
    if (st == SLUICE_OK && read != SLUICE_OK) {
        const box_place place = {.file = path, .line = reader->file.line};

        sli_error_raise(&error);
        if (ends_reading(reader, read)) {
            return read;
        }
        count_unread(reader, path);
        return box_set_mark_bad(set, &place, read);
    }
    if (st == SLUICE_OK && reader->finds_classes) {
        st = add_classes(reader);
    }
    for (uint32_t k = 0; k < reader->file.object_count && st == SLUICE_OK; k++) {
        st = add_object(reader, k, path);
    }
    return st;
}

static box_place place_of_image(const void *user, size_t image)
{
    const set_reader *reader = user;

    const box_set *set = &reader->source->set;

    return (box_place){.file = set->names + set->images[image].name};
}

static void tell(const set_reader *reader)
{
    const char *dir = reader->options->dir;

    box_set_tell(&reader->source->set, "voc", dir);
    if (reader->difficult > 0) {
        sli_log(SLUICE_LOG_WARN,
                "voc: %s: %zu objects are difficult and are dropped; difficult=keep keeps them",
                dir, reader->difficult);
    }
    if (reader->unread > 0) {
        sli_log(SLUICE_LOG_WARN,
                "voc: %s: the classes of %zu annotations are not known, since they cannot be read, "
                "the first: %s; names= gives the classes",
                dir, reader->unread, reader->first_unread);
    }
}

sluice_status voc_set_read(box_source *source, const voc_options *options)
{
    set_reader reader = {.source = source, .options = options};
    sluice_status st = find_images(&reader);

    if (st == SLUICE_OK) {
        st = find_classes(&reader);
    }
    for (size_t i = 0; i < reader.stems.count && st == SLUICE_OK; i++) {
        st = add_image(&reader, i);
    }
    if (st == SLUICE_OK) {
        st = box_set_finish(&source->set, place_of_image, &reader);
    }
    if (st == SLUICE_OK && reader.finds_classes) {
        st = read_others(&reader);
        st = st == SLUICE_OK ? settle_labels(&reader) : st;
    }
    if (st == SLUICE_OK) {
        tell(&reader);
    }
    sample_io_free(&reader.io);
    voc_file_free(&reader.file);
    image_files_free(&reader.stems);
    sli_free(reader.classes);
    return st;
}
