/* SPDX-License-Identifier: Apache-2.0 */
#include "report_page.h"

#include <math.h>
#include <string.h>

#include "html_writer.h"

/* The parts of a run, in their order on the page. */
static const report_part parts[] = {
    {"Verdict", "bottleneck", false, part_verdict},
    {"Advice", "advice", false, part_advice},
    {"Ranks", "merge", true, part_ranks},
    {"Wall time", "time", false, part_time},
    {"Pipeline", "stages", false, part_pipeline},
    {"Stages", "stages", false, part_stages},
    {"Threads", "threads", false, part_threads},
    {"Series", "series", false, part_series},
    {"Passes", "passes", true, part_passes},
    {"Slowest samples", "slowest", false, part_slowest},
    {"Bad samples", "errors", true, part_errors},
    {"Memory", "memory", false, part_memory},
    {"Cache", "cache", true, part_facts},
    {"Machine", "machine", false, part_facts},
    {"Process", "process", true, part_facts},
    {"Environment", "environment", true, part_facts},
};

enum { PARTS = sizeof(parts) / sizeof(parts[0]) };

/* Why a part cannot be drawn; NULL: it can. */
static const char *why_not(const json_t *run, const report_part *part)
{
    const json_t *value = json_object_get(run, part->key);

    if (value == NULL) {
        return "absent";
    }
    if (json_is_null(value)) {
        return "unknown";
    }
    if (!json_is_object(value) && !json_is_array(value)) {
        return "unreadable";
    }
    if (part->write == part_errors && json_array_size(report_get(value, "first")) == 0 &&
        !(report_number(value, "failed") > 0)) {
        return "empty";
    }
    return json_object_size(value) + json_array_size(value) == 0 ? "empty" : NULL;
}

/* Lists the parts that this run's report does not have, each with one word why. */
static void write_left_out(FILE *out, const json_t *run)
{
    const char *before = "<p class=\"mute\">Left out: ";

    for (size_t i = 0; i < PARTS; i++) {
        const char *why = why_not(run, &parts[i]);

        if (why != NULL && !parts[i].rare) {
            fprintf(out, "%s%s (%s)", before, parts[i].title, why);
            before = ", ";
        }
    }
    if (*before == ',') {
        fputs(".</p>\n", out);
    }
}

static void write_figure(FILE *out, const char *name, figure value)
{
    fprintf(out, "<span>%s <b>%s</b></span>\n", name, value.text);
}

static void write_head(FILE *out, const saved_report *report)
{
    const json_t *run = report->json;
    const char *status = report_string(run, "status");
    const char *error = report_string(run, "error");
    const char *mode = report_string(run, "mode");

    fputs("<header><h2>", out);
    html_name(out, report->path);
    fputs("</h2>\n<p class=\"mute\">status ", out);
    html_text(out, status);
    if (mode != NULL) {
        fputs(", mode ", out);
        html_text(out, mode);
    }
    if (json_is_true(json_object_get(run, "running"))) {
        fputs("; the run had not ended", out);
    }
    if (json_is_true(json_object_get(run, "clock_jumped"))) {
        fputs("; <b>a clock jumped, and times may be wrong</b>", out);
    }
    fputs("</p>\n", out);
    if (error != NULL) {
        fputs("<p><b>", out);
        html_text(out, error);
        fputs("</b></p>\n", out);
    }
    fputs("<div class=\"figures\">", out);
    write_figure(out, "rate", figure_rate(report_number(run, "samples_per_s")));
    write_figure(out, "samples", figure_count(report_number(run, "samples")));
    write_figure(out, "steps", figure_count(report_number(run, "steps")));
    write_figure(out, "time", figure_seconds(report_number(run, "seconds")));
    write_figure(out, "data wait", figure_share(report_number(run, "data_wait_share")));
    write_figure(out, "CPU of 1000 samples",
                 figure_seconds(report_number(run, "cpu_s_per_1000_samples")));
    fputs("</div></header>\n", out);
}

static void write_run(FILE *out, const saved_report *report)
{
    fputs("<article class=\"run\">\n", out);
    write_head(out, report);
    for (size_t i = 0; i < PARTS; i++) {
        if (why_not(report->json, &parts[i]) == NULL) {
            fprintf(out, "<section%s><h3>%s</h3>\n",
                    parts[i].write == part_verdict ? " class=\"verdict\"" : "", parts[i].title);
            parts[i].write(out, report->json, json_object_get(report->json, parts[i].key));
            fputs("</section>\n", out);
        }
    }
    write_left_out(out, report->json);
    fputs("</article>\n", out);
}

/* ---- several runs -----------------------------------------------------------------------------
 */

typedef struct compared {
    const char *title;
    const char *key;
    figure (*shown)(double value);
} compared;

