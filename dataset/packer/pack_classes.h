/* SPDX-License-Identifier: Apache-2.0 */
/* classes.txt, the names of the classes of a pack. */
#ifndef SLUICE_PACK_CLASSES_H
#define SLUICE_PACK_CLASSES_H

#include "kept_columns.h"
#include "pack_folder.h"

/*
 * Writes the names of classes that the source has, one a line. They are those of the column label:
 * if the source has it and the pack has not, there are no names. Returns E_IO or E_NO_MEMORY on
 * failure.
 */
sluice_status pack_classes_write(const pack_folder *folder, const sluice_dataset *dataset,
                                 const kept_columns *kept);

#endif
