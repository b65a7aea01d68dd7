/* SPDX-License-Identifier: Apache-2.0 */
/* Runs under variables of the environment: what they log, and what they leave in files. */
#ifndef SLUICE_OVERRIDES_KIT_H
#define SLUICE_OVERRIDES_KIT_H

#include "train_kit.h"

/* The variables of runs, in case the runner's own environment has some of them. */
enum { OVERRIDES_COUNT = 6 };
extern const char *const overrides_names[OVERRIDES_COUNT];

/* Takes them out of the environment, and puts back what was there. */
void overrides_begin(void);
void overrides_end(void);

/* A run of four steps. */
void overrides_init_run(kit *k);

/* Runs it; what it logs is good until the next call. */
const char *overrides_log_of(kit *k);

/* How often the part is there. */
uint32_t overrides_count_of(const char *text, const char *part);

/* The file's bytes, good until the next call; "" when there is none. */
const char *overrides_contents(const char *path);

#endif