static const compared totals[] = {
    {"rate", "samples_per_s", figure_rate},
    {"CPU of 1000 samples", "cpu_s_per_1000_samples", figure_seconds},
    {"data wait", "data_wait_share", figure_share},
    {"samples", "samples", figure_count},
    {"steps", "steps", figure_count},
    {"time", "seconds", figure_seconds},
};

/* Writes a figure, and its difference from that of the first run. */
static void write_compared(FILE *out, figure shown, double value, double first)
{
    fprintf(out, "<td>%s", shown.text);
    if (isfinite(value) && isfinite(first) && first > 0 && value != first) {
        fprintf(out, " <span class=\"mute\">%+.1f %%</span>", 100 * (value / first - 1));
    }
    fputs("</td>", out);
}

static void write_totals(FILE *out, const saved_report *reports, size_t count)
{
    for (size_t i = 0; i < sizeof(totals) / sizeof(totals[0]); i++) {
        const double first = report_number(reports[0].json, totals[i].key);

        fprintf(out, "<tr><td>%s</td>", totals[i].title);
        for (size_t k = 0; k < count; k++) {
            const double value = report_number(reports[k].json, totals[i].key);

            write_compared(out, totals[i].shown(value), value, i < 2 ? first : (double)NAN);
        }
        fputs("</tr>\n", out);
    }
}

/* True if a run before the one at `index` has a stage of this name. */
static bool seen_before(const saved_report *reports, size_t index, const char *name)
{
    for (size_t k = 0; k < index; k++) {
        if (report_find(report_get(reports[k].json, "stages"), "name", name) != NULL) {
            return true;
        }
    }
    return false;
}

/* Writes the rate of a stage in each run. */
static void write_stage_row(FILE *out, const saved_report *reports, size_t count, const char *name)
{
    double first = (double)NAN;

    fputs("<tr class=\"operation\"><td>", out);
    html_name(out, name);
    fputs(" <span class=\"mute\">while busy</span></td>", out);
    for (size_t k = 0; k < count; k++) {
        const json_t *stage = report_find(report_get(reports[k].json, "stages"), "name", name);
        const double value = report_number(stage, "sustained_samples_per_s");

        first = k == 0 ? value : first;
        write_compared(out, figure_rate(value), value, first);
    }
    fputs("</tr>\n", out);
}

static void write_comparison(FILE *out, const saved_report *reports, size_t count)
{
    fputs("<section class=\"compare\"><h3>Runs</h3>\n<div class=\"scroll\"><table><tr><th></th>",
          out);
    for (size_t k = 0; k < count; k++) {
        fputs("<th>", out);
        html_name(out, reports[k].path);
        fputs("</th>", out);
    }
    fputs("</tr>\n<tr><td>bottleneck</td>", out);
    for (size_t k = 0; k < count; k++) {
        const json_t *verdict = report_get(reports[k].json, "bottleneck");
        const char *stage = report_string(verdict, "stage");
        const char *cause = report_string(verdict, "cause");

        fputs("<td>", out);
        html_name(out, stage != NULL ? stage : "?");
        fputs(cause != NULL ? ", " : "", out);
        html_text(out, cause != NULL ? cause : "");
        fputs("</td>", out);
    }
    fputs("</tr>\n", out);
    write_totals(out, reports, count);
    for (size_t k = 0; k < count; k++) {
        const json_t *stages = report_get(reports[k].json, "stages");

        for (size_t i = 0; i < json_array_size(stages); i++) {
            const char *name = report_string(json_array_get(stages, i), "name");

            if (!seen_before(reports, k, name)) {
                write_stage_row(out, reports, count, name);
            }
        }
    }
    fputs("</table></div>\n<p class=\"mute\">Differences are from the first run.</p></section>\n",
          out);
}

void report_page_write(FILE *out, const saved_report *reports, size_t count)
{
    fputs("<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\"/>\n"
          "<meta name=\"viewport\" content=\"width=device-width,initial-scale=1\"/>\n"
          "<meta http-equiv=\"Content-Security-Policy\" "
          "content=\"default-src 'none';style-src 'unsafe-inline'\"/>\n<title>Sluice report: ",
          out);
    html_text(out, reports[0].path);
    if (count > 1) {
        fprintf(out, " and %zu more", count - 1);
    }
    fprintf(out, "</title>\n<style>\n%s</style>\n</head>\n<body>\n<h1>Sluice report</h1>\n",
            report_style);
    if (count > 1) {
        write_comparison(out, reports, count);
    }
    fputs("<main class=\"runs\">\n", out);
    for (size_t i = 0; i < count; i++) {
        write_run(out, &reports[i]);
    }
    fputs("</main>\n", out);
    for (size_t i = 0; i < count; i++) {
        fputs("<script type=\"application/json\" class=\"report\" data-file=\"", out);
        html_text(out, reports[i].path);
        fputs("\">", out);
        html_json(out, reports[i].text);
        fputs("</script>\n", out);
    }
    fputs("</body>\n</html>\n", out);
}
