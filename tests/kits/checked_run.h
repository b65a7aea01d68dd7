/* SPDX-License-Identifier: Apache-2.0 */
/* A training with the mode check, whose model can be saved, and a folder for what is temporary. */
#ifndef SLUICE_CHECKED_RUN_H
#define SLUICE_CHECKED_RUN_H

#include "train_kit.h"

typedef struct checked_run {
    kit kit;
    uint64_t saves;          /* that were called */
    uint64_t loads;          /* the same */
    uint64_t fails_at;       /* this call of save or load */
    sluice_callback changes; /* in place of the kit's own hooks */
    char folder[300];        /* TMPDIR */
    char before[300];        /* what it was, "" nothing */
} checked_run;

/* 3 epochs of 30 steps, checked. */
void checked_init(checked_run *s);

/* Nothing is left in the folder, however the run ended. */
void checked_fini(checked_run *s);

/* Of a kit whose user is its checked run. */
sluice_status checked_save(void *user, const char *folder, uint32_t rank, uint32_t world);
sluice_status checked_load(void *user, const char *folder, uint32_t rank, uint32_t world);

#endif
