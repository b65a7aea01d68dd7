/* SPDX-License-Identifier: Apache-2.0 */
/* A source of a program's own: two columns, points f32 (3) and number i64, and its faults. */
#ifndef SLUICE_CUSTOM_KIT_H
#define SLUICE_CUSTOM_KIT_H

#include <pthread.h>
#include <stdatomic.h>

#include <sluice/custom.h>

enum { CUSTOM_SAMPLES = 20 };

/* What read() does with a sample besides giving it. */
typedef enum custom_fault {
    NO_FAULT,
    FAILS,          /* returns an error with a text */
    FAILS_SILENTLY, /* without one */
    POSITIVE,       /* returns a positive status */
    GARBAGE,        /* a number that is no status */
    WRONG_NAME,     /* writes a column that is not declared */
    WRONG_SHAPE,    /* of the points */
    WRONG_SIZE,     /* lends too little */
    LEAVES_ONE_OUT, /* of the columns */
    OUT_OF_MEMORY
} custom_fault;

/* The data of a source of arrays: user. */
typedef struct custom_arrays {
    custom_fault fault; /* of sample 7 */
    bool lends;
    atomic_int begun;
    atomic_int ended;
    atomic_int closed;
    atomic_int strays; /* calls on another thread than begin's */
    int offset;        /* of the byte that is written too far */
    uint64_t random[CUSTOM_SAMPLES];
} custom_arrays;

/* Points (index, 1, 2), number index * index. */
sluice_status custom_read_arrays(sluice_sample *sample, uint64_t index, void *user);

/* "my_arrays" of version 3. */
sluice_source custom_arrays_source(custom_arrays *o);

/* The dataset of a source, with stages as text; what cannot be made fails the test. */
sluice_dataset *custom_dataset(const sluice_source *source, const char *stages);
sluice_dataset *custom_arrays_dataset(custom_arrays *o, const char *stages);

/*
 * The same source as a stream: next() calls its read() for one number after another, with what
 * begin() makes for each pass. `of` must outlive the dataset.
 */
sluice_source custom_stream_of(sluice_source *of);

/* Runs a pass in batches of 4, shuffled, and checks that each sample comes once, as it is. */
void custom_check_pass(custom_arrays *o, uint32_t workers);

#endif
