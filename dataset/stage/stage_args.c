/* SPDX-License-Identifier: Apache-2.0 */
/* Parses, checks and prints the arguments of stages, using their parameter tables. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "alloc_int.h"
#include "conversion_ops.h"
#include "dataset_parts.h"
#include "format_int.h"
#include "nested_stages.h"
#include "stage.h"
#include "status_int.h"
#include "tensor_int.h"

const char *const offload_targets[] = {"auto", "host", "device", NULL};

static void *arg_field(const stage_param *param, void *args)
{
    return (unsigned char *)args + param->offset;
}

static const void *const_field(const stage_param *param, const void *args)
{
    return (const unsigned char *)args + param->offset;
}

static sluice_status wrong_arg(const stage_def *def, const stage_param *param, const char *text,
                               const char *want)
{
    return sli_fail(SLUICE_E_INVALID, "%s: %s=%.100s%s must be %s", def->name, param->name, text,
                    strlen(text) > 100 ? "..." : "", want);
}

static bool parse_count(const char *text, uint64_t *count)
{
    char *end;

    if (*text < '0' || *text > '9') {
        return false;
    }
    errno = 0;
    *count = strtoull(text, &end, 10);
    return errno == 0 && *end == '\0';
}

static bool parse_int(const char *text, int64_t *value)
{
    uint64_t size;
    const bool negative = *text == '-';

    if (!parse_count(text + negative, &size) || size > (uint64_t)INT64_MAX + negative) {
        return false;
    }
    *value = negative ? (int64_t)(0 - size) : (int64_t)size;
    return true;
}

/* Suffixes of byte counts; each unit is 1024 times the previous one. */
static const char byte_units[] = "KMGT";

static bool parse_bytes(const char *text, uint64_t *bytes)
{
    char digits[24];
    const size_t length = strspn(text, "0123456789");
    const char *unit = text[length] != '\0' ? strchr(byte_units, text[length]) : NULL;
    const int shift = unit != NULL ? 10 * (int)(unit - byte_units + 1) : 0;
    uint64_t number = 0;

    if (length >= sizeof(digits) || text[length + (unit != NULL)] != '\0') {
        return false;
    }
    memcpy(digits, text, length);
    digits[length] = '\0';
    if (!parse_count(digits, &number) || number > UINT64_MAX >> shift) {
        return false;
    }
    *bytes = number << shift;
    return true;
}

/*
 * Removes the first item of a comma-separated list. False: the item is empty, too long, or followed
 * by a trailing comma.
 */
static bool next_item(const char **rest, char *item, size_t size)
{
    size_t length = strcspn(*rest, ",");

    if (length == 0 || length >= size) {
        return false;
    }
    memcpy(item, *rest, length);
    item[length] = '\0';
    *rest += length;
    if (**rest == ',') {
        (*rest)++;
        return **rest != '\0';
    }
    return true;
}

static bool parse_counts(const char *text, uint64_t *values, uint32_t most, uint32_t *count)
{
    char item[32];

    for (*count = 0; *text != '\0'; (*count)++) {
        if (*count == most || !next_item(&text, item, sizeof(item)) ||
            !parse_count(item, &values[*count])) {
            return false;
        }
    }
    return *count > 0;
}

static bool parse_reals(const char *text, uint32_t most, param_reals *reals)
{
    char item[64];

    memset(reals, 0, sizeof(*reals));
    if ((*text >= 'a' && *text <= 'z') && strlen(text) < sizeof(reals->name)) {
        memcpy(reals->name, text, strlen(text) + 1);
        return true;
    }
    for (; *text != '\0'; reals->count++) {
        if (reals->count == most || !next_item(&text, item, sizeof(item)) ||
            !sli_parse_real(item, &reals->values[reals->count])) {
            return false;
        }
    }
    return true;
}

/* Parses 1/LOW..HIGH. */
static bool parse_inverse(const char *text, param_reals *reals)
{
    char low[64];
    const char *dots = strstr(text, "..");

    memset(reals, 0, sizeof(*reals));
    if (dots == NULL || strncmp(text, "1/", 2) != 0 || (size_t)(dots - text) >= sizeof(low)) {
        return false;
    }
    memcpy(low, text + 2, (size_t)(dots - text) - 2);
    low[dots - text - 2] = '\0';
    reals->count = 2;
    reals->inverts = true;
    return sli_parse_real(low, &reals->values[0]) && sli_parse_real(dots + 2, &reals->values[1]);
}

