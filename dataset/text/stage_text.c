/* SPDX-License-Identifier: Apache-2.0 */
/* Parses one stage of a pipeline. Errors show the line with a caret. */
#include "stage_text.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "dataset_parts.h"
#include "path_stage.h"
#include "stage_kinds.h"
#include "stage_names.h"

/* Writes the name of a stage with its required arguments, in capitals. */
static const char *usage_of(const stage_def *def, char *usage, size_t size)
{
    size_t length = (size_t)snprintf(usage, size, "%s", def->name);

    for (uint32_t i = 0; i < def->param_count && def->params[i].default_text == NULL; i++) {
        const bool nests = def->params[i].type == PARAM_STAGES;

        length += (size_t)snprintf(usage + length, size - length, nests ? " (%s)" : " %s",
                                   def->params[i].name);
        for (char *c = usage + length; c[-1] != ' '; c--) {
            c[-1] = (char)(c[-1] >= 'a' && c[-1] <= 'z' ? c[-1] - 'a' + 'A' : c[-1]);
        }
    }
    return usage;
}

sluice_status stage_text_begin(text_parser *p)
{
    const char *name = p->words.word.text;
    const stage_def *theirs = stage_find_elsewhere(p->table, name);
    const char *foreign = stage_name_from_elsewhere(name);
    const char *nearest;
    char hint[400];

    p->stage.def = stage_find(p->table, name);
    p->stage_at = p->words.word.at;
    p->positional = 0;
    p->words.may_be_split_path = false;
    p->given = 0;
    if (p->stage.def != NULL && p->is_addition && p->stage.def->kind == STAGE_SOURCE) {
        p->stage.def = NULL;
        return error_at(&p->words, p->words.word.at,
                        "%s is a source, and this dataset has one; begin another dataset with "
                        "sluice_dataset_parse()",
                        name);
    }
    if (p->stage.def != NULL) {
        return stage_args_default(p->stage.def, p->stage.args.bytes);
    }
    if (theirs != NULL) {
        foreign = usage_of(theirs, hint, sizeof(hint));
    }
    if (foreign != NULL) {
        return error_at(&p->words, p->words.word.at, "%s is called %s here", name, foreign);
    }
    if (path_stage_hint(name, "", hint, sizeof(hint))[0] != '\0') {
        return error_at(&p->words, p->words.word.at, "'%.300s' is a path, not a stage%s", name,
                        hint);
    }
    nearest = stage_find_nearest(p->table, name);
    return error_at(&p->words, p->words.word.at,
                    "no stage '%.100s'%s%s%s; `sluice help stages` lists them", name,
                    nearest == NULL && strchr(name, '/') != NULL && access(name, F_OK) != 0
                        ? ", and no such file or folder"
                        : "",
                    nearest != NULL ? "; nearest is " : "", nearest != NULL ? nearest : "");
}

static sluice_status unknown_key(text_parser *p, const char *key)
{
    const char *foreign = stage_name_from_elsewhere(key);
    const char *nearest = stage_param_nearest(p->stage.def, key);
    char known[300] = "";

    if (foreign != NULL) {
        return error_at(&p->words, p->words.word.at, "%s: %s is called %s here", p->stage.def->name,
                        key, foreign);
    }
    if (strcmp(key, "offload") == 0 && stage_may_be_by_pixel(p->stage.def)) {
        return error_at(&p->words, p->words.word.at,
                        "%s has no argument '%s'; put the stage device before it to run it on the "
                        "device",
                        p->stage.def->name, key);
    }
    if (nearest != NULL) {
        return error_at(&p->words, p->words.word.at, "%s has no argument '%s'; nearest is %s",
                        p->stage.def->name, key, nearest);
    }
    for (uint32_t i = 0; i < p->stage.def->param_count; i++) {
        snprintf(known + strlen(known), sizeof(known) - strlen(known), " %s",
                 p->stage.def->params[i].name);
    }
    return error_at(&p->words, p->words.word.at,
                    "%s has no argument '%s'; it takes%s; in quotes = is itself",
                    p->stage.def->name, key, known[0] != '\0' ? known : " none");
}

