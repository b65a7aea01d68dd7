/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The choices that workers have reported and that wait for those of earlier candidates. Only
 * collected_rows.c uses it, under its lock.
 */
#ifndef SLUICE_COLLECTED_CHOICES_H
#define SLUICE_COLLECTED_CHOICES_H

#include "collected_claim.h"

typedef struct collected_choices {
    collected_choice *first; /* the choices not made yet, in the order of candidates; NULL: none */
    collected_choice *last;
    uint64_t chosen;     /* number of candidates whose choice is made */
    uint64_t ended;      /* number of passes that have ended with a choice */
    uint64_t pass_begin; /* `chosen` at the beginning of the pass */
} collected_choices;

/* Adds a choice to those that wait. */
void choices_add(collected_choices *choices, collected_choice *choice);

/* True if the choices of all candidates before the claim's are made. `pass`: the claim's pass,
 * counted from 0 in the run. */
bool choices_reach(const collected_choices *choices, const collected_claim *claim, uint64_t pass);

/* Removes the first choice, once it is made. */
void choices_remove_first(collected_choices *choices);

/* Continues with the first candidate of the run. */
void choices_rewind(collected_choices *choices);

#endif
