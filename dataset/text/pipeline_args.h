/* SPDX-License-Identifier: Apache-2.0 */
/* Resolves ${NAME} in a pipeline: the caller's arguments take precedence over the environment. */
#ifndef SLUICE_PIPELINE_ARGS_H
#define SLUICE_PIPELINE_ARGS_H

#include <stdbool.h>
#include <stddef.h>

#include <sluice/status.h>

/*
 * The maximum number of arguments of a pipeline, and the size of a name including its terminating
 * zero.
 */
enum { PIPELINE_MAX_ARGS = 256, VARIABLE_NAME_SIZE = 128 };

/* The caller's arguments, and which of them the text uses. `names` and `values` are borrowed. */
typedef struct pipeline_args {
    const char *const *names;
    const char *const *values;
    size_t count;
    bool used[PIPELINE_MAX_ARGS];
    char variables[200]; /* the variables found in the text, for error messages: "${DIR} ${SIZE}" */
} pipeline_args;

/*
 * Initialises the arguments. E_INVALID: there are too many arguments, one is NULL, a name is not an
 * identifier, or a name occurs twice.
 */
sluice_status pipeline_args_init(pipeline_args *args, const char *const *names,
                                 const char *const *values, size_t count);

/*
 * Returns the value of ${NAME}, or NULL if it has no value, and marks the argument as used. args
 * may be NULL.
 */
const char *pipeline_args_value(pipeline_args *args, const char *name);

/*
 * Checks that the text uses every argument. E_INVALID: an argument is unused. The message begins
 * with `where`.
 */
sluice_status pipeline_args_check_used(const pipeline_args *args, const char *where);

/* The parts of a variable in a text. */
typedef struct text_variable {
    char name[VARIABLE_NAME_SIZE];
    const char *fallback; /* the text after ":-", not terminated; NULL: no default */
    size_t fallback_length;
    size_t length; /* length of the whole variable, from $ to } */
} text_variable;

/*
 * Parses "${NAME}" or "${NAME:-DEFAULT}" at the beginning of the text. Returns NULL if it is valid,
 * otherwise an error message.
 */
const char *pipeline_variable_read(const char *text, text_variable *variable);

#endif
