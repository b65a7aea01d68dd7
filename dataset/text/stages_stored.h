/* SPDX-License-Identifier: Apache-2.0 */
/* Texts of stages of versions before decode orient=, which used pixels as stored. */
#ifndef SLUICE_STAGES_STORED_H
#define SLUICE_STAGES_STORED_H

#include <stdbool.h>

/* True if a text, as a state has it, has a stage decode without the argument orient. A state has
 * all arguments of a stage that its version knows. */
bool stages_lack_orient(const char *stages);

#endif