static bool parse_size(const char *text, param_size *size)
{
    uint64_t values[2];
    uint32_t count;

    if (!parse_counts(text, values, 2, &count) || values[0] > UINT32_MAX ||
        (count == 2 && (values[1] > UINT32_MAX || values[1] == 0))) {
        return false;
    }
    size->height = (uint32_t)values[0];
    size->width = count == 2 ? (uint32_t)values[1] : 0;
    return true;
}

static bool parse_seed(const char *text, uint64_t *seed)
{
    if (strcmp(text, "run") == 0) {
        *seed = PARAM_SEED_RUN;
        return true;
    }
    return parse_count(text, seed);
}

static bool parse_rank(const char *text, uint32_t *rank)
{
    uint64_t value;

    if (strcmp(text, "run") == 0 || strcmp(text, "none") == 0) {
        *rank = text[0] == 'r' ? PARAM_RANK_RUN : PARAM_RANK_NONE;
        return true;
    }
    if (!parse_count(text, &value) || value >= PARAM_RANK_NONE) {
        return false;
    }
    *rank = (uint32_t)value;
    return true;
}

static bool parse_bool(const char *text, bool *value)
{
    *value = strcmp(text, "true") == 0;
    return *value || strcmp(text, "false") == 0;
}

static sluice_status parse_choice(const stage_def *def, const stage_param *param, const char *text,
                                  uint32_t *choice)
{
    char want[200] = "one of";

    for (uint32_t i = 0; param->choices[i] != NULL; i++) {
        if (strcmp(text, param->choices[i]) == 0) {
            *choice = i;
            return SLUICE_OK;
        }
        strncat(want, " ", sizeof(want) - strlen(want) - 1);
        strncat(want, param->choices[i], sizeof(want) - strlen(want) - 1);
    }
    return wrong_arg(def, param, text, want);
}

/* Reports a text that is not what `want` says, with the bounds of a number. */
static sluice_status wrong_number(const stage_def *def, const stage_param *param, const char *text,
                                  const char *want)
{
    char bounded[100];

    if (param->low == 0 && param->high == 0) {
        return wrong_arg(def, param, text, want);
    }
    sli_print(bounded, sizeof(bounded), "%s, from %.12g to %.12g", want, param->low, param->high);
    return wrong_arg(def, param, text, bounded);
}

static sluice_status parse_text(const char *text, const char **copy)
{
    sli_free(*copy);
    *copy = sli_strdup(text);
    return *copy != NULL ? SLUICE_OK : sli_fail(SLUICE_E_NO_MEMORY, "an argument");
}

/*
 * Parses the types other than texts and choices. False: the text is invalid; *want describes the
 * expected format.
 */
static bool parse_value(const stage_param *param, const char *text, void *to, const char **want)
{
    param_shape *shape = to;
    param_edges *edges = to;

    switch (param->type) {
    case PARAM_COUNT:
        *want = "a whole number";
        return parse_count(text, to);
    case PARAM_INT:
        *want = "a whole number";
        return parse_int(text, to);
    case PARAM_BYTES:
        *want = "bytes, such as 256M";
        return parse_bytes(text, to);
    case PARAM_REAL:
        *want = "a number";
        return sli_parse_real(text, to);
    case PARAM_BOOL:
        *want = "true or false";
        return parse_bool(text, to);
    case PARAM_SIZE:
        *want = "HEIGHT or HEIGHT,WIDTH";
        return parse_size(text, to);
    case PARAM_REALS:
        *want = param->most == PARAM_MAX_REALS ? "numbers with commas, at most 8"
                : param->inverts               ? "numbers with commas, at most 4, or 1/LOW..HIGH"
                                               : "numbers with commas, at most 4";
        return (param->inverts && parse_inverse(text, to)) ||
               parse_reals(text, param->most > 0 ? param->most : PARAM_USUAL_REALS, to);
    case PARAM_SHAPE:
        *want = "whole numbers with commas";
        return parse_counts(text, shape->dims, SLUICE_MAX_RANK, &shape->rank);
    case PARAM_EDGES:
        *want = "whole numbers with commas, at most 32";
        return parse_counts(text, edges->values, PARAM_MAX_EDGES, &edges->count);
    case PARAM_DTYPE:
        *want = "u8, i8, u16, i16, u32, i32, u64, i64, f16, bf16, f32 or f64";
        return sli_dtype_parse(text, to);
    case PARAM_SEED:
        *want = "a whole number or run";
        return parse_seed(text, to);
    case PARAM_RANK:
        *want = "a whole number, run or none";
        return parse_rank(text, to);
    case PARAM_PARTS:
    case PARAM_STAGES:
        *want = "in parentheses";
        break;
    case PARAM_TEXT:
    case PARAM_CHOICE:
        break;
    }
    return false;
}

