/* SPDX-License-Identifier: Apache-2.0 */
/* The mutant that a GPU check is tried with, on the CPU: who looks between its two halves sees it.
 */
#include "gpu/publish_order.h"
#include "testing.h"

enum { WORDS = 512, ROUNDS = 20 };

typedef struct world {
    uint64_t ready;
    uint64_t consumed;
    uint64_t words[WORDS];
    sli_ring ring;
    uint64_t seq;
    uint64_t stale;
    uint64_t seen; /* batches that were there when somebody looked */
} world;

/* A consumer of one thread, wherever the producer stands. */
static void look(void *arg)
{
    world *w = arg;

    if (sli_ring_peek(&w->ring, w->seq) != SLI_RING_BATCH) {
        return;
    }
    w->seen++;
    w->stale += publish_stale(w->words, WORDS, w->seq, 0, 1);
    sli_ring_release(&w->ring, w->seq);
}

static void play(world *w, publish_order order)
{
    *w = (world){.ring = {&w->ready, &w->consumed, 1}};
    for (w->seq = 1; w->seq <= ROUNDS; w->seq++) {
        T_TRUE(sli_ring_may_fill(&w->ring, w->seq));
        publish_by_host(&w->ring, w->words, WORDS, w->seq, order, look, w);
        if (w->seen < w->seq) {
            look(w);
        }
    }
    T_EQ(w->seen, ROUNDS);
}

static void behind_its_batch_a_word_announces_nothing_stale(void)
{
    world w;

    play(&w, PUBLISH_BEHIND);
    T_EQ(w.stale, 0);
}

static void before_its_batch_a_word_announces_stale_ones(void)
{
    world w;

    play(&w, PUBLISH_BEFORE);
    T_EQ(w.stale, (uint64_t)ROUNDS * WORDS);
}

/* A grid's threads share a batch's words, whatever their number is. */
static void threads_together_look_at_each_word_once(void)
{
    uint64_t words[WORDS];

    publish_fill(words, WORDS, 7);
    words[0] = publish_word(6, 0);
    words[WORDS - 1]++;
    for (uint64_t threads = 1; threads < 40; threads++) {
        uint64_t stale = 0;

        for (uint64_t t = 0; t < threads; t++) {
            stale += publish_stale(words, WORDS, 7, t, threads);
        }
        T_EQ(stale, 2);
    }
}

const t_test publish_order_tests[] = {
    T_TEST(behind_its_batch_a_word_announces_nothing_stale),
    T_TEST(before_its_batch_a_word_announces_stale_ones),
    T_TEST(threads_together_look_at_each_word_once),
    T_END,
};
