/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <pthread.h>
#include <stdlib.h>

#include "log_int.h"
#include "status_int.h"
#include "testing.h"

static void every_status_has_a_name_and_a_text(void)
{
#define CHECK(name, number, text)                                                                  \
    T_STR(sluice_status_name(SLUICE_##name), #name);                                               \
    T_STR(sluice_status_text(SLUICE_##name), text);                                                \
    T_EQ(SLUICE_##name, number);
    SLUICE_STATUS_MAP(CHECK)
#undef CHECK
    T_STR(sluice_status_name((sluice_status)99), "?");
}

static void the_last_error_keeps_the_text(void)
{
    T_STATUS(sli_fail(SLUICE_E_IO, "file %s", "x.jpg"), SLUICE_E_IO);
    T_STR(sluice_last_error(), "file x.jpg");
    T_STATUS(sli_fail_errno(SLUICE_E_IO, ENOENT, "open %s", "y"), SLUICE_E_IO);
    T_STR(sluice_last_error(), "open y: No such file or directory");
}

static void the_errno_of_the_last_error_is_kept(void)
{
    sli_fail_errno(SLUICE_E_IO, EIO, "cannot read");
    T_EQ(sli_last_errno(), EIO);
    sli_fail(SLUICE_E_IO, "cannot read");
    T_EQ(sli_last_errno(), 0);
    sli_fail_errno(SLUICE_E_IO, EIO, "cannot read");
    sli_fail_kept(SLUICE_E_IO, 0, "of a worker");
    T_EQ(sli_last_errno(), 0);
}

static void a_memory_error_names_memory_once_and_first(void)
{
    static const char *const texts[][2] = {
        {"a list of 3 files", "out of memory: a list of 3 files"},
        {"out of memory: a list", "out of memory: a list"},
        {"out of memory while decoding", "out of memory while decoding"},
        {"read: sample 7, a.jpg: out of memory: a buffer",
         "out of memory: read: sample 7, a.jpg: a buffer"},
    };

    for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
        T_STATUS(sli_fail(SLUICE_E_NO_MEMORY, "%s", texts[i][0]), SLUICE_E_NO_MEMORY);
        T_STR(sluice_last_error(), texts[i][1]);
        T_STATUS(sli_fail(SLUICE_E_IO, "%s", texts[i][0]), SLUICE_E_IO);
        T_STR(sluice_last_error(), texts[i][0]);
    }
    T_STATUS(sli_fail_errno(SLUICE_E_IO, ENOMEM, "cannot open x"), SLUICE_E_NO_MEMORY);
    T_STR(sluice_last_error(), "out of memory: cannot open x: Cannot allocate memory");
    sluice_fail(SLUICE_E_NO_MEMORY, "the caller's own words");
    T_STR(sluice_last_error(), "the caller's own words");
}

static void a_long_error_is_cut_not_overrun(void)
{
    char big[3000];

    memset(big, 'x', sizeof(big) - 1);
    big[sizeof(big) - 1] = '\0';
    sli_fail(SLUICE_E_IO, "%s", big);
    T_EQ(strlen(sluice_last_error()), SLI_ERROR_SIZE - 1);
    sli_fail_errno(SLUICE_E_IO, ENOENT, "%s", big);
    T_EQ(strlen(sluice_last_error()), SLI_ERROR_SIZE - 1);
    sluice_fail(SLUICE_E_IO, "%s", big);
    T_EQ(strlen(sluice_last_error()), SLI_ERROR_SIZE - 1);
    sli_fail_from(SLUICE_E_IO, 0, "front");
    T_EQ(strlen(sluice_last_error()), SLI_ERROR_SIZE - 1);
    T_CONTAINS(sluice_last_error(), "front: xxx");
    sli_fail_from(SLUICE_E_IO, 0, "%s", big);
    T_EQ(strlen(sluice_last_error()), SLI_ERROR_SIZE - 1);
}

static void a_caller_says_why_its_function_fails(void)
{
    T_STATUS(sluice_fail(SLUICE_E_IO, "cannot open %s", "x"), SLUICE_E_IO);
    T_STR(sluice_last_error(), "cannot open x");
}

/* Terminals act on escape sequences, which names of files may hold. */
static void control_characters_of_an_error_are_escaped(void)
{
    sli_fail(SLUICE_E_IO, "cannot open %s\n    %s", "\x1b]0;title\a\nsluice: fine", "here");
    T_STR(sluice_last_error(), "cannot open \\x1b]0;title\\a\\nsluice: fine\n    here");
    sluice_fail(SLUICE_E_IO, "%s", "\x9b");
    T_STR(sluice_last_error(), "\\x9b");
}

/* What the user's function left follows; what was there before does not. */
static void a_failed_function_is_told_of_with_its_own_text(void)
{
    uint64_t before;

    sli_fail(SLUICE_E_IO, "stale");
    before = sli_fail_count();
    T_STATUS(sli_fail_from(SLUICE_E_NAN, before, "step %d failed", 3), SLUICE_E_NAN);
    T_STR(sluice_last_error(), "step 3 failed");
    before = sli_fail_count();
    sluice_fail(SLUICE_E_IO, "cannot open x");
    sli_fail_from(SLUICE_E_IO, before, "step %d failed", 4);
    T_STR(sluice_last_error(), "step 4 failed: cannot open x");
    before = sli_fail_count();
    sli_fail_kept(SLUICE_E_IO, 0, "of a worker");
    sli_fail_from(SLUICE_E_IO, before, "step 5 failed");
    T_STR(sluice_last_error(), "step 5 failed: of a worker");
    before = sli_fail_count();
    sluice_fail(SLUICE_E_IO, "%s", "");
    sli_fail_from(SLUICE_E_IO, before, "step 6 failed");
    T_STR(sluice_last_error(), "step 6 failed");
}

static void *fail_elsewhere(void *arg)
{
    (void)arg;
    sli_fail(SLUICE_E_IO, "of the other thread");
    return NULL;
}

static void each_thread_has_its_own_last_error(void)
{
    pthread_t thread;

    sli_fail(SLUICE_E_INVALID, "mine");
    pthread_create(&thread, NULL, fail_elsewhere, NULL);
    pthread_join(thread, NULL);
    T_STR(sluice_last_error(), "mine");
}

const t_test status_tests[] = {
    T_TEST(every_status_has_a_name_and_a_text),
    T_TEST(the_last_error_keeps_the_text),
    T_TEST(the_errno_of_the_last_error_is_kept),
    T_TEST(a_memory_error_names_memory_once_and_first),
    T_TEST(a_long_error_is_cut_not_overrun),
    T_TEST(control_characters_of_an_error_are_escaped),
    T_TEST(a_caller_says_why_its_function_fails),
    T_TEST(a_failed_function_is_told_of_with_its_own_text),
    T_TEST(each_thread_has_its_own_last_error),
    T_END,
};
