/* SPDX-License-Identifier: Apache-2.0 */
/* The names of classes that a pack or a conversion has in classes.txt, for the files of it. */
#ifndef SLUICE_PACK_CLASS_NAMES_H
#define SLUICE_PACK_CLASS_NAMES_H

#include <stdint.h>

#include "file_list.h"

/* Zero-initialise. */
typedef struct pack_class_names {
    char *text;   /* zero-terminated names */
    char **names; /* by label, in `text` */
    uint32_t count;
    uint64_t memory;
} pack_class_names;

/*
 * Reads the names if all files of a list are of one pack or conversion. Samples can be read without
 * names: a file of names that cannot be read is a warning. Returns E_IO or E_NO_MEMORY.
 */
sluice_status pack_class_names_read(pack_class_names *names, const file_list *list);

void pack_class_names_free(pack_class_names *names);

#endif
