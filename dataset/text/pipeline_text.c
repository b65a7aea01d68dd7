/* SPDX-License-Identifier: Apache-2.0 */
/* Parses pipelines into stages and arguments. Errors show the line with a caret. */
#include "pipeline_text.h"

#include <stdio.h>
#include <string.h>

#include "alloc_int.h"
#include "dataset_parts.h"
#include "nested_stages.h"
#include "stage_names.h"
#include "stage_text.h"

/* ---- parts of groups ------------------------------------------------------------------------- */

static sluice_status parse_all(text_parser *p);

static sluice_status reserved_parenthesis(const text_parser *p)
{
    return error_at(&p->words, p->words.at, "parentheses are reserved; put the word in quotes");
}

/* Parses the prefix of a part, such as "0.7:", "0.7:end:" or "end:". */
static sluice_status read_prefix(const text_parser *p, dataset_part *part)
{
    const text_word *word = &p->words.word;
    const char *at = word->text;
    const char *colon = strchr(at, ':');

    if (colon != NULL && *at != 'e') {
        if (!dataset_parts_weight(at, (size_t)(colon - at), &part->weight)) {
            return error_at(&p->words, word->at,
                            "the weight before the colon must be a number such as 3 or 0.7, of at "
                            "most 1000000 and with at most 9 digits after the point");
        }
        at = colon + 1;
    }
    if (strcmp(at, "end:") == 0) {
        part->ends = true;
        at += 4;
    }
    return *at == '\0' && colon != NULL
               ? SLUICE_OK
               : error_at(&p->words, word->at,
                          "a word before a part must be WEIGHT: or WEIGHT:end:, such as "
                          "0.7:(image_folder A)");
}

/* Creates a parser for the part that begins at p->words.at. Returns NULL if out of memory. */
static text_parser *make_inner(const text_parser *p)
{
    text_parser *inner = sli_calloc(1, sizeof(*inner));

    if (inner == NULL) {
        sli_fail(SLUICE_E_NO_MEMORY, "a pipeline text");
        return NULL;
    }
    inner->table = p->table;
    inner->words.text = p->words.text;
    inner->words.file = p->words.file;
    inner->words.args = p->words.args;
    inner->words.at = p->words.at + 1;
    inner->depth = p->depth + 1;
    inner->opened_at = p->words.at;
    return inner;
}

/* Parses the stages of a part; sets its dataset, or its text if stages are listed. */
static sluice_status parse_part(text_parser *inner, bool lists, dataset_part *part)
{
    const size_t begin = inner->words.at;
    sluice_status st;

    if (lists) {
        inner->stages = sli_calloc(DATASET_MAX_STAGES, sizeof(*inner->stages));
        if (inner->stages == NULL) {
            return sli_fail(SLUICE_E_NO_MEMORY, "a pipeline text");
        }
    }
    st = parse_all(inner);
    if (st == SLUICE_OK && lists) {
        part->text = sli_calloc(1, inner->words.at - begin + 1);
        if (part->text != NULL) {
            memcpy(part->text, inner->words.text + begin, inner->words.at - begin);
        } else {
            st = sli_fail(SLUICE_E_NO_MEMORY, "a pipeline text");
        }
    }
    for (uint32_t i = 0; i < inner->stage_count; i++) {
        stage_args_free(inner->stages[i].def, inner->stages[i].args.bytes);
    }
    sli_free(inner->stages);
    part->dataset = inner->dataset;
    return st;
}

/* Adds a part to the arguments of the current stage. */
static sluice_status add_part(text_parser *p, const dataset_part *part)
{
    group_args *args = (group_args *)(void *)p->stage.args.bytes;
    sluice_status st = SLUICE_OK;

    if (args->parts == NULL) {
        st = dataset_parts_create(&args->parts);
        p->given |= 1;
    }
    if (st != SLUICE_OK) {
        return st;
    }
    args->parts->owned = true;
    st = dataset_parts_add(p->stage.def, args->parts, part);
    return st == SLUICE_E_INVALID ? error_at(&p->words, p->words.at, "%s", sluice_last_error())
                                  : st;
}

/*
 * Parses a part of the current stage, in parentheses, from p->words.at on. `prefixed`: the word
 * before it is its prefix.
 */
