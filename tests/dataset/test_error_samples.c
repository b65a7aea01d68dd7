/* SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>

#include <sluice/log.h>

#include "error_samples.h"
#include "testing.h"
#include "thread_int.h"

static error_samples *make_list(void)
{
    error_samples *errors = malloc(sizeof(*errors));

    T_TRUE(errors != NULL);
    error_samples_init(errors);
    T_EQ(atomic_load(&errors->count), 0);
    return errors;
}

static void free_list(error_samples *errors)
{
    error_samples_fini(errors);
    free(errors);
}

static void a_sample_is_noted_with_its_stage_name_and_text(void)
{
    error_samples *errors = make_list();

    error_samples_note(errors, 7, "a/7", "decode", "it is cut off");
    T_EQ(atomic_load(&errors->count), 1);
    T_EQ(errors->first[0].sample, 7);
    T_STR(errors->first[0].stage, "decode");
    T_STR(errors->first[0].name, "a/7");
    T_STR(errors->first[0].text, "it is cut off");
    free_list(errors);
}

static void a_sample_is_noted_once(void)
{
    error_samples *errors = make_list();

    error_samples_note(errors, 7, "a/7", "read", "first");
    error_samples_note(errors, 8, "a/8", "read", "other");
    error_samples_note(errors, 7, "a/7", "decode", "second");
    T_EQ(atomic_load(&errors->count), 2);
    T_STR(errors->first[0].text, "first");
    T_EQ(errors->first[1].sample, 8);
    free_list(errors);
}

static void the_first_hundred_are_kept(void)
{
    error_samples *errors = make_list();

    for (uint64_t i = 0; i < 250; i++) {
        error_samples_note(errors, 999 - i, "a", "read", "bad");
    }
    T_EQ(atomic_load(&errors->count), SLI_ERROR_SAMPLES);
    for (uint64_t i = 0; i < SLI_ERROR_SAMPLES; i++) {
        T_EQ(errors->first[i].sample, 999 - i);
    }
    free_list(errors);
}

static void long_texts_are_cut(void)
{
    error_samples *errors = make_list();
    char text[2000];

    memset(text, 'x', sizeof(text) - 1);
    text[sizeof(text) - 1] = '\0';
    error_samples_note(errors, 1, "a/1", text, text);
    T_EQ(strlen(errors->first[0].stage), sizeof(errors->first[0].stage) - 1);
    T_EQ(strlen(errors->first[0].text), sizeof(errors->first[0].text) - 1);
    free_list(errors);
}

/* Lines of the log, counted. */
static void count_line(sluice_log_level level, const char *message, void *user)
{
    if (level == SLUICE_LOG_INFO && strcmp(message, "read: sample a/3: it is bad") == 0) {
        ++*(int *)user;
    }
}

static void each_is_logged_once_for_those_who_look(void)
{
    error_samples *errors = make_list();
    int lines = 0;

    sluice_log_set_callback(count_line, &lines);
    sluice_log_set_level(SLUICE_LOG_WARN);
    error_samples_note(errors, 3, "a/3", "read", "it is bad");
    T_EQ(lines, 0);
    sluice_log_set_level(SLUICE_LOG_INFO);
    error_samples_fini(errors);
    error_samples_init(errors);
    error_samples_note(errors, 3, "a/3", "read", "it is bad");
    error_samples_note(errors, 3, "a/3", "read", "it is bad");
    sluice_log_set_level(SLUICE_LOG_WARN);
    sluice_log_set_callback(NULL, NULL);
    T_EQ(lines, 1);
    free_list(errors);
}

/* ---- several workers ------------------------------------------------------------------------- */

typedef struct noter {
    sli_thread thread;
    error_samples *errors;
    uint64_t first;
} noter;

static void note_many(void *arg)
{
    const noter *self = arg;

    for (uint64_t i = 0; i < 60; i++) {
        error_samples_note(self->errors, self->first + i, "a", "read", "bad");
    }
}

/* Entries below the count are whole, and stay, while others are added. */
static void workers_note_while_somebody_reads(void)
{
    error_samples *errors = make_list();
    noter noters[4];
    uint32_t count = 0;
    bool seen[1000] = {false};

    for (uint64_t i = 0; i < 4; i++) {
        noters[i] = (noter){.errors = errors, .first = i * 30};
        T_OK(sli_thread_start(&noters[i].thread, "test", NULL, note_many, &noters[i]));
    }
    while (count < SLI_ERROR_SAMPLES) {
        count = atomic_load_explicit(&errors->count, memory_order_acquire);
        for (uint32_t i = 0; i < count; i++) {
            T_TRUE(strcmp(errors->first[i].name, "a") == 0);
            T_STR(errors->first[i].text, "bad");
        }
    }
    for (int i = 0; i < 4; i++) {
        sli_thread_join(&noters[i].thread);
    }
    for (uint32_t i = 0; i < SLI_ERROR_SAMPLES; i++) {
        T_TRUE(errors->first[i].sample < 150 && !seen[errors->first[i].sample]);
        seen[errors->first[i].sample] = true;
    }
    free_list(errors);
}

const t_test error_samples_tests[] = {
    T_TEST(a_sample_is_noted_with_its_stage_name_and_text),
    T_TEST(a_sample_is_noted_once),
    T_TEST(the_first_hundred_are_kept),
    T_TEST(long_texts_are_cut),
    T_TEST(each_is_logged_once_for_those_who_look),
    T_TEST(workers_note_while_somebody_reads),
    T_END,
};
