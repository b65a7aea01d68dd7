/* SPDX-License-Identifier: Apache-2.0 */
/* User-facing notes about a placement: problems and remedies. */
#ifndef SLUICE_PLACEMENT_NOTES_H
#define SLUICE_PLACEMENT_NOTES_H

#include "placement_int.h"

/* Adds the notes to a placement whose other fields are final. */
void sli_placement_add_notes(const sli_topology *topology, const sli_placement_request *request,
                             sli_placement *placement);

#endif
