/* SPDX-License-Identifier: Apache-2.0 */
/* Recorded machines, tests/data/machines/NAME.txt, as folders with their /proc and /sys. */
#ifndef SLUICE_MACHINE_KIT_H
#define SLUICE_MACHINE_KIT_H

#include <stdbool.h>
#include <stddef.h>

#include "machine_load_int.h"

enum { MACHINE_KIT_FILES = 40, MACHINE_KIT_MACHINES = 5, MACHINE_KIT_CPUS = 2 };

extern const char *const machine_kit_names[MACHINE_KIT_MACHINES];

/* A file that the machine has from the start on, or in another form at the end. */
typedef struct machine_kit_file {
    bool is_end;
    const char *path;
    const char *text;
    size_t size;
} machine_kit_file;

typedef struct machine_kit {
    char root[300]; /* the folder; it holds the files of the start, or of the end */
    char text[8192];
    size_t count;
    machine_kit_file files[MACHINE_KIT_FILES]; /* (count) */
} machine_kit;

/* Reads the machine NAME.txt, and makes a folder of its start. */
void machine_kit_open(machine_kit *machine, const char *name);

/* Writes the files of the start, or those that differ at the end. */
void machine_kit_write(const machine_kit *machine, bool is_end);

/* What the reader finds in the folder, at the time of the machine's own clock. */
sli_machine_load machine_kit_load(const machine_kit *machine);

/* The change from the start to the end. The folder is that of the end then. */
sli_load_change machine_kit_change(const machine_kit *machine);

#endif
