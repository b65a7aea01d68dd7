/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A stream of user code: sample i of a pass has the columns number i64 (the pass * 1000 + i), words
 * u16 (up to 9, ragged) and noise u64 (random bits of the library).
 */
#ifndef SLUICE_GENERATOR_KIT_H
#define SLUICE_GENERATOR_KIT_H

#include <stdatomic.h>

#include <sluice/custom.h>

#include "custom_kit.h"

enum { GENERATOR_WORDS = 9, GENERATOR_FAULTY = 7 };

/* The end of a pass waits until the gate is open, and closes it. */
typedef enum generator_gate { GENERATOR_GATE, GENERATOR_AT_GATE, GENERATOR_OPEN } generator_gate;

/* The data of a generator: user. */
typedef struct generator {
    uint64_t samples;   /* of a pass; 0: without end */
    uint64_t varies_by; /* pass p has p * this many more */
    bool repeats;       /* number does not depend on the pass */
    custom_fault fault; /* of the sample GENERATOR_FAULTY of each pass */
    bool fails_always;
    bool (*is_bad)(uint64_t sample); /* samples with the fault FAILS; NULL: none */
    bool waits;                      /* polls the stop descriptor after its last sample */
    sluice_status open_status;
    uint64_t fails_at;   /* number of the sample with the fault FAILS, plus 1; 0: none */
    uint64_t empty_pass; /* pass without samples, plus 1; 0: none */
    atomic_int *gate;    /* a generator_gate for the ends of passes; NULL: none */
    atomic_int open;     /* passes that are open */
    atomic_int passes;   /* passes that were opened */
    atomic_int closed;   /* calls of close() */
    atomic_int calls;    /* of next() */
    atomic_int inside;   /* threads in next(): never more than one for a pass */
    atomic_int overlaps;
} generator;

/* The source "my_stream", version 1. */
sluice_source generator_source(generator *g);
sluice_dataset *generator_dataset(generator *g, const char *stages);

/* A source of the same samples that reads them by their numbers; `repeats` must be set. */
sluice_dataset *generator_twin(generator *g, const char *stages);

#endif
