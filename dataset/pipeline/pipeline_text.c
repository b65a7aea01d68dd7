/* SPDX-License-Identifier: Apache-2.0 */
/* Parses pipelines into words, stages and arguments. Errors show the line with a caret. */
#include "pipeline_text.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "alloc_int.h"
#include "dataset_state.h"
#include "stage_names.h"

enum { WORD_SIZE = 4096 };

/* One word of the text, with quotes and variables resolved. */
typedef struct text_word {
    char text[WORD_SIZE];
    size_t length;
    size_t at;  /* offset of its first character in the text */
    size_t key; /* length of the key before an unquoted '='; 0: the word has no key */
} text_word;

typedef struct text_parser {
    const stage_def *const *table;
    const char *text;
    const char *file;    /* name of the pipeline file; NULL: the text is not from a file */
    pipeline_args *args; /* values of variables; NULL: the environment only */
    size_t at;
    text_word word;
    sluice_dataset *dataset;
    bool is_addition;      /* the stages are appended to a dataset, which has a source */
    dataset_stage *stages; /* output of pipeline_parse_stages(); NULL: stages are appended to the
                              dataset */
    uint32_t stage_count;
    dataset_stage stage; /* the stage being parsed; def NULL: no stage has begun */
    size_t stage_at;     /* offset of the stage's name in the text */
    uint32_t positional; /* number of the stage's arguments without a key so far */
    uint64_t given;      /* bit i: parameter i was set */
} text_parser;

/* True if the character is a blank, in every locale. */
static bool is_blank(char c)
{
    return c == ' ' || (c >= '\t' && c <= '\r');
}

static bool ends_word(char c)
{
    return c == '\0' || c == '|' || is_blank(c);
}

/* True if the byte is a UTF-8 continuation byte. */
static bool continues_character(char c)
{
    return ((unsigned char)c & 0xC0) == 0x80;
}

enum { SHOWN = 100 };

/*
 * Finds the part of the line around `at` that a message shows, and the indentation of the caret:
 * one blank for each character, except that tabs are kept. Returns the length of the part.
 */
static size_t show_context(const text_parser *p, size_t at, const char **line, char indent[SHOWN])
{
    size_t start = at;
    size_t length;
    size_t blanks = 0;

    while (start > 0 && p->text[start - 1] != '\n' &&
           (at - start < SHOWN / 2 ||
            (at - start < SHOWN - 1 && continues_character(p->text[start])))) {
        start--;
    }
    length = strcspn(p->text + start, "\n");
    if (length > SHOWN) {
        length = SHOWN;
        while (length > at - start && continues_character(p->text[start + length])) {
            length--;
        }
    }
    for (size_t i = start; i < at; i++) {
        if (!continues_character(p->text[i])) {
            indent[blanks++] = p->text[i] == '\t' ? '\t' : ' ';
        }
    }
    indent[blanks] = '\0';
    *line = p->text + start;
    return length;
}

/*
 * True if the stage is a source of files with several words before any key=value. The words may be
 * parts of one unquoted path with blanks.
 */
static bool may_be_split_path(const text_parser *p)
{
    const stage_def *def = p->stage.def;

    return def != NULL && def->kind == STAGE_SOURCE && def->param_count > 0 &&
           def->params[0].type == PARAM_TEXT && p->positional > 1;
}

/*
 * Writes the position "FILE:LINE:COLUMN: ", as compilers do; columns count characters. Writes "" if
 * the text is not from a file.
 */
static void write_position(const text_parser *p, size_t at, char *text, size_t size)
{
    unsigned line = 1;
    unsigned column = 1;

    text[0] = '\0';
    if (p->file == NULL) {
        return;
    }
    for (size_t i = 0; i < at; i++) {
        if (p->text[i] == '\n') {
            line++;
            column = 1;
        } else {
            column += !continues_character(p->text[i]);
        }
    }
    snprintf(text, size, "%.255s:%u:%u: ", p->file, line, column);
}

/* Sets the last error: the message, then the line of the text with a caret under position `at`. */
static sluice_status error_at(const text_parser *p, size_t at, const char *format, ...)
    SLUICE_PRINTF(3, 4);

static sluice_status error_at(const text_parser *p, size_t at, const char *format, ...)
{
    char message[600];
    char indent[SHOWN];
    char where[300];
    const char *line;
    size_t length;
    va_list args;

    va_start(args, format);
    vsnprintf(message, sizeof(message), format, args);
    va_end(args);
    if (p->text[at] == '\0') {
        while (at > 0 && is_blank(p->text[at - 1])) {
            at--; /* the end of the text is missing: the caret points at the last word */
        }
    }
    length = show_context(p, at, &line, indent);
    write_position(p, at, where, sizeof(where));
    return sli_fail(SLUICE_E_INVALID, "%s%s%s\n    %.*s\n    %s^", where, message,
                    may_be_split_path(p) ? "; a path with blanks stands in quotes" : "",
                    (int)length, line, indent);
}