sluice_status stage_arg_parse(const stage_def *def, const stage_param *param, const char *text,
                              void *args)
{
    void *to = arg_field(param, args);
    const char *want = "a known type";

    if (param->type == PARAM_TEXT) {
        return parse_text(text, to);
    }
    if (param->type == PARAM_CHOICE) {
        return parse_choice(def, param, text, to);
    }
    return parse_value(param, text, to, &want) ? SLUICE_OK : wrong_number(def, param, text, want);
}

sluice_status stage_args_default(const stage_def *def, void *args)
{
    memset(args, 0, STAGE_ARGS_SIZE);
    for (uint32_t i = 0; i < def->param_count; i++) {
        const stage_param *param = &def->params[i];
        sluice_status st = SLUICE_OK;

        if (param->default_text != NULL) {
            st = stage_arg_parse(def, param, param->default_text, args);
        }
        if (st != SLUICE_OK) {
            stage_args_free(def, args);
            return st;
        }
    }
    return SLUICE_OK;
}

/* True if the parser reads this text unchanged without quotes. */
static bool is_plain(const char *value)
{
    for (const unsigned char *c = (const unsigned char *)value; *c != '\0'; c++) {
        bool letter = (*c >= 'a' && *c <= 'z') || (*c >= 'A' && *c <= 'Z');

        if (!letter && !(*c >= '0' && *c <= '9') && *c < 0x80 &&
            strchr("/._-+:,@%~^", *c) == NULL) {
            return false;
        }
    }
    return value[0] != '\0';
}

/* Prints a text so that the parser reads it back. */
static void print_text(sli_text *text, const char *value)
{
    if (is_plain(value)) {
        sli_text_add(text, "%s", value);
        return;
    }
    /* In single quotes only the single quote itself is special, so it is put in double quotes. */
    sli_text_add(text, "'");
    for (; *value != '\0'; value++) {
        if (*value == '\'') {
            sli_text_add(text, "'\"'\"'");
        } else {
            sli_text_add(text, "%c", *value);
        }
    }
    sli_text_add(text, "'");
}

static void print_reals(sli_text *text, const param_reals *reals)
{
    sli_text_add(text, "%s", reals->inverts ? "1/" : reals->name);
    for (uint32_t i = 0; i < reals->count; i++) {
        sli_text_add(text, "%s", i == 0 ? "" : reals->inverts ? ".." : ",");
        sli_text_add_real(text, reals->values[i]);
    }
}

static void print_counts(sli_text *text, const uint64_t *values, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++) {
        sli_text_add(text, "%s%" PRIu64, i > 0 ? "," : "", values[i]);
    }
}

/* Prints a number of bytes in the largest unit that represents it exactly. */
static void print_bytes(sli_text *text, uint64_t bytes)
{
    size_t unit = 0;

    while (unit < strlen(byte_units) && bytes > 0 && bytes % 1024 == 0) {
        bytes /= 1024;
        unit++;
    }
    sli_text_add(text, "%" PRIu64 "%s", bytes,
                 (const char[]){unit > 0 ? byte_units[unit - 1] : '\0', '\0'});
}

static void print_seed(sli_text *text, uint64_t seed)
{
    if (seed == PARAM_SEED_RUN) {
        sli_text_add(text, "run");
    } else {
        print_counts(text, &seed, 1);
    }
}

