/* SPDX-License-Identifier: Apache-2.0 */
/* Named stages of user code: arguments, build(), help and errors. */
#include <stdatomic.h>
#include <stdlib.h>

#include <sluice/plugin.h>

#include "custom_kit.h"
#include "dataset_kit.h"
#include "engine_kit.h"
#include "filter_kit.h"
#include "generator_kit.h"
#include "plan_int.h"
#include "testing.h"

/* ---- stages that tests use ------------------------------------------------------------------- */

/* The last values that build() has read, and how often stages were built and closed. */
typedef struct got_values {
    int64_t whole;
    double real;
    char text[40];
    uint32_t flag;
    atomic_int built;
    atomic_int closed;
} got_values;

static got_values got;

static void count_close(void *user)
{
    ((got_values *)user)->closed++;
}

static sluice_status add_whole(sluice_sample *sample, void *user)
{
    sluice_sample_view number;
    void *room;
    sluice_status st = sluice_sample_get(sample, "number", &number);

    if (st == SLUICE_OK) {
        st = sluice_sample_room(sample, "number", NULL, &room);
    }
    if (st == SLUICE_OK) {
        *(int64_t *)room = *(const int64_t *)number.data + ((const got_values *)user)->whole;
    }
    return st;
}

static const char *const number_input[] = {"number"};
static const sluice_column_spec number_output[] = {{.name = "number", .dtype = SLUICE_I64}};

/* A map that adds `whole` to the column `number`. */
static sluice_map adding_map(void)
{
    sluice_map map;

    sluice_map_init(&map);
    map.inputs = number_input;
    map.input_count = 1;
    map.outputs = number_output;
    map.output_count = 1;
    map.map = add_whole;
    map.close = count_close;
    map.user = &got;
    return map;
}

static sluice_status build_all_kinds(sluice_builder *builder, void *user)
{
    const sluice_map map = adding_map();
    const char *text = NULL;

    T_TRUE(user == &got);
    T_OK(sluice_builder_int(builder, "whole", &got.whole));
    T_OK(sluice_builder_float(builder, "real", &got.real));
    T_OK(sluice_builder_string(builder, "text", &text));
    T_OK(sluice_builder_bool(builder, "flag", &got.flag));
    snprintf(got.text, sizeof(got.text), "%s", text);
    got.built++;
    return sluice_builder_map(builder, &map);
}

static const sluice_parameter all_kinds[] = {
    {"whole", SLUICE_PARAMETER_INT, 1, -5, 5, NULL, "a whole number"},
    {"real", SLUICE_PARAMETER_FLOAT, 1, 0, 1, "0.5", "a number"},
    {"text", SLUICE_PARAMETER_STRING, 0, 0, 0, "", "a text"},
    {"flag", SLUICE_PARAMETER_BOOL, 0, 0, 0, "false", "a choice"},
};

static sluice_stage stage_called(const char *name, sluice_stage_kind kind,
                                 sluice_status (*build)(sluice_builder *, void *))
{
    sluice_stage stage;

    sluice_stage_init(&stage);
    stage.name = name;
    stage.summary = "Of a test.";
    stage.kind = kind;
    stage.version = 7;
    stage.build = build;
    stage.user = &got;
    return stage;
}

static sluice_stage stage_of_all_kinds(const char *name)
{
    sluice_stage stage = stage_called(name, SLUICE_STAGE_MAP, build_all_kinds);

    stage.parameters = all_kinds;
    stage.parameter_count = 4;
    return stage;
}

/* Registers a stage unless its name is registered: registrations last until the process ends. */
static void register_once(const sluice_stage *stage)
{
    char *help = NULL;

    if (sluice_stage_help(stage->name, &help) != SLUICE_OK) {
        T_OK(sluice_stage_register(stage));
    }
    sluice_string_free(help);
}

static custom_arrays arrays;

static void close_arrays(void *user)
{
    ((custom_arrays *)user)->closed++;
}

static sluice_status build_arrays(sluice_builder *builder, void *user)
{
    sluice_source source = custom_arrays_source(&arrays);
    const char *path = NULL;

    (void)user;
    T_OK(sluice_builder_string(builder, "folder", &path));
    T_TRUE(path[0] != '\0');
    source.name = "ignored";
    source.close = close_arrays;
    return sluice_builder_source(builder, &source);
}

static const sluice_parameter folder[] = {
    {"folder", SLUICE_PARAMETER_PATH, 0, 0, 0, NULL, "where it is"}};