static sluice_status read_part(text_parser *p, bool prefixed)
{
    dataset_part part = {.weight = 1};
    text_parser *inner;
    sluice_status st = SLUICE_OK;

    if (p->stage.def == NULL || stage_group(p->stage.def) == GROUP_NONE) {
        return reserved_parenthesis(p);
    }
    if (p->depth == PARTS_DEPTH) {
        return error_at(&p->words, p->words.at, "more than %d groups inside one another",
                        PARTS_DEPTH);
    }
    if (stage_group(p->stage.def) == GROUP_MIX) {
        part.weight = PARTS_WEIGHT_ONE;
    }
    if (prefixed) {
        st = read_prefix(p, &part);
    }
    inner = st == SLUICE_OK ? make_inner(p) : NULL;
    if (inner == NULL) {
        return st == SLUICE_OK ? SLUICE_E_NO_MEMORY : st;
    }
    st = parse_part(inner, p->stages != NULL, &part);
    if (st == SLUICE_OK) {
        st = add_part(p, &part);
    }
    p->words.at = inner->words.at + 1; /* after ')'; not used after an error */
    sli_free(inner);
    if (st != SLUICE_OK) {
        sluice_dataset_destroy(part.dataset);
        sli_free(part.text);
    }
    return st;
}

/* ---- nested stages --------------------------------------------------------------------------- */

/* The weight before a branch, such as "0.7:". */
static sluice_status read_weight(const text_parser *p, uint64_t *weight)
{
    const text_word *word = &p->words.word;

    return word->length > 1 && word->text[word->length - 1] == ':' &&
                   dataset_parts_weight(word->text, word->length - 1, weight) && *weight > 0
               ? SLUICE_OK
               : error_at(
                     &p->words, word->at,
                     "a word before a parenthesis must be WEIGHT:, such as 0.7:(random_invert), "
                     "with a weight above 0, of at most 1000000 and with at most 9 digits after "
                     "the point");
}

/* Adds a branch to the arguments of the current stage. */
static sluice_status add_branch(text_parser *p, uint64_t weight, const text_parser *inner)
{
    nested_stages **nested = nested_of(p->stage.def, p->stage.args.bytes);
    sluice_status st = SLUICE_OK;

    for (uint32_t i = 0; i < p->stage.def->param_count; i++) {
        p->given |= (uint64_t)(p->stage.def->params[i].type == PARAM_STAGES) << i;
    }
    if (*nested == NULL) {
        st = nested_create(nested);
    }
    if (st == SLUICE_OK) {
        st = nested_add(p->stage.def, *nested, weight, inner->stages, inner->stage_count);
    }
    return st == SLUICE_E_INVALID ? error_at(&p->words, p->words.at, "%s", sluice_last_error())
                                  : st;
}

/* Parses a branch of the current stage, from the '(' at p->words.at on. */
static sluice_status read_branch(text_parser *p, bool weighted)
{
    uint64_t weight = 0;
    text_parser *inner = NULL;
    sluice_status st = weighted ? read_weight(p, &weight) : SLUICE_OK;

    if (st == SLUICE_OK && p->depth == PARTS_DEPTH) {
        st = error_at(&p->words, p->words.at,
                      "parentheses inside one another must be at most %d; leave out those that "
                      "change nothing, such as random_apply 1 (...)",
                      PARTS_DEPTH);
    }
    if (st != SLUICE_OK) {
        return st;
    }
    inner = make_inner(p);
    if (inner == NULL) {
        return SLUICE_E_NO_MEMORY;
    }
    inner->is_branch = true;
    inner->stages = sli_calloc(DATASET_MAX_STAGES, sizeof(*inner->stages));
    st = inner->stages != NULL ? parse_all(inner) : sli_fail(SLUICE_E_NO_MEMORY, "a pipeline text");
    if (st == SLUICE_OK) {
        st = add_branch(p, weight, inner);
    }
    for (uint32_t i = 0; i < inner->stage_count && st != SLUICE_OK; i++) {
        stage_args_free(inner->stages[i].def, inner->stages[i].args.bytes);
    }
    p->words.at = inner->words.at + 1; /* after ')'; not used after an error */
    sli_free(inner->stages);
    sli_free(inner);
    return st;
}

/* True if parentheses may follow the name of this stage. */
static bool takes_parentheses(const stage_def *def, void *args)
{
    return def != NULL && (stage_group(def) != GROUP_NONE || nested_of(def, args) != NULL);
}

/* Parses what is in the parentheses that begin at p->words.at. `prefixed`: a word is before them.
 */
static sluice_status read_parentheses(text_parser *p, bool prefixed)
{
    return p->stage.def != NULL && nested_of(p->stage.def, p->stage.args.bytes) != NULL
               ? read_branch(p, prefixed)
               : read_part(p, prefixed);
}

/* ---- all stages ------------------------------------------------------------------------------ */