/* Finds the parameter that the word sets, and where its value begins. */
static sluice_status which_param(text_parser *p, uint32_t *param, const char **value)
{
    char key[64];

    *value = p->words.word.text;
    if (p->words.word.key > 0) {
        snprintf(key, sizeof(key), "%.*s", (int)p->words.word.key, p->words.word.text);
        *value = p->words.word.text + p->words.word.key + 1;
        for (*param = 0; *param < p->stage.def->param_count; (*param)++) {
            if (strcmp(stage_param_name(p->stage.def, key), p->stage.def->params[*param].name) ==
                0) {
                return SLUICE_OK;
            }
        }
        return unknown_key(p, key);
    }
    *param = p->positional++;
    if (*param < p->stage.def->param_count &&
        p->stage.def->params[*param].type == PARAM_STAGES) { /* they are in parentheses */
        *param = p->positional++;
    }
    p->words.may_be_split_path = p->stage.def->kind == STAGE_SOURCE && p->positional > 1 &&
                                 p->stage.def->param_count > 0 &&
                                 p->stage.def->params[0].type == PARAM_TEXT;
    if (p->given >> *param != 0) {
        return error_at(&p->words, p->words.word.at,
                        "%s: '%.100s' is a positional argument after a named one",
                        p->stage.def->name, p->words.word.text);
    }
    if (*param >= p->stage.def->param_count) {
        return error_at(&p->words, p->words.word.at,
                        "%s takes %u argument%s, '%.100s' is one too many", p->stage.def->name,
                        p->stage.def->param_count, p->stage.def->param_count == 1 ? "" : "s",
                        p->words.word.text);
    }
    return SLUICE_OK;
}

sluice_status stage_text_argument(text_parser *p)
{
    const char *value;
    uint32_t param;
    sluice_status st;

    if (stage_group(p->stage.def) != GROUP_NONE) {
        return error_at(&p->words, p->words.word.at,
                        "%s takes parts in parentheses, such as (image_folder DIR | take 9), and "
                        "nothing else",
                        p->stage.def->name);
    }
    st = which_param(p, &param, &value);
    if (st != SLUICE_OK) {
        return st;
    }
    if ((p->given >> param & 1) != 0) {
        return error_at(&p->words, p->words.word.at, "%s: %s is given twice", p->stage.def->name,
                        p->stage.def->params[param].name);
    }
    p->given |= UINT64_C(1) << param;
    st = stage_arg_parse(p->stage.def, &p->stage.def->params[param], value, p->stage.args.bytes);
    return st == SLUICE_E_INVALID ? error_at(&p->words, p->words.word.at, "%s", sluice_last_error())
                                  : st;
}

/* Appends the complete stage to the dataset. */
static sluice_status add_stage(text_parser *p)
{
    const stage_def *def = p->stage.def;
    sluice_status st = p->depth > 0 ? dataset_parts_allow(def) : SLUICE_OK;

    if (st == SLUICE_OK) {
        st = p->dataset == NULL ? dataset_begin(def, p->stage.args.bytes, &p->dataset)
                                : dataset_try(p->dataset, def, p->stage.args.bytes);
    }
    if (st != SLUICE_OK && st != SLUICE_E_NO_MEMORY) { /* file errors included; keeps the status */
        (void)error_at(&p->words, p->stage_at, "%s", sluice_last_error());
    }
    stage_args_free(def, p->stage.args.bytes);
    return st;
}

/* Appends the parsed stage to the list; ownership of its arguments is transferred. */
static sluice_status list_stage(text_parser *p)
{
    if (p->is_branch) {
        const sluice_status st = stage_args_check(p->stage.def, p->stage.args.bytes);

        if (st != SLUICE_OK) {
            stage_args_free(p->stage.def, p->stage.args.bytes);
            return error_at(&p->words, p->stage_at, "%s", sluice_last_error());
        }
    }
    if (p->stage_count == DATASET_MAX_STAGES) {
        stage_args_free(p->stage.def, p->stage.args.bytes);
        return sli_fail(SLUICE_E_INVALID, "more than %d stages", DATASET_MAX_STAGES);
    }
    p->stages[p->stage_count++] = p->stage;
    return SLUICE_OK;
}

sluice_status stage_text_end(text_parser *p)
{
    const stage_def *def = p->stage.def;
    sluice_status st = SLUICE_OK;

    for (uint32_t i = 0; i < def->param_count && st == SLUICE_OK; i++) {
        if (def->params[i].default_text == NULL && (p->given >> i & 1) == 0) {
            st = error_at(&p->words, p->words.at, "%s: %s is missing (%s)", def->name,
                          def->params[i].name, def->params[i].help);
        }
    }
    if (st == SLUICE_OK) {
        if (def->variant != NULL) {
            p->stage.def = def->variant(p->stage.args.bytes);
        }
        st = p->stages != NULL ? list_stage(p) : add_stage(p);
        p->stage.def = NULL;
        p->words.may_be_split_path = false;
    }
    return st;
}
