/* SPDX-License-Identifier: Apache-2.0 */
#include "rank_waits.h"

#include <string.h>

#include "alloc_int.h"
#include "status_int.h"

enum { LEVEL_BIT = 57, WAIT_BIT = 23, RANK_BIT = 3 };

/* rank_waits.noted: the rank, then its lasts and the meetings, NOTED_BITS bits each. */
enum { NOTED_BITS = 22 };

/* A warning needs a wait for one rank of at least this share of a window. */
static const double LATE_SHARE = 0.1;

/* A window has at least this many meetings. */
static const uint64_t WINDOW_MEETINGS = 4;

/* Windows grow up to this duration. */
static const int64_t WINDOW_MOST_NS = INT64_C(3600) * 1000000000;

sluice_status rank_waits_open(rank_waits *waits, uint32_t rank, uint32_t world)
{
    waits->rank = rank;
    waits->world = world;
    waits->worst = world;
    if (world > WAIT_RANKS) {
        return SLUICE_OK; /* nothing is counted */
    }
    waits->of = sli_calloc(world, sizeof(*waits->of));
    waits->recent = sli_calloc(world, sizeof(*waits->recent));
    if (waits->of == NULL || waits->recent == NULL) {
        rank_waits_close(waits);
        return sli_fail(SLUICE_E_NO_MEMORY, "the waits for %u ranks", world);
    }
    return SLUICE_OK;
}

void rank_waits_close(rank_waits *waits)
{
    sli_free(waits->of);
    sli_free(waits->recent);
    waits->of = NULL;
    waits->recent = NULL;
    waits->counts = false;
}

static void begin_window(rank_waits *waits, int64_t now_ns)
{
    memset(waits->recent, 0, waits->world * sizeof(*waits->recent));
    waits->window_begin_ns = now_ns;
    waits->window_meetings = 0;
}

void rank_waits_begin(rank_waits *waits, int64_t now_ns, int64_t window_ns)
{
    if (waits->of == NULL) {
        return;
    }
    waits->counts = true;
    waits->left_ns = now_ns;
    waits->window_ns = window_ns;
    begin_window(waits, now_ns);
}

void rank_waits_add_steps(rank_waits *waits, int64_t steps_ns, int64_t data_ns)
{
    waits->steps_ns += steps_ns;
    waits->data_ns += data_ns < steps_ns ? data_ns : steps_ns;
}

void rank_waits_add_round(rank_waits *waits, int64_t begin_ns, int64_t end_ns)
{
    if (waits->counts) {
        waits->agree_ns += end_ns - begin_ns;
        waits->waited_ns += end_ns - begin_ns;
        waits->left_ns = end_ns;
    }
}

/* ---- a meeting ------------------------------------------------------------------------------- */

/* What took most of the time since the last round. */
static rank_delay find_delay(const rank_waits *waits, int64_t now_ns)
{
    const int64_t host_ns = now_ns - waits->left_ns - waits->steps_ns;
    const int64_t step_ns = waits->steps_ns - waits->data_ns;

    if (waits->data_ns >= step_ns && waits->data_ns >= host_ns) {
        return waits->data_ns > 0 ? DELAY_DATA : DELAY_HOST;
    }
    return step_ns >= host_ns ? DELAY_STEP : DELAY_HOST;
}

int64_t rank_waits_send(rank_waits *waits, uint32_t level, int64_t now_ns)
{
    int64_t value = (int64_t)level << LEVEL_BIT;

    waits->sent_us = -1;
    if (!waits->counts) {
        return value;
    }
    if (waits->met) {
        const int64_t us = waits->waited_ns / 1000;

        waits->sent_us = us < WAIT_MOST ? us : WAIT_MOST;
        value |= (WAIT_MOST - waits->sent_us) << WAIT_BIT | (int64_t)waits->rank << RANK_BIT |
                 (int64_t)waits->delay;
    }
    waits->met = true;
    waits->waited_ns = 0;
    waits->delay = find_delay(waits, now_ns);
    waits->steps_ns = 0;
    waits->data_ns = 0;
    return value;
}

static void add_wait(rank_wait *wait, int64_t ns, rank_delay delay)
{
    wait->ns += ns;
    wait->lasts++;
    wait->after[delay]++;
}

