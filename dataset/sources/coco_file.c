/* SPDX-License-Identifier: Apache-2.0 */
#include "coco_file.h"

#include <errno.h>
#include <jansson.h>
#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "alloc_int.h"
#include "box_form.h"
#include "json_nonfinite.h"
#include "path_parts.h"
#include "status_int.h"

/* Size of the buffer for a member's name; members with longer names are skipped. */
enum { MOST_KEY = 32 };

typedef struct coco_reader {
    const coco_options *options;
    json_walk walk;
    coco_lists lists;
    json_place place;      /* for errors: of the element that is added; line 0: use the cursor's */
    uint64_t number;       /* index of the element that is read */
    char where[64];        /* that element, for messages: "annotations[7]: " */
    uint64_t text_numbers; /* whole numbers that are texts */
    bool has_nonfinite;    /* the bbox of the element has NaN or infinities */
    uint64_t shape;        /* offset of the element's segmentation */
    uint32_t shape_bytes;  /* 0: it has none, or it is not needed */
} coco_reader;

/* ---- members of an element ------------------------------------------------------------------- */

/* Returns a member of an element; NULL: it is missing, or null. */
static const json_t *get_member(const json_t *element, const char *key)
{
    const json_t *member = json_object_get(element, key);

    return json_is_null(member) ? NULL : member;
}

/* Fails because a member is missing, or is not what it must be; the message has its value. */
static sluice_status fail_member(const json_t *element, const char *key, const char *must_be)
{
    const size_t flags =
        JSON_ENCODE_ANY | JSON_COMPACT | JSON_ENSURE_ASCII | JSON_REAL_PRECISION(15);
    const json_t *member = json_object_get(element, key);
    char *value = member != NULL ? json_dumps(member, flags) : NULL;
    sluice_status st;

    st = value != NULL
             ? sli_fail(SLUICE_E_CORRUPT, "%s is %.80s and must be %s", key, value, must_be)
             : sli_fail(SLUICE_E_CORRUPT, "%s is missing; it must be %s", key, must_be);
    free(value);
    return st;
}

/* Parses a text that is a whole number as JSON writes it, without leading zeros. */
static bool parse_whole(const char *text, int64_t *number_out)
{
    char again[32];
    char *end = NULL;
    long long number;

    errno = 0;
    number = strtoll(text, &end, 10);
    snprintf(again, sizeof(again), "%lld", number);
    *number_out = number;
    return errno == 0 && strcmp(again, text) == 0;
}

/*
 * Gets a whole number. It may be a real, such as 1.0, or a text, such as "1": writers of JSON give
 * ids of tables and of dataframes so. Texts are counted.
 */
static bool get_whole(coco_reader *reader, const json_t *member, int64_t *number_out)
{
    static const double most = 9007199254740992.0; /* 2^53: reals up to it are exact */
    const double real = json_real_value(member);

    if (json_is_string(member)) {
        reader->text_numbers++;
        return strlen(json_string_value(member)) == json_string_length(member) &&
               parse_whole(json_string_value(member), number_out);
    }
    if (json_is_real(member)) {
        *number_out = fabs(real) <= most ? (int64_t)real : 0;
        return fabs(real) <= most && (double)*number_out == real;
    }
    *number_out = json_integer_value(member);
    return json_is_integer(member);
}

static sluice_status get_id(coco_reader *reader, const json_t *element, const char *key,
                            int64_t *id_out)
{
    return get_whole(reader, get_member(element, key), id_out)
               ? SLUICE_OK
               : fail_member(element, key, "a whole number");
}

/* Gets the width or height of an image; 0 if it is not listed. */
static sluice_status get_side(coco_reader *reader, const json_t *element, const char *key,
                              uint32_t *side_out)
{
    const json_t *member = get_member(element, key);
    int64_t side = 0;

    if (member != NULL && (!get_whole(reader, member, &side) || side < 1 || side > INT32_MAX)) {
        return fail_member(element, key, "a whole number from 1 to 2147483647");
    }
    *side_out = (uint32_t)side;
    return SLUICE_OK;
}

