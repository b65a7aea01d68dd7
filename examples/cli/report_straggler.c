/* SPDX-License-Identifier: Apache-2.0 */
/* The ranks of a merged report: which are missing, and which one the others wait for, and why. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "merged_values.h"
#include "rank_sum.h"
#include "report_merge.h"

/* Waits below this share of the run, and rates above this share of the median, are no finding. */
static const double LEAST_WAIT = 0.01;
static const double SLOW_RATE = 0.95;

/* Ranks that a list names. */
enum { RANKS_NAMED = 16 };

typedef struct straggler {
    double rank; /* NAN: none */
    double share;
    const char *delay; /* "data", "step", "host"; NULL: not known */
    bool waited_for;   /* other ranks have counted their waits; else its rate is the lowest */
} straggler;

static double rank_of(const saved_report *report)
{
    return report_number(report_get(report->json, "process"), "rank");
}

/* The reports are sorted by rank. */
static const saved_report *report_of_rank(const saved_report *reports, size_t count, double rank)
{
    size_t low = 0;
    size_t high = count;

    while (low < high) {
        const size_t middle = (low + high) / 2;

        if (rank_of(&reports[middle]) < rank) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return low < count && rank_of(&reports[low]) == rank ? &reports[low] : NULL;
}

/* ---- the straggler ----------------------------------------------------------------------------
 */

/* The waits of all reports for one rank. */
typedef struct rank_wait {
    double rank;
    double seconds;
    double longest;    /* of one report */
    const char *delay; /* of the longest wait */
} rank_wait;

typedef struct rank_waits {
    rank_wait *of; /* (count) by rank */
    size_t count;
    double run_seconds; /* of all reports */
    bool counted;       /* a report has waits, perhaps an empty list */
} rank_waits;

static int compare_waits(const void *a, const void *b)
{
    const double x = ((const rank_wait *)a)->rank;
    const double y = ((const rank_wait *)b)->rank;

    return (x > y) - (x < y);
}

/* Adds up the elements of the same rank, which follow each other. */
static void join_waits(rank_waits *waits)
{
    size_t last = 0;

    for (size_t i = 1; i < waits->count; i++) {
        rank_wait *into = &waits->of[last];
        const rank_wait *next = &waits->of[i];

        if (next->rank != into->rank) {
            waits->of[++last] = *next;
            continue;
        }
        into->seconds += next->seconds;
        if (next->longest > into->longest) {
            into->longest = next->longest;
            into->delay = next->delay;
        }
    }
    waits->count = waits->count > 0 ? last + 1 : 0;
}

/* Collects the waits of all reports. Returns 0, or -1 if out of memory. */
static int collect_waits(const saved_report *reports, size_t count, rank_waits *waits_out)
{
    rank_waits waits = {0};
    size_t room = 1;

    for (size_t i = 0; i < count; i++) {
        room += json_array_size(report_get(report_get(reports[i].json, "ranks"), "waits"));
    }
    waits.of = calloc(room, sizeof(*waits.of));
    if (waits.of == NULL) {
        return -1;
    }
    for (size_t i = 0; i < count; i++) {
        const json_t *ranks = report_get(reports[i].json, "ranks");
        const json_t *list = report_get(ranks, "waits");
        const double seconds = report_number(reports[i].json, "seconds");

        waits.counted |= ranks != NULL;
        waits.run_seconds += seconds > 0 ? seconds : 0;
        for (size_t k = 0; k < json_array_size(list); k++) {
            const json_t *wait = json_array_get(list, k);
            const double waited = report_number(wait, "seconds");

            waits.of[waits.count++] =
                (rank_wait){report_number(wait, "rank"), waited > 0 ? waited : 0, waited,
                            report_string(wait, "delay")};
        }
    }
    qsort(waits.of, waits.count, sizeof(*waits.of), compare_waits);
    join_waits(&waits);
    *waits_out = waits;
    return 0;
}

static double waits_for(const rank_waits *waits, double rank)
{
    const rank_wait wanted = {.rank = rank};
    const rank_wait *found =
        bsearch(&wanted, waits->of, waits->count, sizeof(wanted), compare_waits);

    return found != NULL ? found->seconds : 0;
}

/* The rank that others have waited for longest, also one without a report. */
static straggler most_waited_for(const rank_waits *waits)
{
    straggler found = {.rank = (double)NAN, .waited_for = true};

    for (size_t i = 0; i < waits->count && waits->run_seconds > 0; i++) {
        const double share = waits->of[i].seconds / waits->run_seconds;

        if (share >= LEAST_WAIT && share > found.share && isfinite(share)) {
            found = (straggler){waits->of[i].rank, share, waits->of[i].delay, true};
        }
    }
    return found;
}

/* The rank of the lowest rate, if ranks have not counted their waits. */
static straggler slowest_rank(const saved_report *reports, size_t count)
{
    straggler found = {.rank = (double)NAN};
    double *rates = calloc(count, sizeof(*rates));
    size_t slowest = 0;
    double median;

    if (rates == NULL || count < 2) {
        free(rates);
        return found;
    }
    for (size_t i = 0; i < count; i++) {
        const double rate = report_number(reports[i].json, "samples_per_s");

        rates[i] = rate > 0 ? rate : 0;
        slowest = rates[i] < rates[slowest] ? i : slowest;
    }
    found.share = rates[slowest];
    median = rank_sum_median(rates, count);
    found.share = median > 0 ? 1 - found.share / median : 0;
    free(rates);
    if (found.share > 1 - SLOW_RATE) {
        const double wait = report_number(reports[slowest].json, "data_wait_share");

        found.rank = rank_of(&reports[slowest]);
        found.delay = isnan(wait) ? NULL : wait >= 0.05 ? "data" : "step";
    }
    return found;
}

static const char *delay_text(const char *delay)
{
    if (delay != NULL && strcmp(delay, "data") == 0) {
        return "its steps wait for data";
    }
    if (delay != NULL && strcmp(delay, "step") == 0) {
        return "its steps take longer";
    }
    return delay != NULL && strcmp(delay, "host") == 0
               ? "its hooks, checkpoints or validations take longer"
               : "what delays it is not known";
}

/* ---- words ------------------------------------------------------------------------------------
 */

/* Appends the missing ranks to a text; their number is not bounded. */
static void write_missing(FILE *out, const saved_report *reports, size_t count, double world)
{
    size_t named = 0;

    if ((double)count == world) {
        fprintf(out, count == 1 ? "The run has one rank. " : "All %zu ranks. ", count);
        return;
    }
    fprintf(out, "%zu of %.0f ranks; the reports of these are missing:", count, world);
    for (double rank = 0; rank < world && named < RANKS_NAMED; rank++) {
        if (report_of_rank(reports, count, rank) == NULL) {
            fprintf(out, "%s %.0f", named > 0 ? "," : "", rank);
            named++;
        }
    }
    if (world - (double)count > (double)named) {
        fprintf(out, " and %.0f more", world - (double)count - (double)named);
    }
    fputs(". ", out);
}

static void write_straggler(FILE *out, const straggler *found, const saved_report *report)
{
    const json_t *verdict = report != NULL ? report_get(report->json, "bottleneck") : NULL;
    const char *stage = report_string(verdict, "stage");
    const char *cause = report_string(verdict, "cause");

    if (isnan(found->rank)) {
        fprintf(out, "No rank is slower than the others.");
        return;
    }
    fprintf(out,
            found->waited_for
                ? "The straggler is rank %.0f: the ranks wait %.1f %% of their time for it"
                : "The straggler is rank %.0f: its rate is %.1f %% below the median",
            found->rank, 100 * found->share);
    fprintf(out, "; %s", delay_text(found->delay));
    if (report == NULL) {
        fprintf(out, "; its report is missing, and would have the cause.");
    } else if (stage != NULL && strcmp(stage, "none") == 0) {
        fprintf(out, ". No stage limits there: %s",
                report_string(verdict, "why") != NULL ? report_string(verdict, "why") : "");
    } else if (stage != NULL) {
        fprintf(out, ". There %s limits%s%s: %s", stage, cause != NULL ? ", by " : "",
                cause != NULL ? cause : "",
                report_string(verdict, "why") != NULL ? report_string(verdict, "why") : "");
    }
}

/* ---- JSON -------------------------------------------------------------------------------------
 */

static json_t *text_or_null(const char *text)
{
    return text != NULL ? json_string(text) : json_null();
}

static json_t *number_or_null(double number)
{
    return isfinite(number) ? json_real(number) : json_null();
}

static json_t *rank_row(const rank_waits *waits, const saved_report *report)
{
    const json_t *verdict = report_get(report->json, "bottleneck");

    return json_pack(
        "{s:I, s:o, s:o, s:o, s:o, s:o, s:o, s:o}", "rank", (json_int_t)rank_of(report), "host",
        text_or_null(report_string(report_get(report->json, "process"), "host")), "samples_per_s",
        number_or_null(report_number(report->json, "samples_per_s")), "seconds",
        number_or_null(report_number(report->json, "seconds")), "data_wait_share",
        number_or_null(report_number(report->json, "data_wait_share")), "waited_for_s",
        number_or_null(waits->counted ? waits_for(waits, rank_of(report)) : (double)NAN),
        "bottleneck", text_or_null(report_string(verdict, "stage")), "cause",
        text_or_null(report_string(verdict, "cause")));
}

static json_t *missing_ranks(const saved_report *reports, size_t count, double world)
{
    json_t *missing = json_array();

    for (double rank = 0; rank < world && json_array_size(missing) < MERGE_MOST_RANKS; rank++) {
        if (report_of_rank(reports, count, rank) == NULL) {
            (void)json_array_append_new(missing, json_integer((json_int_t)rank));
        }
    }
    return missing;
}

static json_t *straggler_json(const straggler *found, const saved_report *report)
{
    const json_t *verdict = report != NULL ? report_get(report->json, "bottleneck") : NULL;

    if (isnan(found->rank)) {
        return json_null();
    }
    return json_pack("{s:I, s:f, s:o, s:o, s:o}", "rank", (json_int_t)found->rank, "share",
                     found->share, "delay", text_or_null(found->delay), "stage",
                     text_or_null(report_string(verdict, "stage")), "cause",
                     text_or_null(report_string(verdict, "cause")));
}

/* The verdict and the advice of one rank, the straggler or else the slowest, as those of the run.
 */
static int set_verdict(json_t *merged, const saved_report *report)
{
    json_t *verdict = json_deep_copy(report_get(report->json, "bottleneck"));
    json_t *advice = json_deep_copy(report_get(report->json, "advice"));
    const char *why = report_string(verdict, "why");
    int failed = 0;

    if (why != NULL) {
        failed |= json_object_set_new(verdict, "why",
                                      json_sprintf("rank %.0f: %s", rank_of(report), why));
    }
    failed |= json_object_set_new(merged, "bottleneck", verdict != NULL ? verdict : json_null());
    return failed | json_object_set_new(merged, "advice", advice != NULL ? advice : json_null());
}

static const saved_report *lowest_rate(const saved_report *reports, size_t count)
{
    const saved_report *lowest = &reports[0];

    for (size_t i = 1; i < count; i++) {
        if (report_number(reports[i].json, "samples_per_s") <
            report_number(lowest->json, "samples_per_s")) {
            lowest = &reports[i];
        }
    }
    return lowest;
}

/* The text of a merge; NULL: out of memory. The caller frees it. */
static char *describe(const saved_report *reports, size_t count, const straggler *found,
                      const saved_report *slow)
{
    char *text = NULL;
    size_t length = 0;
    FILE *out = open_memstream(&text, &length);

    if (out == NULL) {
        return NULL;
    }
    write_missing(out, reports, count,
                  report_number(report_get(reports[0].json, "process"), "world"));
    write_straggler(out, found, slow);
    return fclose(out) == 0 ? text : NULL;
}

int report_set_ranks(json_t *merged, const saved_report *reports, size_t count)
{
    const double world = report_number(report_get(reports[0].json, "process"), "world");
    const saved_report *slow;
    rank_waits waits;
    straggler found;
    json_t *rows = json_array();
    char *text;
    int failed = 0;

    if (rows == NULL || collect_waits(reports, count, &waits) != 0) {
        json_decref(rows);
        return -1;
    }
    found = waits.counted ? most_waited_for(&waits) : slowest_rank(reports, count);
    slow = isnan(found.rank) ? NULL : report_of_rank(reports, count, found.rank);
    text = describe(reports, count, &found, slow);
    for (size_t i = 0; i < count; i++) {
        failed |= json_array_append_new(rows, rank_row(&waits, &reports[i]));
    }
    failed |= json_object_set_new(merged, "merge",
                                  json_pack("{s:I, s:I, s:o, s:o, s:s, s:o}", "reports",
                                            (json_int_t)count, "world", (json_int_t)world,
                                            "missing", missing_ranks(reports, count, world),
                                            "straggler", straggler_json(&found, slow), "text",
                                            text != NULL ? text : "", "per_rank", rows));
    free(text);
    free(waits.of);
    return failed | set_verdict(merged, slow != NULL ? slow : lowest_rate(reports, count));
}
