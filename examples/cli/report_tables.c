/* SPDX-License-Identifier: Apache-2.0 */
/* The parts of a report's page that are tables of what the JSON holds, and series. */
#include <math.h>
#include <string.h>

#include "html_writer.h"
#include "report_page.h"

enum { MOST_COLUMNS = 10, MOST_ROWS = 50, MOST_LINES = 12, LINE_POINTS = 300 };

/* ---- values and tables ------------------------------------------------------------------------
 */

static bool ends_in(const char *key, const char *end)
{
    const size_t length = strlen(key);
    const size_t tail = strlen(end);

    return length >= tail && strcmp(key + length - tail, end) == 0;
}

static figure shown_number(const char *key, double value)
{
    if (ends_in(key, "_per_s")) {
        return figure_rate(value);
    }
    if (ends_in(key, "bytes")) {
        return figure_bytes(value);
    }
    if (ends_in(key, "_share") || ends_in(key, "_pressure")) {
        return figure_share(value);
    }
    if (strcmp(key, "pid") == 0) {
        return figure_plain(value);
    }
    if (ends_in(key, "_us") || strcmp(key, "us") == 0) {
        return figure_us(value);
    }
    return ends_in(key, "_s") || ends_in(key, "seconds") ? figure_seconds(value)
                                                         : figure_number(value);
}

void report_value(FILE *out, const char *key, const json_t *value)
{
    if (json_is_string(value)) {
        html_name(out, json_string_value(value));
    } else if (json_is_number(value)) {
        fputs(shown_number(key, json_number_value(value)).text, out);
    } else if (json_is_boolean(value)) {
        fputs(json_is_true(value) ? "yes" : "no", out);
    } else {
        fputs("?", out);
    }
}

static bool is_single(const json_t *value)
{
    return !json_is_object(value) && !json_is_array(value);
}

/* Writes a key with blanks in place of underscores. */
static void write_key_name(FILE *out, const char *key)
{
    char name[64];

    snprintf(name, sizeof(name), "%s", key);
    for (char *c = name; *c != '\0'; c++) {
        *c = *c == '_' ? ' ' : *c;
    }
    html_name(out, name);
}

void report_rest(FILE *out, const char *what, size_t shown, size_t all)
{
    if (all > shown) {
        fprintf(out, "<p class=\"mute\">%s only in the JSON of this page: %zu.</p>\n", what,
                all - shown);
    }
}

void report_table(FILE *out, json_t *rows, size_t most)
{
    const char *keys[MOST_COLUMNS];
    size_t columns = 0;
    size_t all_columns = 0;
    const size_t count = json_array_size(rows);
    const char *key;
    json_t *value;

    fputs("<div class=\"scroll\"><table><tr>", out);
    json_object_foreach(json_array_get(rows, 0), key, value)
    {
        all_columns++;
        if (columns < MOST_COLUMNS && is_single(value)) {
            keys[columns++] = key;
            fputs(json_is_string(value) ? "<th class=\"left\">" : "<th>", out);
            write_key_name(out, key);
            fputs("</th>", out);
        }
    }
    fputs(columns > 0 ? "</tr>\n" : "<th></th></tr>\n", out);
    for (size_t i = 0; i < count && i < most; i++) {
        fputs("<tr>", out);
        for (size_t k = 0; k < columns; k++) {
            value = json_object_get(json_array_get(rows, i), keys[k]);
            fputs(json_is_string(value) ? "<td class=\"left\">" : "<td>", out);
            report_value(out, keys[k], value);
            fputs("</td>", out);
        }
        fputs(columns > 0 ? "</tr>\n" : "<td></td></tr>\n", out);
    }
    fputs("</table></div>\n", out);
    report_rest(out, "Rows", most, count);
    report_rest(out, "Columns", columns, all_columns);
}

void part_facts(FILE *out, const json_t *run, json_t *object)
{
    const char *key;
    json_t *value;
    size_t rows = 0;
    size_t all = 0;

    (void)run;
    fputs("<div class=\"scroll\"><table>\n", out);
    json_object_foreach(object, key, value)
    {
        const bool is_fact = is_single(value) && !json_is_null(value);

        all += is_fact;
        if (rows < MOST_ROWS && is_fact) {
            fputs("<tr><td>", out);
            write_key_name(out, key);
            fputs("</td><td>", out);
            report_value(out, key, value);
            fputs("</td></tr>\n", out);
            rows++;
        }
    }
    value = json_object_get(json_object_get(object, "versions"), "sluice");
    if (json_is_string(value) || rows == 0) {
        fputs("<tr><td>sluice</td><td>", out);
        report_value(out, "sluice", value);
        fputs("</td></tr>\n", out);
    }
    fputs("</table></div>\n", out);
    report_rest(out, "Values", rows, all);
}

void part_memory(FILE *out, const json_t *run, json_t *memory)
{
    const double peak = report_number(memory, "peak_rss_bytes");
    const char *key;
    json_t *value;
    int rows = 0;

    (void)run;
    fputs("<div class=\"scroll\"><table>\n", out);
    json_object_foreach(memory, key, value)
    {
        const double bytes = json_is_number(value) ? json_number_value(value) : (double)NAN;

        if (rows < MOST_ROWS && ends_in(key, "_bytes") && bytes > 0) {
            fputs("<tr><td>", out);
            write_key_name(out, key);
            fputs("</td><td class=\"bars\"><span class=\"bar\">", out);
            html_bar(out, "cpu", 0, peak > 0 ? bytes / peak : 0);
            fprintf(out, "</span></td><td>%s</td></tr>\n", figure_bytes(bytes).text);
            rows++;
        }
    }
    fputs(rows > 0 ? "</table></div>\n" : "<tr><td>none</td></tr></table></div>\n", out);
    fputs("<p class=\"mute\">Bars are shares of the largest resident memory of the process; memory "
          "on a GPU is not a part of it. Host: the sum of the pools in memory of the host. Other: "
          "what the process held beside them.</p>\n",
          out);
}

