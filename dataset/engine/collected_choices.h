/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The choices that workers have reported and that wait for those of earlier candidates. Only
 * collected_rows.c uses it, with its lock held.
 */
#ifndef SLUICE_COLLECTED_CHOICES_H
#define SLUICE_COLLECTED_CHOICES_H

#include "collected_turns.h"

/* Adds a choice to those that wait. */
void collected_choices_add(collected_rows *rows, collected_choice *choice);

/*
 * Makes the choices that no longer wait: those whose earlier ones are made, and those that can get
 * no rows any more. To be called after each change of what they wait for. True: at least one was
 * made, so the caller notifies rows->changed.
 */
bool collected_choices_make(collected_rows *rows);

#endif