/* Copies a text of an element to the names. `most`: limit on its length. */
static sluice_status keep_name(coco_lists *lists, const json_t *element, const char *key,
                               size_t most, size_t *name_out)
{
    const json_t *member = json_object_get(element, key);
    const size_t length = json_string_length(member);
    char *grown;

    if (!json_is_string(member) || length == 0) {
        return fail_member(element, key, "a text that is not empty");
    }
    if (length > most) {
        return sli_fail(SLUICE_E_CORRUPT, "%s has %zu bytes, and must have at most %zu", key,
                        length, most);
    }
    grown = sli_grow(lists->names, &lists->names_capacity, lists->names_size + length + 1, 1);
    if (grown == NULL) {
        return sli_fail(SLUICE_E_NO_MEMORY, "the names of the images");
    }
    lists->names = grown;
    memcpy(grown + lists->names_size, json_string_value(member), length);
    grown[lists->names_size + length] = '\0';
    *name_out = lists->names_size;
    lists->names_size += length + 1;
    return SLUICE_OK;
}

/* Converts a number of a box. One that is not finite in f32 becomes NaN or an infinity. */
static float box_number(const json_t *number)
{
    const double real = json_number_value(number);

    if (json_is_string(number)) {
        return NAN;
    }
    return fabs(real) > 1e30 ? copysignf(INFINITY, (float)(real > 0 ? 1 : -1)) : (float)real;
}

/* Gets a box. NaN is an empty string here, as parse_value() has replaced it. */
static sluice_status get_box(const coco_reader *reader, const json_t *element, float *corners)
{
    static const char must_be[] = "a list of 4 numbers x,y,width,height";
    const json_t *member = json_object_get(element, "bbox");

    if (!json_is_array(member) || json_array_size(member) != 4) {
        return fail_member(element, "bbox", must_be);
    }
    for (size_t i = 0; i < 4; i++) {
        const json_t *number = json_array_get(member, i);

        if (!json_is_number(number) &&
            !(reader->has_nonfinite && json_string_length(number) == 0 && json_is_string(number))) {
            return fail_member(element, "bbox", must_be);
        }
        corners[i] = box_number(number);
    }
    box_to_corners(BOX_COCO, corners);
    return SLUICE_OK;
}

/* ---- elements -------------------------------------------------------------------------------- */

static sluice_status add_image(coco_reader *reader, const json_t *element)
{
    coco_lists *lists = &reader->lists;
    listed_image image = {.place = reader->place};
    listed_image *grown;
    sluice_status st = get_id(reader, element, "id", &image.id);

    if (st == SLUICE_OK) {
        st = get_side(reader, element, "width", &image.width);
    }
    if (st == SLUICE_OK) {
        st = get_side(reader, element, "height", &image.height);
    }
    if (st == SLUICE_OK) {
        st = keep_name(lists, element, "file_name", PATH_MAX - 1, &image.name);
    }
    if (st == SLUICE_OK && lists->names[image.name] != '/' &&
        path_leads_up(lists->names + image.name)) {
        st = fail_member(element, "file_name",
                         "a path without .., in the folder of the images; root= names that folder, "
                         "and an absolute path an image elsewhere");
    }
    if (st != SLUICE_OK) {
        return st;
    }
    grown = sli_grow(lists->images, &lists->image_capacity, lists->image_count + 1, sizeof(*grown));
    if (grown == NULL) {
        return sli_fail(SLUICE_E_NO_MEMORY, "%zu images", lists->image_count);
    }
    lists->images = grown;
    grown[lists->image_count++] = image;
    return SLUICE_OK;
}

