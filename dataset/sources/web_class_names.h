/* SPDX-License-Identifier: Apache-2.0 */
/* The names of classes that a pack of `sluice pack` has in classes.txt, for the shards of it. */
#ifndef SLUICE_WEB_CLASS_NAMES_H
#define SLUICE_WEB_CLASS_NAMES_H

#include <stdint.h>

#include "file_list.h"
#include "web_packs.h"

/* Zero-initialise. */
typedef struct web_class_names {
    char *text;   /* zero-terminated names */
    char **names; /* by label, in `text` */
    uint32_t count;
    uint64_t memory;
} web_class_names;

/*
 * Reads the names if all shards are of one pack, whose folder `packs` has seen last. Names are no
 * condition of reading samples: a file that cannot be read is a warning. E_NO_MEMORY.
 */
sluice_status web_class_names_read(web_class_names *names, const web_packs *packs,
                                   const file_list *list);

void web_class_names_free(web_class_names *names);

#endif
