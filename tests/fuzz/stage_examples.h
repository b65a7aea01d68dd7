/* SPDX-License-Identifier: Apache-2.0 */
/* A pipeline for each stage, with the example in its help. */
#ifndef SLUICE_STAGE_EXAMPLES_H
#define SLUICE_STAGE_EXAMPLES_H

#include <stddef.h>

enum { EXAMPLES_MOST = 256 };

/* Calls the function with the name of each stage and a pipeline with it. Returns their number. */
size_t for_each_example(void (*take)(const char *name, const char *text, void *user), void *user);

#endif
