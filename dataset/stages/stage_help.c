/* SPDX-License-Identifier: Apache-2.0 */
/* Generates the help texts of stages from their parameter tables. */
#include <string.h>

#include "stage_names.h"
#include "stage_registry.h"
#include "status_int.h"

static const char *device_note(const stage_def *def)
{
    return def->kind == STAGE_CONVERSION ? "workers or device" : "workers";
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

static void help_param(const stage_param *param, sli_text *text)
{
    sli_text line = {0};

    sli_text_add(&line, "    %-14s %s", param->name, param->help);
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
    for (size_t i = 0; table[i] != NULL; i++) {
        if (name == NULL || strcmp(name, table[i]->name) == 0) {
            if (text.length > 0) {
                sli_text_add(&text, "\n");
            }
            help_one(table[i], &text);
        }
    }
    return sli_text_take(&text, text_out);
}
