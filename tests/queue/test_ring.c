/* SPDX-License-Identifier: Apache-2.0 */
/* The words of the protocol, by one thread; tests/stress and tests/model have the others. */
#include "ring_int.h"
#include "testing.h"

enum { SLOTS = 3 };

typedef struct words {
    uint64_t ready[SLOTS];
    uint64_t consumed;
    sli_ring ring;
} words;

static void make(words *w, uint64_t consumed)
{
    memset(w, 0, sizeof(*w));
    w->consumed = consumed;
    w->ring = (sli_ring){w->ready, &w->consumed, SLOTS};
}

static void the_producer_is_at_most_all_slots_ahead(void)
{
    words w;

    make(&w, 0);
    T_TRUE(sli_ring_may_fill(&w.ring, 1));
    T_TRUE(sli_ring_may_fill(&w.ring, SLOTS));
    T_TRUE(!sli_ring_may_fill(&w.ring, SLOTS + 1));
    sli_ring_release(&w.ring, 1);
    T_TRUE(sli_ring_may_fill(&w.ring, SLOTS + 1));
    T_TRUE(!sli_ring_may_fill(&w.ring, SLOTS + 2));
}

static void a_place_is_empty_until_its_batch_is_published(void)
{
    words w;

    make(&w, 0);
    for (uint64_t seq = 1; seq <= SLOTS; seq++) {
        T_EQ(sli_ring_peek(&w.ring, seq), SLI_RING_EMPTY);
    }
    sli_ring_publish(&w.ring, 2, SLI_RING_BATCH);
    T_EQ(sli_ring_peek(&w.ring, 1), SLI_RING_EMPTY);
    T_EQ(sli_ring_peek(&w.ring, 2), SLI_RING_BATCH);
    T_EQ(sli_ring_peek(&w.ring, 3), SLI_RING_EMPTY);
}

/* The slot of batch 4 still says 1 when 1 was released: that is nothing, not an old batch. */
static void the_batch_before_in_the_same_slot_is_not_taken_for_the_next(void)
{
    words w;

    make(&w, 0);
    sli_ring_publish(&w.ring, 1, SLI_RING_BATCH);
    sli_ring_release(&w.ring, 1);
    T_EQ(sli_ring_slot(&w.ring, 1), sli_ring_slot(&w.ring, 1 + SLOTS));
    T_EQ(sli_ring_peek(&w.ring, 1 + SLOTS), SLI_RING_EMPTY);
    sli_ring_publish(&w.ring, 1 + SLOTS, SLI_RING_BATCH);
    T_EQ(sli_ring_peek(&w.ring, 1 + SLOTS), SLI_RING_BATCH);
    T_EQ(sli_ring_peek(&w.ring, 1), SLI_RING_EMPTY);
}

static void ends_and_errors_stand_at_their_place(void)
{
    words w;

    make(&w, 0);
    sli_ring_publish(&w.ring, 1, SLI_RING_ERROR);
    sli_ring_publish(&w.ring, 2, SLI_RING_END);
    T_EQ(sli_ring_peek(&w.ring, 1), SLI_RING_ERROR);
    T_EQ(sli_ring_peek(&w.ring, 2), SLI_RING_END);
    T_EQ(sli_ring_peek(&w.ring, 1 + SLOTS), SLI_RING_EMPTY);
    T_EQ(sli_ring_peek(&w.ring, 2 + SLOTS), SLI_RING_EMPTY);
}

/* What the device reads is part of the protocol: these words must not change. */
static void words_are_the_number_and_a_flag(void)
{
    T_EQ(sli_ring_word(5, SLI_RING_BATCH), 5);
    T_EQ(sli_ring_word(5, SLI_RING_END), (int64_t)UINT64_C(0x8000000000000005));
    T_EQ(sli_ring_word(5, SLI_RING_ERROR), (int64_t)UINT64_C(0x4000000000000005));
    T_EQ(sli_ring_seq(sli_ring_word(5, SLI_RING_END)), 5);
    T_EQ(sli_ring_seq(sli_ring_word(5, SLI_RING_ERROR)), 5);
}

/* Up to the last number there is: 2^62 - 1, where the flags begin. */
static void numbers_may_grow_for_ever(void)
{
    static const uint64_t starts[] = {UINT32_MAX - 5, UINT64_C(1) << 40, (UINT64_C(1) << 62) - 21};

    for (size_t i = 0; i < sizeof(starts) / sizeof(starts[0]); i++) {
        words w;

        make(&w, starts[i]);
        for (uint64_t seq = starts[i] + 1; seq <= starts[i] + 20; seq++) {
            const sli_ring_kind kind = (sli_ring_kind)(SLI_RING_BATCH + seq % 3);

            T_TRUE(sli_ring_may_fill(&w.ring, seq + SLOTS - 1));
            T_TRUE(!sli_ring_may_fill(&w.ring, seq + SLOTS));
            T_EQ(sli_ring_slot(&w.ring, seq), (seq - 1) % SLOTS);
            T_EQ(sli_ring_peek(&w.ring, seq), SLI_RING_EMPTY);
            sli_ring_publish(&w.ring, seq, kind);
            T_EQ(sli_ring_peek(&w.ring, seq), kind);
            sli_ring_release(&w.ring, seq);
        }
    }
}

const t_test ring_tests[] = {
    T_TEST(the_producer_is_at_most_all_slots_ahead),
    T_TEST(a_place_is_empty_until_its_batch_is_published),
    T_TEST(the_batch_before_in_the_same_slot_is_not_taken_for_the_next),
    T_TEST(ends_and_errors_stand_at_their_place),
    T_TEST(words_are_the_number_and_a_flag),
    T_TEST(numbers_may_grow_for_ever),
    T_END,
};
