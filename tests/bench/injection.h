/* SPDX-License-Identifier: Apache-2.0 */
/* A cost that is put into a small training, at random: where, of which kind, how large. */
#ifndef SLUICE_INJECTION_H
#define SLUICE_INJECTION_H

#include <stdbool.h>
#include <stdint.h>

/* Where the cost is. */
typedef enum injection_place {
    IN_SOURCE,
    IN_DECODE,
    IN_OPERATOR,
    IN_MAP,
    IN_BATCH_MAP,
    IN_STEP,
    IN_DEVICE_MAP,
    IN_HOOK,
    IN_CHECKPOINT,
    IN_VALIDATION,
    BESIDE_MAP, /* busy processes beside a run whose bottleneck is a map */
    BESIDE_STEP /* the same, whose bottleneck is the step */
} injection_place;

typedef enum injection_kind {
    BY_SPIN,
    BY_SLEEP,
    BY_MUTEX,       /* spins while it holds a mutex that all workers share */
    BY_HELD_SLEEP,  /* sleeps while it holds it */
    BY_SERIAL,      /* spins in a serial map */
    BY_SLOW_SERIAL, /* sleeps in it */
    BY_WORK,        /* an operator of the library works */
    BY_NEIGHBOURS
} injection_kind;

/* A place and a kind, and what a report should say of them. */
typedef struct injection_form {
    injection_place place;
    injection_kind kind;
    const char *place_name;
    const char *kind_name;
    const char *stage; /* the row */
    const char *cause;
} injection_form;

typedef struct injection {
    const injection_form *form;
    bool is_there; /* false: the training without the cost */
    uint32_t workers;
    uint32_t batch;      /* samples */
    uint32_t sink;       /* steps */
    double step_us;      /* CPU time that every step takes for a sample */
    double base_us;      /* CPU time that a map takes for a sample; 0: there is no such map */
    double cost_us;      /* for a sample, batch, sink, checkpoint or validation; 0: of BY_WORK */
    uint32_t period;     /* steps from a checkpoint or validation to the next */
    uint32_t side;       /* width and height of the decoded or blurred image, in pixels */
    uint32_t kernel;     /* of the blur */
    uint32_t neighbours; /* processes */
    bool is_cached;      /* decoded images are */
    bool is_crowded;     /* there are more workers than cores */
} injection;

/* The name of the map, batch map and source. */
#define INJECTION_MAP "mymap"

/*
 * Draws an injection, a function of the seed and the number of cores. The cost slows the training
 * down by a factor of 1.6 to 8 if the machine has nothing else to do; what an operator of the
 * library costs is not known beforehand.
 */
injection injection_draw(uint64_t seed, uint32_t cores);

/* True if a verdict names the row of the cost and its cause. With more workers than cores,
 * `starved` is right for `cpu`, too: the guide says so. */
bool injection_is(const injection *in, const char *stage, const char *cause);

/* The same training without the cost. */
injection injection_without(const injection *in);

#endif
