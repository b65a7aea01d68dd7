/* SPDX-License-Identifier: Apache-2.0 */
/* The parts of a report's page that lead to a decision: verdict, advice, wall time, pipeline. */
#include <math.h>
#include <string.h>

#include "html_writer.h"
#include "report_page.h"

/* Writes what limits the run. A verdict without a stage has a cause, or neither. */
static void write_limit(FILE *out, const char *stage, const char *cause)
{
    const bool has_stage = stage != NULL && strcmp(stage, "none") != 0;
    const bool has_cause = cause != NULL && strcmp(cause, "none") != 0;

    if (!has_stage && !has_cause) {
        fputs("<b>No bottleneck was found</b>", out);
        return;
    }
    fputs("<b>", out);
    html_name(out, has_stage ? stage : cause);
    fputs("</b> limits the run", out);
    if (has_stage && has_cause) {
        fputs(": ", out);
        html_text(out, cause);
    }
}

void part_verdict(FILE *out, const json_t *run, json_t *bottleneck)
{
    const char *why = report_string(bottleneck, "why");
    const char *advice = report_string(bottleneck, "advice");
    const double share = report_number(bottleneck, "share");

    fputs("<p>", out);
    write_limit(out, report_string(bottleneck, "stage"), report_string(bottleneck, "cause"));
    if (isfinite(share) && share > 0) {
        fprintf(out, " (%s)", figure_share(share).text);
    }
    fputs("</p>\n", out);
    if (why != NULL && *why != '\0') {
        fputs("<p>", out);
        html_text(out, why);
        fputs("</p>\n", out);
    }
    /* Earlier reports have this text in place of the list. */
    if (advice != NULL && *advice != '\0' && json_array_size(report_get(run, "advice")) == 0) {
        fputs("<p>Advice: ", out);
        html_text(out, advice);
        fputs("</p>\n", out);
    }
}

static void write_advice(FILE *out, const json_t *advice)
{
    const char *change = report_string(advice, "change");
    const char *text = report_string(advice, "text");
    const double workers = report_number(advice, "workers");
    const double low = report_number(advice, "rate_low");
    const double high = report_number(advice, "rate_high");

    fputs("<li><b>", out);
    html_text(out, change);
    if (workers > 0) {
        fprintf(out, " %s", figure_count(workers).text);
    }
    fputs("</b>", out);
    if (text != NULL) {
        fputs(": ", out);
        html_text(out, text);
    }
    if (high > 0) {
        fprintf(out, " <span class=\"mute\">%s to %s expected</span>", figure_rate(low).text,
                figure_rate(high).text);
    }
    fputs("</li>\n", out);
}

void part_advice(FILE *out, const json_t *run, json_t *advice)
{
    (void)run;
    fputs("<ol>\n", out);
    for (size_t i = 0; i < json_array_size(advice); i++) {
        write_advice(out, json_array_get(advice, i));
    }
    fputs("</ol>\n", out);
}

/* ---- wall time --------------------------------------------------------------------------------
 */

typedef struct time_row {
    const char *key;
    const char *title;
    const char *kind; /* class of the bar */
} time_row;

static const time_row time_rows[] = {
    {"data_wait_s", "wait for data", "wait"},
    {"step_s", "step", "ready"},
    {"device_maps_s", "device maps", "ready"},
    {"launch_s", "launch", "runqueue"},
    {"hooks_s", "hooks", "runqueue"},
    {"checkpoint_s", "checkpoint", "runqueue"},
    {"validation_s", "validation", "runqueue"},
    {"agree_s", "agree (other ranks)", "runqueue"},
    {"other_s", "other", "blocked"},
};

/* Each row begins where the one before it ends, so that the bars show that the times add up. */
void part_time(FILE *out, const json_t *run, json_t *time)
{
    const double wall = report_number(time, "wall_s");
    const double open = report_number(time, "open_s");
    double from = 0;

    (void)run;
    fputs("<div class=\"scroll\"><table>\n", out);
    for (size_t i = 0; i < sizeof(time_rows) / sizeof(time_rows[0]); i++) {
        const double seconds = report_number(time, time_rows[i].key);
        const double share = wall > 0 ? seconds / wall : (double)NAN;

        if (seconds == 0 || isnan(seconds)) {
            continue;
        }
        fprintf(out, "<tr><td>%s</td><td class=\"bars\"><span class=\"bar\">", time_rows[i].title);
        html_bar(out, time_rows[i].kind, from, share);
        fprintf(out, "</span></td><td>%s</td><td>%s</td></tr>\n", figure_seconds(seconds).text,
                figure_share(share).text);
        from += share > 0 ? share : 0;
    }
    fprintf(out, "<tr><td>wall time</td><td class=\"bars\"></td><td>%s</td><td></td></tr>\n",
            figure_seconds(wall).text);
    fputs("</table></div>\n", out);
    if (isfinite(open)) {
        fprintf(out, "<p class=\"mute\">Before the run: %s for opening.</p>\n",
                figure_seconds(open).text);
    }
}

