/* SPDX-License-Identifier: Apache-2.0 */
#include "named_stage.h"

#include <assert.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "alloc_int.h"
#include "custom_batch.h"
#include "custom_map.h"
#include "source_custom.h"
#include "status_int.h"

static const char call[] = "sluice_stage_register";

/* The arguments begin with one of three structs, which differ in the type of a pointer. */
static_assert(offsetof(custom_args, version) == offsetof(map_args, version), "the same fields");
static_assert(sizeof(custom_args) == sizeof(map_args), "the same fields");
static_assert(offsetof(batch_map_args, version) == offsetof(map_args, version), "the same fields");
static_assert(sizeof(batch_map_args) == sizeof(map_args), "the same fields");
static_assert(sizeof(map_args) + SLUICE_MAX_PARAMETERS * sizeof(int64_t) <= STAGE_ARGS_SIZE,
              "all values fit");
extern const stage_def stage_map;
extern const stage_def stage_filter;
extern const stage_def stage_map_batch;

/* ---- checks of the caller's struct ----------------------------------------------------------- */

static bool is_name(const char *text)
{
    size_t length = 0;

    if (text == NULL || text[0] < 'a' || text[0] > 'z') {
        return false;
    }
    while ((text[length] >= 'a' && text[length] <= 'z') ||
           (text[length] >= '0' && text[length] <= '9') || text[length] == '_') {
        length++;
    }
    return text[length] == '\0' && length < SLUICE_NAME_SIZE;
}

static sluice_status check_stage(const sluice_stage *stage)
{
    if (!is_name(stage->name)) {
        return sli_fail(
            SLUICE_E_INVALID,
            "%s: name is %.40s, and must be a lower-case letter, then such letters, digits "
            "and _, at most %d",
            call, stage->name != NULL ? stage->name : "NULL", SLUICE_NAME_SIZE - 1);
    }
    if ((uint32_t)stage->kind > SLUICE_STAGE_MAP_BATCH) {
        return sli_fail(SLUICE_E_INVALID,
                        "%s: %s: kind is %d, which this library does not have; use a value of "
                        "sluice_stage_kind, or update the library",
                        call, stage->name, (int)stage->kind);
    }
    if (stage->build == NULL) {
        return sli_fail(SLUICE_E_INVALID, "%s: %s: build is NULL", call, stage->name);
    }
    if (stage->parameter_count > SLUICE_MAX_PARAMETERS ||
        (stage->parameter_count > 0 && stage->parameters == NULL)) {
        return sli_fail(
            SLUICE_E_INVALID,
            "%s: %s: parameters is NULL, or %u parameters, and there must be at most %d", call,
            stage->name, stage->parameter_count, SLUICE_MAX_PARAMETERS);
    }
    if (stage->parameter_size != 0 &&
        (stage->parameter_size < sizeof(sluice_parameter) || stage->parameter_size > 4096 ||
         stage->parameter_size % sizeof(void *) != 0)) {
        return sli_fail(SLUICE_E_INVALID,
                        "%s: %s: parameter_size is %zu: call sluice_stage_init() first", call,
                        stage->name, stage->parameter_size);
    }
    return SLUICE_OK;
}

static const sluice_parameter *parameter_of(const sluice_stage *stage, uint32_t i)
{
    const size_t size =
        stage->parameter_size != 0 ? stage->parameter_size : sizeof(sluice_parameter);

    return (const sluice_parameter *)(const void *)((const char *)stage->parameters + i * size);
}

static bool is_number(sluice_parameter_kind kind)
{
    return kind == SLUICE_PARAMETER_INT || kind == SLUICE_PARAMETER_FLOAT;
}

static sluice_status check_parameter(const sluice_stage *stage, uint32_t i)
{
    const sluice_parameter *parameter = parameter_of(stage, i);

    if (!is_name(parameter->name) || strcmp(parameter->name, "version") == 0) {
        return sli_fail(
            SLUICE_E_INVALID,
            "%s: %s: parameter %u is called %.40s, and must be a lower-case letter, then such "
            "letters, digits and _, at most %d, and not `version`",
            call, stage->name, i, parameter->name != NULL ? parameter->name : "NULL",
            SLUICE_NAME_SIZE - 1);
    }
    for (uint32_t k = 0; k < i; k++) {
        if (strcmp(parameter->name, parameter_of(stage, k)->name) == 0) {
            return sli_fail(SLUICE_E_INVALID, "%s: %s: two parameters are called %s", call,
                            stage->name, parameter->name);
        }
        if (parameter->kind == SLUICE_PARAMETER_PATH &&
            parameter_of(stage, k)->kind == SLUICE_PARAMETER_PATH) {
            return sli_fail(SLUICE_E_INVALID, "%s: %s: %s is the second path; a stage has one",
                            call, stage->name, parameter->name);
        }
    }
    if ((uint32_t)parameter->kind > SLUICE_PARAMETER_PATH) {
        return sli_fail(SLUICE_E_INVALID,
                        "%s: %s: %s: kind is %d, which this library does not have", call,
                        stage->name, parameter->name, (int)parameter->kind);
    }
    if (parameter->bounded != 0 &&
        (!is_number(parameter->kind) || !(parameter->low <= parameter->high) ||
         (parameter->low == 0 && parameter->high == 0))) {
        return sli_fail(
            SLUICE_E_INVALID,
            "%s: %s: %s: bounds are %g and %g, and must be numbers with low below high, and "
            "only for INT and FLOAT",
            call, stage->name, parameter->name, parameter->low, parameter->high);
    }
    return SLUICE_OK;
}

/* ---- copies ---------------------------------------------------------------------------------- */

static const char *or_empty(const char *text)
{
    return text != NULL ? text : "";
}

