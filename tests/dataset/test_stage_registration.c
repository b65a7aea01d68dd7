/* SPDX-License-Identifier: Apache-2.0 */
/* Registration of named stages: what is refused, and threads that register at once. */
#include <pthread.h>
#include <stdatomic.h>

#include <sluice/plugin.h>

#include "filter_kit.h"
#include "testing.h"

static const sluice_parameter one_number[] = {
    {"whole", SLUICE_PARAMETER_INT, 1, -5, 5, NULL, "a whole number"}};

static sluice_status build_even(sluice_builder *builder, void *user)
{
    static const char *const inputs[] = {"label"};
    sluice_filter filter;

    (void)user;
    sluice_filter_init(&filter);
    filter.inputs = inputs;
    filter.input_count = 1;
    filter.filter = keep_by_label;
    return sluice_builder_filter(builder, &filter);
}

/* A stage that can be registered unless its name is taken. */
static sluice_stage stage_called(const char *name)
{
    sluice_stage stage;

    sluice_stage_init(&stage);
    stage.name = name;
    stage.summary = "Of a test.";
    stage.kind = SLUICE_STAGE_FILTER;
    stage.version = 7;
    stage.build = build_even;
    return stage;
}

/* ---- registrations that are refused ---------------------------------------------------------- */

static void refused_stage(const sluice_stage *stage, const char *words)
{
    T_STATUS(sluice_stage_register(stage), SLUICE_E_INVALID);
    T_CONTAINS(sluice_last_error(), words);
}

static void names_are_checked(void)
{
    static const char *const names[] = {
        "", "Big", "1st", "a-b", "a b", NULL, "_a", "ä", "x.y", "a_name_of_thirty_two_characters_"};
    sluice_stage stage = stage_called("t_taken");

    T_OK(sluice_stage_register(&stage));
    refused_stage(&stage, "t_taken is taken by this program; choose another name");
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        stage.name = names[i];
        refused_stage(&stage, "must be a lower-case letter");
    }
    stage.name = "resize";
    refused_stage(&stage, "resize is a stage of Sluice; choose another name, such as my_resize");
    stage.name = "map";
    refused_stage(&stage, "map is a stage of Sluice");
    T_STATUS(sluice_stage_register(NULL), SLUICE_E_INVALID);
}

static void stages_are_checked(void)
{
    sluice_stage stage = stage_called("t_bad");

    stage.build = NULL;
    refused_stage(&stage, "t_bad: build is NULL");
    stage = stage_called("t_bad");
    stage.kind = (sluice_stage_kind)99;
    refused_stage(&stage, "kind is 99, which this library does not have");
    stage = stage_called("t_bad");
    stage.parameters = NULL;
    stage.parameter_count = 1;
    refused_stage(&stage, "parameters is NULL");
    stage = stage_called("t_bad");
    stage.parameters = one_number;
    stage.parameter_count = SLUICE_MAX_PARAMETERS + 1;
    refused_stage(&stage, "17 parameters, and there must be at most 16");
    stage = stage_called("t_bad");
    stage.parameters = one_number;
    stage.parameter_count = 1;
    stage.parameter_size = 4;
    refused_stage(&stage, "parameter_size is 4");
}

static void parameters_are_checked(void)
{
    static const struct {
        sluice_parameter parameter;
        const char *words;
    } cases[] = {
        {{NULL, SLUICE_PARAMETER_INT, 0, 0, 0, "1", ""}, "parameter 1 is called NULL"},
        {{"version", SLUICE_PARAMETER_INT, 0, 0, 0, "1", ""}, "and not `version`"},
        {{"first", SLUICE_PARAMETER_INT, 0, 0, 0, "1", ""}, "two parameters are called first"},
        {{"p", SLUICE_PARAMETER_PATH, 0, 0, 0, "", ""}, "p is the second path"},
        {{"p", (sluice_parameter_kind)5, 0, 0, 0, "", ""}, "kind is 5"},
        {{"p", SLUICE_PARAMETER_INT, 1, 2, 1, NULL, ""}, "bounds are 2 and 1"},
        {{"p", SLUICE_PARAMETER_INT, 1, 0, 0, NULL, ""}, "bounds are 0 and 0"},
        {{"p", SLUICE_PARAMETER_BOOL, 1, 0, 1, NULL, ""}, "only for INT and FLOAT"},
        {{"p", SLUICE_PARAMETER_INT, 1, 1, 5, "6", ""}, "t_bad: p=6 must be from 1 to 5"},
        {{"p", SLUICE_PARAMETER_FLOAT, 0, 0, 0, "x", ""}, "t_bad: p=x must be a number"},
        {{"p", SLUICE_PARAMETER_BOOL, 0, 0, 0, "1", ""}, "must be true or false"},
    };

    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        const sluice_parameter parameters[] = {
            {"first", SLUICE_PARAMETER_PATH, 0, 0, 0, NULL, NULL}, cases[i].parameter};
        sluice_stage stage = stage_called("t_bad");
        char *help = NULL;

        stage.parameters = parameters;
        stage.parameter_count = 2;
        refused_stage(&stage, cases[i].words);
        T_STATUS(sluice_stage_help("t_bad", &help), SLUICE_E_INVALID); /* nothing was registered */
    }
}

/* ---- threads --------------------------------------------------------------------------------- */

enum { THREADS = 4, EACH = 10 };

/* Registers ten stages, and parses texts in between. Of all threads one succeeds for each name. */
static void *register_and_parse(void *argument)
{
    atomic_int *registered = argument;

    for (int i = 0; i < EACH; i++) {
        char name[20];
        char text[60];
        sluice_dataset *dataset = NULL;
        sluice_stage stage;

        snprintf(name, sizeof(name), "t_thread_%d", i);
        stage = stage_called(name);
        *registered += sluice_stage_register(&stage) == SLUICE_OK;
        snprintf(text, sizeof(text), "synthetic | %s | batch 2", name);
        if (sluice_dataset_parse(text, &dataset) != SLUICE_OK) {
            *registered += 1000;
        }
        sluice_dataset_destroy(dataset);
    }
    return NULL;
}

static void threads_register_and_parse_at_once(void)
{
    pthread_t threads[THREADS];
    atomic_int registered = 0;

    for (int i = 0; i < THREADS; i++) {
        T_EQ(pthread_create(&threads[i], NULL, register_and_parse, &registered), 0);
    }
    for (int i = 0; i < THREADS; i++) {
        pthread_join(threads[i], NULL);
    }
    T_EQ(registered, EACH);
}

const t_test stage_registration_tests[] = {
    T_TEST(names_are_checked),
    T_TEST(stages_are_checked),
    T_TEST(parameters_are_checked),
    T_TEST(threads_register_and_parse_at_once),
    T_END,
};
