/* SPDX-License-Identifier: Apache-2.0 */
/* qsort_r() needs this. */
#define _GNU_SOURCE
#include "yolo_labels.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "alloc_int.h"
#include "box_form.h"
#include "status_int.h"
#include "text_int.h"
#include "text_lines.h"

/* The numbers of a box, and the largest number of bytes of a number. */
enum { CLASS, X, Y, WIDTH, HEIGHT, BOX_FIELDS, MOST_NUMBER = 64 };

/* How far a coordinate may be beyond the image, as Ultralytics has it. */
static const double BEYOND = 0.01;

/* The numbers of one line. */
typedef struct fields {
    double first[BOX_FIELDS];
    size_t count;
    double low[2]; /* of the points of a polygon */
    double high[2];
    float *points; /* for what follows the box, up to point_numbers; NULL: not needed */
    size_t point_numbers;
} fields;

void yolo_labels_free(yolo_labels *labels)
{
    sli_free(labels->lines);
    sli_free(labels->values);
    labels->lines = NULL;
    labels->values = NULL;
}

/* ---- one line -------------------------------------------------------------------------------- */

/* Parses the number at `at`, which ends before a blank or at `end`. Returns its end. */
static sluice_status take_number(const char *at, const char *end, double *number_out,
                                 const char **end_out)
{
    char text[MOST_NUMBER];
    size_t length = 0;

    while (at + length < end && !text_is_blank(at[length])) {
        length++;
    }
    *end_out = at + length;
    snprintf(text, sizeof(text), "%.*s", (int)(length < sizeof(text) ? length : sizeof(text) - 1),
             at);
    return strlen(text) == length && sli_parse_real(text, number_out)
               ? SLUICE_OK
               : sli_fail(SLUICE_E_CORRUPT, "'%s' must be a number", text);
}

/* Adds a number of a line. */
static void add_field(fields *line, double number)
{
    const size_t axis = (line->count + 1) % 2;

    if (line->count < BOX_FIELDS) {
        line->first[line->count] = number;
    } else if (line->points != NULL && line->count - BOX_FIELDS < line->point_numbers) {
        line->points[line->count - BOX_FIELDS] = fabs(number) <= 1e30 ? (float)number : 1e30F;
    }
    if (line->count == 1 || line->count == 2) {
        line->low[axis] = line->high[axis] = number;
    } else if (line->count > 2) {
        line->low[axis] = number < line->low[axis] ? number : line->low[axis];
        line->high[axis] = number > line->high[axis] ? number : line->high[axis];
    }
    line->count++;
}

static sluice_status read_fields(const char *at, const char *end, fields *line)
{
    sluice_status st = SLUICE_OK;

    while (st == SLUICE_OK) {
        double number = 0;

        while (at < end && text_is_blank(*at)) {
            at++;
        }
        if (at == end) {
            break;
        }
        st = take_number(at, end, &number, &at);
        if (st == SLUICE_OK) {
            add_field(line, number);
        }
    }
    return st;
}

static sluice_status get_class(yolo_labels *labels, double number, int32_t *label_out)
{
    const double most = labels->class_count > 0 ? labels->class_count : YOLO_MOST_UNNAMED;

    if (!(number >= 0 && number < most && (double)(int32_t)number == number)) {
        return sli_fail(SLUICE_E_CORRUPT,
                        "the class is %.9g, and must be a whole number from 0 to %d%s", number,
                        (int)most - 1,
                        labels->class_count > 0 ? ", the last class that has a name"
                                                : " where classes have no names");
    }
    *label_out = (int32_t)number;
    if (labels->class_count == 0 && *label_out >= (int32_t)labels->unnamed) {
        labels->unnamed = (uint32_t)*label_out + 1;
    }
    return SLUICE_OK;
}

static sluice_status check_part(double part)
{
    return part >= -BEYOND && part <= 1 + BEYOND
               ? SLUICE_OK
               : sli_fail(SLUICE_E_CORRUPT,
                          "%.9g must be 0 to 1: coordinates are fractions of the image's size",
                          part);
}

static sluice_status get_box(const fields *line, float *corners)
{
    sluice_status st = SLUICE_OK;

    for (int i = 0; i < 4 && st == SLUICE_OK; i++) {
        st = check_part(line->first[X + i]);
        corners[i] = (float)line->first[X + i];
    }
    if (st == SLUICE_OK && (corners[2] < 0 || corners[3] < 0)) {
        st = sli_fail(SLUICE_E_CORRUPT, "width and height are %.9g %.9g, and must be 0 to 1",
                      line->first[WIDTH], line->first[HEIGHT]);
    }
    box_to_corners(BOX_DARKNET, corners);
    return st;
}