static sluice_status add_char(text_parser *p, char c)
{
    if (p->word.length + 1 >= WORD_SIZE) {
        return error_at(p, p->word.at, "a word of more than %d bytes", WORD_SIZE - 1);
    }
    p->word.text[p->word.length++] = c;
    p->word.text[p->word.length] = '\0';
    return SLUICE_OK;
}

static sluice_status add_bytes(text_parser *p, const char *bytes, size_t length)
{
    sluice_status st = SLUICE_OK;

    for (size_t i = 0; i < length && st == SLUICE_OK; i++) {
        st = add_char(p, bytes[i]);
    }
    return st;
}

/* Parses "${NAME}" at p->at and adds its value to the word; the value itself is not parsed. */
static sluice_status add_variable(text_parser *p)
{
    text_variable variable;
    const char *wrong = pipeline_variable_read(p->text + p->at, &variable);
    const char *value;
    sluice_status st;

    if (wrong != NULL) {
        return error_at(p, p->at, "%s", wrong);
    }
    value = pipeline_args_value(p->args, variable.name);
    if (variable.fallback != NULL && (value == NULL || value[0] == '\0')) {
        st = add_bytes(p, variable.fallback, variable.fallback_length);
    } else if (value != NULL) {
        st = add_bytes(p, value, strlen(value));
    } else {
        return error_at(p, p->at,
                        "${%s} has no value; give it as an argument (--arg %s VALUE, "
                        "sluice_dataset_parse_args()), set the environment variable %s, or write "
                        "${%s:-DEFAULT}",
                        variable.name, variable.name, variable.name, variable.name);
    }
    p->at += variable.length;
    return st;
}

static sluice_status add_quoted(text_parser *p)
{
    const size_t start = p->at;
    const char quote = p->text[p->at++];

    while (p->text[p->at] != quote) {
        sluice_status st;

        if (p->text[p->at] == '\0') {
            return error_at(p, start, "this quote has no end");
        }
        st =
            quote == '"' && p->text[p->at] == '$' ? add_variable(p) : add_char(p, p->text[p->at++]);
        if (st != SLUICE_OK) {
            return st;
        }
    }
    p->at++;
    return SLUICE_OK;
}

static void skip_blanks(text_parser *p)
{
    for (;;) {
        while (is_blank(p->text[p->at])) {
            p->at++;
        }
        if (p->text[p->at] != '#') {
            return;
        }
        p->at += strcspn(p->text + p->at, "\n");
    }
}

/* Parses the word at p->at into p->word. */
static sluice_status read_word(text_parser *p)
{
    sluice_status st = SLUICE_OK;

    p->word.at = p->at;
    p->word.length = 0;
    p->word.key = 0;
    p->word.text[0] = '\0';
    while (st == SLUICE_OK && !ends_word(p->text[p->at])) {
        char c = p->text[p->at];

        if (c == '\'' || c == '"') {
            st = add_quoted(p);
        } else if (c == '$') {
            st = add_variable(p);
        } else if (c == '(' || c == ')') {
            st = error_at(p, p->at, "parentheses are reserved; put the word in quotes");
        } else {
            if (c == '=' && p->word.key == 0 && p->word.length > 0) {
                p->word.key = p->word.length;
            }
            st = add_char(p, c);
            p->at++;
        }
    }
    return st;
}

/* Begins the stage whose name is in p->word. */
static sluice_status begin_stage(text_parser *p)
{
    const char *name = p->word.text;
    const char *foreign = stage_name_from_elsewhere(name);
    const char *nearest;

    p->stage.def = stage_find(p->table, name);
    p->stage_at = p->word.at;
    p->positional = 0;
    p->given = 0;
    if (p->stage.def != NULL && p->is_addition && p->stage.def->kind == STAGE_SOURCE) {
        p->stage.def = NULL;
        return error_at(p, p->word.at,
                        "%s is a source, and this dataset has one; begin another dataset with "
                        "sluice_dataset_parse()",
                        name);
    }
    if (p->stage.def != NULL) {
        return stage_args_default(p->stage.def, p->stage.args.bytes);
    }
    if (foreign != NULL) {
        return error_at(p, p->word.at, "%s is called %s here", name, foreign);
    }
    nearest = stage_find_nearest(p->table, name);
    return error_at(p, p->word.at, "no stage '%.100s'%s%s; `sluice help stages` lists them", name,
                    nearest != NULL ? "; nearest is " : "", nearest != NULL ? nearest : "");
}