static void print_rank(sli_text *text, uint32_t rank)
{
    if (rank == PARAM_RANK_RUN || rank == PARAM_RANK_NONE) {
        sli_text_add(text, "%s", rank == PARAM_RANK_RUN ? "run" : "none");
    } else {
        sli_text_add(text, "%u", rank);
    }
}

/* Prints what is in parentheses, if anything is yet. */
static void print_parentheses(sli_text *text, const dataset_parts *parts,
                              const nested_stages *nested)
{
    if (parts != NULL) {
        parts->print(parts, SOURCE_WRITTEN, text);
    } else if (nested != NULL) {
        nested->print(nested, text);
    }
}

static void print_value(const stage_param *param, const void *from, sli_text *text)
{
    const param_size *size = from;
    const param_shape *shape = from;
    const param_edges *edges = from;

    switch (param->type) {
    case PARAM_TEXT:
        print_text(text, *(const char *const *)from);
        break;
    case PARAM_COUNT:
        print_counts(text, from, 1);
        break;
    case PARAM_INT:
        sli_text_add(text, "%" PRId64, *(const int64_t *)from);
        break;
    case PARAM_BYTES:
        print_bytes(text, *(const uint64_t *)from);
        break;
    case PARAM_REAL:
        sli_text_add_real(text, *(const double *)from);
        break;
    case PARAM_BOOL:
        sli_text_add(text, "%s", *(const bool *)from ? "true" : "false");
        break;
    case PARAM_SIZE:
        print_counts(text, (const uint64_t[]){size->height, size->width}, size->width > 0 ? 2 : 1);
        break;
    case PARAM_REALS:
        print_reals(text, from);
        break;
    case PARAM_SHAPE:
        print_counts(text, shape->dims, shape->rank);
        break;
    case PARAM_EDGES:
        print_counts(text, edges->values, edges->count);
        break;
    case PARAM_CHOICE:
        sli_text_add(text, "%s", param->choices[*(const uint32_t *)from]);
        break;
    case PARAM_DTYPE:
        sli_text_add(text, "%s", sluice_dtype_name(*(const sluice_dtype *)from));
        break;
    case PARAM_SEED:
        print_seed(text, *(const uint64_t *)from);
        break;
    case PARAM_RANK:
        print_rank(text, *(const uint32_t *)from);
        break;
    case PARAM_PARTS:
        print_parentheses(text, *(const dataset_parts *const *)from, NULL);
        break;
    case PARAM_STAGES:
        print_parentheses(text, NULL, *(const nested_stages *const *)from);
        break;
    }
}

void stage_arg_print(const stage_param *param, const void *args, sli_text *text)
{
    print_value(param, const_field(param, args), text);
}

/* True if the argument is empty, so that it is not printed. */
static bool is_nothing(const stage_param *param, const void *from)
{
    const param_reals *reals = from;

    switch (param->type) {
    case PARAM_REALS:
        return reals->count == 0 && reals->name[0] == '\0';
    case PARAM_TEXT:
        return param->default_text != NULL && param->default_text[0] == '\0' &&
               (*(const char *const *)from)[0] == '\0';
    default:
        return false;
    }
}

const char **stage_args_columns(const stage_def *def, void *args)
{
    for (uint32_t i = 0; i < def->param_count && def->selects; i++) {
        if (strcmp(def->params[i].name, "columns") == 0) {
            return arg_field(&def->params[i], args);
        }
    }
    return NULL;
}

void stage_args_print(const stage_def *def, const void *args, sli_text *text)
{
    for (uint32_t i = 0; i < def->param_count; i++) {
        const stage_param *param = &def->params[i];
        const void *from = const_field(param, args);

        if (is_nothing(param, from)) {
            continue;
        }
        if (param->type == PARAM_PARTS || param->type == PARAM_STAGES) {
            sli_text_add(text, " ");
        } else {
            sli_text_add(text, " %s=", param->name);
        }
        print_value(param, from, text);
    }
}

void stage_args_free(const stage_def *def, void *args)
{
    for (uint32_t i = 0; i < def->param_count; i++) {
        if (def->params[i].type == PARAM_TEXT) {
            const char **text = arg_field(&def->params[i], args);

            sli_free(*text);
            *text = NULL;
        }
    }
    if (def->release != NULL) {
        def->release(args);
    }
}
