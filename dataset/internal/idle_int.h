/* SPDX-License-Identifier: Apache-2.0 */
/* What is given and has no effect, for the plan line, explain and the log. */
#ifndef SLUICE_IDLE_INT_H
#define SLUICE_IDLE_INT_H

#include "plan_int.h"
#include "text_int.h"

/* Appends one more to a list: "WHAT (WHY)". */
void sli_idle_add(sli_text *list, const char *what, const char *why);

/* Appends the arguments of the stages that have no effect. */
void sli_plan_idle(const sli_plan *plan, sli_text *list);

#endif
