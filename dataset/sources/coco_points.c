/* SPDX-License-Identifier: Apache-2.0 */
#include "coco_points.h"

#include <jansson.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "alloc_int.h"
#include "box_set.h"
#include "point_range.h"
#include "status_int.h"

/* Bytes of the name of a point. */
enum { MOST_NAME = 200 };

static sluice_status fail_points(const coco_points *points)
{
    return sli_fail(SLUICE_E_CORRUPT,
                    "keypoints must be a list of %u numbers, x, y and visibility of each of %u "
                    "points",
                    3 * points->count, points->count);
}

/* Gets x, y and visibility of a point. */
static sluice_status get_point(const coco_points *points, const json_t *list, size_t i, float *to)
{
    double numbers[3];

    for (size_t k = 0; k < 3; k++) {
        const json_t *number = json_array_get(list, 3 * i + k);

        if (!json_is_number(number)) {
            return fail_points(points);
        }
        numbers[k] = json_number_value(number);
        to[k] = fabs(numbers[k]) <= 1e30 ? (float)numbers[k] : 1e30F;
    }
    if (!point_is_valid(to)) {
        return sli_fail(SLUICE_E_CORRUPT, "keypoints: the point %.9g,%.9g must be within %g pixels",
                        numbers[0], numbers[1], (double)POINT_FARTHEST);
    }
    if (!(numbers[2] >= 0 && numbers[2] <= UINT8_MAX && floor(numbers[2]) == numbers[2])) {
        return sli_fail(SLUICE_E_CORRUPT,
                        "keypoints: the visibility %.9g must be a whole number from 0 to 255",
                        numbers[2]);
    }
    return SLUICE_OK;
}

sluice_status coco_points_add(coco_points *points, size_t number, const json_t *element)
{
    const json_t *list = json_object_get(element, "keypoints");
    const size_t numbers = (size_t)3 * points->count;
    float *grown =
        sli_grow(points->values, &points->capacity, (number + 1) * numbers, sizeof(*grown));
    sluice_status st = SLUICE_OK;

    if (grown == NULL) {
        return sli_fail(SLUICE_E_NO_MEMORY, "the key points of %zu boxes", number);
    }
    points->values = grown;
    grown += number * numbers;
    if (list == NULL || json_is_null(list)) {
        memset(grown, 0, numbers * sizeof(*grown));
        points->missing++;
        return SLUICE_OK;
    }
    if (!json_is_array(list) || json_array_size(list) != numbers) {
        return fail_points(points);
    }
    for (size_t i = 0; i < points->count && st == SLUICE_OK; i++) {
        st = get_point(points, list, i, &grown[3 * i]);
    }
    return st;
}

/* Writes the name of the point that a flip exchanges with this one: `right` in place of `left`.
 * False: the name does not have it, or is too long. */
static bool name_other(const char *left, char *other, size_t size)
{
    const char *at = left != NULL && strlen(left) <= MOST_NAME ? strstr(left, "left") : NULL;

    if (at != NULL) {
        snprintf(other, size, "%.*sright%s", (int)(at - left), left, at + strlen("left"));
    }
    return at != NULL;
}

/* Adds a pair. False: there are too many. */
static bool add_pair(point_pairs *pairs, size_t a, size_t b)
{
    if (pairs->count == MOST_POINT_PAIRS) {
        return false;
    }
    pairs->pairs[pairs->count][0] = (uint16_t)(a < b ? a : b);
    pairs->pairs[pairs->count][1] = (uint16_t)(a < b ? b : a);
    pairs->count++;
    return true;
}

/* Finds the pairs of a list of names. A name that occurs twice is in the first pair only. False:
 * there are too many. */
static bool find_pairs(const json_t *names, point_pairs *pairs)
{
    const size_t count = json_array_size(names);
    bool taken[BOX_MOST_POINTS] = {false};
    char wanted[MOST_NAME + 2];

    for (size_t a = 0; a < count; a++) {
        if (taken[a] ||
            !name_other(json_string_value(json_array_get(names, a)), wanted, sizeof(wanted))) {
            continue;
        }
        for (size_t b = 0; b < count; b++) {
            const char *other = json_string_value(json_array_get(names, b));

            if (other == NULL || b == a || taken[b] || strcmp(other, wanted) != 0) {
                continue;
            }
            taken[a] = taken[b] = true;
            if (!add_pair(pairs, a, b)) {
                return false;
            }
            break;
        }
    }
    return true;
}

sluice_status coco_points_name(coco_points *points, const json_t *category)
{
    const json_t *names = json_object_get(category, "keypoints");
    point_pairs pairs = {.count = 0};

    if (!json_is_array(names) || json_array_size(names) == 0) {
        return SLUICE_OK;
    }
    if (json_array_size(names) != points->count) {
        return sli_fail(SLUICE_E_CORRUPT,
                        "the category has the names of %zu keypoints; keypoints=%u must be their "
                        "number",
                        json_array_size(names), points->count);
    }
    points->are_many = !find_pairs(names, &pairs) || points->are_many;
    if (!points->has_names) {
        points->pairs = pairs;
    }
    points->differ = points->differ || memcmp(&points->pairs, &pairs, sizeof(pairs)) != 0;
    points->has_names = true;
    return SLUICE_OK;
}