static sluice_status add_category(coco_reader *reader, const json_t *element)
{
    coco_lists *lists = &reader->lists;
    listed_category category = {.place = reader->place};
    listed_category *grown;
    sluice_status st = get_id(reader, element, "id", &category.id);

    if (st == SLUICE_OK) {
        st = keep_name(lists, element, "name", 1023, &category.name);
    }
    if (st == SLUICE_OK && lists->points.count > 0) {
        st = coco_points_name(&lists->points, element);
    }
    if (st != SLUICE_OK) {
        return st;
    }
    grown = sli_grow(lists->categories, &lists->category_capacity, lists->category_count + 1,
                     sizeof(*grown));
    if (grown == NULL) {
        return sli_fail(SLUICE_E_NO_MEMORY, "%zu categories", lists->category_count);
    }
    lists->categories = grown;
    grown[lists->category_count++] = category;
    return SLUICE_OK;
}

static sluice_status get_crowd(coco_reader *reader, const json_t *element, uint32_t *crowd_out)
{
    const json_t *member = get_member(element, "iscrowd");
    int64_t crowd = json_is_true(member) ? 1 : 0;

    if (member != NULL && !json_is_boolean(member) &&
        (!get_whole(reader, member, &crowd) || crowd < 0 || crowd > 1)) {
        return fail_member(element, "iscrowd", "0 or 1");
    }
    *crowd_out = (uint32_t)crowd;
    return SLUICE_OK;
}

static sluice_status add_annotation(coco_reader *reader, const json_t *element)
{
    coco_lists *lists = &reader->lists;
    listed_box box = {.number = (uint32_t)reader->number,
                      .place = reader->place,
                      .shape = reader->shape,
                      .shape_bytes = reader->shape_bytes};
    listed_box *grown;
    sluice_status st = get_crowd(reader, element, &box.crowd);

    if (st != SLUICE_OK || (box.crowd == 1 && !reader->options->keep_crowds)) {
        return st;
    }
    st = get_id(reader, element, "image_id", &box.image);
    if (st == SLUICE_OK) {
        st = get_id(reader, element, "category_id", &box.category);
    }
    if (st == SLUICE_OK) {
        st = get_box(reader, element, box.corners);
    }
    if (st == SLUICE_OK && lists->points.count > 0) {
        st = coco_points_add(&lists->points, lists->box_count, element);
    }
    if (st != SLUICE_OK) {
        return st;
    }
    grown = sli_grow(lists->boxes, &lists->box_capacity, lists->box_count + 1, sizeof(*grown));
    if (grown == NULL) {
        return sli_fail(SLUICE_E_NO_MEMORY, "%zu boxes", lists->box_count);
    }
    lists->boxes = grown;
    grown[lists->box_count++] = box;
    return SLUICE_OK;
}

/* ---- the file -------------------------------------------------------------------------------- */

/* The lists of the file that are read, and the members of their elements that are read. */
static const struct coco_list {
    const char *key;
    const char *members[6];
    sluice_status (*add)(coco_reader *reader, const json_t *element);
} coco_list_table[] = {
    {"images", {"id", "file_name", "width", "height"}, add_image},
    {"annotations", {"image_id", "category_id", "bbox", "iscrowd", "keypoints"}, add_annotation},
    {"categories", {"id", "name", "keypoints"}, add_category},
};

enum { LISTS = sizeof(coco_list_table) / sizeof(coco_list_table[0]) };

/*
 * Parses the next value of the file, the member `key` of an element. NaN and infinities, which are
 * not JSON, are accepted in a bbox only, where they make the image a bad sample.
 */
static sluice_status parse_value(coco_reader *reader, const char *key, json_t **value_out)
{
    char *text = NULL;
    size_t size = 0;
    json_error_t error;
    const sluice_status st = json_walk_value(&reader->walk, &text, &size);
    const char *nonfinite = st == SLUICE_OK ? json_nonfinite_find(text, size) : NULL;

    if (st != SLUICE_OK) {
        return st;
    }
    if (nonfinite != NULL && strcmp(key, "bbox") != 0) {
        return sli_fail(SLUICE_E_CORRUPT, "%s has the value %s, and must be finite", key,
                        nonfinite);
    }
    if (nonfinite != NULL) {
        json_nonfinite_replace(text, size);
        reader->has_nonfinite = true;
    }
    *value_out = json_loadb(text, size, JSON_DECODE_ANY | JSON_REJECT_DUPLICATES, &error);
    if (*value_out == NULL && json_error_code(&error) == json_error_out_of_memory) {
        return sli_fail(SLUICE_E_NO_MEMORY, "%zu bytes of JSON", size);
    }
    return *value_out != NULL ? SLUICE_OK
                              : sli_fail(SLUICE_E_CORRUPT, "this is not JSON: %s", error.text);
}