static generator streamed;

static sluice_status build_stream(sluice_builder *builder, void *user)
{
    sluice_source source = generator_source(&streamed);
    int64_t samples = 0;

    (void)user;
    T_OK(sluice_builder_int(builder, "samples", &samples));
    streamed = (generator){.samples = (uint64_t)samples};
    return sluice_builder_source(builder, &source);
}

static const sluice_parameter stream_samples[] = {
    {"samples", SLUICE_PARAMETER_INT, 1, 1, 1000, "20", "in a pass"}};

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

static void register_all(void)
{
    sluice_stage stage = stage_of_all_kinds("t_add");

    register_once(&stage);
    stage = stage_called("t_arrays", SLUICE_STAGE_SOURCE, build_arrays);
    stage.parameters = folder;
    stage.parameter_count = 1;
    register_once(&stage);
    stage = stage_called("t_thirds", SLUICE_STAGE_FILTER, build_even);
    register_once(&stage);
    stage = stage_called("t_stream", SLUICE_STAGE_SOURCE, build_stream);
    stage.parameters = stream_samples;
    stage.parameter_count = 1;
    register_once(&stage);
}

/* ---- texts ----------------------------------------------------------------------------------- */

static void arguments_reach_build(void)
{
    sluice_dataset *dataset;

    register_all();
    dataset = parsed("t_arrays here | t_add -3 flag=true text='two words' | batch 2");
    T_EQ(got.whole, -3);
    T_TRUE(got.real == 0.5 && got.flag == 1);
    T_STR(got.text, "two words");
    T_STR(described(dataset), "t_arrays folder=here version=7 | t_add whole=-3 real=0.5 "
                              "text='two words' flag=true version=7 | batch n=2 "
                              "drop_remainder=false");
    sluice_dataset_destroy(dataset);
}

static void descriptions_parse_to_themselves(void)
{
    sluice_dataset *dataset;
    sluice_dataset *again;

    register_all();
    dataset = parsed("t_arrays a/b | shuffle | t_add 5 real=1 | batch 4");
    again = parsed(described(dataset));
    T_STR(described(again), described(dataset));
    sluice_dataset_destroy(again);
    sluice_dataset_destroy(dataset);
}

static void samples_are_those_of_the_functions(void)
{
    sluice_dataset *dataset;

    register_all();
    dataset = parsed("t_arrays here | t_add 2");
    T_OK(sluice_dataset_add(dataset, "t_add whole=1 | batch 1"));
    for (uint64_t i = 0; i < CUSTOM_SAMPLES; i++) {
        float points[3] = {0};
        int64_t number = 0;

        T_OK(sluice_dataset_get(dataset, 0, 0, i, (void *const[]){points, &number}, NULL));
        T_TRUE(points[0] == (float)i);
        T_EQ(number, (int64_t)(i * i) + 2); /* both maps read what was built last */
    }
    sluice_dataset_destroy(dataset);
}

static void streams_by_name_give_the_batches_of_the_call(void)
{
    static const char stages[] = "shuffle 1 buffer=5 | project number,words | batch 4";
    generator g = {.samples = 30};
    sluice_dataset *by_call = generator_dataset(&g, stages);
    sluice_dataset *by_name;
    tape named;
    tape called;

    register_all();
    by_name = parsedf("t_stream 30 | %s", stages);
    named = record(by_name, &(run_options){.workers = 3});
    called = record(by_call, &(run_options){.workers = 1});
    T_EQ(called.batches, 8);
    check_equal_tapes(&named, &called, "by name and by call");
    free(named.bytes);
    free(called.bytes);
    sluice_dataset_destroy(by_name);
    sluice_dataset_destroy(by_call);
    T_EQ(atomic_load(&streamed.closed), 1);
}

static void filters_by_name_give_the_batches_of_the_call(void)
{
    sluice_dataset *by_name;
    sluice_dataset *by_call = parsed("synthetic 40 4,4,3 40");
    tape named;
    tape called;

    register_all();
    by_name = parsed("synthetic 40 4,4,3 40 | t_thirds | batch 4");
    add_filter(by_call, "t_thirds", keep_by_label, "label", NULL);
    T_OK(sluice_dataset_add(by_call, "batch 4"));
    named = record(by_name, &(run_options){.workers = 3});
    called = record(by_call, &(run_options){.workers = 1});
    T_TRUE(called.batches > 2);
    check_equal_tapes(&named, &called, "by name and by call");
    free(named.bytes);
    free(called.bytes);
    sluice_dataset_destroy(by_name);
    sluice_dataset_destroy(by_call);
}

