/* SPDX-License-Identifier: Apache-2.0 */
#include "report_passes.h"

#include <inttypes.h>
#include <stdio.h>

/* A shorter time tells nothing: a pass ends up to a poll before its row. */
static const double LEAST_SECONDS = 0.2;

/* The first pass differs from those after it, and a pass from the others, by these factors. */
static const double FIRST_DIFFERS = 1.25;
static const double ONE_DIFFERS = 2;

static double samples_of(const sluice_report *report, double batches)
{
    return report->batches > 0 ? batches * (double)report->stats.samples / (double)report->batches
                               : 0;
}

/* ---- text ------------------------------------------------------------------------------------ */

static bool differ(const run_series_change *a, const run_series_change *b, double factor)
{
    return a->seconds >= LEAST_SECONDS && b->seconds >= LEAST_SECONDS && a->batches_per_s > 0 &&
           b->batches_per_s > 0 &&
           (a->batches_per_s > factor * b->batches_per_s ||
            b->batches_per_s > factor * a->batches_per_s);
}

/* Why the first pass was slower, as far as it is known. */
static const char *why_slower(const sluice_report *report)
{
    if (report->has_cache && report->cache.hits > 0 && report->cache.misses > 0) {
        return "; the first filled the cache";
    }
    return report->ahead_samples > 0 ? "; files were not in the page cache" : "";
}

/* Adds a line if the first pass differs from those after it. */
static void add_first(const sluice_report *report, sli_text *text)
{
    const run_series *rows = report->passes;
    const run_series_change first = run_series_between(&rows->rows[0], &rows->rows[1]);
    const run_series_change rest = run_series_between(&rows->rows[1], &rows->last);

    if (!differ(&first, &rest, FIRST_DIFFERS)) {
        return;
    }
    sli_text_add_line(text, "passes: %.0f samples/s in the first %s, %.0f samples/s after it%s",
                      samples_of(report, first.batches_per_s),
                      rows->rows[1].passes - rows->rows[0].passes > 1 ? "passes" : "pass",
                      samples_of(report, rest.batches_per_s),
                      rest.batches_per_s > first.batches_per_s ? why_slower(report) : "");
}

/* The totals without a row. */
static run_series_change others_of(const run_series *rows, uint32_t i)
{
    const run_series_row *before = &rows->rows[i - 1];
    const run_series_row *row = &rows->rows[i];
    const run_series_row all = rows->last;
    const run_series_row rest = {.ns = all.ns - (row->ns - before->ns),
                                 .batches = all.batches - (row->batches - before->batches),
                                 .wait_s = all.wait_s - (row->wait_s - before->wait_s)};

    return run_series_between(&rows->rows[0], &rest);
}

/* Names the passes of a row. */
static void name_row(const run_series_row *before, const run_series_row *row, char *text,
                     size_t size)
{
    const unsigned long long first = before->passes;
    const unsigned long long last = row->passes - 1;

    if (first == last) {
        snprintf(text, size, "pass %llu", first);
    } else {
        snprintf(text, size, "passes %llu to %llu", first, last);
    }
}

/* Adds a line for the slowest row after the first pass, and returns true, if it is much slower than
 * the others. */
static bool add_slowest(const sluice_report *report, sli_text *text)
{
    const run_series *rows = report->passes;
    run_series_change slowest = {.batches_per_s = 0};
    run_series_change others;
    char name[60];
    uint32_t at = 0;

    for (uint32_t i = 2; i < rows->count; i++) {
        const run_series_change row = run_series_between(&rows->rows[i - 1], &rows->rows[i]);

        if (row.seconds >= LEAST_SECONDS &&
            (at == 0 || row.batches_per_s < slowest.batches_per_s)) {
            slowest = row;
            at = i;
        }
    }
    if (at == 0) {
        return false;
    }
    others = others_of(rows, at);
    if (slowest.batches_per_s > others.batches_per_s || !differ(&slowest, &others, ONE_DIFFERS)) {
        return false;
    }
    name_row(&rows->rows[at - 1], &rows->rows[at], name, sizeof(name));
    sli_text_add_line(
        text, "passes: %.0f samples/s in %s (counted from 0), %.0f samples/s in the others",
        samples_of(report, slowest.batches_per_s), name, samples_of(report, others.batches_per_s));
    return true;
}

void report_add_passes(const sluice_report *report, sli_text *text)
{
    if (report->passes != NULL && report->passes->count > 1 && !add_slowest(report, text)) {
        add_first(report, text);
    }
}

/* ---- JSON ------------------------------------------------------------------------------------ */

static void add_row(const run_series_row *before, const run_series_row *row, sli_text *text)
{
    const run_series_change change = run_series_between(before, row);

    sli_text_add(text, "{\"pass\":%" PRIu64 ",\"passes\":%" PRIu64 ",\"batches\":%" PRIu64,
                 before->passes, row->passes - before->passes, row->batches - before->batches);
    sli_text_add(text, ",\"seconds\":");
    sli_text_add_number(text, change.seconds);
    sli_text_add(text, ",\"batches_per_s\":");
    sli_text_add_number(text, change.batches_per_s);
    sli_text_add(text, ",\"data_wait_share\":");
    sli_text_add_number(text, change.data_wait_share);
    sli_text_add(text, ",\"bad_samples\":%" PRIu64 "}", row->bad - before->bad);
}

void report_add_passes_json(const sluice_report *report, sli_text *text)
{
    const run_series *rows = report->passes;
    const run_series_row *end;

    if (rows == NULL) {
        sli_text_add(text, ",\"passes\":null");
        return;
    }
    sli_text_add(text, ",\"passes\":[");
    for (uint32_t i = 1; i < rows->count; i++) {
        sli_text_add(text, "%s", i > 1 ? "," : "");
        add_row(&rows->rows[i - 1], &rows->rows[i], text);
    }
    end = &rows->rows[rows->count - 1];
    if (rows->last.batches > end->batches) { /* a pass that has not ended, or a part of a row */
        sli_text_add(text, "%s", rows->count > 1 ? "," : "");
        add_row(end, &rows->last, text);
    }
    sli_text_add(text, "]");
}
