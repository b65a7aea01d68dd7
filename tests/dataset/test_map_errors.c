/* SPDX-License-Identifier: Apache-2.0 */
/* Maps that are wrong, that fail, and runs that are resumed with others. */
#include <stdlib.h>

#include <sluice/arrays.h>
#include <sluice/custom.h>

#include "alloc_int.h"
#include "dataset_kit.h"
#include "list_kit.h"
#include "testing.h"

enum { SAMPLES = 8 };

static const int64_t numbers[SAMPLES] = {0, 1, 2, 3, 4, 5, 6, 7};

static sluice_dataset *number_dataset(void)
{
    const sluice_array array = {"number", numbers, SLUICE_I64, 1, {SAMPLES}};
    sluice_dataset *dataset = NULL;

    T_OK(sluice_dataset_memory(&array, 1, &dataset));
    return dataset;
}

/* ---- settings -------------------------------------------------------------------------------- */

static sluice_status never(sluice_sample *sample, void *user)
{
    (void)sample;
    (void)user;
    T_FAIL_("a map was called that was %s", "refused");
    return SLUICE_OK;
}

static sluice_map map_of(const char *const *inputs, uint32_t input_count,
                         const sluice_column_spec *outputs, uint32_t output_count)
{
    sluice_map map;

    sluice_map_init(&map);
    map.name = "mine";
    map.inputs = inputs;
    map.input_count = input_count;
    map.outputs = outputs;
    map.output_count = output_count;
    map.map = never;
    return map;
}

static const sluice_column_spec one_output[] = {{.name = "out", .dtype = SLUICE_F32}};

static void bad_settings_are_refused(void)
{
    static const char *const no_input[] = {"nmuber"};
    static const char *const null_input[] = {NULL};
    static const sluice_column_spec encoded[] = {
        {.name = "i", .dtype = SLUICE_ENCODED, .role = SLUICE_ROLE_IMAGE}};
    sluice_map maps[8];
    const char *words[8] = {
        "sluice_dataset_map: name is NULL",
        "sluice_dataset_map: mine: map is NULL",
        "mine: there is no column 'nmuber'; there are number",
        "mine: the name of input 0 is NULL",
        "mine: columns is NULL",
        "mine: i: a map cannot write an encoded image",
        "sluice_dataset_map: mine: inputs is NULL",
        "sluice_dataset_map: sluice_map is NULL",
    };

    for (int i = 0; i < 8; i++) {
        maps[i] = map_of(NULL, 0, one_output, 1);
    }
    maps[0].name = NULL;
    maps[1].map = NULL;
    maps[2] = map_of(no_input, 1, one_output, 1);
    maps[3] = map_of(null_input, 1, one_output, 1);
    maps[4] = map_of(NULL, 0, NULL, 0);
    maps[5] = map_of(NULL, 0, encoded, 1);
    maps[6] = map_of(NULL, 1, one_output, 1);
    for (int i = 0; i < 8; i++) {
        sluice_dataset *dataset = number_dataset();

        T_TRUE(sluice_dataset_map(dataset, i < 7 ? &maps[i] : NULL) < 0);
        T_CONTAINS(sluice_last_error(), words[i]);
        T_TRUE(sluice_dataset_add(dataset, "batch 2") < 0); /* it is sticky */
        sluice_dataset_destroy(dataset);
    }
    T_STATUS(sluice_dataset_map(NULL, &maps[7]), SLUICE_E_INVALID);
}

