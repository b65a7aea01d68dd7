/* SPDX-License-Identifier: Apache-2.0 */
#include "coco_set.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "alloc_int.h"
#include "box_rule.h"
#include "error_int.h"
#include "status_int.h"

void coco_lists_free(coco_lists *lists)
{
    sli_free(lists->names);
    sli_free(lists->images);
    sli_free(lists->categories);
    sli_free(lists->boxes);
    *lists = (coco_lists){.names = NULL};
}

void coco_set_free(coco_set *set)
{
    sli_free(set->names);
    sli_free(set->images);
    sli_free(set->boxes);
    sli_free(set->classes);
    sli_free(set->bad);
    *set = (coco_set){.names = NULL};
}

/* ---- ids ------------------------------------------------------------------------------------- */

/* An id of the file, and the index of its image or category in the list. */
typedef struct id_entry {
    int64_t id;
    size_t index;
} id_entry;

/* The ids of images or categories, sorted. */
typedef struct id_table {
    id_entry *entries;
    size_t count;
} id_table;

static int compare_ids(const void *left, const void *right)
{
    const id_entry *a = left;
    const id_entry *b = right;

    return a->id != b->id ? (a->id > b->id) - (a->id < b->id)
                          : (a->index > b->index) - (a->index < b->index);
}

/* Sorts the table. False: an id occurs twice; *again_out is the index of its second occurrence. */
static bool sort_ids(id_table *table, size_t *again_out)
{
    qsort(table->entries, table->count, sizeof(*table->entries), compare_ids);
    for (size_t i = 1; i < table->count; i++) {
        if (table->entries[i].id == table->entries[i - 1].id) {
            *again_out = table->entries[i].index;
            return false;
        }
    }
    return true;
}

