/* SPDX-License-Identifier: Apache-2.0 */
#include "coco_set.h"

#include <stdlib.h>
#include <string.h>

#include "alloc_int.h"
#include "status_int.h"

void coco_lists_free(coco_lists *lists)
{
    sli_free(lists->names);
    sli_free(lists->images);
    sli_free(lists->categories);
    sli_free(lists->boxes);
    sli_free(lists->points.values);
    *lists = (coco_lists){.names = NULL};
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
    id_table images;
    id_table categories;
    size_t *order; /* of the boxes; order_boxes() */
    size_t *ends;
    box_set set;
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

/* Replaces the ids of a listed box by the index of its image and its class. */
static sluice_status resolve_box(set_maker *maker, listed_box *box)
{
    const size_t found = find_id(&maker->images, box->image);
    const size_t label = find_id(&maker->categories, box->category);

    maker->place = box->place;
    if (found == SIZE_MAX) {
        return sli_fail(SLUICE_E_CORRUPT, "no image has the id %lld", (long long)box->image);
    }
    if (label == SIZE_MAX) {
        return sli_fail(SLUICE_E_CORRUPT, "no category has the id %lld", (long long)box->category);
    }
    box->image = (int64_t)maker->images.entries[found].index;
    box->category = (int64_t)label;
    return SLUICE_OK;
}

/*
 * Finds the images of all boxes, and orders the boxes by image: those of image i are `order` from
 * `ends[i - 1]` (of image 0: from 0) to `ends[i]`.
 */
static sluice_status order_boxes(set_maker *maker)
{
    coco_lists *lists = maker->lists;
    sluice_status st = SLUICE_OK;
    size_t sum = 0;

    maker->order = sli_calloc(lists->box_count + 1, sizeof(*maker->order));
    maker->ends = sli_calloc(lists->image_count + 1, sizeof(*maker->ends));
    if (maker->order == NULL || maker->ends == NULL) {
        return fail_no_memory();
    }
    for (size_t i = 0; i < lists->box_count && st == SLUICE_OK; i++) {
        st = resolve_box(maker, &lists->boxes[i]);
        if (st == SLUICE_OK) {
            maker->ends[lists->boxes[i].image]++;
        }
    }
    for (size_t i = 0; i < lists->image_count && st == SLUICE_OK; i++) {
        const size_t count = maker->ends[i];

        maker->ends[i] = sum;
        sum += count;
    }
    for (size_t i = 0; i < lists->box_count && st == SLUICE_OK; i++) {
        maker->order[maker->ends[lists->boxes[i].image]++] = i;
    }
    return st;
}

static sluice_status add_box(set_maker *maker, const listed_box *from)
{
    const box_place place = {.byte = from->place.byte, .line = from->place.line};
    set_box box = {.label = (int32_t)from->category,
                   .flag = from->crowd & 1,
                   .shape = from->shape,
                   .shape_bytes = from->shape_bytes & INT32_MAX};
    const coco_points *points = &maker->lists->points;
    const size_t boxes = maker->set.box_count;
    sluice_status st;

    if (maker->lists->has_shapes && from->shape_bytes == 0) {
        return box_set_mark_bad(&maker->set, &place,
                                sli_fail(SLUICE_E_CORRUPT,
                                         "annotations[%u]: segmentation is missing, and masks= "
                                         "needs it",
                                         from->number));
    }
    memcpy(box.corners, from->corners, sizeof(box.corners));
    st = box_set_add_box(&maker->set, &box, "annotations", from->number, &place);
    return st == SLUICE_OK && points->count > 0
               ? box_set_add_points(&maker->set, boxes,
                                    points->values +
                                        (size_t)(from - maker->lists->boxes) * 3 * points->count)
               : st;
}

/* Adds an image with its boxes. */
static sluice_status add_image(set_maker *maker, size_t i)
{
    const coco_lists *lists = maker->lists;
    const listed_image *listed = &lists->images[i];
    sluice_status st = box_set_add_image(&maker->set, &(box_image){.id = listed->id,
                                                                   .name = listed->name,
                                                                   .width = listed->width,
                                                                   .height = listed->height});

    for (size_t k = i > 0 ? maker->ends[i - 1] : 0; k < maker->ends[i] && st == SLUICE_OK; k++) {
        st = add_box(maker, &lists->boxes[maker->order[k]]);
    }
    return st;
}

/* The position of an image in the list of images. */
static box_place place_of_image(const void *user, size_t image)
{
    const coco_lists *lists = user;

    return (box_place){.byte = lists->images[image].place.byte,
                       .line = lists->images[image].place.line};
}

static sluice_status make_set(set_maker *maker)
{
    const coco_lists *lists = maker->lists;
    sluice_status st;

    if (lists->image_count == 0) {
        return sli_fail(SLUICE_E_INVALID,
                        "no valid data in the dataset: the list images is missing or empty");
    }
    st = make_tables(maker);
    if (st != SLUICE_OK) {
        return st;
    }
    for (size_t i = 0; i < lists->category_count && st == SLUICE_OK; i++) {
        st = box_set_add_class(&maker->set,
                               lists->categories[maker->categories.entries[i].index].name);
    }
    st = st == SLUICE_OK ? order_boxes(maker) : st;
    for (size_t i = 0; i < lists->image_count && st == SLUICE_OK; i++) {
        st = add_image(maker, i);
    }
    maker->place.line = st == SLUICE_OK ? 0 : maker->place.line;
    return st == SLUICE_OK ? box_set_finish(&maker->set, place_of_image, lists) : st;
}

sluice_status coco_set_make(coco_lists *lists, uint64_t max_boxes, box_set *set_out,
                            json_place *place_out)
{
    set_maker maker = {.lists = lists,
                       .set = {.max_boxes = max_boxes, .points.count = lists->points.count}};
    const sluice_status st = make_set(&maker);

    sli_free(maker.images.entries);
    sli_free(maker.categories.entries);
    sli_free(maker.order);
    sli_free(maker.ends);
    if (st != SLUICE_OK) {
        box_set_free(&maker.set);
        *place_out = maker.place;
        return st;
    }
    maker.set.names = lists->names;
    maker.set.names_size = lists->names_size;
    maker.set.names_capacity = lists->names_capacity;
    lists->names = NULL;
    *set_out = maker.set;
    return SLUICE_OK;
}