/* The box around a polygon. */
static sluice_status get_extent(const fields *line, float *corners)
{
    sluice_status st = SLUICE_OK;

    for (int axis = 0; axis < 2 && st == SLUICE_OK; axis++) {
        st = check_part(line->low[axis]);
        st = st == SLUICE_OK ? check_part(line->high[axis]) : st;
        corners[axis] = (float)line->low[axis];
        corners[axis + 2] = (float)line->high[axis];
    }
    return st;
}

static sluice_status fail_count(const yolo_labels *labels, size_t count)
{
    if (labels->point_numbers > 0) {
        return sli_fail(SLUICE_E_CORRUPT,
                        "%zu numbers must be 5, class x y width height, or with the key points of "
                        "kpt_shape %u",
                        count, BOX_FIELDS + labels->point_numbers);
    }
    return sli_fail(SLUICE_E_CORRUPT,
                    "%zu numbers must be 5, class x y width height, or a polygon, class x1 y1 x2 "
                    "y2 x3 y3 ...%s",
                    count,
                    count == 6  ? "; a sixth number is the confidence of a prediction"
                    : count > 6 ? "; key points need data.yaml with kpt_shape"
                                : "");
}

static void count_line(box_changes *changes, const char *file, uint64_t line)
{
    if (changes->count++ == 0) {
        snprintf(changes->first, sizeof(changes->first), "%.250s:%llu", file,
                 (unsigned long long)line);
    }
}

/* Checks the key points of a line. Points without visibility are visible, as Ultralytics has it. */
static sluice_status finish_points(const yolo_labels *labels, float *points)
{
    const uint32_t each = labels->point_numbers / labels->keypoints;
    sluice_status st = SLUICE_OK;

    for (uint32_t i = labels->keypoints; i-- > 0 && st == SLUICE_OK;) {
        const float *from = &points[i * each];
        const float x = from[0];
        const float y = from[1];
        const float seen = each == 3 ? from[2] : (float)(x >= 0 && y >= 0);

        st = check_part((double)x);
        st = st == SLUICE_OK ? check_part((double)y) : st;
        if (st == SLUICE_OK && !(seen >= 0 && seen <= UINT8_MAX && floorf(seen) == seen)) {
            st = sli_fail(SLUICE_E_CORRUPT,
                          "the visibility %.9g must be a whole number from 0 to 255", (double)seen);
        }
        points[3 * i] = x;
        points[3 * i + 1] = y;
        points[3 * i + 2] = seen;
    }
    return st;
}

static sluice_status read_line(yolo_labels *labels, const fields *line, const char *file,
                               yolo_line *line_out)
{
    float *corners = line_out->box.corners;
    sluice_status st = get_class(labels, line->first[CLASS], &line_out->box.label);

    if (st != SLUICE_OK) {
        return st;
    }
    if (labels->has_shapes && (labels->point_numbers > 0 || line->count < 7)) {
        return sli_fail(SLUICE_E_CORRUPT,
                        "this is a box, and masks= needs a polygon, class x1 y1 x2 y2 x3 y3 ...");
    }
    if (labels->keypoints > 0 && line->count == BOX_FIELDS + labels->point_numbers) {
        st = finish_points(labels, line->points);
        return st == SLUICE_OK ? get_box(line, corners) : st;
    }
    if (labels->keypoints > 0) {
        return sli_fail(SLUICE_E_CORRUPT,
                        "%zu numbers must be %u, class x y width height and the key points of "
                        "kpt_shape",
                        line->count, BOX_FIELDS + labels->point_numbers);
    }
    if (line->count == BOX_FIELDS) {
        return get_box(line, corners);
    }
    if (labels->point_numbers > 0 && line->count == BOX_FIELDS + labels->point_numbers) {
        count_line(&labels->points, file, line_out->line);
        return get_box(line, corners);
    }
    if (labels->point_numbers == 0 && line->count >= 7 && line->count % 2 == 1) {
        count_line(&labels->polygons, file, line_out->line);
        return get_extent(line, corners);
    }
    return fail_count(labels, line->count);
}

/* ---- a file ---------------------------------------------------------------------------------- */

static sluice_status add_line(yolo_labels *labels, const yolo_line *line)
{
    yolo_line *grown =
        sli_grow(labels->lines, &labels->line_capacity, labels->line_count + 1, sizeof(*grown));

    if (grown == NULL) {
        return sli_fail(SLUICE_E_NO_MEMORY, "the lines of a label file");
    }
    labels->lines = grown;
    grown[labels->line_count++] = *line;
    return SLUICE_OK;
}

/* Makes room for the key points of the next line. */
static sluice_status begin_points(yolo_labels *labels, fields *line)
{
    const size_t numbers = (size_t)3 * labels->keypoints;
    float *grown;

    *line = (fields){.count = 0};
    if (numbers == 0) {
        return SLUICE_OK;
    }
    grown = sli_grow(labels->values, &labels->value_capacity, (labels->line_count + 1) * numbers,
                     sizeof(*grown));
    if (grown == NULL) {
        return sli_fail(SLUICE_E_NO_MEMORY, "the key points of a label file");
    }
    labels->values = grown;
    line->points = grown + labels->line_count * numbers;
    line->point_numbers = labels->point_numbers;
    return SLUICE_OK;
}

