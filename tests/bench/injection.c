/* SPDX-License-Identifier: Apache-2.0 */
#include "injection.h"

#include <math.h>
#include <string.h>

static const injection_form forms[] = {
    {IN_SOURCE, BY_SPIN, "source", "spin", "read", "cpu"},
    {IN_SOURCE, BY_SLEEP, "source", "sleep", "read", "blocked"},
    {IN_SOURCE, BY_MUTEX, "source", "mutex", "read", "lock"},
    {IN_SOURCE, BY_HELD_SLEEP, "source", "mutex+sleep", "read", "lock"},
    {IN_DECODE, BY_WORK, "decode", "work", "decode", "cpu"},
    {IN_OPERATOR, BY_WORK, "operator", "work", "gaussian_blur", "cpu"},
    {IN_MAP, BY_SPIN, "map", "spin", INJECTION_MAP, "cpu"},
    {IN_MAP, BY_SLEEP, "map", "sleep", INJECTION_MAP, "blocked"},
    {IN_MAP, BY_MUTEX, "map", "mutex", INJECTION_MAP, "lock"},
    {IN_MAP, BY_HELD_SLEEP, "map", "mutex+sleep", INJECTION_MAP, "lock"},
    {IN_MAP, BY_SERIAL, "map", "serial", INJECTION_MAP, "lock"},
    {IN_MAP, BY_SLOW_SERIAL, "map", "serial+sleep", INJECTION_MAP, "lock"},
    {IN_BATCH_MAP, BY_SPIN, "batch map", "spin", INJECTION_MAP, "cpu"},
    {IN_BATCH_MAP, BY_SLEEP, "batch map", "sleep", INJECTION_MAP, "blocked"},
    {IN_BATCH_MAP, BY_MUTEX, "batch map", "mutex", INJECTION_MAP, "lock"},
    {IN_BATCH_MAP, BY_SERIAL, "batch map", "serial", INJECTION_MAP, "lock"},
    {IN_STEP, BY_SPIN, "step", "spin", "step", "device"},
    {IN_STEP, BY_SLEEP, "step", "sleep", "step", "device"},
    {IN_DEVICE_MAP, BY_SPIN, "device map", "spin", "device_maps", "device"},
    {IN_DEVICE_MAP, BY_SLEEP, "device map", "sleep", "device_maps", "device"},
    {IN_HOOK, BY_SPIN, "hook", "spin", "hooks", "host"},
    {IN_HOOK, BY_SLEEP, "hook", "sleep", "hooks", "host"},
    {IN_CHECKPOINT, BY_SPIN, "checkpoint", "spin", "checkpoint", "host"},
    {IN_CHECKPOINT, BY_SLEEP, "checkpoint", "sleep", "checkpoint", "host"},
    {IN_VALIDATION, BY_SPIN, "validation", "spin", "validation", "host"},
    {IN_VALIDATION, BY_SLEEP, "validation", "sleep", "validation", "host"},
    {BESIDE_MAP, BY_NEIGHBOURS, "map", "neighbour", INJECTION_MAP, "starved"},
    {BESIDE_STEP, BY_NEIGHBOURS, "step", "neighbour", "step", "starved"},
};

/* Time from a checkpoint or validation to the next one, without their own. */
static const double PERIOD_US = 15000;

/* ---- random numbers: splitmix64 -------------------------------------------------------------- */

static uint64_t draw(uint64_t *state)
{
    uint64_t z = *state += 0x9E3779B97F4A7C15U;

    z = (z ^ z >> 30) * 0xBF58476D1CE4E5B9U;
    z = (z ^ z >> 27) * 0x94D049BB133111EBU;
    return z ^ z >> 31;
}

static uint32_t draw_below(uint64_t *state, uint32_t end)
{
    return (uint32_t)(draw(state) % end);
}

/* As likely between x and 2 x as between 2 x and 4 x. */
static double draw_factor(uint64_t *state, double low, double high)
{
    return low * pow(high / low, (double)(draw(state) >> 11) * 0x1p-53);
}

/* ---- costs ----------------------------------------------------------------------------------- */

static bool is_one_at_a_time(injection_kind kind)
{
    return kind == BY_MUTEX || kind == BY_HELD_SLEEP || kind == BY_SERIAL || kind == BY_SLOW_SERIAL;
}

/* How many workers can work at once in the cost; a step that waits for them uses few cores. */
static double at_once(const injection *in, double slower, uint32_t cores)
{
    const double left = cores > 1 ? cores - 1 / slower : 1;

    if (is_one_at_a_time(in->form->kind)) {
        return 1;
    }
    return in->form->kind == BY_SLEEP || in->workers < left ? in->workers : left;
}

/* The cost that makes the training `slower` times as slow. */
static double cost_of(const injection *in, double slower, uint32_t cores)
{
    const double batch_us = in->step_us * in->batch;

    switch (in->form->place) {
    case IN_SOURCE:
    case IN_MAP:
        return in->step_us * slower * at_once(in, slower, cores);
    case IN_BATCH_MAP:
        return batch_us * slower * at_once(in, slower, cores);
    case IN_STEP:
    case IN_DEVICE_MAP:
        return batch_us * (slower - 1);
    case IN_HOOK:
        return batch_us * in->sink * (slower - 1);
    case IN_CHECKPOINT:
    case IN_VALIDATION:
        return batch_us * in->period * (slower - 1);
    case IN_DECODE:
    case IN_OPERATOR:
    case BESIDE_MAP:
    case BESIDE_STEP:
        break;
    }
    return 0;
}

injection injection_draw(uint64_t seed, uint32_t cores)
{
    static const uint32_t batches[] = {8, 16, 32, 64};
    static const uint32_t sinks[] = {1, 2, 5, 10, 20};
    uint64_t state = seed;
    injection in = {.form = &forms[draw_below(&state, sizeof(forms) / sizeof(forms[0]))],
                    .is_there = true};
    const double slower = draw_factor(&state, 1.6, 8);

    in.workers = 1 + draw_below(&state, 2 * cores + 1);
    in.batch = batches[draw_below(&state, 4)];
    in.sink = sinks[draw_below(&state, 5)];
    in.step_us = draw_factor(&state, 500, 2000) / in.batch;
    in.period = (uint32_t)ceil(PERIOD_US / in.step_us / in.batch);
    in.side = 16 + 8 * draw_below(&state, 7);
    in.kernel = 5 + 2 * draw_below(&state, 8);
    in.neighbours = cores * (2 + draw_below(&state, 2));
    if (is_one_at_a_time(in.form->kind)) { /* one worker waits for no other */
        in.workers = in.workers > 1 ? in.workers : 2;
    }
    if (in.form->place == IN_DECODE) {
        in.side *= 3;
    }
    if (in.form->place == BESIDE_MAP) { /* the map limits, and neither waits for a core */
        in.workers = cores > 1 ? cores - 1 : 1;
        in.base_us = 4 * in.step_us * in.workers;
    }
    in.is_crowded = in.workers > cores;
    in.cost_us = cost_of(&in, slower, cores);
    return in;
}

bool injection_is(const injection *in, const char *stage, const char *cause)
{
    const bool is_crowd =
        in->is_crowded && strcmp(in->form->cause, "cpu") == 0 && strcmp(cause, "starved") == 0;

    return strcmp(stage, in->form->stage) == 0 && (strcmp(cause, in->form->cause) == 0 || is_crowd);
}

injection injection_without(const injection *in)
{
    injection without = *in;

    without.is_there = false;
    return without;
}
