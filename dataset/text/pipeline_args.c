/* SPDX-License-Identifier: Apache-2.0 */
#include "pipeline_args.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "status_int.h"

/*
 * Returns the length of the identifier at the beginning of a text: letters, digits and _, not
 * beginning with a digit.
 */
static size_t identifier_length(const char *text)
{
    static const char identifier[] =
        "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz_0123456789";

    return *text >= '0' && *text <= '9' ? 0 : strspn(text, identifier);
}

static bool is_identifier(const char *name)
{
    const size_t length = identifier_length(name);

    return length > 0 && length < VARIABLE_NAME_SIZE && name[length] == '\0';
}

static sluice_status check_arg(const pipeline_args *args, size_t i)
{
    const char *name = args->names[i];

    if (name == NULL) {
        return sli_fail(SLUICE_E_INVALID, "argument %zu: its name is NULL", i);
    }
    if (!is_identifier(name)) {
        return sli_fail(
            SLUICE_E_INVALID,
            "argument '%.100s' must be a name of at most %d letters, digits and _, such "
            "as DIR for ${DIR}",
            name, VARIABLE_NAME_SIZE - 1);
    }
    if (args->values[i] == NULL) {
        return sli_fail(SLUICE_E_INVALID, "argument %s: its value is NULL", name);
    }
    for (size_t k = 0; k < i; k++) {
        if (strcmp(args->names[k], name) == 0) {
            return sli_fail(SLUICE_E_INVALID, "argument %s is given twice", name);
        }
    }
    return SLUICE_OK;
}

sluice_status pipeline_args_init(pipeline_args *args, const char *const *names,
                                 const char *const *values, size_t count)
{
    sluice_status st = SLUICE_OK;

    memset(args, 0, sizeof(*args));
    if (count > PIPELINE_MAX_ARGS) {
        return sli_fail(SLUICE_E_INVALID, "%zu arguments of a pipeline; there must be at most %d",
                        count, PIPELINE_MAX_ARGS);
    }
    if (count > 0 && (names == NULL || values == NULL)) {
        return sli_fail(SLUICE_E_INVALID, "%zu arguments of a pipeline: names or values is NULL",
                        count);
    }
    args->names = names;
    args->values = values;
    args->count = count;
    for (size_t i = 0; i < count && st == SLUICE_OK; i++) {
        st = check_arg(args, i);
    }
    return st;
}

/* Adds "${NAME}" to the list of variables, unless it is listed already or the list is full. */
static void note_variable(pipeline_args *args, const char *name)
{
    const size_t used = strlen(args->variables);
    char reference[VARIABLE_NAME_SIZE + 4];
    const size_t length = (size_t)snprintf(reference, sizeof(reference), "${%s}", name);

    if (strstr(args->variables, reference) == NULL && used + 1 + length < sizeof(args->variables)) {
        snprintf(args->variables + used, sizeof(args->variables) - used, "%s%s",
                 used > 0 ? " " : "", reference);
    }
}

const char *pipeline_args_value(pipeline_args *args, const char *name)
{
    if (args != NULL) {
        note_variable(args, name);
        for (size_t i = 0; i < args->count; i++) {
            if (strcmp(args->names[i], name) == 0) {
                args->used[i] = true;
                return args->values[i];
            }
        }
    }
    return getenv(name);
}

sluice_status pipeline_args_check_used(const pipeline_args *args, const char *where)
{
    for (size_t i = 0; i < args->count; i++) {
        if (!args->used[i]) {
            return sli_fail(
                SLUICE_E_INVALID,
                "%sargument %s: the pipeline has no ${%s}%s%s; outside of single quotes "
                "and comments it takes the value",
                where, args->names[i], args->names[i],
                args->variables[0] != '\0' ? ", it has " : "", args->variables);
        }
    }
    return SLUICE_OK;
}

const char *pipeline_variable_read(const char *text, text_variable *variable)
{
    const char *name = text + 2;
    size_t length;
    size_t fallback = 0;

    if (text[1] != '{' || (length = identifier_length(name)) == 0 || length >= VARIABLE_NAME_SIZE ||
        (name[length] != '}' && strncmp(name + length, ":-", 2) != 0)) {
        return "a dollar sign must begin ${NAME} or ${NAME:-DEFAULT}; in single quotes $ is itself";
    }
    memcpy(variable->name, name, length);
    variable->name[length] = '\0';
    variable->fallback = NULL;
    if (name[length] == ':') {
        variable->fallback = name + length + 2;
        fallback = strcspn(variable->fallback, "{}$");
        if (variable->fallback[fallback] == '\0') {
            return "this ${NAME:-DEFAULT} has no closing brace";
        }
        if (variable->fallback[fallback] != '}') {
            return "a default is plain text, without braces and dollar signs; nothing can be "
                   "nested "
                   "in it";
        }
    }
    variable->fallback_length = fallback;
    variable->length = 2 + length + (variable->fallback != NULL ? 2 + fallback : 0) + 1;
    return NULL;
}
