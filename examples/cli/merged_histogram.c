/* SPDX-License-Identifier: Apache-2.0 */
/* Histograms of the ranks' stages as one; docs/guide/report.md describes the buckets. */
#include <math.h>
#include <stdint.h>
#include <stdlib.h>

#include "merged_values.h"
#include "report_reader.h"

/* Items of about the same time. */
typedef struct time_point {
    double ns;
    uint64_t count;
} time_point;

typedef struct merged_points {
    double ns_per_tick; /* of the first rank */
    time_point *points; /* (count) */
    size_t count;
    uint64_t total;
    uint64_t counts[REPORT_BUCKETS]; /* by the ticks of the first rank */
} merged_points;

static double middle_ticks(uint32_t bucket)
{
    return bucket < 8 ? bucket : ldexp(8 + bucket % 8 + 0.5, (int)(bucket / 8) - 1);
}

static uint32_t bucket_of(double ticks)
{
    int exponent = 0;
    double fraction;
    double bucket;

    if (ticks < 8) {
        return (uint32_t)ticks;
    }
    fraction = frexp(ticks, &exponent); /* 0.5 <= fraction < 1 */
    bucket = 8.0 * (exponent - 3) + floor(16 * fraction) - 8;
    return bucket < REPORT_BUCKETS ? (uint32_t)bucket : REPORT_BUCKETS - 1;
}

/* Adds a rank's histogram. The ticks of machines differ, so its times are converted. */
static void add_counts(merged_points *all, const json_t *histogram)
{
    const double tick = report_number(histogram, "ns_per_tick");
    const json_t *counts = report_get(histogram, "counts");
    /* The clocks of one machine are measured anew in each run: a difference below 1 %. */
    const bool same = fabs(tick / all->ns_per_tick - 1) < 0.01;

    for (size_t i = 0; i < json_array_size(counts); i++) {
        const json_t *pair = json_array_get(counts, i);
        const uint32_t bucket = (uint32_t)json_integer_value(json_array_get(pair, 0));
        const uint64_t count = (uint64_t)json_integer_value(json_array_get(pair, 1));
        const double ns = middle_ticks(bucket) * tick;

        all->points[all->count++] = (time_point){ns, count};
        all->total += count;
        all->counts[same ? bucket : bucket_of(ns / all->ns_per_tick)] += count;
    }
}

static int compare_points(const void *a, const void *b)
{
    const double x = ((const time_point *)a)->ns;
    const double y = ((const time_point *)b)->ns;

    return (x > y) - (x < y);
}

/* The percentile as a report has it, of sorted points. */
static json_t *percentile_us(const merged_points *all, double share)
{
    const uint64_t wanted = (uint64_t)((double)all->total * share);
    uint64_t seen = 0;

    for (size_t i = 0; i < all->count; i++) {
        seen += all->points[i].count;
        if (seen > wanted) {
            return isfinite(all->points[i].ns) ? json_real(all->points[i].ns / 1e3) : json_null();
        }
    }
    return json_real(0);
}

static json_t *sparse_counts(const merged_points *all)
{
    json_t *counts = json_array();
    int failed = counts == NULL;

    for (uint32_t i = 0; i < REPORT_BUCKETS && !failed; i++) {
        if (all->counts[i] > 0) {
            failed = json_array_append_new(counts,
                                           json_pack("[i, I]", (int)i, (json_int_t)all->counts[i]));
        }
    }
    return counts;
}

/* The first known histogram; NULL if a rank with this stage has none. */
static const json_t *first_histogram(const rank_part *parts, size_t count)
{
    const json_t *first = NULL;

    for (size_t i = 0; i < count; i++) {
        const json_t *histogram = report_get(parts[i].object, "histogram");

        if (parts[i].object != NULL && histogram == NULL) {
            return NULL;
        }
        first = first != NULL ? first : histogram;
    }
    return first;
}

int merged_set_histogram(json_t *stage, const rank_part *parts, size_t count)
{
    const json_t *first = first_histogram(parts, count);
    merged_points all = {.ns_per_tick = report_number(first, "ns_per_tick")};
    int failed = 0;

    if (first == NULL) {
        failed |= json_object_set_new(stage, "p50_us", json_null());
        failed |= json_object_set_new(stage, "p99_us", json_null());
        return failed | json_object_set_new(stage, "histogram", json_null());
    }
    all.points = calloc(count * REPORT_BUCKETS, sizeof(*all.points));
    if (all.points == NULL) {
        return -1;
    }
    for (size_t i = 0; i < count; i++) {
        add_counts(&all, report_get(parts[i].object, "histogram"));
    }
    qsort(all.points, all.count, sizeof(*all.points), compare_points);
    failed |= json_object_set_new(stage, "p50_us", percentile_us(&all, 0.50));
    failed |= json_object_set_new(stage, "p99_us", percentile_us(&all, 0.99));
    failed |= json_object_set_new(
        stage, "histogram",
        json_pack("{s:f, s:o}", "ns_per_tick", all.ns_per_tick, "counts", sparse_counts(&all)));
    free(all.points);
    return failed;
}