static void at_most_eight_maps_and_sixteen_columns(void)
{
    sluice_column_spec many[17];
    char names[17][8];
    sluice_map map;
    sluice_dataset *dataset = number_dataset();

    for (int i = 0; i < 17; i++) {
        snprintf(names[i], sizeof(names[i]), "c%d", i);
        many[i] = (sluice_column_spec){.name = names[i], .dtype = SLUICE_F32};
    }
    map = map_of(NULL, 0, many, 16);
    T_STATUS(sluice_dataset_map(dataset, &map), SLUICE_E_INVALID);
    T_CONTAINS(sluice_last_error(), "mine: with c15 a sample has more than 16 columns");
    sluice_dataset_destroy(dataset);
    dataset = number_dataset();
    map = map_of(NULL, 0, one_output, 1);
    for (int i = 0; i < 8; i++) {
        T_OK(sluice_dataset_map(dataset, &map));
    }
    T_STATUS(sluice_dataset_map(dataset, &map), SLUICE_E_INVALID);
    T_CONTAINS(sluice_last_error(), "mine: a pipeline has at most 8 maps");
    sluice_dataset_destroy(dataset);
}

/* ---- its place among other stages ------------------------------------------------------------ */

static void maps_of_other_images_stand_behind_geometry(void)
{
    static const char *const image[] = {"image"};
    static const struct {
        const char *before;
        const char *behind;
        const char *words;
    } cases[] = {
        {"take 1", "decode", "mine: image is still encoded; put decode before it"},
        {"decode | to_dtype f32", "resize 8", "mine: it works on image, before a crop, resize"},
        {"decode | center_crop 9 | to_chw", "random_horizontal_flip",
         "mine: it works on image, before a crop, resize, flip"},
        {"decode | normalize 0.5 0.5 offload=device", "to_chw | batch 1",
         "normalize offload=device comes before a map, which runs on the host"},
        {"decode | device | random_invert", "batch 1",
         "device comes before stages of an image that a map uses"},
        {"decode | device | to_chw", "batch 1", "put device after the map"},
    };
    const char *folder = t_folder();

    write_pair(folder, "a.ppm", "m.pgm");
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        char stages[100];
        sluice_map map = map_of(image, 1, one_output, 1);
        sluice_dataset *dataset;
        sluice_dataset_info info;
        sluice_status st;

        snprintf(stages, sizeof(stages), "| %s", cases[i].before);
        dataset = list_dataset(folder, LIST_OF_BOXES, stages);
        st = sluice_dataset_map(dataset, &map);
        if (st == SLUICE_OK) {
            st = sluice_dataset_add(dataset, cases[i].behind);
        }
        if (st == SLUICE_OK) {
            sluice_dataset_info_init(&info);
            st = sluice_dataset_inspect(dataset, &info);
        }
        T_STATUS(st, SLUICE_E_INVALID);
        T_CONTAINS(sluice_last_error(), cases[i].words);
        sluice_dataset_destroy(dataset);
    }
}

/* ---- calls that fail ------------------------------------------------------------------------- */

typedef enum fault { FAILS, GARBAGE, LEAVES_OUT, WRONG_INPUT, OUT_OF_MEMORY } fault;

static sluice_status fail_at_five(sluice_sample *sample, void *user)
{
    const fault *what = user;
    sluice_sample_view view;
    void *room;
    sluice_status st = sluice_sample_get(sample, "number", &view);

    if (st != SLUICE_OK || *(const int64_t *)view.data != 5) {
        st = sluice_sample_room(sample, "out", NULL, &room);
        *(float *)room = 1;
        return st;
    }
    switch (*what) {
    case FAILS:
        return sluice_fail(SLUICE_E_CORRUPT, "five is %s", "odd");
    case GARBAGE:
        return (sluice_status)-999;
    case WRONG_INPUT:
        return sluice_sample_get(sample, "nmuber", &view);
    case OUT_OF_MEMORY:
        return sluice_fail(SLUICE_E_NO_MEMORY, "nothing left");
    default:
        return SLUICE_OK;
    }
}

static sluice_dataset *failing(fault *what)
{
    static const char *const inputs[] = {"number"};
    sluice_dataset *dataset = number_dataset();
    sluice_map map = map_of(inputs, 1, one_output, 1);

    map.map = fail_at_five;
    map.user = what;
    T_OK(sluice_dataset_map(dataset, &map));
    T_OK(sluice_dataset_add(dataset, "batch 4"));
    return dataset;
}

