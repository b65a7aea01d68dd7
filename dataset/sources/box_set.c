/* SPDX-License-Identifier: Apache-2.0 */
#include "box_set.h"

#include <stdio.h>
#include <string.h>

#include "alloc_int.h"
#include "box_rule.h"
#include "error_int.h"
#include "log_int.h"
#include "printable_int.h"
#include "status_int.h"

/* box_image.bad of an image with too many boxes, until the text of its error is known. */
#define CROWDED UINT32_MAX

void box_set_free(box_set *set)
{
    sli_free(set->names);
    sli_free(set->images);
    sli_free(set->boxes);
    sli_free(set->points.values);
    sli_free(set->classes);
    sli_free(set->bad);
    *set = (box_set){.names = NULL};
}

uint64_t box_set_memory(const box_set *set)
{
    return set->names_capacity + set->image_capacity * sizeof(*set->images) +
           set->box_capacity * sizeof(*set->boxes) +
           set->points.capacity * sizeof(*set->points.values) +
           set->class_capacity * sizeof(*set->classes) + set->bad_capacity * sizeof(*set->bad);
}

static sluice_status fail_no_memory(void)
{
    return sli_fail(SLUICE_E_NO_MEMORY, "the boxes of the images");
}

sluice_status box_set_add_name(box_set *set, const char *text, size_t length, size_t *name_out)
{
    char *grown = sli_grow(set->names, &set->names_capacity, set->names_size + length + 1, 1);

    if (grown == NULL) {
        return sli_fail(SLUICE_E_NO_MEMORY, "the names of the images");
    }
    set->names = grown;
    memcpy(grown + set->names_size, text, length);
    grown[set->names_size + length] = '\0';
    *name_out = set->names_size;
    set->names_size += length + 1;
    return SLUICE_OK;
}

sluice_status box_set_add_class(box_set *set, size_t name)
{
    size_t *grown =
        sli_grow(set->classes, &set->class_capacity, set->class_count + 1, sizeof(*grown));

    if (grown == NULL) {
        return fail_no_memory();
    }
    set->classes = grown;
    grown[set->class_count++] = name;
    return SLUICE_OK;
}

/* ---- places ---------------------------------------------------------------------------------- */

static void print_place(const box_place *place, char *text, size_t size)
{
    char file[220];

    if (place->file == NULL) {
        snprintf(text, size, "byte %llu, line %llu", (unsigned long long)place->byte,
                 (unsigned long long)place->line);
        return;
    }
    sli_printable(place->file, SLI_ONE_LINE, file, sizeof(file));
    if (place->line > 0) {
        snprintf(text, size, "%s:%llu", file, (unsigned long long)place->line);
    } else {
        snprintf(text, size, "%s", file);
    }
}

void box_set_count(box_set *set, box_set_change change, const box_place *place)
{
    box_changes *changes = &set->pending[change];

    if (changes->count++ == 0) {
        print_place(place, changes->first, sizeof(changes->first));
    }
}

/* Adds the changes of the last image to those of the set, unless it is a bad sample. */
static void count_pending(box_set *set, bool is_bad)
{
    for (int i = 0; i < SET_CHANGES; i++) {
        box_changes *changes = &set->changes[i];

        if (!is_bad && set->pending[i].count > 0) {
            if (changes->count == 0) {
                memcpy(changes->first, set->pending[i].first, sizeof(changes->first));
            }
            changes->count += set->pending[i].count;
        }
        set->pending[i].count = 0;
    }
}

/* ---- bad images ------------------------------------------------------------------------------ */

/* Stores this thread's last error as that of an image. */
static sluice_status store_error(box_set *set, size_t image, const box_place *place,
                                 sluice_status status)
{
    char where[300];
    sli_error error;
    box_bad *grown;

    sli_error_take(status, &error);
    grown = sli_grow(set->bad, &set->bad_capacity, set->bad_count + 1, sizeof(*grown));
    if (grown == NULL) {
        return fail_no_memory();
    }
    set->bad = grown;
    print_place(place, where, sizeof(where));
    grown[set->bad_count].status = status;
    snprintf(grown[set->bad_count].text, sizeof(grown->text), "%.220s: %.180s", where, error.text);
    set->images[image].bad = (uint32_t)++set->bad_count;
    return SLUICE_OK;
}

/* Removes the boxes of the last image. */
static void remove_boxes(box_set *set, box_image *image)
{
    set->box_count = image->first;
    image->count = 0;
}

sluice_status box_set_mark_bad(box_set *set, const box_place *place, sluice_status status)
{
    box_image *image = &set->images[set->image_count - 1];

    if (image->bad != 0) {
        return SLUICE_OK;
    }
    remove_boxes(set, image);
    return store_error(set, set->image_count - 1, place, status);
}

/* Ends the last image, whose boxes are all known. */
static void end_image(box_set *set)
{
    box_image *image;

    if (set->image_count == 0) {
        return;
    }
    image = &set->images[set->image_count - 1];
    if (image->bad == 0 && image->count > set->max_boxes) {
        image->bad = CROWDED; /* keeps its count */
        set->box_count = image->first;
    }
    count_pending(set, image->bad != 0);
}