/* ---- the pipeline -----------------------------------------------------------------------------
 */

static bool is_limit(const json_t *run, const json_t *stage)
{
    const char *limit = report_string(report_get(run, "bottleneck"), "stage");
    const char *name = report_string(stage, "name");

    return limit != NULL && (strcmp(limit, name) == 0 ||
                             report_find(report_get(stage, "operations"), "name", limit) != NULL);
}

static void write_box_bar(FILE *out, const char *kind, double share, const char *what)
{
    fputs("<br/><span class=\"bar\">", out);
    html_bar(out, kind, 0, share);
    fprintf(out, "</span><br/><span class=\"mute\">%s %s</span>", what, figure_share(share).text);
}

/* Draws a queue; its readiness is the share of the batches taken for which it was not empty. */
static void write_queue(FILE *out, const json_t *queue)
{
    const double empty = report_number(queue, "empty_share");
    const double depth = report_number(queue, "mean_depth");

    fputs("<div class=\"queue\">", out);
    html_name(out, report_string(queue, "name"));
    fprintf(out, ": %.1f of %s", isfinite(depth) ? depth : 0.0,
            figure_count(report_number(queue, "capacity")).text);
    write_box_bar(out, "ready", isfinite(empty) ? 1 - empty : (double)NAN, "ready");
    fputs("</div>\n", out);
}

/* The queue that a stage takes batches from; NULL: none. */
static const char *queue_before(const char *stage)
{
    return strcmp(stage, "copy") == 0 ? "staging" : strcmp(stage, "get_next") == 0 ? "slots" : NULL;
}

void part_pipeline(FILE *out, const json_t *run, json_t *stages)
{
    const json_t *queues = report_get(run, "queues");

    fputs("<div class=\"flow\">\n", out);
    for (size_t i = 0; i < json_array_size(stages); i++) {
        const json_t *stage = json_array_get(stages, i);
        const char *name = report_string(stage, "name");
        const char *before = queue_before(name);
        const json_t *queue = before != NULL ? report_find(queues, "name", before) : NULL;

        if (queue != NULL) {
            write_queue(out, queue);
        }
        fprintf(out, "<div%s>", is_limit(run, stage) ? " class=\"limit\"" : "");
        html_name(out, name);
        write_box_bar(out, "cpu", report_number(stage, "busy_share"), "busy");
        fputs("</div>\n", out);
    }
    fputs("</div>\n<p class=\"mute\">A queue is ready if it had a batch when one was taken.</p>\n",
          out);
}

/* ---- stages and their operations --------------------------------------------------------------
 */

/* A column of the table of stages that is left out if no stage has the value. */
static bool any_stage_has(json_t *stages, const char *key)
{
    for (size_t i = 0; i < json_array_size(stages); i++) {
        if (report_get(json_array_get(stages, i), key) != NULL) {
            return true;
        }
    }
    return false;
}

static void write_times_bar(FILE *out, double cpu, double runqueue, double blocked)
{
    fputs("<td class=\"bars\">", out);
    if (isfinite(cpu)) {
        const double queue = isfinite(runqueue) ? runqueue : 0;

        fputs("<span class=\"bar\">", out);
        html_bar(out, "cpu", 0, cpu);
        html_bar(out, "runqueue", cpu, queue);
        html_bar(out, "blocked", cpu + queue, isfinite(blocked) ? blocked : 0);
        fputs("</span>", out);
    } else {
        fputs("?", out);
    }
    fputs("</td>", out);
}