/* True if members of this name are read. */
static bool is_member(const coco_reader *reader, const struct coco_list *list, const char *key)
{
    if (strcmp(key, "keypoints") == 0 && reader->options->points == 0) {
        return false;
    }
    for (uint32_t i = 0; list->members[i] != NULL; i++) {
        if (strcmp(list->members[i], key) == 0) {
            return true;
        }
    }
    return false;
}

/* Notes where a segmentation is, and skips it. That of null is none. */
static sluice_status note_shape(coco_reader *reader)
{
    char next = '\0';
    uint64_t bytes = 0;
    sluice_status st = json_walk_peek(&reader->walk, &next);

    if (reader->shape_bytes > 0) {
        return sli_fail(SLUICE_E_CORRUPT, "a second segmentation");
    }
    reader->shape = json_walk_place(&reader->walk).byte;
    st = st == SLUICE_OK ? json_walk_skip(&reader->walk) : st;
    bytes = json_walk_place(&reader->walk).byte - reader->shape;
    if (st == SLUICE_OK && bytes > SHAPE_MOST_BYTES) {
        return sli_fail(SLUICE_E_UNSUPPORTED,
                        "a segmentation has %llu bytes, and must have at most %d",
                        (unsigned long long)bytes, SHAPE_MOST_BYTES);
    }
    reader->shape_bytes = next != 'n' ? (uint32_t)bytes : 0;
    return st;
}

/* Reads a member of an element, or skips it. */
static sluice_status read_element_member(coco_reader *reader, const struct coco_list *list,
                                         json_t *element)
{
    char key[MOST_KEY];
    json_t *value = NULL;
    sluice_status st = json_walk_key(&reader->walk, key, sizeof(key));

    if (st == SLUICE_OK && reader->options->has_shapes && list->add == add_annotation &&
        strcmp(key, "segmentation") == 0) {
        return note_shape(reader);
    }
    if (st != SLUICE_OK || !is_member(reader, list, key)) {
        return st == SLUICE_OK ? json_walk_skip(&reader->walk) : st;
    }
    if (json_object_get(element, key) != NULL) {
        return sli_fail(SLUICE_E_CORRUPT, "a second %s", key);
    }
    st = parse_value(reader, key, &value);
    if (st == SLUICE_OK && json_object_set_new(element, key, value) != 0) {
        st = sli_fail(SLUICE_E_NO_MEMORY, "a member %s", key);
    }
    return st;
}

/* Reads and adds an element of a list. An error of add() has the position of the element's first
 * byte. */
static sluice_status read_element(coco_reader *reader, const struct coco_list *list,
                                  json_t *element)
{
    bool more = true;
    char next;
    sluice_status st = json_walk_peek(&reader->walk, &next);
    const json_place place = json_walk_place(&reader->walk);

    if (st == SLUICE_OK) {
        st = json_walk_pass(&reader->walk, '{');
    }
    for (bool first = true; st == SLUICE_OK; first = false) {
        st = json_walk_next(&reader->walk, '}', first, &more);
        if (st == SLUICE_OK && !more) {
            reader->place = place;
            return list->add(reader, element);
        }
        if (st == SLUICE_OK) {
            st = read_element_member(reader, list, element);
        }
    }
    return st;
}

