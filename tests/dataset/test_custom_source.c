/* SPDX-License-Identifier: Apache-2.0 */
/* Sources of a program's own: what they declare, what they give, and what they do wrong. */
#include <stdatomic.h>
#include <stdlib.h>

#include "alloc_int.h"
#include "custom_kit.h"
#include "dataset_kit.h"
#include "engine_kit.h"
#include "testing.h"

/* ---- what it gives --------------------------------------------------------------------------- */

static void columns_are_what_the_function_writes_or_lends(void)
{
    custom_arrays o = {.lends = false};

    custom_check_pass(&o, 1);
    custom_check_pass(&o, 3);
    o.lends = true;
    custom_check_pass(&o, 2);
}

static void random_numbers_are_those_of_seed_and_sample(void)
{
    custom_arrays first = {.lends = false};
    custom_arrays second = {.lends = false};
    custom_arrays other = {.lends = false};
    custom_arrays *const all[] = {&first, &second, &other};

    for (int i = 0; i < 3; i++) {
        tape t = record_own(custom_arrays_dataset(all[i], "batch 4"),
                            &(run_options){.workers = i == 1 ? 3 : 1,
                                           .settings = {.seed = i == 2 ? 6 : 5, .world = 1}});

        T_EQ(t.end, SLUICE_END_OF_DATA);
        free(t.bytes);
    }
    T_TRUE(memcmp(first.random, second.random, sizeof(first.random)) == 0);
    for (int i = 0; i < CUSTOM_SAMPLES; i++) {
        T_TRUE(first.random[i] != other.random[i]);
        T_TRUE(first.random[i] != first.random[(i + 1) % CUSTOM_SAMPLES]);
    }
}

/* ---- what it does wrong ---------------------------------------------------------------------- */

typedef struct mistake {
    custom_fault fault;
    sluice_status status;
    const char *words[3];
} mistake;

static const mistake mistakes[] = {
    {FAILS, SLUICE_E_IO, {"my_arrays: read() returned E_IO: the server x is down", "sample 7", ""}},
    {FAILS_SILENTLY, SLUICE_E_CORRUPT, {"my_arrays: read() returned E_CORRUPT", "sample 7", ""}},
    {GARBAGE,
     SLUICE_E_CALLBACK,
     {"read() returned -4711, which is not a sluice_status", "sample 7", ""}},
    {WRONG_NAME,
     SLUICE_E_INVALID,
     {"there is no column pionts to write; declared: points, number", "my_arrays", "sample 7"}},
    {WRONG_SHAPE,
     SLUICE_E_INVALID,
     {"points has the shape (5), and must have (3)", "my_arrays", ""}},
    {WRONG_SIZE,
     SLUICE_E_INVALID,
     {"points: the size is 8 bytes, and must be 12: f32 (3)", "my_arrays", ""}},
    {LEAVES_ONE_OUT, SLUICE_E_INVALID, {"my_arrays: read() did not write number", "sample 7", ""}},
};

enum { MISTAKES = sizeof(mistakes) / sizeof(mistakes[0]) };

static tape run_with(custom_arrays *o, sli_error_policy policy)
{
    return record_own(custom_arrays_dataset(o, "batch 4"),
                      &(run_options){.settings = {.on_error = policy, .world = 1}});
}

static void mistakes_are_named_and_obey_the_policy(void)
{
    for (int i = 0; i < MISTAKES; i++) {
        custom_arrays o = {.fault = mistakes[i].fault};
        tape t = run_with(&o, SLI_ON_ERROR_FAIL);

        T_EQ(t.end, mistakes[i].status);
        for (int w = 0; w < 3; w++) {
            T_CONTAINS(t.error, mistakes[i].words[w]);
        }
        free(t.bytes);
        t = run_with(&o, SLI_ON_ERROR_REPLACE);
        T_EQ(t.end, SLUICE_END_OF_DATA);
        T_EQ(t.errors.replaced, 1);
        free(t.bytes);
        t = run_with(&o, SLI_ON_ERROR_ZERO);
        T_EQ(t.end, SLUICE_END_OF_DATA);
        T_EQ(t.errors.zeroed, 1);
        free(t.bytes);
    }
}

static void positive_statuses_are_ok(void)
{
    custom_arrays o = {.fault = POSITIVE};
    tape t = run_with(&o, SLI_ON_ERROR_FAIL);

    T_EQ(t.end, SLUICE_END_OF_DATA);
    T_EQ(t.batches, 5);
    free(t.bytes);
}

