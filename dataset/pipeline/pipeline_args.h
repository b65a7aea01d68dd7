/* SPDX-License-Identifier: Apache-2.0 */
/* The values of ${NAME} in a pipeline: arguments that the caller gives, then the environment. */
#ifndef SLUICE_PIPELINE_ARGS_H
#define SLUICE_PIPELINE_ARGS_H

#include <stdbool.h>
#include <stddef.h>

#include <sluice/status.h>

/* Most arguments of a pipeline; room for a name and its final zero. */
enum { PIPELINE_MAX_ARGS = 256, VARIABLE_NAME_SIZE = 128 };

/* The caller's arguments, and which of them the text uses. Borrows names and values. */
typedef struct pipeline_args {
    const char *const *names;
    const char *const *values;
    size_t count;
    bool used[PIPELINE_MAX_ARGS];
    char variables[200]; /* that the text has, for errors: "${DIR} ${SIZE}" */
} pipeline_args;

/* E_INVALID too many, a NULL, a name that is not an identifier, or one that is given twice. */
sluice_status pipeline_args_init(pipeline_args *args, const char *const *names,
                                 const char *const *values, size_t count);

/* The value of ${NAME}, and counts the argument as used; NULL: there is none. args may be NULL. */
const char *pipeline_args_value(pipeline_args *args, const char *name);

/* E_INVALID an argument that the text did not use. `where` begins the message. */
sluice_status pipeline_args_check_used(const pipeline_args *args, const char *where);

/* The parts of a variable in a text. */
typedef struct text_variable {
    char name[VARIABLE_NAME_SIZE];
    const char *fallback; /* behind ":-", within the text; NULL: none */
    size_t fallback_length;
    size_t length; /* of all, from $ to } */
} text_variable;

/* Reads "${NAME}" or "${NAME:-DEFAULT}" at the beginning of the text; returns what is wrong with
 * it, NULL: nothing. */
const char *pipeline_variable_read(const char *text, text_variable *variable);

#endif