static void what_a_map_does_wrong_is_named(void)
{
    static const struct {
        fault what;
        sluice_status status;
        const char *words;
    } cases[] = {
        {FAILS, SLUICE_E_CORRUPT,
         "mine: sample 5, memory/5: mine: map() returned E_CORRUPT: five is odd"},
        {GARBAGE, SLUICE_E_CALLBACK, "mine: map() returned -999, which is not a sluice_status"},
        {LEAVES_OUT, SLUICE_E_INVALID, "mine: map() did not write out"},
        {WRONG_INPUT, SLUICE_E_INVALID, "nmuber is not an input; the inputs: number"},
        {OUT_OF_MEMORY, SLUICE_E_NO_MEMORY, "nothing left"},
    };

    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        fault what = cases[i].what;
        tape t = record_own(failing(&what), &(run_options){.workers = 2});

        T_STATUS(t.end, cases[i].status);
        T_CONTAINS(t.error, cases[i].words);
        T_EQ(t.batches, 1); /* that before the error */
        free(t.bytes);
    }
}

static void a_sample_that_fails_obeys_the_policy(void)
{
    fault what = FAILS;
    sluice_dataset *dataset = failing(&what);
    engine_run run;
    tape t;

    open_run(&run, dataset,
             &(run_options){.workers = 1, .settings = {.on_error = SLI_ON_ERROR_ZERO}});
    T_OK(next_batch(&run));
    done_with_batch(&run);
    T_OK(next_batch(&run));
    for (uint32_t row = 0; row < 4; row++) {
        T_TRUE(*(const float *)column_row(&run, "out", row) == (row == 1 ? 0.0F : 1.0F));
        T_EQ(*(const uint8_t *)column_row(&run, "mask", row), row == 1 ? 0 : 1);
    }
    close_run(&run);
    what = OUT_OF_MEMORY; /* of the machine: no policy applies */
    t = record_own(dataset, &(run_options){.settings = {.on_error = SLI_ON_ERROR_ZERO}});
    T_STATUS(t.end, SLUICE_E_NO_MEMORY);
    free(t.bytes);
}

/* ---- resumed runs ---------------------------------------------------------------------------- */

static void a_resumed_run_is_told_of_another_map(void)
{
    static const struct {
        const char *kept;
        const char *mine;
        const char *words; /* NULL: the same */
    } cases[] = {
        {"map name=a version=1", "map name=a version=1", NULL},
        {"map name=a version=1 | shuffle", "shuffle | map name=a version=1", NULL},
        {"map name=a version=1", "map name=a version=2", "map: version was 1 and is 2 now"},
        {"map name=a version=1", "map name=b version=1", "map: name was a and is b now"},
        {"map name=a version=1", "", "map name=a version=1"},
        {"map name=a version=1 | to_chw", "to_chw | map name=a version=1", "to_chw"},
    };

    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        const sluice_status st = sli_stages_compare(cases[i].kept, cases[i].mine);

        if (cases[i].words == NULL) {
            T_OK(st);
        } else {
            T_STATUS(st, SLUICE_E_INVALID);
            T_CONTAINS(sluice_last_error(), cases[i].words);
        }
    }
}

static void a_text_names_the_map_but_cannot_add_it(void)
{
    fault what = FAILS;
    sluice_dataset *dataset = failing(&what);

    T_CONTAINS(described(dataset), "memory | map name=mine version=0 | batch");
    sluice_dataset_destroy(dataset);
    check_refused("synthetic 8 4,4,3 2 | map name=mine version=0 | batch 4", "map");
}

const t_test map_errors_tests[] = {
    T_TEST(bad_settings_are_refused),
    T_TEST(at_most_eight_maps_and_sixteen_columns),
    T_TEST(maps_of_other_images_stand_behind_geometry),
    T_TEST(what_a_map_does_wrong_is_named),
    T_TEST(a_sample_that_fails_obeys_the_policy),
    T_TEST(a_resumed_run_is_told_of_another_map),
    T_TEST(a_text_names_the_map_but_cannot_add_it),
    T_END,
};