void part_slowest(FILE *out, const json_t *run, json_t *slowest)
{
    (void)run;
    report_table(out, slowest, MOST_ROWS);
}

void part_errors(FILE *out, const json_t *run, json_t *errors)
{
    const double failed = report_number(errors, "failed");
    json_t *first = report_get(errors, "first");

    (void)run;
    fprintf(out, "<p>%s failed, %s replaced, %s zeroed</p>\n", figure_count(failed).text,
            figure_count(report_number(errors, "replaced")).text,
            figure_count(report_number(errors, "zeroed")).text);
    if (json_array_size(first) > 0) {
        report_table(out, first, MOST_ROWS);
    }
}

/* ---- ranks of a merged report -----------------------------------------------------------------
 */

void part_ranks(FILE *out, const json_t *run, json_t *merge)
{
    const char *text = report_string(merge, "text");
    json_t *ranks = report_get(merge, "per_rank");

    (void)run;
    if (text != NULL) {
        fputs("<p>", out);
        html_text(out, text);
        fputs("</p>\n", out);
    }
    if (json_array_size(ranks) > 0) {
        report_table(out, ranks, MOST_ROWS);
    }
}

/* ---- series -----------------------------------------------------------------------------------
 */

/* The values of a line: element `index` of an array of numbers, or of the objects of an array. */
typedef struct line {
    const char *key;
    json_t *values; /* array */
    bool of_objects;
} line;

static double line_value(const line *of, size_t index)
{
    const json_t *value = json_array_get(of->values, index);

    value = of->of_objects ? json_object_get(value, of->key) : value;
    return json_is_number(value) ? json_number_value(value) : (double)NAN;
}

/* The mean of the values from `begin` to before `end`; NAN: none is known. */
static double mean_value(const line *of, size_t begin, size_t end)
{
    double sum = 0;
    size_t count = 0;

    for (size_t i = begin; i < end; i++) {
        const double value = line_value(of, i);

        sum += isfinite(value) ? value : 0;
        count += isfinite(value) != 0;
    }
    return count > 0 ? sum / (double)count : (double)NAN;
}

static void write_line(FILE *out, const line *of)
{
    const size_t count = json_array_size(of->values);
    const size_t points = count < LINE_POINTS ? count : LINE_POINTS;
    double means[LINE_POINTS];
    double low = (double)INFINITY;
    double high = -(double)INFINITY;

    for (size_t i = 0; i < points; i++) {
        means[i] = mean_value(of, i * count / points, (i + 1) * count / points);
        low = fmin(low, means[i]);
        high = fmax(high, means[i]);
    }
    if (!isfinite(low) || !isfinite(high)) {
        return;
    }
    fputs("<p>", out);
    write_key_name(out, of->key);
    fprintf(out, " <span class=\"mute\">0 to %s, least %s</span></p>\n",
            shown_number(of->key, high).text, shown_number(of->key, low).text);
    low = fmin(low, 0);
    fputs("<svg class=\"plot\" viewBox=\"0 0 300 60\" preserveAspectRatio=\"none\" role=\"img\">"
          "<polyline points=\"",
          out);
    for (size_t i = 0; i < points; i++) {
        if (isfinite(means[i])) {
            fprintf(out, "%.1f,%.1f ", points > 1 ? 300.0 * (double)i / (double)(points - 1) : 0,
                    high > low ? 58 - 56 * (means[i] - low) / (high - low) : 58);
        }
    }
    fputs("\"/></svg>\n", out);
}

/* True if the key is of the moments of a series, which are the horizontal axis. */
static bool is_axis(const char *key)
{
    static const char *const axes[] = {"t", "t_s", "time_s", "seconds", "s", "pass"};

    for (size_t i = 0; i < sizeof(axes) / sizeof(axes[0]); i++) {
        if (strcmp(key, axes[i]) == 0) {
            return true;
        }
    }
    return false;
}

/* A series is a list of objects of numbers, one for each moment, or an object of lists. */
void part_series(FILE *out, const json_t *run, json_t *series)
{
    const bool of_objects = json_is_array(series);
    json_t *first = of_objects ? json_array_get(series, 0) : series;
    size_t points = json_array_size(series);
    const char *key;
    json_t *value;
    int lines = 0;

    (void)run;
    json_object_foreach(first, key, value)
    {
        const line of = {
            .key = key, .values = of_objects ? series : value, .of_objects = of_objects};

        if (lines < MOST_LINES && !is_axis(key) &&
            (of_objects ? json_is_number(value) : json_is_array(value))) {
            points = json_array_size(of.values) > points ? json_array_size(of.values) : points;
            write_line(out, &of);
            lines++;
        }
    }
    fprintf(out, "<p class=\"mute\">%zu points%s.</p>\n", points,
            points > LINE_POINTS ? "; each point drawn is the mean of several" : "");
}

/* The last rows of a long run are only in the drawing and in the JSON. */
void part_passes(FILE *out, const json_t *run, json_t *passes)
{
    if (json_array_size(passes) > 2) {
        part_series(out, run, passes);
    }
    report_table(out, passes, MOST_ROWS);
    report_rest(out, "Passes", MOST_ROWS, json_array_size(passes));
}
