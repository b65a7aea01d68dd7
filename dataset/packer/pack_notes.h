/* SPDX-License-Identifier: Apache-2.0 */
/* Counts images whose stored pixels are not all of their file. */
#ifndef SLUICE_PACK_NOTES_H
#define SLUICE_PACK_NOTES_H

#include <stdatomic.h>

#include "dataset_state.h"
#include "image_decoder.h"
#include "image_notes_int.h"

typedef struct pack_notes {
    _Atomic uint64_t of[SLI_IMAGE_NOTES];
} pack_notes;

/* Counts an image whose pixels are stored. Callable from any thread. */
void pack_notes_add(pack_notes *notes, const image_facts *facts);

/* Logs a warning with the number of images of each kind. */
void pack_notes_log(const pack_notes *notes);

/* Logs a warning of what the source has left out, which the pack in this folder does not hold. */
void pack_notes_left_out(const sluice_dataset *dataset, const char *folder);

#endif