/* Returns the position of an id in the sorted table, or SIZE_MAX if it is not there. */
static size_t find_id(const id_table *table, int64_t id)
{
    size_t low = 0;
    size_t high = table->count;

    while (low < high) {
        const size_t middle = low + (high - low) / 2;

        if (table->entries[middle].id < id) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return low < table->count && table->entries[low].id == id ? low : SIZE_MAX;
}

/* ---- making a set ---------------------------------------------------------------------------- */

/* The work of coco_set_make(). */
typedef struct set_maker {
    coco_lists *lists;
    uint64_t max_boxes;
    id_table images;
    id_table categories;
    coco_set set;
    json_place place; /* of the error */
} set_maker;

static sluice_status fail_no_memory(void)
{
    return sli_fail(SLUICE_E_NO_MEMORY, "the boxes of the images");
}

static sluice_status make_tables(set_maker *maker)
{
    const coco_lists *lists = maker->lists;
    size_t again = 0;

    maker->images =
        (id_table){sli_calloc(lists->image_count, sizeof(id_entry)), lists->image_count};
    maker->categories =
        (id_table){sli_calloc(lists->category_count + 1, sizeof(id_entry)), lists->category_count};
    if (maker->images.entries == NULL || maker->categories.entries == NULL) {
        return fail_no_memory();
    }
    for (size_t i = 0; i < lists->image_count; i++) {
        maker->images.entries[i] = (id_entry){lists->images[i].id, i};
    }
    for (size_t i = 0; i < lists->category_count; i++) {
        maker->categories.entries[i] = (id_entry){lists->categories[i].id, i};
    }
    if (!sort_ids(&maker->images, &again)) {
        maker->place = lists->images[again].place;
        return sli_fail(SLUICE_E_CORRUPT, "a second image with the id %lld",
                        (long long)lists->images[again].id);
    }
    if (!sort_ids(&maker->categories, &again)) {
        maker->place = lists->categories[again].place;
        return sli_fail(SLUICE_E_CORRUPT, "a second category with the id %lld",
                        (long long)lists->categories[again].id);
    }
    return SLUICE_OK;
}

/* Makes an image a bad sample because of the last error, unless it is one. */
static sluice_status mark_bad(set_maker *maker, size_t image, json_place place,
                              sluice_status status)
{
    coco_set *set = &maker->set;
    coco_bad *grown;
    sli_error error;

    sli_error_take(status, &error);
    if (set->images[image].bad != 0) {
        return SLUICE_OK;
    }
    grown = sli_grow(set->bad, &set->bad_capacity, set->bad_count + 1, sizeof(*grown));
    if (grown == NULL) {
        return fail_no_memory();
    }
    set->bad = grown;
    snprintf(grown[set->bad_count].text, sizeof(grown->text), "byte %llu, line %llu: %.180s",
             (unsigned long long)place.byte, (unsigned long long)place.line, error.text);
    set->images[image].bad = (uint32_t)++set->bad_count;
    return SLUICE_OK;
}

/* Finds the image and the class of a listed box. *image_out is its index. */
static sluice_status resolve_box(set_maker *maker, const listed_box *from, size_t *image_out,
                                 coco_box *box_out)
{
    const size_t found = find_id(&maker->images, from->image);
    const size_t label = find_id(&maker->categories, from->category);

    maker->place = from->place;
    if (found == SIZE_MAX) {
        return sli_fail(SLUICE_E_CORRUPT, "no image has the id %lld", (long long)from->image);
    }
    if (label == SIZE_MAX) {
        return sli_fail(SLUICE_E_CORRUPT, "no category has the id %lld", (long long)from->category);
    }
    *image_out = maker->images.entries[found].index;
    *box_out = (coco_box){.label = (int32_t)label, .crowd = from->crowd};
    memcpy(box_out->corners, from->corners, sizeof(box_out->corners));
    return SLUICE_OK;
}

/* Applies the rule to a box that resolve_box() has found. */
static box_verdict judge_box(const set_maker *maker, size_t image, coco_box *box)
{
    const listed_image *listed = &maker->lists->images[image];

    return box_judge(box->corners, (float)listed->width, (float)listed->height);
}

static void count_change(coco_changes *changes, json_place place)
{
    if (changes->count++ == 0) {
        changes->first = place;
    }
}

/* Counts a listed box for its image, or finds that it is dropped, or that the image is bad. */
static sluice_status count_box(set_maker *maker, const listed_box *from)
{
    coco_set *set = &maker->set;
    coco_box box;
    size_t image = 0;
    sluice_status st = resolve_box(maker, from, &image, &box);
    box_verdict verdict;

    if (st != SLUICE_OK) {
        return st;
    }
    verdict = judge_box(maker, image, &box);
    if (verdict == BOX_OUTSIDE || verdict == BOX_INVALID) {
        const listed_image *listed = &maker->lists->images[image];

        char name[32];

        snprintf(name, sizeof(name), "annotations[%" PRIu32 "]", from->number);
        st = box_fail(verdict, name, 0, from->corners, (float)listed->width, (float)listed->height);
        return mark_bad(maker, image, from->place, st);
    }
    set->images[image].count += verdict != BOX_EMPTY;
    return SLUICE_OK;
}

/* Makes images with too many boxes bad samples. */
static sluice_status find_crowded(set_maker *maker)
{
    coco_set *set = &maker->set;
    sluice_status st = SLUICE_OK;
    uint32_t largest = 0;

    for (size_t i = 0; i < set->image_count; i++) {
        largest = set->images[i].count > largest ? set->images[i].count : largest;
    }
    for (size_t i = 0; i < set->image_count && st == SLUICE_OK; i++) {
        if (set->images[i].count > maker->max_boxes) {
            st = sli_fail(SLUICE_E_CORRUPT,
                          "this image has %u boxes, more than max_boxes=%llu; all have room with "
                          "max_boxes=%u",
                          set->images[i].count, (unsigned long long)maker->max_boxes, largest);
            st = mark_bad(maker, i, maker->lists->images[i].place, st);
        }
    }
    return st;
}

/* Counts the boxes of each image, finds the bad images, and sets the index of the first box of
 * each. Bad images get no boxes. */
static sluice_status count_boxes(set_maker *maker)
{
    coco_set *set = &maker->set;
    sluice_status st = SLUICE_OK;

    for (size_t i = 0; i < maker->lists->box_count && st == SLUICE_OK; i++) {
        st = count_box(maker, &maker->lists->boxes[i]);
    }
    if (st == SLUICE_OK) {
        st = find_crowded(maker);
    }
    if (st == SLUICE_OK && set->bad_count == set->image_count) {
        maker->place.line = 0;
        return sli_fail(SLUICE_E_CORRUPT,
                        "no valid data in the dataset: all %zu images are bad; the first: %s",
                        set->image_count, set->bad[0].text);
    }
    for (size_t i = 0; i < set->image_count && st == SLUICE_OK; i++) {
        set->images[i].first = set->box_count;
        set->box_count += set->images[i].bad != 0 ? 0 : set->images[i].count;
    }
    return st;
}

/* Stores a box of a good image, or counts it as dropped. */
static void store_box(set_maker *maker, const listed_box *from, size_t image, coco_box *box)
{
    coco_set *set = &maker->set;
    const box_verdict verdict = judge_box(maker, image, box);

    if (verdict == BOX_EMPTY) {
        count_change(&set->dropped, from->place);
        return;
    }
    if (verdict == BOX_CLIPPED) {
        count_change(&set->clipped, from->place);
    }
    set->boxes[set->images[image].first + set->images[image].count++] = *box;
}

/* Stores the boxes by image. count_boxes() has succeeded before. */
static sluice_status store_boxes(set_maker *maker)
{
    coco_set *set = &maker->set;

    set->boxes = sli_calloc(set->box_count + 1, sizeof(*set->boxes));
    if (set->boxes == NULL) {
        return fail_no_memory();
    }
    for (size_t i = 0; i < set->image_count; i++) {
        set->images[i].count = 0;
    }
    for (size_t i = 0; i < maker->lists->box_count; i++) {
        coco_box box;
        size_t image = 0;
        const sluice_status st = resolve_box(maker, &maker->lists->boxes[i], &image, &box);

        if (st != SLUICE_OK) {
            return st;
        }
        if (set->images[image].bad == 0) {
            store_box(maker, &maker->lists->boxes[i], image, &box);
        }
    }
    return SLUICE_OK;
}

static sluice_status make_set(set_maker *maker)
{
    const coco_lists *lists = maker->lists;
    coco_set *set = &maker->set;
    sluice_status st;

    if (lists->image_count == 0) {
        return sli_fail(SLUICE_E_INVALID,
                        "no valid data in the dataset: the list images is missing or empty");
    }
    st = make_tables(maker);
    if (st != SLUICE_OK) {
        return st;
    }
    set->image_count = lists->image_count;
    set->images = sli_calloc(set->image_count, sizeof(*set->images));
    set->class_count = lists->category_count;
    set->classes = sli_calloc(set->class_count + 1, sizeof(*set->classes));
    if (set->images == NULL || set->classes == NULL) {
        return fail_no_memory();
    }
    for (size_t i = 0; i < set->image_count; i++) {
        set->images[i].id = lists->images[i].id;
        set->images[i].name = lists->images[i].name;
        set->images[i].width = lists->images[i].width;
        set->images[i].height = lists->images[i].height;
    }
    for (size_t i = 0; i < set->class_count; i++) {
        set->classes[i] = lists->categories[maker->categories.entries[i].index].name;
    }
    st = count_boxes(maker);
    return st == SLUICE_OK ? store_boxes(maker) : st;
}

sluice_status coco_set_make(coco_lists *lists, uint64_t max_boxes, coco_set *set_out,
                            json_place *place_out)
{
    set_maker maker = {.lists = lists, .max_boxes = max_boxes};
    const sluice_status st = make_set(&maker);

    sli_free(maker.images.entries);
    sli_free(maker.categories.entries);
    if (st != SLUICE_OK) {
        coco_set_free(&maker.set);
        *place_out = maker.place;
        return st;
    }
    maker.set.names = lists->names;
    maker.set.names_size = lists->names_size;
    lists->names = NULL;
    *set_out = maker.set;
    return SLUICE_OK;
}