/* Uses the word that was read: as a stage's name, an argument, or the prefix of a part. */
static sluice_status use_word(text_parser *p)
{
    const char next = p->words.text[p->words.at];

    if (next == ')' && p->depth == 0) {
        return reserved_parenthesis(p);
    }
    if (p->stage.def == NULL) {
        const stage_def *named = stage_find(p->table, p->words.word.text);

        return next == '(' && !takes_parentheses(named, p->stage.args.bytes)
                   ? reserved_parenthesis(p)
                   : stage_text_begin(p);
    }
    return next == '(' ? read_parentheses(p, true) : stage_text_argument(p);
}

/* Completes a stage at '|', or at the end of the text or part. */
static sluice_status complete_stage(text_parser *p)
{
    if (p->words.text[p->words.at] == '\0' && p->depth > 0) {
        return error_at(&p->words, p->opened_at, "this parenthesis has no end");
    }
    if (p->stage.def == NULL) {
        const bool needs_source = p->dataset == NULL && !p->is_branch;

        return error_at(&p->words, p->words.at, "the name of a %s must be here%s",
                        needs_source ? "source" : "stage",
                        needs_source ? ", such as image_folder" : "");
    }
    return stage_text_end(p);
}

/* Parses stages up to the end of the text or part. */
static sluice_status read_stages(text_parser *p)
{
    for (;;) {
        sluice_status st;
        char c;

        words_skip_blanks(&p->words);
        c = p->words.text[p->words.at];
        if (c == '|' || c == '\0' || (c == ')' && p->depth > 0)) {
            st = complete_stage(p);
            if (st != SLUICE_OK || c != '|') {
                return st;
            }
            p->words.at++;
            continue;
        }
        if (c == '(' || c == ')') {
            st = c == '(' ? read_parentheses(p, false) : reserved_parenthesis(p);
        } else {
            st = words_read(&p->words);
            st = st == SLUICE_OK ? use_word(p) : st;
        }
        if (st != SLUICE_OK) {
            return st;
        }
    }
}

/* Parses the whole text, and frees an incomplete stage after an error. */
static sluice_status parse_all(text_parser *p)
{
    const sluice_status st = read_stages(p);

    if (p->stage.def != NULL) {
        stage_args_free(p->stage.def, p->stage.args.bytes);
    }
    return st;
}

/* Creates a parser at the beginning of a text. Returns NULL if out of memory. */
static text_parser *make_parser(const stage_def *const *table, const char *text)
{
    text_parser *p = sli_calloc(1, sizeof(*p));

    if (p == NULL) {
        sli_fail(SLUICE_E_NO_MEMORY, "a pipeline text");
        return NULL;
    }
    p->table = table;
    p->words.text = text;
    return p;
}

sluice_status pipeline_parse(const stage_def *const *table, const char *text, const char *file,
                             pipeline_args *args, sluice_dataset **dataset_out)
{
    text_parser *p = make_parser(table, text);
    sluice_status st;
    char where[300] = "";

    if (p == NULL) {
        return SLUICE_E_NO_MEMORY;
    }
    p->words.file = file;
    p->words.args = args;
    st = parse_all(p);
    if (st == SLUICE_OK && args != NULL) {
        if (file != NULL) {
            snprintf(where, sizeof(where), "%.255s: ", file);
        }
        st = pipeline_args_check_used(args, where);
    }
    if (st == SLUICE_OK) {
        *dataset_out = p->dataset;
    } else {
        sluice_dataset_destroy(p->dataset);
    }
    sli_free(p);
    return st;
}

sluice_status pipeline_add(const stage_def *const *table, const char *text, sluice_dataset *dataset)
{
    text_parser *p = make_parser(table, text);
    sluice_status st;

    if (p == NULL) {
        return SLUICE_E_NO_MEMORY;
    }
    p->dataset = dataset;
    p->is_addition = true;
    st = parse_all(p);
    sli_free(p);
    return st;
}

sluice_status pipeline_parse_stages(const stage_def *const *table, const char *text,
                                    dataset_stage *stages, uint32_t *count_out)
{
    text_parser *p;
    sluice_status st;

    *count_out = 0;
    if (text[0] == '\0') {
        return SLUICE_OK;
    }
    p = make_parser(table, text);
    if (p == NULL) {
        return SLUICE_E_NO_MEMORY;
    }
    p->stages = stages;
    st = parse_all(p);
    *count_out = p->stage_count; /* also set after an error, since the caller frees the stages */
    sli_free(p);
    return st;
}