static void no_memory_ends_the_run_under_every_policy(void)
{
    custom_arrays o = {.fault = OUT_OF_MEMORY};
    tape t = run_with(&o, SLI_ON_ERROR_REPLACE);

    T_EQ(t.end, SLUICE_E_NO_MEMORY);
    T_CONTAINS(t.error, "no room for anything");
    free(t.bytes);
}

static sluice_status gets_an_input(sluice_sample *sample, uint64_t index, void *user)
{
    sluice_sample_view view;

    (void)index;
    (void)user;
    return sluice_sample_get(sample, "number", &view);
}

static void a_source_has_no_inputs(void)
{
    custom_arrays o = {.lends = false};
    sluice_source source = custom_arrays_source(&o);
    sluice_dataset *dataset;
    int64_t number;
    float points[3];
    void *const columns[] = {points, &number};

    source.read = gets_an_input;
    dataset = custom_dataset(&source, "batch 1");
    T_STATUS(sluice_dataset_get(dataset, 0, 0, 0, columns, NULL), SLUICE_E_INVALID);
    T_CONTAINS(sluice_last_error(), "my_arrays: number is not an input; the inputs: none");
    sluice_dataset_destroy(dataset);
}

/* ---- what is refused ------------------------------------------------------------------------- */

static void count_closed(void *user)
{
    atomic_fetch_add(&((custom_arrays *)user)->closed, 1);
}

static void sources_that_are_wrong_are_refused(void)
{
    custom_arrays o = {.lends = false};
    const sluice_source good = custom_arrays_source(&o);
    sluice_source bad[7];
    const char *const words[] = {"name is NULL",  "read is NULL",    "count is 0",
                                 "17 columns",    "columns is NULL", "column_size is 4",
                                 "longer than 63"};
    sluice_dataset *dataset = NULL;

    for (int i = 0; i < 7; i++) {
        bad[i] = good;
        bad[i].close = count_closed;
    }
    bad[0].name = "";
    bad[1].read = NULL;
    bad[2].count = 0;
    bad[3].column_count = 17;
    bad[4].columns = NULL;
    bad[5].column_size = 4;
    bad[6].name = "0123456789012345678901234567890123456789012345678901234567890123";
    for (int i = 0; i < 7; i++) {
        T_STATUS(sluice_dataset_source(&bad[i], &dataset), SLUICE_E_INVALID);
        T_CONTAINS(sluice_last_error(), words[i]);
    }
    T_STATUS(sluice_dataset_source(NULL, &dataset), SLUICE_E_INVALID);
    T_STATUS(sluice_dataset_source(&good, NULL), SLUICE_E_INVALID);
    T_EQ(atomic_load(&o.closed), 0);
}

/* ---- names and lifetime ---------------------------------------------------------------------- */

static sluice_status name_some(uint64_t index, char *text, size_t size, void *user)
{
    (void)user;
    snprintf(text, size, "file-%d", (int)index);
    return index == 5 ? SLUICE_E_IO : SLUICE_OK;
}

static void samples_have_names(void)
{
    custom_arrays o = {.fault = FAILS};
    sluice_source source = custom_arrays_source(&o);
    sluice_dataset *dataset = custom_dataset(&source, "batch 4");
    char *name = NULL;
    tape t;

    T_OK(sluice_dataset_sample_name(dataset, 3, &name));
    T_STR(name, "my_arrays/3");
    sluice_string_free(name);
    sluice_dataset_destroy(dataset);
    source.name_of = name_some;
    dataset = custom_dataset(&source, "batch 4");
    T_OK(sluice_dataset_sample_name(dataset, 3, &name));
    T_STR(name, "file-3");
    sluice_string_free(name);
    T_OK(sluice_dataset_sample_name(dataset, 5, &name));
    T_STR(name, "my_arrays/5");
    sluice_string_free(name);
    t = record(dataset, &(run_options){.workers = 1});
    T_CONTAINS(t.error, "read: sample 7, file-7: my_arrays: read() returned E_IO");
    free(t.bytes);
    T_STR(described(dataset), "source name=my_arrays version=3 | batch n=4 drop_remainder=false");
    sluice_dataset_destroy(dataset);
}