static const char default_gives[] = "the columns that it declares";

static size_t texts_size(const sluice_stage *stage)
{
    size_t size = strlen(stage->name) + strlen(or_empty(stage->summary)) +
                  strlen(stage->gives != NULL ? stage->gives : default_gives) + 3;

    for (uint32_t i = 0; i < stage->parameter_count; i++) {
        const sluice_parameter *parameter = parameter_of(stage, i);

        size += strlen(parameter->name) + strlen(or_empty(parameter->default_text)) +
                strlen(or_empty(parameter->help)) + 3;
    }
    return size;
}

/* Copies a text to *at, and advances *at past it. */
static const char *copy_text(const char *text, char **at)
{
    const size_t size = strlen(text) + 1;
    char *copy = *at;

    memcpy(copy, text, size);
    *at += size;
    return copy;
}

static param_type type_of(sluice_parameter_kind kind)
{
    switch (kind) {
    case SLUICE_PARAMETER_INT:
        return PARAM_INT;
    case SLUICE_PARAMETER_FLOAT:
        return PARAM_REAL;
    case SLUICE_PARAMETER_BOOL:
        return PARAM_BOOL;
    case SLUICE_PARAMETER_STRING:
    case SLUICE_PARAMETER_PATH:
        break;
    }
    return PARAM_TEXT;
}

static void copy_parameters(const sluice_stage *stage, named_stage *named, char **at)
{
    for (uint32_t i = 0; i < stage->parameter_count; i++) {
        const sluice_parameter *parameter = parameter_of(stage, i);
        stage_param *param = &named->params[i];

        named->kinds[i] = parameter->kind;
        param->name = copy_text(parameter->name, at);
        param->type = type_of(parameter->kind);
        param->offset = sizeof(map_args) + i * sizeof(int64_t);
        param->default_text =
            parameter->default_text != NULL ? copy_text(parameter->default_text, at) : NULL;
        param->help = copy_text(or_empty(parameter->help), at);
        param->low = parameter->bounded != 0 ? parameter->low : 0;
        param->high = parameter->bounded != 0 ? parameter->high : 0;
        if (parameter->kind == SLUICE_PARAMETER_PATH) {
            named->source.path = param->name;
        }
    }
    snprintf(named->version_text, sizeof(named->version_text), "%u", stage->version);
    named->params[stage->parameter_count] =
        (stage_param){.name = "version",
                      .type = PARAM_COUNT,
                      .offset = PARAM_OFFSET_(map_args, version, PARAM_COUNT),
                      .default_text = named->version_text,
                      .high = UINT32_MAX,
                      .help = "of what it makes"};
}

static const stage_def *def_of_kind(sluice_stage_kind kind)
{
    return kind == SLUICE_STAGE_SOURCE   ? &stage_source
           : kind == SLUICE_STAGE_MAP    ? &stage_map
           : kind == SLUICE_STAGE_FILTER ? &stage_filter
                                         : &stage_map_batch;
}

static sluice_status fill(const sluice_stage *stage, named_stage *named)
{
    char *at = sli_calloc(1, texts_size(stage));

    if (at == NULL) {
        return sli_fail(SLUICE_E_NO_MEMORY, "stage %s", stage->name);
    }
    named->texts = at;
    named->of = *stage;
    named->def = *def_of_kind(stage->kind);
    if (stage->kind == SLUICE_STAGE_SOURCE) {
        named->source = *stage_source.source;
        named->def.source = &named->source;
    }
    named->def.name = copy_text(stage->name, &at);
    named->def.summary = copy_text(or_empty(stage->summary), &at);
    named->def.gives = copy_text(stage->gives != NULL ? stage->gives : default_gives, &at);
    copy_parameters(stage, named, &at);
    named->def.params = named->params;
    named->def.param_count = stage->parameter_count + 1;
    named->def.args_size = sizeof(map_args) + stage->parameter_count * sizeof(int64_t);
    named->def.make = stage_builder_make;
    return SLUICE_OK;
}

/* Checks that the defaults are valid values of their parameters. */
static sluice_status check_defaults(const named_stage *named)
{
    const stage_def *def = &named->def;
    dataset_stage stage = {.def = def};
    sluice_status st = stage_args_default(def, stage.args.bytes);

    for (uint32_t i = 0; i < def->param_count && st == SLUICE_OK; i++) {
        if (def->params[i].default_text != NULL) {
            st = stage_arg_check(def, &def->params[i], stage.args.bytes);
        }
    }
    stage_args_free(def, stage.args.bytes);
    return st == SLUICE_E_INVALID
               ? sli_fail_quoting(st, "%s: a default is wrong: %s", call, sluice_last_error())
               : st;
}

sluice_status named_stage_make(const sluice_stage *stage, const char *origin,
                               named_stage **named_out)
{
    named_stage *named;
    sluice_status st = check_stage(stage);

    for (uint32_t i = 0; st == SLUICE_OK && i < stage->parameter_count; i++) {
        st = check_parameter(stage, i);
    }
    if (st != SLUICE_OK) {
        return st;
    }
    named = sli_calloc(1, sizeof(*named));
    if (named == NULL) {
        return sli_fail(SLUICE_E_NO_MEMORY, "stage %s", stage->name);
    }
    snprintf(named->origin, sizeof(named->origin), "%s", origin);
    st = fill(stage, named);
    if (st == SLUICE_OK) {
        st = check_defaults(named);
    }
    if (st != SLUICE_OK) {
        named_stage_free(named);
        return st;
    }
    *named_out = named;
    return SLUICE_OK;
}

void named_stage_free(named_stage *named)
{
    if (named != NULL) {
        sli_free(named->texts);
        sli_free(named);
    }
}
