/* SPDX-License-Identifier: Apache-2.0 */
/* Notes on a placement for users: problems and remedies. */
#ifndef SLUICE_PLACEMENT_NOTES_H
#define SLUICE_PLACEMENT_NOTES_H

#include "placement_int.h"

/* Adds the notes of a placement that is otherwise complete. */
void sli_placement_add_notes(const sli_topology *topology, const sli_placement_request *request,
                             sli_placement *placement);

#endif
