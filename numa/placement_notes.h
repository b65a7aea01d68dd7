/* SPDX-License-Identifier: Apache-2.0 */
/* What a person should know about a placement: what is wrong and what to do. */
#ifndef SLUICE_PLACEMENT_NOTES_H
#define SLUICE_PLACEMENT_NOTES_H

#include "placement_int.h"

/* Fills the placement's notes; all else of it is decided already. */
void sli_placement_add_notes(const sli_topology *topology, const sli_placement_request *request,
                             sli_placement *placement);

#endif
