/* SPDX-License-Identifier: Apache-2.0 */
#include "object_raster.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "status_int.h"

/* Points are rounded to a fifth of a pixel. An edge crosses column x where it goes from 5x + 2 to
 * 5x + 3. */
enum { SCALE = 5, CENTRE = 2 };

void raster_free(object_raster *raster)
{
    image_buffer_free(&raster->covered);
    image_buffer_free(&raster->crossings);
}

sluice_status raster_begin(object_raster *raster, uint32_t width, uint32_t height)
{
    const size_t pixels = (size_t)width * height;
    sluice_status st = image_buffer_reserve(&raster->covered, pixels);

    if (st == SLUICE_OK) {
        st = image_buffer_reserve(&raster->crossings, pixels);
    }
    if (st != SLUICE_OK) {
        return st;
    }
    memset(raster->covered.data, 0, pixels);
    memset(raster->crossings.data, 0, pixels);
    raster->width = width;
    raster->height = height;
    raster->end = 0;
    raster_clear(raster);
    return SLUICE_OK;
}

void raster_clear(object_raster *raster)
{
    const size_t height = raster->height;

    if (raster->end > raster->first) {
        memset(raster->covered.data + raster->first * height, 0,
               (raster->end - raster->first) * height);
    }
    if (raster->high > raster->low) { /* of a polygon that was not ended */
        memset(raster->crossings.data + raster->low * height, 0,
               (raster->high - raster->low) * height);
    }
    raster->first = raster->low = raster->width;
    raster->end = raster->high = 0;
    raster->points = 0;
    raster->at = 0;
    raster->is_set = false;
}

/* Widens the columns that have pixels. */
static void widen(object_raster *raster, uint32_t first, uint32_t end)
{
    raster->first = first < raster->first ? first : raster->first;
    raster->end = end > raster->end ? end : raster->end;
}

/* ---- polygons -------------------------------------------------------------------------------- */

/* Adds where an edge crosses a column; `v` is in fifths of a pixel. */
static void add_crossing(object_raster *raster, uint32_t column, int v)
{
    const double y = ceil((v + .5) / SCALE - .5);
    const uint32_t line = y <= 0 ? 0 : y >= raster->height ? raster->height : (uint32_t)y;
    const size_t at = (size_t)column * raster->height + line;
    const uint32_t end = column + (line == raster->height ? 2 : 1);

    if (at < (size_t)raster->width * raster->height) {
        raster->crossings.data[at] ^= 1;
    }
    raster->low = column < raster->low ? column : raster->low;
    raster->high = end > raster->high ? end : raster->high;
    raster->high = raster->high > raster->width ? raster->width : raster->high;
}

/* An edge, in fifths of a pixel. Its longer axis ascends, and the other one is `slope` times it. */
typedef struct polygon_edge {
    int from[2];
    int length; /* on the longer axis */
    double slope;
} polygon_edge;

/* The coordinate on the shorter axis, after `step` fifths on the longer one. */
static int edge_at(const polygon_edge *edge, int axis, int step)
{
    return (int)(edge->from[axis] + edge->slope * step + .5);
}

/* Returns the step at which a steep edge has passed from u to u + 1, or from u + 1 to u. */
static int find_step(const polygon_edge *edge, int u)
{
    const bool ascends = edge->slope > 0;
    const double about = (u + .5 - edge->from[0]) / edge->slope;
    int step = about < 1 ? 1 : about > edge->length ? edge->length : (int)about;

    /* The guess is at most a few roundings away. */
    while (step > 1 && (edge_at(edge, 0, step - 1) > u) == ascends) {
        step--;
    }
    while (step < edge->length && (edge_at(edge, 0, step) > u) != ascends) {
        step++;
    }
    return step;
}