static sluice_status unknown_key(text_parser *p, const char *key)
{
    const char *foreign = stage_name_from_elsewhere(key);
    const char *nearest = stage_param_nearest(p->stage.def, key);
    char known[300] = "";

    if (foreign != NULL) {
        return error_at(p, p->word.at, "%s: %s is called %s here", p->stage.def->name, key,
                        foreign);
    }
    if (nearest != NULL) {
        return error_at(p, p->word.at, "%s has no argument '%s'; nearest is %s", p->stage.def->name,
                        key, nearest);
    }
    for (uint32_t i = 0; i < p->stage.def->param_count; i++) {
        snprintf(known + strlen(known), sizeof(known) - strlen(known), " %s",
                 p->stage.def->params[i].name);
    }
    return error_at(p, p->word.at, "%s has no argument '%s'; it takes%s; in quotes = is itself",
                    p->stage.def->name, key, known[0] != '\0' ? known : " none");
}

/* Finds the parameter that the word sets, and where its value begins. */
static sluice_status which_param(text_parser *p, uint32_t *param, const char **value)
{
    char key[64];

    *value = p->word.text;
    if (p->word.key > 0) {
        snprintf(key, sizeof(key), "%.*s", (int)p->word.key, p->word.text);
        *value = p->word.text + p->word.key + 1;
        for (*param = 0; *param < p->stage.def->param_count; (*param)++) {
            if (strcmp(key, p->stage.def->params[*param].name) == 0) {
                return SLUICE_OK;
            }
        }
        return unknown_key(p, key);
    }
    *param = p->positional++;
    if (p->given >> *param != 0) {
        return error_at(p, p->word.at,
                        "%s: '%.100s' without a name stands after arguments with one",
                        p->stage.def->name, p->word.text);
    }
    if (*param >= p->stage.def->param_count) {
        return error_at(p, p->word.at, "%s takes %u argument%s, '%.100s' is one too many",
                        p->stage.def->name, p->stage.def->param_count,
                        p->stage.def->param_count == 1 ? "" : "s", p->word.text);
    }
    return SLUICE_OK;
}

static sluice_status read_argument(text_parser *p)
{
    const char *value;
    uint32_t param;
    sluice_status st = which_param(p, &param, &value);

    if (st != SLUICE_OK) {
        return st;
    }
    if ((p->given >> param & 1) != 0) {
        return error_at(p, p->word.at, "%s: %s is given twice", p->stage.def->name,
                        p->stage.def->params[param].name);
    }
    p->given |= UINT64_C(1) << param;
    st = stage_arg_parse(p->stage.def, &p->stage.def->params[param], value, p->stage.args.bytes);
    return st == SLUICE_E_INVALID ? error_at(p, p->word.at, "%s", sluice_last_error()) : st;
}

/* Appends the complete stage to the dataset. */
static sluice_status add_stage(text_parser *p)
{
    const stage_def *def = p->stage.def;
    sluice_status st = p->dataset == NULL ? dataset_begin(def, p->stage.args.bytes, &p->dataset)
                                          : dataset_try(p->dataset, def, p->stage.args.bytes);

    if (st != SLUICE_OK && st != SLUICE_E_NO_MEMORY) { /* file errors included; keeps the status */
        (void)error_at(p, p->stage_at, "%s", sluice_last_error());
    }
    stage_args_free(def, p->stage.args.bytes);
    return st;
}

/* Appends the parsed stage to the list; ownership of its arguments is transferred. */
static sluice_status list_stage(text_parser *p)
{
    if (p->stage_count == DATASET_MAX_STAGES) {
        stage_args_free(p->stage.def, p->stage.args.bytes);
        return sli_fail(SLUICE_E_INVALID, "more than %d stages", DATASET_MAX_STAGES);
    }
    p->stages[p->stage_count++] = p->stage;
    return SLUICE_OK;
}

/* Completes the current stage; fails if an argument is missing. */
static sluice_status end_stage(text_parser *p)
{
    const stage_def *def = p->stage.def;
    sluice_status st = SLUICE_OK;

    for (uint32_t i = 0; i < def->param_count && st == SLUICE_OK; i++) {
        if (def->params[i].default_text == NULL && (p->given >> i & 1) == 0) {
            st = error_at(p, p->at, "%s: %s is missing (%s)", def->name, def->params[i].name,
                          def->params[i].help);
        }
    }
    if (st == SLUICE_OK) {
        st = p->stages != NULL ? list_stage(p) : add_stage(p);
        p->stage.def = NULL;
    }
    return st;
}

/* Parses stages up to the end of the text. */
static sluice_status read_stages(text_parser *p)
{
    for (;;) {
        sluice_status st;
        char c;

        skip_blanks(p);
        c = p->text[p->at];
        if (c == '|' || c == '\0') {
            if (p->stage.def == NULL) {
                return error_at(p, p->at, "want the name of a %s here%s",
                                p->dataset == NULL ? "source" : "stage",
                                p->dataset == NULL ? ", such as image_folder" : "");
            }
            st = end_stage(p);
            if (st != SLUICE_OK || c == '\0') {
                return st;
            }
            p->at++;
            continue;
        }
        st = read_word(p);
        if (st == SLUICE_OK) {
            st = p->stage.def == NULL ? begin_stage(p) : read_argument(p);
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
    p->text = text;
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
    p->file = file;
    p->args = args;
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