/* Stores the errors of images with too many boxes: each tells how many boxes the largest has. */
static sluice_status fail_crowded(box_set *set, box_place (*place_of)(const void *, size_t),
                                  const void *user)
{
    sluice_status st = SLUICE_OK;
    uint32_t largest = 0;

    for (size_t i = 0; i < set->image_count; i++) {
        largest = set->images[i].count > largest ? set->images[i].count : largest;
    }
    for (size_t i = 0; i < set->image_count && largest > set->max_boxes && st == SLUICE_OK; i++) {
        if (set->images[i].bad == CROWDED) {
            const box_place place = place_of(user, i);

            st = sli_fail(SLUICE_E_CORRUPT,
                          "this image has %u boxes, more than max_boxes=%llu; all have room with "
                          "max_boxes=%u",
                          set->images[i].count, (unsigned long long)set->max_boxes, largest);
            st = store_error(set, i, &place, st);
            set->images[i].count = 0;
        }
    }
    return st;
}

/* ---- images and boxes ------------------------------------------------------------------------ */

sluice_status box_set_add_image(box_set *set, const box_image *about)
{
    box_image *grown =
        sli_grow(set->images, &set->image_capacity, set->image_count + 1, sizeof(*grown));

    if (grown == NULL) {
        return sli_fail(SLUICE_E_NO_MEMORY, "%zu images", set->image_count);
    }
    set->images = grown;
    end_image(set);
    grown[set->image_count++] = (box_image){.id = about->id,
                                            .name = about->name,
                                            .first = set->box_count,
                                            .width = about->width,
                                            .height = about->height};
    return SLUICE_OK;
}

sluice_status box_set_add_box(box_set *set, const set_box *box, const char *list, uint32_t number,
                              const box_place *place)
{
    box_image *image = &set->images[set->image_count - 1];
    const float width = set->in_parts ? 1 : (float)image->width;
    const float height = set->in_parts ? 1 : (float)image->height;
    set_box *grown;
    box_verdict verdict;

    if (image->bad != 0) {
        return SLUICE_OK;
    }
    grown = sli_grow(set->boxes, &set->box_capacity, set->box_count + 1, sizeof(*grown));
    if (grown == NULL) {
        return fail_no_memory();
    }
    set->boxes = grown;
    grown[set->box_count] = *box;
    verdict = box_judge(grown[set->box_count].corners, width, height);
    if (verdict == BOX_OUTSIDE || verdict == BOX_INVALID) {
        char what[64];

        snprintf(what, sizeof(what), "%s[%u]", list, number);
        return box_set_mark_bad(set, place,
                                box_fail(verdict, what, 0, box->corners, width, height));
    }
    if (verdict != BOX_INSIDE) {
        box_set_count(set, verdict == BOX_EMPTY ? SET_DROPPED : SET_CLIPPED, place);
    }
    if (verdict != BOX_EMPTY) {
        set->box_count++;
        image->count++;
    }
    return SLUICE_OK;
}

sluice_status box_set_add_points(box_set *set, size_t boxes, const float *values)
{
    const size_t numbers = (size_t)3 * set->points.count;
    float *grown;

    if (set->box_count <= boxes) {
        return SLUICE_OK;
    }
    grown = sli_grow(set->points.values, &set->points.capacity, set->box_count * numbers,
                     sizeof(*grown));
    if (grown == NULL) {
        return sli_fail(SLUICE_E_NO_MEMORY, "the key points of the boxes");
    }
    set->points.values = grown;
    memcpy(grown + boxes * numbers, values, numbers * sizeof(*grown));
    return SLUICE_OK;
}

/* Releases the unused capacity of the lists. If realloc() fails, a list keeps its capacity. */
static void shrink(box_set *set)
{
    set_box *boxes = sli_realloc_array(set->boxes, set->box_count + 1, sizeof(*boxes));
    box_image *images = sli_realloc_array(set->images, set->image_count, sizeof(*images));

    if (boxes != NULL) {
        set->boxes = boxes;
        set->box_capacity = set->box_count + 1;
    }
    if (images != NULL) {
        set->images = images;
        set->image_capacity = set->image_count;
    }
}

sluice_status box_set_finish(box_set *set, box_place (*place_of)(const void *user, size_t image),
                             const void *user)
{
    sluice_status st;

    end_image(set);
    st = fail_crowded(set, place_of, user);
    if (st == SLUICE_OK && set->bad_count > 0 && set->bad_count == set->image_count) {
        st = sli_fail(SLUICE_E_CORRUPT,
                      "no valid data in the dataset: all %zu images are bad; the first: %s",
                      set->image_count, set->bad[0].text);
    }
    if (st == SLUICE_OK) {
        shrink(set);
    }
    return st;
}

void box_set_tell(const box_set *set, const char *source, const char *path)
{
    static const char *const what[] = {"boxes without an area are dropped",
                                       "boxes that reach beyond their image are clipped to it",
                                       "boxes that their image has twice are dropped"};

    for (int i = 0; i < SET_CHANGES; i++) {
        if (set->changes[i].count > 0) {
            sli_log(SLUICE_LOG_WARN, "%s: %s: %zu %s, the first at %s", source, path,
                    set->changes[i].count, what[i], set->changes[i].first);
        }
    }
    if (set->bad_count > 0) {
        sli_log(SLUICE_LOG_WARN,
                "%s: %s: %zu of %zu images are bad samples, the first: %s; 'sluice inspect' "
                "lists them, and on_error decides what a run does with them",
                source, path, set->bad_count, set->image_count, set->bad[0].text);
    }
}