/* Reads the lines of a file. *line_out: the number of the last one. */
static sluice_status read_lines(yolo_labels *labels, const char *text, size_t size,
                                const char *file, uint64_t *line_out)
{
    text_lines lines = text_lines_of(text, size);
    sluice_status st = SLUICE_OK;
    const char *at;
    const char *end;

    labels->line_count = 0;
    while (st == SLUICE_OK && text_lines_next(&lines, &at, &end)) {
        yolo_line line = {.line = lines.number};
        fields numbers;

        st = begin_points(labels, &numbers);
        st = st == SLUICE_OK ? read_fields(at, end, &numbers) : st;
        if (st == SLUICE_OK && numbers.count > 0) {
            st = read_line(labels, &numbers, file, &line);
            line.box.shape = (uint64_t)(at - text);
            line.box.shape_bytes = (uint32_t)(end - at) & INT32_MAX;
            st = st == SLUICE_OK ? add_line(labels, &line) : st;
        }
    }
    *line_out = lines.number;
    return st;
}

static int compare_boxes(const set_box *one, const set_box *other)
{
    const int order = memcmp(one->corners, other->corners, sizeof(one->corners));

    return order != 0 ? order : (one->label > other->label) - (one->label < other->label);
}

/* Compares the boxes of two lines, and their key points. */
static int compare_content(const yolo_labels *labels, size_t a, size_t b)
{
    const size_t numbers = (size_t)3 * labels->keypoints;
    const int order = compare_boxes(&labels->lines[a].box, &labels->lines[b].box);

    return order != 0 || numbers == 0
               ? order
               : memcmp(labels->values + a * numbers, labels->values + b * numbers,
                        numbers * sizeof(*labels->values));
}

static int compare_lines(const void *a, const void *b, void *labels)
{
    const size_t one = *(const size_t *)a;
    const size_t other = *(const size_t *)b;
    const int order = compare_content(labels, one, other);

    return order != 0 ? order : (one > other) - (one < other);
}

/* Marks lines with the class and box of an earlier one. */
static sluice_status find_repeated(yolo_labels *labels)
{
    const size_t count = labels->line_count;
    yolo_line *lines = labels->lines;
    size_t *order;

    if (count < 2) {
        return SLUICE_OK;
    }
    order = sli_calloc(count, sizeof(*order));
    if (order == NULL) {
        return sli_fail(SLUICE_E_NO_MEMORY, "the lines of a label file");
    }
    for (size_t i = 0; i < count; i++) {
        order[i] = i;
    }
    qsort_r(order, count, sizeof(*order), compare_lines, labels);
    for (size_t i = 1; i < count; i++) {
        lines[order[i]].is_repeated = compare_content(labels, order[i], order[i - 1]) == 0;
    }
    sli_free(order);
    return SLUICE_OK;
}

sluice_status yolo_labels_add(yolo_labels *labels, const char *text, size_t size, const char *file,
                              box_set *set)
{
    box_place place = {.file = file};
    sluice_status st = read_lines(labels, text, size, file, &place.line);

    if (st != SLUICE_OK && st != SLUICE_E_NO_MEMORY) {
        return box_set_mark_bad(set, &place, st);
    }
    st = st == SLUICE_OK ? find_repeated(labels) : st;
    for (size_t i = 0; i < labels->line_count && st == SLUICE_OK; i++) {
        place.line = labels->lines[i].line;
        if (labels->lines[i].is_repeated) {
            box_set_count(set, SET_REPEATED, &place);
        } else {
            const size_t boxes = set->box_count;

            st = box_set_add_box(set, &labels->lines[i].box, "line", (uint32_t)place.line, &place);
            if (st == SLUICE_OK && labels->keypoints > 0) {
                st = box_set_add_points(set, boxes,
                                        labels->values + i * 3 * (size_t)labels->keypoints);
            }
        }
    }
    return st;
}

sluice_status yolo_shape_add(object_raster *raster, const char *line, size_t size)
{
    const char *end = line + size;
    sluice_status st = SLUICE_OK;
    double x = 0;

    for (uint64_t i = 0; st == SLUICE_OK; i++) {
        double number = 0;

        while (line < end && text_is_blank(*line)) {
            line++;
        }
        if (line == end) {
            return i % 2 == 1
                       ? raster_end_polygon(raster)
                       : sli_fail(SLUICE_E_CORRUPT, "%llu numbers must be a class and a polygon",
                                  (unsigned long long)i);
        }
        st = take_number(line, end, &number, &line);
        if (st == SLUICE_OK && i > 0 && i % 2 == 0) {
            st = raster_add_point(raster, x * raster->width, number * raster->height);
        }
        x = number;
    }
    return st;
}
