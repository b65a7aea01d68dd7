/* SPDX-License-Identifier: Apache-2.0 */
/* The failure of a rank as values of a max-allreduce. */
#include <string.h>

#include "rank_failure.h"
#include "testing.h"

/* An agree of one rank. */
static sluice_status alone(int64_t value, int64_t *most_out, void *user)
{
    ++*(unsigned *)user;
    *most_out = value;
    return SLUICE_OK;
}

static rank_failure failure_of(uint32_t rank, sluice_status status, const char *text)
{
    rank_failure failure;
    sli_error error;

    sli_error_set(status, text, &error);
    rank_failure_set(rank, &error, &failure);
    return failure;
}

static rank_failure exchanged(const rank_failure *own, unsigned *rounds_out)
{
    rank_failure got;

    *rounds_out = 0;
    T_OK(rank_failure_exchange(rank_failure_value(own), own, alone, rounds_out, &got));
    return got;
}

static void a_failure_arrives_as_it_was_sent(void)
{
    static const char *const texts[] = {
        "", "a", "sixsix", "seven77", "eight888", "decode: /data/a.jpg: Ärger, 日本語"};
    static const uint32_t ranks[] = {0, 1, 255, 256, 70000, UINT32_MAX};

    for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
        const rank_failure own = failure_of(ranks[i], SLUICE_E_CORRUPT, texts[i]);
        unsigned rounds;
        const rank_failure got = exchanged(&own, &rounds);

        T_EQ(got.rank, ranks[i]);
        T_EQ(got.status, SLUICE_E_CORRUPT);
        T_STR(got.text, texts[i]);
        T_EQ(rounds, strlen(texts[i]) / FAILURE_BYTES + 1);
    }
}

static void a_long_text_is_cut_between_characters(void)
{
    char text[400];
    unsigned rounds;
    rank_failure own;
    rank_failure got;

    memset(text, 'x', sizeof(text));
    text[FAILURE_TEXT] = '\0';
    own = failure_of(3, SLUICE_E_IO, text);
    got = exchanged(&own, &rounds);
    T_STR(got.text, text); /* as long as can be */
    T_EQ(rounds, FAILURE_ROUNDS);

    text[FAILURE_TEXT] = 'x';
    text[sizeof(text) - 1] = '\0';
    memcpy(text + FAILURE_TEXT - 5, "日", 3); /* the dots begin at its last byte */
    own = failure_of(3, SLUICE_E_IO, text);
    got = exchanged(&own, &rounds);
    T_EQ(strlen(got.text), FAILURE_TEXT - 2);
    T_STR(got.text + FAILURE_TEXT - 6, "x...");
    T_EQ(rounds, FAILURE_ROUNDS);
}

static void the_lowest_rank_is_the_largest_value(void)
{
    const rank_failure first = failure_of(1, -2000, "of a callback");
    const rank_failure second = failure_of(2, SLUICE_E_INVALID, "");
    const rank_failure last = failure_of(UINT32_MAX, -2000, "");
    const double infinite = HUGE_VAL;
    int64_t bits;

    memcpy(&bits, &infinite, sizeof(bits));
    T_TRUE(rank_failure_value(&first) > rank_failure_value(&second));
    T_TRUE(rank_failure_value(&second) > rank_failure_value(&last));
    T_TRUE(rank_failure_value(&last) >= FAILURE_LEAST);
    T_TRUE(bits < FAILURE_LEAST);
    T_TRUE(INT64_C(0x7FF8000000000000) < FAILURE_LEAST);
}

static sluice_status third_fails(int64_t value, int64_t *most_out, void *user)
{
    *most_out = value;
    return ++*(unsigned *)user == 3 ? SLUICE_E_IO : SLUICE_OK;
}

static void what_came_before_agree_fails_is_kept(void)
{
    const rank_failure own = failure_of(5, SLUICE_E_IO, "cannot open the file of rank 5");
    unsigned rounds = 0;
    rank_failure got;

    T_STATUS(rank_failure_exchange(rank_failure_value(&own), &own, third_fails, &rounds, &got),
             SLUICE_E_IO);
    T_EQ(got.rank, 5);
    T_STR(got.text, "cannot open th");
}

static void a_value_that_no_rank_can_send_is_an_error(void)
{
    const rank_failure own = failure_of(5, SLUICE_E_IO, "text");
    unsigned rounds = 0;
    rank_failure got;

    /* No rank sends: the maximum is INT64_MIN, the value of the ranks that receive. */
    T_STATUS(rank_failure_exchange(rank_failure_value(&own), NULL, alone, &rounds, &got),
             SLUICE_E_CALLBACK);
    T_CONTAINS(sluice_last_error(), "which no rank has sent");
    T_EQ(rounds, 1);
}

const t_test rank_failure_tests[] = {
    T_TEST(a_failure_arrives_as_it_was_sent),
    T_TEST(a_long_text_is_cut_between_characters),
    T_TEST(the_lowest_rank_is_the_largest_value),
    T_TEST(what_came_before_agree_fails_is_kept),
    T_TEST(a_value_that_no_rank_can_send_is_an_error),
    T_END,
};
