/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How much memory OpenJPEG will allocate for a code stream, before it does: an upper bound of the
 * sum of its allocations, by the sizes of its structs in 2.5. The fuzz target compares it with what
 * is allocated.
 */
#ifndef SLUICE_JP2_COST_H
#define SLUICE_JP2_COST_H

#include "jp2_walk.h"

enum {
    JP2_BYTES_OF_PIXEL = 64, /* that a file may need */
    JP2_BYTES_OF_FILE = 4,   /* for each byte of the code stream */
    JP2_BYTES_OF_ANY = 16 << 20
};

/* The memory that a file may need. */
uint64_t jp2_cost_limit(const jp2_walk *walk);

/* What the tiles need before their parts are read; of a walk of the main header. */
uint64_t jp2_cost_of_tiles(const jp2_walk *walk);

/* What all needs; of a complete walk. */
uint64_t jp2_cost(const jp2_walk *walk);

/* Fails with E_CORRUPT if a tile has more packets than bytes: its data is cut. */
sluice_status jp2_cost_check_packets(const jp2_walk *walk);

#endif
