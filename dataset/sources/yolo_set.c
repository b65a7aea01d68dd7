/* SPDX-License-Identifier: Apache-2.0 */
#include "yolo_set.h"

#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>

#include "fault_int.h"
#include "file_reader.h"
#include "log_int.h"
#include "status_int.h"

/* The work of yolo_set_read(). */
typedef struct set_reader {
    box_source *source;
    const image_files *images;
    yolo_labels *labels;
    sample_io io;
    size_t missing;          /* images without a label file */
    char first_missing[300]; /* the first of those files */
} set_reader;

bool yolo_label_path(const char *image, char *path, size_t size)
{
    static const char from[] = "/images/";
    const size_t skipped = sizeof(from) - 1;
    const char *dot = strrchr(image, '.');
    const char *slash = strrchr(image, '/');
    const size_t length =
        dot != NULL && (slash == NULL || dot > slash) ? (size_t)(dot - image) : strlen(image);
    const char *found = NULL;
    int written;

    for (const char *at = image; (at = strstr(at, from)) != NULL; at++) {
        found = at;
    }
    if (found != NULL) {
        written = snprintf(path, size, "%.*s/labels/%.*s.txt", (int)(found - image), image,
                           (int)(length - (size_t)(found - image) - skipped), found + skipped);
    } else if (strncmp(image, from + 1, skipped - 1) == 0) {
        written = snprintf(path, size, "labels/%.*s.txt", (int)(length - skipped + 1),
                           image + skipped - 1);
    } else {
        written = snprintf(path, size, "%.*s.txt", (int)length, image);
    }
    return written > 0 && (size_t)written < size;
}

/* Reads the label file of the last image. Its error makes the image a bad sample, unless it is the
 * process that can read no file. */
static sluice_status read_labels(set_reader *reader, const char *image)
{
    box_set *set = &reader->source->set;
    char path[PATH_MAX];
    const box_place place = {.file = path};
    sample_data data = {.bytes = NULL};
    sluice_status st;

    if (!yolo_label_path(image, path, sizeof(path))) {
        return sli_fail(SLUICE_E_IO, "%.300s: a path of more than %d bytes", image, PATH_MAX - 1);
    }
    st = file_read_most(reader->source->root_fd, path, YOLO_LABELS_MOST, &reader->io, &data);
    if (st == SLUICE_OK) {
        return yolo_labels_add(reader->labels, (const char *)data.bytes, data.size, path, set);
    }
    if (sli_fault_is_of_process(sli_fault_of_last(st))) {
        return st;
    }
    if (sli_last_errno() != ENOENT) {
        return box_set_mark_bad(set, &place, st);
    }
    if (reader->missing++ == 0) {
        snprintf(reader->first_missing, sizeof(reader->first_missing), "%s", path);
    }
    return SLUICE_OK;
}

static sluice_status read_image(set_reader *reader, size_t i)
{
    const char *path = reader->images->names + reader->images->files[i];
    box_set *set = &reader->source->set;
    box_image about = {.id = (int64_t)i};
    sluice_status st = box_set_add_name(set, path, strlen(path), &about.name);

    if (st == SLUICE_OK) {
        st = box_set_add_image(set, &about);
    }
    return st == SLUICE_OK ? read_labels(reader, path) : st;
}

/* Makes the numbers of classes their names. */
static sluice_status name_classes(box_set *set, uint32_t count)
{
    sluice_status st = SLUICE_OK;

    for (uint32_t i = 0; i < count && st == SLUICE_OK; i++) {
        char text[16];
        const int length = snprintf(text, sizeof(text), "%" PRIu32, i);
        size_t name = 0;

        st = box_set_add_name(set, text, (size_t)length, &name);
        st = st == SLUICE_OK ? box_set_add_class(set, name) : st;
    }
    return st;
}

static box_place place_of_image(const void *user, size_t image)
{
    const set_reader *reader = user;

    return (box_place){.file = reader->images->names + reader->images->files[image]};
}

static void tell_lines(const yolo_labels *labels, const char *about)
{
    if (labels->polygons.count > 0 && !labels->has_shapes) {
        sli_log(SLUICE_LOG_WARN,
                "yolo: %s: %zu lines are polygons; the box around each is used, the first at %s; "
                "masks=semantic or masks=instance draws them",
                about, labels->polygons.count, labels->polygons.first);
    }
    if (labels->points.count > 0) {
        sli_log(SLUICE_LOG_WARN,
                "yolo: %s: %zu lines have key points, which are not read, the first at %s; "
                "keypoints= reads them",
                about, labels->points.count, labels->points.first);
    }
}

static void tell(const set_reader *reader, const char *about)
{
    box_set_tell(&reader->source->set, "yolo", about);
    tell_lines(reader->labels, about);
    if (reader->missing > 0) {
        sli_log(SLUICE_LOG_WARN,
                "yolo: %s: %zu of %zu images have no label file, and so no boxes, the first: %s",
                about, reader->missing, reader->images->count, reader->first_missing);
    }
}

sluice_status yolo_set_read(box_source *source, const image_files *images, yolo_labels *labels,
                            const char *about)
{
    set_reader reader = {.source = source, .images = images, .labels = labels};
    sluice_status st = SLUICE_OK;

    labels->class_count =
        source->set.class_count > 0 ? (uint32_t)source->set.class_count : labels->class_count;
    for (size_t i = 0; i < images->count && st == SLUICE_OK; i++) {
        st = read_image(&reader, i);
    }
    sample_io_free(&reader.io);
    if (st == SLUICE_OK && reader.missing == images->count) {
        st = sli_fail(SLUICE_E_INVALID,
                      "no valid data in the dataset: none of the %zu images has a label file; that "
                      "of the first must be %s",
                      images->count, reader.first_missing);
    }
    if (st == SLUICE_OK) {
        st = box_set_finish(&source->set, place_of_image, &reader);
    }
    if (st == SLUICE_OK && source->set.class_count == 0) {
        st = name_classes(&source->set,
                          labels->class_count > 0 ? labels->class_count : labels->unnamed);
    }
    if (st == SLUICE_OK) {
        tell(&reader, about);
    }
    return st;
}
