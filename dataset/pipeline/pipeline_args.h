/* SPDX-License-Identifier: Apache-2.0 */
/* The values of ${NAME} in a pipeline: from the caller's arguments, else from the environment. */
#ifndef SLUICE_PIPELINE_ARGS_H
#define SLUICE_PIPELINE_ARGS_H

#include <stdbool.h>
#include <stddef.h>

#include <sluice/status.h>

/* The largest number of arguments of a pipeline; the size of a name with its terminating zero. */
enum { PIPELINE_MAX_ARGS = 256, VARIABLE_NAME_SIZE = 128 };

/* The caller's arguments, and which of them the text uses. names and values are borrowed. */
typedef struct pipeline_args {
    const char *const *names;
    const char *const *values;
    size_t count;
    bool used[PIPELINE_MAX_ARGS];
    char variables[200]; /* the variables in the text, for error messages: "${DIR} ${SIZE}" */
} pipeline_args;

/*
 * E_INVALID: too many arguments, a NULL, a name that is not an identifier, or a name that occurs
 * twice.
 */
sluice_status pipeline_args_init(pipeline_args *args, const char *const *names,
                                 const char *const *values, size_t count);

/*
 * Returns the value of ${NAME}, and marks the argument as used; NULL: it has no value. args may be
 * NULL.
 */
const char *pipeline_args_value(pipeline_args *args, const char *name);

/* E_INVALID: the text does not use one of the arguments. The message begins with `where`. */
sluice_status pipeline_args_check_used(const pipeline_args *args, const char *where);

/* The parts of a variable in a text. */
typedef struct text_variable {
    char name[VARIABLE_NAME_SIZE];
    const char *fallback; /* the text after ":-", not terminated; NULL: no default */
    size_t fallback_length;
    size_t length; /* length of the whole variable, from $ to } */
} text_variable;

/*
 * Parses "${NAME}" or "${NAME:-DEFAULT}" at the beginning of the text. Returns an error message, or
 * NULL if it is valid.
 */
const char *pipeline_variable_read(const char *text, text_variable *variable);

#endif
