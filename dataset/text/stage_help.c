/* SPDX-License-Identifier: Apache-2.0 */
/* Generates the help texts of stages from their parameter tables. */
#include <string.h>

#include "map_ops.h"
#include "stage_kinds.h"
#include "stage_names.h"
#include "stage_registry.h"
#include "status_int.h"

/* Help does not print larger bounds: they are the limits of a type or of memory. */
#define MOST_OF_INTEREST 1e6

static const char *device_note(const stage_def *def)
{
    return def->kind == STAGE_CONVERSION ? "workers or device"
           : stage_may_be_by_pixel(def)  ? "workers, or on the device after the stage device"
                                         : "workers";
}

/* Appends the wrapped line to the text, and empties it for the next line. */
static void end_line(sli_text *line, uint32_t indent, sli_text *text)
{
    if (line->data != NULL) {
        sli_text_add_wrapped(text, line->data, indent);
    }
    text->failed = text->failed || line->failed;
    sli_text_free(line);
}

static void help_usage(const stage_def *def, sli_text *text)
{
    sli_text line = {0};

    sli_text_add(&line, "%s", def->name);
    for (uint32_t i = 0; i < def->param_count; i++) {
        const stage_param *param = &def->params[i];

        if (param->default_text == NULL) {
            sli_text_add(&line, " %s", param->name);
        } else {
            sli_text_add(&line, " %s=%s", param->name, param->default_text);
        }
    }
    end_line(&line, 8, text);
}

/* Appends the bounds of a number, unless the upper one is too large to be of interest. */
static void help_bounds(const stage_param *param, sli_text *line)
{
    if (param->low == 0 && param->high == 0) {
        return;
    }
    if (param->high <= MOST_OF_INTEREST) {
        sli_text_add(line, " [%.10g..%.10g]", param->low, param->high);
    } else if (param->low > 0) {
        sli_text_add(line, " [%.10g..]", param->low);
    }
}

static void help_param(const stage_param *param, sli_text *text)
{
    sli_text line = {0};

    sli_text_add(&line, "    %-14s %s", param->name, param->help);
    help_bounds(param, &line);
    for (uint32_t k = 0; param->choices != NULL && param->choices[k] != NULL; k++) {
        sli_text_add(&line, "%s%s", k == 0 ? " (" : ", ", param->choices[k]);
    }
    sli_text_add(&line, "%s", param->choices != NULL ? ")" : "");
    end_line(&line, 19, text);
}

static void help_one(const stage_def *def, sli_text *text)
{
    const bool runs = def->kind >= STAGE_DECODE && def->kind <= STAGE_CONVERSION;

    help_usage(def, text);
    sli_text_add_line(text, "    %s", def->summary);
    for (uint32_t i = 0; i < def->param_count; i++) {
        help_param(&def->params[i], text);
    }
    sli_text_add_line(text, "    gives %s%s%s", def->gives, runs ? "; runs on " : "",
                      runs ? device_note(def) : "");
}

/* Appends the details of a stage, indented: paragraphs wrapped, lines with a blank first as they
 * are. */
static void help_details(const char *details, sli_text *text)
{
    while (*details != '\0') {
        const size_t length = strcspn(details, "\n");
        sli_text line = {0};

        if (length > 0 && details[0] != ' ') {
            sli_text_add(&line, "    %.*s", (int)length, details);
            end_line(&line, 4, text);
        } else {
            sli_text_add(text, "%s%.*s\n", length > 0 ? "    " : "", (int)length, details);
        }
        details += length + (details[length] == '\n');
    }
}

/* Appends the names of a stage in other libraries, which the table has with blanks. */
static void help_elsewhere(const char *names, sli_text *text)
{
    sli_text_add(text, "\n    In other libraries: ");
    while (*names != '\0') {
        const size_t length = strcspn(names, " ");

        sli_text_add(text, "%.*s%s", (int)length, names, names[length] != '\0' ? ", " : "");
        names += length + (names[length] == ' ');
    }
    sli_text_add(text, "\n");
}

#define KIND(kind) (UINT32_C(1) << (kind))

/* The headings under which help lists all stages, and the kinds of stages under each. */
static const struct {
    const char *title;
    uint32_t kinds;
} headings[] = {
    {"Sources", KIND(STAGE_SOURCE)},
    {"Order and choice of samples", KIND(STAGE_INDEX)},
    {"Columns", KIND(STAGE_COLUMNS)},
    {"Arrays", KIND(STAGE_ARRAY)},
    {"Cache", KIND(STAGE_CACHE)},
    {"Decoding and geometry of images", KIND(STAGE_DECODE) | KIND(STAGE_GEOMETRY)},
    {"Colours and warps of images", KIND(STAGE_COLOR)},
    {"Conversion of images", KIND(STAGE_CONVERSION)},
    {"Device", KIND(STAGE_DEVICE)},
    {"Batches", KIND(STAGE_PACK) | KIND(STAGE_BUCKET) | KIND(STAGE_BATCH)},
    {"Your functions", KIND(STAGE_MAP) | KIND(STAGE_BATCH_MAP)},
};

/* The kind by which help lists a stage: batch maps of the library are under Batches, its filters
 * under Order and choice of samples. */
static stage_kind listed_kind(const stage_def *def)
{
    return def->batch != NULL                            ? STAGE_BATCH
           : def->map != NULL && def->map->is_of_library ? STAGE_INDEX
                                                         : def->kind;
}

/* Appends the stages of these kinds under a heading, if there are any. */
static void help_heading(const stage_def *const *table, const char *title, uint32_t kinds,
                         sli_text *text)
{
    bool is_first = true;

    for (size_t i = 0; table[i] != NULL; i++) {
        if ((kinds & KIND(listed_kind(table[i]))) == 0) {
            continue;
        }
        if (is_first) {
            sli_text_add_line(text, "\n== %s ==", title);
            is_first = false;
        }
        sli_text_add(text, "\n");
        help_one(table[i], text);
    }
}

sluice_status sluice_stage_help(const char *name, char **text_out)
{
    const stage_def *const *table = registry_stages();
    sli_text text = {0};

    if (text_out == NULL) {
        return sli_fail(SLUICE_E_INVALID, "sluice_stage_help: text_out is NULL");
    }
    if (name != NULL && stage_find(table, name) == NULL) {
        const char *nearest = stage_find_nearest(table, name);

        return sli_fail(SLUICE_E_INVALID, "no stage '%s'%s%s", name,
                        nearest != NULL ? "; nearest is " : "", nearest != NULL ? nearest : "");
    }
    if (name != NULL) {
        const stage_def *def = stage_find(table, name);

        help_one(def, &text);
        if (def->details != NULL) {
            sli_text_add(&text, "\n");
            help_details(def->details, &text);
        }
        if (def->example != NULL) {
            sli_text_add(&text, "\n    Example: %s\n", def->example);
        }
        if (def->elsewhere != NULL) {
            help_elsewhere(def->elsewhere, &text);
        }
    } else {
        sli_text_add_line(&text,
                          "NAME=DEFAULT is optional; [LOW..HIGH] are the bounds of a number.");
        for (size_t i = 0; i < sizeof(headings) / sizeof(headings[0]); i++) {
            help_heading(table, headings[i].title, headings[i].kinds, &text);
        }
    }
    return sli_text_take(&text, text_out);
}