static void write_stage(FILE *out, const json_t *run, const json_t *stage, bool has_cpu,
                        bool has_max)
{
    const double busy = report_number(stage, "busy_share");

    fprintf(out, "<tr%s><td>", is_limit(run, stage) ? " class=\"limit\"" : "");
    html_name(out, report_string(stage, "name"));
    fprintf(out, "</td><td>%s</td><td class=\"bars\"><span class=\"bar\">",
            figure_rate(report_number(stage, "sustained_samples_per_s")).text);
    html_bar(out, "ready", 0, busy);
    fprintf(out, "</span></td><td>%s</td>", figure_share(busy).text);
    if (has_cpu) {
        fprintf(out, "<td>%s</td>", figure_us(report_number(stage, "cpu_us_per_sample")).text);
        write_times_bar(out, report_number(stage, "cpu_share"),
                        report_number(stage, "runqueue_share"),
                        report_number(stage, "blocked_share"));
    }
    fprintf(out, "<td>%s</td><td>%s</td>", figure_us(report_number(stage, "p50_us")).text,
            figure_us(report_number(stage, "p99_us")).text);
    if (has_max) {
        fprintf(out, "<td>%s</td>", figure_us(report_number(stage, "max_us")).text);
    }
    fprintf(out, "<td>%s</td></tr>\n", figure_count(report_number(stage, "workers")).text);
}

static void write_operations(FILE *out, const json_t *stage, bool has_cpu, bool has_max)
{
    const json_t *operations = report_get(stage, "operations");

    for (size_t i = 0; i < json_array_size(operations); i++) {
        const json_t *operation = json_array_get(operations, i);
        const double share = report_number(operation, "share");

        fputs("<tr class=\"operation\"><td>", out);
        html_name(out, report_string(operation, "name"));
        fputs("</td><td></td><td class=\"bars\"><span class=\"bar\">", out);
        html_bar(out, "blocked", 0, share);
        fprintf(out, "</span></td><td>%s</td>", figure_share(share).text);
        fputs(has_cpu ? "<td></td><td></td>" : "", out);
        fprintf(out, "<td>%s</td><td></td>%s<td></td></tr>\n",
                figure_us(report_number(operation, "us_per_sample")).text,
                has_max ? "<td></td>" : "");
    }
}

static void write_key(FILE *out)
{
    fputs("<p class=\"mute key\"><i></i>on a CPU<i class=\"runqueue\"></i>waiting for a CPU"
          "<i class=\"blocked\"></i>blocked</p>\n",
          out);
}

void part_stages(FILE *out, const json_t *run, json_t *stages)
{
    const bool has_cpu = any_stage_has(stages, "cpu_share");
    const bool has_max = any_stage_has(stages, "max_us");

    fprintf(out,
            "<div class=\"scroll\"><table><tr><th>stage</th><th>while busy</th><th colspan=\"2\">"
            "busy</th>%s<th>p50</th><th>p99</th>%s<th>threads</th></tr>\n",
            has_cpu ? "<th>CPU a sample</th><th>of busy time</th>" : "",
            has_max ? "<th>max</th>" : "");
    for (size_t i = 0; i < json_array_size(stages); i++) {
        const json_t *stage = json_array_get(stages, i);

        write_stage(out, run, stage, has_cpu, has_max);
        write_operations(out, stage, has_cpu, has_max);
    }
    fputs("</table></div>\n", out);
    if (has_cpu) {
        write_key(out);
    }
    if (any_stage_has(stages, "operations")) {
        fputs(
            "<p class=\"mute\">Indented: operations of the stage, their share of it and their mean "
            "time a sample.</p>\n",
            out);
    }
}

/* ---- threads ----------------------------------------------------------------------------------
 */

enum { THREADS_SHOWN = 100 };

static double share_of(double part, double whole)
{
    return whole > 0 ? part / whole : (double)NAN;
}

void part_threads(FILE *out, const json_t *run, json_t *threads)
{
    const size_t count = json_array_size(threads);

    (void)run;
    fputs("<div class=\"scroll\"><table><tr><th>thread</th><th></th><th>on a CPU</th>"
          "<th>waiting for a CPU</th><th>blocked</th><th>of</th></tr>\n",
          out);
    for (size_t i = 0; i < count && i < THREADS_SHOWN; i++) {
        const json_t *thread = json_array_get(threads, i);
        const double all = report_number(thread, "seconds");
        const double cpu = report_number(thread, "cpu_s");
        const double queue = report_number(thread, "runqueue_s");
        const double blocked = report_number(thread, "blocked_s");

        fputs("<tr><td>", out);
        html_name(out, report_string(thread, "thread"));
        fputs("</td>", out);
        write_times_bar(out, share_of(cpu, all), share_of(queue, all), share_of(blocked, all));
        fprintf(out, "<td>%s</td><td>%s</td><td>%s</td><td>%s</td></tr>\n",
                figure_seconds(cpu).text, figure_seconds(queue).text, figure_seconds(blocked).text,
                figure_seconds(all).text);
    }
    fputs("</table></div>\n", out);
    report_rest(out, "Threads", THREADS_SHOWN, count);
    write_key(out);
}