static void a_source_is_closed_once(void)
{
    custom_arrays o = {.lends = false};
    sluice_source source = custom_arrays_source(&o);
    sluice_dataset *dataset;

    source.close = count_closed;
    dataset = custom_dataset(&source, "batch 4");
    free(record(dataset, &(run_options){.workers = 2}).bytes);
    T_EQ(atomic_load(&o.closed), 0);
    sluice_dataset_destroy(dataset);
    T_EQ(atomic_load(&o.closed), 1);
}

/* ---- identity -------------------------------------------------------------------------------- */

/* The identity's text of a source of this name and version. */
static char *identity_of(const char *name, uint32_t version, const char *stages)
{
    custom_arrays o = {.lends = false};
    sluice_source source = custom_arrays_source(&o);
    sli_dataset_identity identity;
    sluice_dataset *dataset;
    sli_plan *plan;

    source.name = name;
    source.version = version;
    dataset = custom_dataset(&source, stages);
    T_OK(sli_plan_open(dataset, &(sli_run_settings){.world = 1}, &plan));
    T_OK(sli_plan_identity(plan, &identity));
    sli_plan_close(plan);
    sluice_dataset_destroy(dataset);
    sluice_string_free(identity.source);
    return identity.stages;
}

static void name_and_version_identify_a_source(void)
{
    static const struct {
        const char *name;
        uint32_t version;
        const char *words; /* NULL: the same */
    } others[] = {{"my", 1, NULL},
                  {"my", 2, "source: version was 1 and is 2 now"},
                  {"your", 1, "source: name was my and is your now"}};
    char *kept = identity_of("my", 1, "shuffle | take 10 | batch 4");

    for (int i = 0; i < 3; i++) {
        char *mine = identity_of(others[i].name, others[i].version, "shuffle | take 10 | batch 2");

        T_STATUS(sli_stages_compare(kept, mine),
                 others[i].words != NULL ? SLUICE_E_INVALID : SLUICE_OK);
        if (others[i].words != NULL) {
            T_CONTAINS(sluice_last_error(), others[i].words);
        }
        sluice_string_free(mine);
    }
    T_STATUS(sli_stages_compare(kept, "shuffle | take 10"), SLUICE_E_INVALID);
    T_CONTAINS(sluice_last_error(), "there was \"source name=my version=1\"");
    sluice_string_free(kept);
}

/* ---- memory ---------------------------------------------------------------------------------- */

/* Makes a dataset, and reads a sample of it, with guards, so that each column has a buffer. */
static sluice_status make_and_get(const sluice_source *source)
{
    sluice_dataset *dataset = NULL;
    int64_t number = 0;
    float points[3];
    sluice_status st = sluice_dataset_source(source, &dataset);

    if (st == SLUICE_OK) {
        st = sluice_dataset_add(dataset, "batch 1");
    }
    if (st == SLUICE_OK) {
        st = sluice_dataset_get(dataset, 0, 0, 3, (void *const[]){points, &number}, NULL);
    }
    sluice_dataset_destroy(dataset);
    return st == SLUICE_OK && number != 9 ? SLUICE_E_CORRUPT : st;
}

static void without_memory_there_is_an_error_and_no_leak(void)
{
    custom_arrays o = {.lends = false};
    const sluice_source source = custom_arrays_source(&o);
    sluice_status st = SLUICE_E_NO_MEMORY;
    int64_t passes = 0;

    setenv("SLUICE_GUARDS", "on", 1);
    for (; st != SLUICE_OK && passes < 100; passes++) {
        sli_alloc_fail_after(passes);
        st = make_and_get(&source);
        sli_alloc_fail_after(-1);
        T_TRUE(st == SLUICE_OK || st == SLUICE_E_NO_MEMORY);
    }
    unsetenv("SLUICE_GUARDS");
    T_OK(st);
    T_TRUE(passes > 6);
}

const t_test custom_source_tests[] = {
    T_TEST(columns_are_what_the_function_writes_or_lends),
    T_TEST(random_numbers_are_those_of_seed_and_sample),
    T_TEST(mistakes_are_named_and_obey_the_policy),
    T_TEST(positive_statuses_are_ok),
    T_TEST(no_memory_ends_the_run_under_every_policy),
    T_TEST(a_source_has_no_inputs),
    T_TEST(sources_that_are_wrong_are_refused),
    T_TEST(samples_have_names),
    T_TEST(a_source_is_closed_once),
    T_TEST(name_and_version_identify_a_source),
    T_TEST(without_memory_there_is_an_error_and_no_leak),
    T_END,
};