static void help_describes_registered_stages(void)
{
    char *text = NULL;

    register_all();
    T_OK(sluice_stage_help("t_add", &text));
    T_CONTAINS(text, "t_add whole real=0.5 text= flag=false version=7\n    Of a test.\n");
    T_CONTAINS(text, "    whole          a whole number [-5..5]\n");
    sluice_string_free(text);
    T_OK(sluice_stage_help(NULL, &text));
    T_CONTAINS(text, "\nt_arrays folder version=7\n");
    T_CONTAINS(text, "\nbatch n");
    T_TRUE(strstr(text, "\n== Your functions ==\n") < strstr(text, "\nt_add whole"));
    sluice_string_free(text);
}

static void wrong_arguments_have_a_caret(void)
{
    static const refused_case cases[] = {
        {"t_arrays x | t_add 6", "t_add: whole=6 must be from -5 to 5\n    t_arrays x | t_add 6\n"
                                 "                 ^"},
        {"t_arrays x | t_add", "t_add: whole is missing (a whole number)"},
        {"t_arrays x | t_add 1.5", "t_add: whole=1.5 must be a whole number"},
        {"t_arrays x | t_add -", "t_add: whole=- must be a whole number"},
        {"t_arrays x | t_add 9223372036854775808", "must be a whole number"},
        {"t_arrays x | t_add 1 real=2", "t_add: real=2 must be from 0 to 1"},
        {"t_arrays x | t_add 1 flag=maybe", "must be true or false"},
        {"t_arrays x | t_add 1 foo=2", "t_add has no argument 'foo'; it takes whole real"},
        {"t_arrays x | t_add 1 version=6",
         "t_add: version=6 is not the one of this program, which is 7"},
        {"t_arrays x | t_ad 1", "no stage 't_ad'; nearest is t_add"},
        {"t_add 1 | batch 2", "must come after a source"},
        {"synthetic | t_arrays x", "is a source"},
        {"synthetic | t_add 1", "there is no column 'number'"},
    };

    register_all();
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        check_refused(cases[i].text, cases[i].words);
    }
}

static void what_is_built_is_closed_once(void)
{
    sluice_dataset *dataset;

    register_all();
    got.built = got.closed = arrays.closed = 0;
    dataset = parsed("t_arrays x | t_add 1 | t_add 2 | batch 2");
    T_EQ(got.built, 2);
    T_EQ(got.closed + arrays.closed, 0);
    sluice_dataset_destroy(dataset);
    T_EQ(got.closed, 2);
    T_EQ(arrays.closed, 1);
    check_refused("t_arrays x | t_add 1 | resize", "resize");
    T_EQ(got.closed, 3);
    T_EQ(arrays.closed, 2);
    check_refused("synthetic | t_add 1", "number"); /* built, but it does not fit */
    T_EQ(got.closed, 4);
    T_EQ(got.built, 4);
}

static void versions_and_arguments_are_compared_at_a_resume(void)
{
    register_all();
    T_OK(sli_stages_compare("t_add whole=1 version=7", "t_add whole=1"));
    T_STATUS(sli_stages_compare("t_add whole=1 version=6", "t_add whole=2 version=7"),
             SLUICE_E_INVALID);
    T_CONTAINS(sluice_last_error(), "t_add: whole was 1 and is 2 now");
    T_CONTAINS(sluice_last_error(), "t_add: version was 6 and is 7 now");
}

static void the_path_of_a_source_may_change(void)
{
    sluice_dataset *dataset;
    sli_plan *plan = NULL;
    sli_dataset_identity identity;

    register_all();
    dataset = parsed("t_arrays /some/where | t_add 1 | batch 2");
    T_OK(sli_plan_open(dataset, &(sli_run_settings){.world = 1}, &plan));
    T_OK(sli_plan_identity(plan, &identity));
    T_STR(identity.stages, "t_arrays folder=- version=7 | t_add whole=1 real=0.5 flag=false "
                           "version=7");
    sli_dataset_identity_free(&identity);
    sli_plan_close(plan);
    sluice_dataset_destroy(dataset);
}

/* ---- build() that does something wrong ------------------------------------------------------- */

