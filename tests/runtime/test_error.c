/* SPDX-License-Identifier: Apache-2.0 */
#include "error_int.h"

#include <errno.h>
#include <pthread.h>

#include "testing.h"

static void an_error_survives_a_later_failure(void)
{
    sli_error error;

    sli_error_take(sli_fail_errno(SLUICE_E_IO, ENOSPC, "cannot write x"), &error);
    sli_fail(SLUICE_E_INVALID, "a cleanup that failed");
    T_STATUS(sli_error_raise(&error), SLUICE_E_IO);
    T_STR(sluice_last_error(), "cannot write x: No space left on device");
    T_EQ(sli_last_errno(), ENOSPC);
}

static void *take_here(void *arg)
{
    sli_error_take(sli_fail_errno(SLUICE_E_IO, EIO, "cannot read x"), arg);
    return NULL;
}

static void an_error_crosses_threads(void)
{
    sli_error error;
    pthread_t thread;

    sli_fail(SLUICE_E_INVALID, "mine");
    pthread_create(&thread, NULL, take_here, &error);
    pthread_join(thread, NULL);
    T_STR(sluice_last_error(), "mine");
    T_STATUS(sli_error_raise(&error), SLUICE_E_IO);
    T_STR(sluice_last_error(), "cannot read x: Input/output error");
    T_EQ(sli_last_errno(), EIO);
}

static void an_answer_leaves_the_last_error_alone(void)
{
    sli_error error;
    uint64_t count;

    sli_fail(SLUICE_E_IO, "stale");
    count = sli_fail_count();
    sli_error_take(SLUICE_END_OF_DATA, &error);
    T_STR(error.text, "");
    T_STATUS(sli_error_raise(&error), SLUICE_END_OF_DATA);
    T_STR(sluice_last_error(), "stale");
    T_EQ(sli_fail_count(), count);
}

static void the_first_error_counts(void)
{
    sli_error error = {.status = SLUICE_OK};

    sli_error_take_first(SLUICE_OK, &error);
    sli_error_take_first(SLUICE_STOPPED, &error);
    T_EQ(error.status, SLUICE_STOPPED);
    sli_error_take_first(sli_fail(SLUICE_E_IO, "first"), &error);
    sli_error_take_first(sli_fail(SLUICE_E_NAN, "second"), &error);
    sli_error_take_first(SLUICE_OK, &error);
    T_STATUS(sli_error_raise(&error), SLUICE_E_IO);
    T_STR(sluice_last_error(), "first");
}

static void a_text_of_its_own_is_raised(void)
{
    sli_error error;

    sli_fail_errno(SLUICE_E_IO, EIO, "another error");
    sli_error_set(SLUICE_E_CORRUPT, "sample 7: damaged", &error);
    T_STATUS(sli_error_raise(&error), SLUICE_E_CORRUPT);
    T_STR(sluice_last_error(), "sample 7: damaged");
    T_EQ(sli_last_errno(), 0);
    sli_error_set(SLUICE_E_NO_MEMORY, NULL, &error);
    sli_error_raise(&error);
    T_STR(sluice_last_error(), "out of memory");
}

/* The failure of a callback is told from a stale text by this count. */
static void a_raised_error_counts_as_a_failure(void)
{
    const uint64_t before = sli_fail_count();
    sli_error error;

    sli_error_set(SLUICE_E_IO, "of a worker", &error);
    sli_error_raise(&error);
    sli_fail_from(SLUICE_E_CALLBACK, before, "hook failed");
    T_STR(sluice_last_error(), "hook failed: of a worker");
}

const t_test error_tests[] = {
    T_TEST(an_error_survives_a_later_failure),
    T_TEST(an_error_crosses_threads),
    T_TEST(an_answer_leaves_the_last_error_alone),
    T_TEST(the_first_error_counts),
    T_TEST(a_text_of_its_own_is_raised),
    T_TEST(a_raised_error_counts_as_a_failure),
    T_END,
};