static sluice_status read_list(coco_reader *reader, const struct coco_list *list)
{
    bool more = true;
    sluice_status st = json_walk_pass(&reader->walk, '[');

    for (uint64_t number = 0; st == SLUICE_OK; number++) {
        json_t *element;

        reader->number = number;
        reader->where[0] = '\0';
        reader->has_nonfinite = false;
        reader->shape_bytes = 0;
        reader->place.line = 0;
        st = json_walk_next(&reader->walk, ']', number == 0, &more);
        if (st != SLUICE_OK || !more) {
            return st;
        }
        snprintf(reader->where, sizeof(reader->where), "%s[%llu]: ", list->key,
                 (unsigned long long)number);
        element = json_object();
        st = element != NULL ? read_element(reader, list, element)
                             : sli_fail(SLUICE_E_NO_MEMORY, "an element");
        json_decref(element);
    }
    return st;
}

/* Reads a list of the file; skips other members. */
static sluice_status read_member(coco_reader *reader, bool *seen)
{
    char key[MOST_KEY];
    uint32_t list = 0;
    const sluice_status st = json_walk_key(&reader->walk, key, sizeof(key));

    if (st != SLUICE_OK) {
        return st;
    }
    while (list < LISTS && strcmp(key, coco_list_table[list].key) != 0) {
        list++;
    }
    if (list == LISTS) {
        return json_walk_skip(&reader->walk);
    }
    if (seen[list]) {
        return sli_fail(SLUICE_E_CORRUPT, "a second list %s", key);
    }
    seen[list] = true;
    return read_list(reader, &coco_list_table[list]);
}

static sluice_status read_file(coco_reader *reader)
{
    bool seen[LISTS] = {false};
    bool more = true;
    char next = '\0';
    sluice_status st = json_walk_pass(&reader->walk, '{');

    for (bool first = true; st == SLUICE_OK; first = false) {
        st = json_walk_next(&reader->walk, '}', first, &more);
        if (st != SLUICE_OK || !more) {
            break;
        }
        st = read_member(reader, seen);
    }
    if (st == SLUICE_OK) {
        st = json_walk_peek(&reader->walk, &next);
    }
    if (st == SLUICE_OK && reader->walk.at < reader->walk.end) {
        st = sli_fail(SLUICE_E_CORRUPT, "bytes follow the end of the object");
    }
    for (uint32_t i = 0; i < LISTS && st == SLUICE_OK; i++) {
        st = seen[i] ? st
                     : sli_fail(SLUICE_E_CORRUPT,
                                "there is no list %s; the file must be COCO's annotations of "
                                "detection, instances_*.json",
                                coco_list_table[i].key);
    }
    return st;
}

/* Adds the position to an error, unless it is E_IO or E_NO_MEMORY. */
static sluice_status add_place(coco_reader *reader, sluice_status status)
{
    const json_place place =
        reader->place.line > 0 ? reader->place : json_walk_place(&reader->walk);

    if (status == SLUICE_E_IO || status == SLUICE_E_NO_MEMORY) {
        return status;
    }
    return sli_fail_quoting(status, "byte %llu, line %llu: %s%.700s",
                            (unsigned long long)place.byte, (unsigned long long)place.line,
                            reader->where, sluice_last_error());
}

sluice_status coco_file_read(int fd, const coco_options *options, box_set *set_out,
                             coco_found *found_out)
{
    coco_reader reader = {.options = options,
                          .lists.has_shapes = options->has_shapes,
                          .lists.points.count = options->points};
    sluice_status st;

    json_walk_begin(fd, &reader.walk);
    st = read_file(&reader);
    if (st == SLUICE_OK) {
        st = coco_set_make(&reader.lists, options->max_boxes, set_out, &reader.place);
    }
    if (st == SLUICE_OK) {
        *found_out = (coco_found){.text_numbers = reader.text_numbers,
                                  .without_points = reader.lists.points.missing,
                                  .pairs_are_many = reader.lists.points.are_many,
                                  .pairs_differ = reader.lists.points.differ};
        if (!found_out->pairs_differ && !found_out->pairs_are_many) {
            found_out->pairs = reader.lists.points.pairs;
        }
    }
    if (st != SLUICE_OK) {
        st = add_place(&reader, st);
    }
    json_walk_end(&reader.walk);
    coco_lists_free(&reader.lists);
    return st;
}