typedef enum build_fault {
    BUILDS_NOTHING,
    BUILDS_TWICE,
    BUILDS_A_FILTER,
    FAILS_AFTER,
    FAILS_WITHOUT_TEXT,
    WANTS_ANOTHER,
    WANTS_ANOTHER_KIND,
    GIVES_NO_FUNCTION,
    BUILD_FAULTS
} build_fault;

static build_fault fault;

static sluice_status build_wrong(sluice_builder *builder, void *user)
{
    sluice_map map = adding_map();
    sluice_filter filter;
    double real;
    sluice_status st;

    (void)user;
    switch (fault) {
    case BUILDS_TWICE:
        st = sluice_builder_map(builder, &map);
        return st == SLUICE_OK ? sluice_builder_map(builder, &map) : st;
    case BUILDS_A_FILTER:
        sluice_filter_init(&filter);
        return sluice_builder_filter(builder, &filter);
    case FAILS_AFTER:
        st = sluice_builder_map(builder, &map);
        return st == SLUICE_OK ? sluice_fail(SLUICE_E_IO, "no licence") : st;
    case FAILS_WITHOUT_TEXT:
        return SLUICE_E_IO;
    case WANTS_ANOTHER:
        return sluice_builder_float(builder, "strength", &real);
    case WANTS_ANOTHER_KIND:
        return sluice_builder_float(builder, "whole", &real);
    case GIVES_NO_FUNCTION:
        map.map = NULL;
        return sluice_builder_map(builder, &map);
    default:
        return SLUICE_OK;
    }
}

static void faults_of_build_are_named(void)
{
    static const struct {
        sluice_status status;
        const char *words;
        int closed;
    } want[BUILD_FAULTS] = {
        {SLUICE_E_CALLBACK, "t_wrong: build() returned OK without a call of", 0},
        {SLUICE_E_INVALID, "sluice_builder_map: t_wrong was built already", 1},
        {SLUICE_E_INVALID, "sluice_builder_filter: t_wrong was registered as a map", 0},
        {SLUICE_E_IO, "t_wrong: build() returned E_IO: no licence", 1},
        {SLUICE_E_IO, "t_wrong: build() returned E_IO", 0},
        {SLUICE_E_INVALID, "t_wrong has no such parameter strength; it has INT whole, FLOAT real",
         0},
        {SLUICE_E_INVALID, "t_wrong has no such parameter whole; it has INT whole", 0},
        {SLUICE_E_INVALID, "sluice_builder_map: t_wrong: map is NULL", 0},
    };
    sluice_stage stage = stage_of_all_kinds("t_wrong");

    register_all();
    stage.build = build_wrong;
    register_once(&stage);
    for (fault = BUILDS_NOTHING; fault < BUILD_FAULTS; fault++) {
        sluice_dataset *dataset = NULL;

        got.closed = 0;
        T_STATUS(sluice_dataset_parse("t_arrays x | t_wrong 1", &dataset), want[fault].status);
        T_CONTAINS(sluice_last_error(), want[fault].words);
        T_CONTAINS(sluice_last_error(), "t_arrays x | t_wrong 1\n                 ^");
        T_EQ(got.closed, want[fault].closed);
    }
}

/* ---- order --------------------------------------------------------------------------------- */

/* Its order is checked first, so user code makes no stage that is refused. */
static void a_stage_that_cannot_stand_there_is_not_built(void)
{
    const sluice_stage stage = stage_of_all_kinds("adds_late");
    const int built = got.built;
    sluice_dataset *dataset = NULL;

    register_once(&stage);
    T_STATUS(sluice_dataset_parse("synthetic 4 4,4,3 | batch 2 | adds_late 1", &dataset),
             SLUICE_E_INVALID);
    T_CONTAINS(sluice_last_error(), "adds_late must come before batch, which is the last stage");
    T_EQ(got.built, built);
}

const t_test named_stages_tests[] = {
    T_TEST(arguments_reach_build),
    T_TEST(descriptions_parse_to_themselves),
    T_TEST(samples_are_those_of_the_functions),
    T_TEST(streams_by_name_give_the_batches_of_the_call),
    T_TEST(filters_by_name_give_the_batches_of_the_call),
    T_TEST(help_describes_registered_stages),
    T_TEST(wrong_arguments_have_a_caret),
    T_TEST(what_is_built_is_closed_once),
    T_TEST(versions_and_arguments_are_compared_at_a_resume),
    T_TEST(the_path_of_a_source_may_change),
    T_TEST(faults_of_build_are_named),
    T_TEST(a_stage_that_cannot_stand_there_is_not_built),
    T_END,
};
