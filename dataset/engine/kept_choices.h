/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The choices that workers have reported and that wait for those of earlier candidates. Only
 * kept_rows.c uses it, with its lock held.
 */
#ifndef SLUICE_KEPT_CHOICES_H
#define SLUICE_KEPT_CHOICES_H

#include "kept_turns.h"

/* Adds a choice to those that wait. */
void kept_choices_add(kept_rows *rows, kept_choice *choice);

/*
 * Makes the choices that no longer wait: those whose earlier ones are made, and those that can get
 * no rows any more. To be called after each change of what they wait for. True: at least one was
 * made, so the caller notifies rows->changed.
 */
bool kept_choices_make(kept_rows *rows);

#endif