static uint64_t noted_number(uint64_t number)
{
    const uint64_t most = (1U << NOTED_BITS) - 1;

    return number < most ? number : most;
}

/* Stores the worst rank for other threads. */
static void note_worst(rank_waits *waits)
{
    if (waits->worst < waits->world) {
        atomic_store_explicit(&waits->noted,
                              (uint64_t)waits->worst << 2 * NOTED_BITS |
                                  noted_number(waits->of[waits->worst].lasts) << NOTED_BITS |
                                  noted_number(waits->meetings),
                              memory_order_relaxed);
    }
}

/* Counts that `last` came last, and that the shortest wait was `least_us`. */
static void count_meeting(rank_waits *waits, uint32_t last, int64_t least_us, rank_delay delay)
{
    const int64_t ns = (waits->sent_us - least_us) * 1000;

    waits->meetings++;
    waits->window_meetings++;
    add_wait(&waits->of[last], ns, delay);
    add_wait(&waits->recent[last], ns, delay);
    if (waits->of[last].ns > (waits->worst < waits->world ? waits->of[waits->worst].ns : 0)) {
        waits->worst = last;
    }
    note_worst(waits);
}

bool rank_waits_receive(rank_waits *waits, int64_t most, uint32_t *level_out)
{
    const int64_t level = most >> LEVEL_BIT;
    const int64_t least_us = WAIT_MOST - (most >> WAIT_BIT & WAIT_MOST);
    const uint32_t last = (uint32_t)(most >> RANK_BIT) & (WAIT_RANKS - 1);
    const uint32_t delay = (uint32_t)(most & ((1 << RANK_BIT) - 1));

    if (level < 0 || level > MEETING_LEVEL_MOST) {
        return false;
    }
    *level_out = (uint32_t)level;
    if (level > 0 || waits->sent_us < 0 || least_us == WAIT_MOST) {
        return true; /* only ranks of the largest level are compared, or none has sent a wait */
    }
    if (last >= waits->world || delay >= DELAY_KINDS || least_us > waits->sent_us) {
        return false;
    }
    count_meeting(waits, last, least_us, (rank_delay)delay);
    return true;
}

/* ---- warnings -------------------------------------------------------------------------------- */

rank_delay rank_waits_delay(const rank_wait *wait)
{
    rank_delay most = DELAY_STEP;

    for (uint32_t i = 0; i < DELAY_KINDS; i++) {
        most = wait->after[i] > wait->after[most] ? (rank_delay)i : most;
    }
    return most;
}

static uint32_t find_worst(const rank_waits *waits)
{
    uint32_t worst = 0;

    for (uint32_t i = 1; i < waits->world; i++) {
        worst = waits->recent[i].ns > waits->recent[worst].ns ? i : worst;
    }
    return worst;
}

bool rank_waits_check(rank_waits *waits, int64_t now_ns, rank_lateness *late_out)
{
    const int64_t window_ns = now_ns - waits->window_begin_ns;
    const rank_wait *wait;
    bool late;

    if (!waits->counts || window_ns < waits->window_ns ||
        waits->window_meetings < WINDOW_MEETINGS) {
        return false;
    }
    late_out->rank = find_worst(waits);
    wait = &waits->recent[late_out->rank];
    late_out->seconds = (double)window_ns / 1e9;
    late_out->share = window_ns > 0 ? (double)wait->ns / (double)window_ns : 0;
    late_out->lasts = wait->lasts;
    late_out->meetings = waits->window_meetings;
    late_out->delay = rank_waits_delay(wait);
    late = late_out->share >= LATE_SHARE;
    if (late && waits->window_ns < WINDOW_MOST_NS) {
        waits->window_ns *= 2;
    }
    begin_window(waits, now_ns);
    return late;
}

bool rank_waits_noted(const rank_waits *waits, uint32_t *rank_out, uint32_t *lasts_out,
                      uint32_t *meetings_out)
{
    const uint64_t noted = atomic_load_explicit(&waits->noted, memory_order_relaxed);
    const uint32_t most = (1U << NOTED_BITS) - 1;

    *rank_out = (uint32_t)(noted >> 2 * NOTED_BITS);
    *lasts_out = (uint32_t)(noted >> NOTED_BITS) & most;
    *meetings_out = (uint32_t)noted & most;
    return noted != 0;
}