static void add_edge(object_raster *raster, const int *a, const int *b)
{
    const int across = abs(b[0] - a[0]);
    const int down = abs(b[1] - a[1]);
    const bool is_flat = across >= down;
    const int longer = is_flat ? 0 : 1;
    const int *from = a[longer] > b[longer] ? b : a;
    const int *to = from == a ? b : a;
    const int low = a[0] < b[0] ? a[0] : b[0];
    const int high = a[0] < b[0] ? b[0] : a[0];
    int64_t column = low <= CENTRE ? 0 : (low - CENTRE + SCALE - 1) / SCALE;
    polygon_edge edge = {{from[0], from[1]}, is_flat ? across : down, 0};

    if (low == high) {
        return; /* it crosses no column, and may have no length */
    }
    edge.slope = (double)(to[longer ^ 1] - from[longer ^ 1]) / edge.length;
    for (; column < raster->width && column * SCALE + CENTRE < high; column++) {
        const int u = (int)column * SCALE + CENTRE;
        int v;

        if (is_flat) {
            const int one = edge_at(&edge, 1, u - from[0]);
            const int other = edge_at(&edge, 1, u - from[0] + 1);

            v = one < other ? one : other;
        } else {
            v = from[1] + find_step(&edge, u) - 1;
        }
        add_crossing(raster, (uint32_t)column, v);
    }
}

sluice_status raster_add_point(object_raster *raster, double x, double y)
{
    int to[2];

    if (!(fabs(x) <= RASTER_FARTHEST && fabs(y) <= RASTER_FARTHEST)) {
        return sli_fail(SLUICE_E_CORRUPT, "the point %.9g,%.9g must be within %d pixels", x, y,
                        RASTER_FARTHEST);
    }
    to[0] = (int)(SCALE * x + .5);
    to[1] = (int)(SCALE * y + .5);
    if (raster->points++ == 0) {
        memcpy(raster->start, to, sizeof(to));
    } else {
        add_edge(raster, raster->last, to);
    }
    memcpy(raster->last, to, sizeof(to));
    return SLUICE_OK;
}

sluice_status raster_end_polygon(object_raster *raster)
{
    uint8_t inside = 0;

    if (raster->points < 3) {
        return sli_fail(SLUICE_E_CORRUPT, "a polygon has %llu points, and must have at least 3",
                        (unsigned long long)raster->points);
    }
    add_edge(raster, raster->last, raster->start);
    raster->points = 0;
    if (raster->high <= raster->low) {
        return SLUICE_OK;
    }
    for (size_t i = (size_t)raster->low * raster->height; i < (size_t)raster->high * raster->height;
         i++) {
        inside ^= raster->crossings.data[i];
        raster->crossings.data[i] = 0;
        raster->covered.data[i] |= inside;
    }
    widen(raster, raster->low, raster->high);
    raster->low = raster->width;
    raster->high = 0;
    return SLUICE_OK;
}

/* ---- runs ------------------------------------------------------------------------------------ */

sluice_status raster_add_run(object_raster *raster, int64_t count)
{
    const uint64_t pixels = (uint64_t)raster->width * raster->height;

    if (count < 0 || (uint64_t)count > pixels - raster->at) {
        return sli_fail(SLUICE_E_CORRUPT,
                        "a run has %lld pixels, where %llu of the %ux%u pixels are left",
                        (long long)count, (unsigned long long)(pixels - raster->at), raster->width,
                        raster->height);
    }
    if (raster->is_set && count > 0) {
        memset(raster->covered.data + raster->at, 1, (size_t)count);
        widen(raster, (uint32_t)(raster->at / raster->height),
              (uint32_t)((raster->at + (uint64_t)count - 1) / raster->height) + 1);
    }
    raster->at += (uint64_t)count;
    raster->is_set = !raster->is_set;
    return SLUICE_OK;
}

sluice_status raster_end_runs(object_raster *raster)
{
    const uint64_t pixels = (uint64_t)raster->width * raster->height;

    return raster->at == pixels
               ? SLUICE_OK
               : sli_fail(SLUICE_E_CORRUPT, "the runs have %llu pixels, and must have %llu, %ux%u",
                          (unsigned long long)raster->at, (unsigned long long)pixels, raster->width,
                          raster->height);
}

uint64_t raster_area(const object_raster *raster)
{
    uint64_t area = 0;

    for (size_t i = (size_t)raster->first * raster->height;
         i < (size_t)raster->end * raster->height; i++) {
        area += raster->covered.data[i];
    }
    return area;
}
