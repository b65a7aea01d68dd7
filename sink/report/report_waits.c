/* SPDX-License-Identifier: Apache-2.0 */
#include "report_waits.h"

#include <inttypes.h>

/* The text omits waits below this share of the time. */
static const double LEAST_SHARE = 0.0005;

/* The most ranks in the text. */
enum { TEXT_RANKS = 3 };

/* Inserts a rank, in the order of the waits for it. Drops the shortest one if there are too many.
 */
static void insert(report_waits *waits, const report_late *late)
{
    uint32_t at = waits->count < REPORT_LATE ? waits->count++ : REPORT_LATE;

    while (at > 0 && late->seconds > waits->late[at - 1].seconds) {
        at--;
        if (at + 1 < REPORT_LATE) {
            waits->late[at + 1] = waits->late[at];
        }
    }
    if (at < REPORT_LATE) {
        waits->late[at] = *late;
    }
}

void report_collect_waits(const report_run *run, sluice_report *report)
{
    const rank_waits *from = run->waits;
    report_waits *waits = &report->waits;

    if (from == NULL || !from->counts) {
        return;
    }
    waits->known = true;
    waits->agree_seconds = (double)from->agree_ns / 1e9;
    waits->meetings = from->meetings;
    waits->own_lasts = from->of[from->rank].lasts;
    waits->own_delay = rank_waits_delay(&from->of[from->rank]);
    for (uint32_t rank = 0; rank < from->world; rank++) {
        const rank_wait *wait = &from->of[rank];
        const report_late late = {.rank = rank,
                                  .seconds = (double)wait->ns / 1e9,
                                  .lasts = wait->lasts,
                                  .delay = rank_waits_delay(wait)};

        waits->late_seconds += late.seconds;
        if (wait->ns > 0) {
            insert(waits, &late);
        }
    }
}

static double share(const sluice_report *report, double seconds)
{
    return report->stats.seconds > 0 ? seconds / report->stats.seconds : 0;
}

double report_agree_share(const sluice_report *report)
{
    return share(report, report->waits.agree_seconds);
}

double report_late_share(const sluice_report *report)
{
    return share(report, report->waits.late_seconds);
}

const char *report_delay_text(rank_delay delay)
{
    switch (delay) {
    case DELAY_STEP:
        return "its steps take longer";
    case DELAY_DATA:
        return "its steps wait for data";
    default:
        return "its hooks, checkpoints or validations take longer";
    }
}

void report_add_waits(const sluice_report *report, sli_text *text)
{
    const report_waits *waits = &report->waits;
    const unsigned long long meetings = waits->meetings;
    sli_text line = {0};

    if (!waits->known) {
        return;
    }
    sli_text_add(&line, "ranks: in agree %.1f %% of the time", 100 * report_agree_share(report));
    for (uint32_t i = 0; i < waits->count && i < TEXT_RANKS; i++) {
        const report_late *late = &waits->late[i];

        if (share(report, late->seconds) >= LEAST_SHARE) {
            sli_text_add(&line, "%s rank %u: %.1f %% (last %llu of %llu times; %s)",
                         i == 0 ? ", to wait for" : ",", late->rank,
                         100 * share(report, late->seconds), (unsigned long long)late->lasts,
                         meetings, report_delay_text(late->delay));
        }
    }
    sli_text_add(&line, "; this rank came last %llu of %llu times",
                 (unsigned long long)waits->own_lasts, meetings);
    sli_text_add_line(text, "%s", line.failed ? "ranks: no memory" : line.data);
    sli_text_free(&line);
}

/* ---- JSON ------------------------------------------------------------------------------------ */

static void add_late(const sluice_report *report, const report_late *late, sli_text *text)
{
    static const char *const delays[] = {
        [DELAY_STEP] = "step", [DELAY_DATA] = "data", [DELAY_HOST] = "host"};

    sli_text_add(text, "{\"rank\":%u,\"seconds\":", late->rank);
    sli_text_add_number(text, late->seconds);
    sli_text_add(text, ",\"share\":");
    sli_text_add_number(text, share(report, late->seconds));
    sli_text_add(text, ",\"last\":%" PRIu64 ",\"delay\":\"%s\"}", late->lasts, delays[late->delay]);
}

void report_add_waits_json(const sluice_report *report, sli_text *text)
{
    const report_waits *waits = &report->waits;

    if (!waits->known) {
        sli_text_add(text, ",\"ranks\":null");
        return;
    }
    sli_text_add(text, ",\"ranks\":{\"agree_seconds\":");
    sli_text_add_number(text, waits->agree_seconds);
    sli_text_add(text, ",\"agree_share\":");
    sli_text_add_number(text, report_agree_share(report));
    sli_text_add(text, ",\"meetings\":%" PRIu64 ",\"last\":%" PRIu64 ",\"waits\":[",
                 waits->meetings, waits->own_lasts);
    for (uint32_t i = 0; i < waits->count; i++) {
        sli_text_add(text, i > 0 ? "," : "");
        add_late(report, &waits->late[i], text);
    }
    sli_text_add(text, "]}");
}
