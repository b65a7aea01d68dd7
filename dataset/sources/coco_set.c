/* SPDX-License-Identifier: Apache-2.0 */
#include "coco_set.h"

#include <stdlib.h>
#include <string.h>

#include "alloc_int.h"
#include "box_form.h"
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

/*
 * Clips one axis of a box to an image of this size, 0 if unknown. False: the box reaches more than
 * one pixel beyond the image.
 */
static bool clip_axis(float *low, float *high, uint32_t size)
{
    const float most = (float)size;

    if (*low < -1 || (size > 0 && *high > most + 1)) {
        return false;
    }
    *low = *low < 0 ? 0 : *low;
    *high = size > 0 && *high > most ? most : *high;
    return true;
}

/*
 * Finds the image of a listed box, and converts the box. *image_out is SIZE_MAX if the box has no
 * area.
 */
static sluice_status resolve_box(set_maker *maker, const listed_box *from, size_t *image_out,
                                 coco_box *box_out)
{
    const size_t found = find_id(&maker->images, from->image);
    const size_t label = find_id(&maker->categories, from->category);
    const listed_image *image;

    maker->place = from->place;
    if (found == SIZE_MAX) {
        return sli_fail(SLUICE_E_CORRUPT, "no image has the id %lld", (long long)from->image);
    }
    if (label == SIZE_MAX) {
        return sli_fail(SLUICE_E_CORRUPT, "no category has the id %lld", (long long)from->category);
    }
    image = &maker->lists->images[maker->images.entries[found].index];
    *box_out = (coco_box){.label = (int32_t)label, .crowd = from->crowd};
    memcpy(box_out->corners, from->corners, sizeof(box_out->corners));
    if (!clip_axis(&box_out->corners[0], &box_out->corners[2], image->width) ||
        !clip_axis(&box_out->corners[1], &box_out->corners[3], image->height)) {
        return sli_fail(
            SLUICE_E_CORRUPT, "the box from %g,%g to %g,%g reaches beyond its image, of %ux%u",
            (double)from->corners[0], (double)from->corners[1], (double)from->corners[2],
            (double)from->corners[3], image->width, image->height);
    }
    *image_out =
        box_is_valid(BOX_COCO, box_out->corners) ? maker->images.entries[found].index : SIZE_MAX;
    return SLUICE_OK;
}

/* Counts the boxes of each image, and sets the index of its first box. */
static sluice_status count_boxes(set_maker *maker)
{
    coco_set *set = &maker->set;
    uint32_t largest = 0;

    for (size_t i = 0; i < maker->lists->box_count; i++) {
        coco_box box;
        size_t image;
        const sluice_status st = resolve_box(maker, &maker->lists->boxes[i], &image, &box);

        if (st != SLUICE_OK) {
            return st;
        }
        if (image == SIZE_MAX) {
            set->empty_boxes++;
        } else {
            set->images[image].count++;
            set->box_count++;
        }
    }
    for (size_t i = 0, first = 0; i < set->image_count; i++) {
        set->images[i].first = first;
        first += set->images[i].count;
        largest = set->images[i].count > largest ? set->images[i].count : largest;
    }
    for (size_t i = 0; largest > maker->max_boxes && i < set->image_count; i++) {
        if (set->images[i].count > maker->max_boxes) {
            maker->place = maker->lists->images[i].place;
            return sli_fail(SLUICE_E_INVALID,
                            "this image has %u boxes, more than max_boxes=%llu; all have room with "
                            "max_boxes=%u",
                            set->images[i].count, (unsigned long long)maker->max_boxes, largest);
        }
    }
    return SLUICE_OK;
}

/* Stores the boxes by image. resolve_box() has succeeded for all of them before. */
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
        size_t image;
        const sluice_status st = resolve_box(maker, &maker->lists->boxes[i], &image, &box);

        if (st != SLUICE_OK) {
            return st;
        }
        if (image != SIZE_MAX) {
            set->boxes[set->images[image].first + set->images[image].count++] = box;
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
