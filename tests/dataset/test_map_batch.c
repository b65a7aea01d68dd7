/* SPDX-License-Identifier: Apache-2.0 */
/* Maps of whole batches: inputs and outputs, positions in a pipeline, and errors. */
#include <stdatomic.h>
#include <stdlib.h>

#include "dataset_kit.h"
#include "filter_kit.h"
#include "list_kit.h"
#include "map_kit.h"
#include "plan_kit.h"
#include "testing.h"

enum { BATCH = 5 };

static const char *const number_column[] = {"number"};
static const char *const image_column[] = {"image"};
static const sluice_column_spec sum_column[] = {{.name = "sum", .dtype = SLUICE_I64}};

static sluice_map_batch map_called(const char *name,
                                   sluice_status (*map)(sluice_host_batch *, void *))
{
    sluice_map_batch made;

    sluice_map_batch_init(&made);
    made.name = name;
    made.version = 2;
    made.map = map;
    return made;
}

static int64_t *i64_column(sluice_host_batch *batch, const char *name)
{
    sluice_host_column column = {.data = NULL};

    T_OK(sluice_host_batch_column(batch, name, &column));
    T_EQ(column.row_bytes, 8);
    return column.data;
}

/* ---- what they write ------------------------------------------------------------------------- */

/* Doubles `number`, and writes the sum of the batch into `sum` of each row. */
static sluice_status add_up(sluice_host_batch *batch, void *user)
{
    int64_t *all = i64_column(batch, "number");
    int64_t *sums = i64_column(batch, "sum");
    int64_t sum = 0;

    (void)user;
    T_EQ(sluice_host_batch_rows(batch), BATCH);
    for (uint32_t i = 0; i < BATCH; i++) {
        const uint64_t sample = sluice_host_batch_samples(batch)[i];

        T_EQ(sums[i], 0);
        T_TRUE((sample == UINT64_MAX) == (i >= sluice_host_batch_valid_rows(batch)));
        T_EQ(all[i], sample == UINT64_MAX ? 0 : numbers[sample]);
        sum += all[i];
        all[i] *= 2;
    }
    for (uint32_t i = 0; i < BATCH; i++) {
        sums[i] = sum; /* also rows of padding, which are zeroed again */
    }
    return SLUICE_OK;
}

static sluice_dataset *summed(const char *stages)
{
    sluice_map_batch map = map_called("add_up", add_up);
    sluice_dataset *dataset;

    fill_arrays();
    dataset = arrays_of(plain_images);
    T_OK(sluice_dataset_add(dataset, stages));
    map.changes = number_column;
    map.change_count = 1;
    map.outputs = sum_column;
    map.output_count = 1;
    T_OK(sluice_dataset_map_batch(dataset, &map));
    return dataset;
}

static int64_t number_at(const engine_run *run, const char *column, uint32_t row)
{
    int64_t value;

    memcpy(&value, column_row(run, column, row), sizeof(value));
    return value;
}

static void it_changes_columns_and_adds_some(void)
{
    sluice_dataset *dataset = summed("shuffle 7 | to_chw | batch 5");

    for (uint32_t k = 0; k < 6; k++) {
        engine_run run;
        uint32_t rows = 0;

        open_run(&run, dataset,
                 &(run_options){.workers = worker_counts[k % 3],
                                .device = devices[k / 3],
                                .settings = {.world = 1, .prefer_device = k > 2}});
        while (next_batch(&run) == SLUICE_OK) {
            int64_t sum = 0;

            for (uint32_t row = 0; row < BATCH; row++) {
                sum += number_at(&run, "number", row) / 2;
            }
            for (uint32_t row = 0; row < BATCH; row++) {
                T_EQ(number_at(&run, "sum", row), rows + row < SAMPLES ? sum : 0);
            }
            rows += BATCH;
            done_with_batch(&run);
        }
        T_EQ(rows, 3 * BATCH);
        close_run(&run);
    }
    sluice_dataset_destroy(dataset);
}

/* The image as the step sees it: f32 (3, H, W). */
static sluice_status negate_image(sluice_host_batch *batch, void *user)
{
    sluice_host_column image;

    (void)user;
    T_OK(sluice_host_batch_column(batch, "image", &image));
    T_EQ(image.dtype, SLUICE_F32);
    T_TRUE(image.rank == 3 && image.shape[0] == 3 && image.shape[1] == H && image.shape[2] == W);
    for (size_t i = 0; i < image.row_bytes / sizeof(float) * BATCH; i++) {
        ((float *)image.data)[i] *= -1;
    }
    return SLUICE_OK;
}

static void it_sees_the_image_as_the_step_does(void)
{
    static const char stages[] = "random_horizontal_flip | normalize 0.5 0.5 | to_chw | batch 5";
    sluice_map_batch map = map_called("negate", negate_image);
    sluice_dataset *got;
    sluice_dataset *want;
    sli_plan *plan;
    char *text;

    fill_arrays();
    got = arrays_of(plain_images);
    want = arrays_of(plain_images);
    T_OK(sluice_dataset_add(got, stages));
    T_OK(sluice_dataset_add(want, stages));
    map.changes = image_column;
    map.change_count = 1;
    T_OK(sluice_dataset_map_batch(got, &map));
    for (int device = 0; device < 2; device++) {
        const run_options options = {.workers = 2,
                                     .device = devices[device],
                                     .settings = {.world = 1, .prefer_device = device == 1}};
        engine_run a;
        engine_run b;

        open_run(&a, got, &options);
        open_run(&b, want, &(run_options){.workers = 1});
        T_TRUE(!a.plan->device_converts);
        while (next_batch(&a) == SLUICE_OK) {
            T_OK(next_batch(&b));
            for (uint32_t row = 0; row < BATCH; row++) {
                const float *x = column_row(&a, "image", row);
                const float *y = column_row(&b, "image", row);

                for (size_t i = 0; i < PIXELS; i++) {
                    T_TRUE(x[i] == -y[i]);
                }
            }
            done_with_batch(&a);
            done_with_batch(&b);
        }
        close_run(&a);
        close_run(&b);
    }
    plan = open_plan(got, &(sli_run_settings){.world = 1, .prefer_device = true});
    text = explained(plan);
    T_CONTAINS(text, "negate: runs on whole batches, on the worker that writes the last row\n");
    sluice_string_free(text);
    close_plan(plan, got);
    sluice_dataset_destroy(want);
}

static void offload_to_the_device_before_it_is_refused(void)
{
    sluice_map_batch map = map_called("negate", negate_image);
    sluice_dataset *dataset;
    sli_plan *plan = NULL;

    fill_arrays();
    dataset = arrays_of(plain_images);
    T_OK(sluice_dataset_add(dataset, "normalize 0.5 0.5 offload=device | batch 5"));
    map.inputs = image_column;
    map.input_count = 1;
    T_OK(sluice_dataset_map_batch(dataset, &map));
    T_STATUS(sli_plan_open(dataset, &(sli_run_settings){.world = 1}, &plan), SLUICE_E_INVALID);
    T_CONTAINS(sluice_last_error(), "normalize offload=device comes before a map");
    T_CONTAINS(sluice_last_error(), "or leave offload out");
    sluice_dataset_destroy(dataset);
}

/* ---- random bits ----------------------------------------------------------------------------- */

static sluice_status draw_sum(sluice_host_batch *batch, void *user)
{
    int64_t *sums = i64_column(batch, "sum");

    (void)user;
    for (uint32_t i = 0; i < sluice_host_batch_rows(batch); i++) {
        sums[i] = (int64_t)sluice_host_batch_random(batch, i);
    }
    return SLUICE_OK;
}

static tape draw_tape(const char *stages, const run_options *options)
{
    sluice_map_batch map = map_called("draw", draw_sum);
    sluice_dataset *dataset;

    fill_arrays();
    dataset = arrays_of(plain_images);
    T_OK(sluice_dataset_add(dataset, stages));
    map.outputs = sum_column;
    map.output_count = 1;
    T_OK(sluice_dataset_map_batch(dataset, &map));
    return record_own(dataset, options);
}

static void draws_depend_on_seed_and_position_alone(void)
{
    static const char stages[] = "shuffle 3 | project number | batch 4";
    const run_options one = {.workers = 1, .batches = 6, .settings = {.seed = 4, .world = 1}};
    run_options other = one;
    tape first = draw_tape(stages, &one);
    tape t;

    other.workers = 3;
    t = draw_tape(stages, &other);
    check_equal_tapes(&t, &first, "three workers");
    free(t.bytes);
    other.first_step = 2; /* as a run that is resumed */
    other.batches = 4;
    t = draw_tape(stages, &other);
    T_EQ(t.batches, 4);
    T_TRUE(t.size * 3 == first.size * 2 &&
           memcmp(t.bytes, first.bytes + first.size - t.size, t.size) == 0);
    free(t.bytes);
    other = one;
    other.settings.seed = 5;
    t = draw_tape(stages, &other);
    T_TRUE(memcmp(t.bytes, first.bytes, first.size) != 0);
    free(t.bytes);
    other = one;
    other.settings.world = 2;
    other.settings.rank = 1;
    t = draw_tape(stages, &other);
    T_TRUE(memcmp(t.bytes, first.bytes, t.size) != 0);
    free(t.bytes);
    T_TRUE(memcmp(first.bytes, first.bytes + first.size / 2, first.size / 2) != 0); /* passes */
    free(first.bytes);
}

/* ---- filters and bad samples ----------------------------------------------------------------- */

static sluice_status count_rows(sluice_host_batch *batch, void *user)
{
    int64_t *sums = i64_column(batch, "sum");
    const uint64_t *samples = sluice_host_batch_samples(batch);

    for (uint32_t i = 0; i < sluice_host_batch_rows(batch); i++) {
        sums[i] = 1;
        *(atomic_int *)user += samples[i] != UINT64_MAX;
    }
    return SLUICE_OK;
}

static void add_counting(sluice_dataset *dataset, atomic_int *count)
{
    sluice_map_batch map = map_called("count", count_rows);

    map.outputs = sum_column;
    map.output_count = 1;
    map.user = count;
    T_OK(sluice_dataset_map_batch(dataset, &map));
}

static void filters_may_stand_before_it(void)
{
    for (uint32_t k = 0; k < 6; k++) {
        atomic_int count = 0;
        sluice_dataset *dataset;
        tape t;

        script_reset(50, GOOD);
        dataset = filtered_dataset("shuffle", (filter_way)(k % 2), 4, false);
        add_counting(dataset, &count);
        t = record_own(dataset, &(run_options){.workers = worker_counts[k % 3], .passes = 1});
        T_EQ(t.end, SLUICE_END_OF_DATA);
        T_EQ(count, 33);
        free(t.bytes);
    }
}

static void bad_samples_under_policy_zero_are_no_samples(void)
{
    atomic_int count = 0;
    sluice_dataset *dataset;
    engine_run run;

    script_reset(8, GOOD);
    script.behaviours[2] = BAD;
    dataset = script_dataset(4, false);
    add_counting(dataset, &count);
    open_own(&run, dataset,
             &(run_options){.settings = {.on_error = SLI_ON_ERROR_ZERO, .world = 1}});
    T_OK(next_batch(&run));
    for (uint32_t row = 0; row < 4; row++) {
        T_EQ(number_at(&run, "sum", row), row != 2);
    }
    done_with_batch(&run);
    T_OK(next_batch(&run));
    T_EQ(count, 7);
    close_run(&run);
}

/* ---- errors ---------------------------------------------------------------------------------- */

typedef enum batch_fault {
    FAILS_WITH_TEXT,
    RETURNS_GARBAGE,
    WRITES_TOO_FAR,
    WRITES_BEFORE,
    WRITES_AN_INPUT,
    WANTS_ANOTHER_COLUMN,
    BATCH_FAULTS
} batch_fault;

static sluice_status do_wrong(sluice_host_batch *batch, void *user)
{
    sluice_host_column column;

    if (sluice_host_batch_samples(batch)[0] != 4) {
        return SLUICE_END_OF_DATA; /* any positive status is success */
    }
    switch (*(batch_fault *)user) {
    case FAILS_WITH_TEXT:
        return sluice_fail(SLUICE_E_IO, "no partner");
    case RETURNS_GARBAGE:
        return (sluice_status)-4711;
    case WRITES_TOO_FAR:
        i64_column(batch, "sum")[4] = 1;
        return SLUICE_OK;
    case WRITES_BEFORE:
        i64_column(batch, "sum")[-1] = 1;
        return SLUICE_OK;
    case WRITES_AN_INPUT:
        i64_column(batch, "number")[0]++;
        return SLUICE_OK;
    default:
        return sluice_host_batch_column(batch, "image", &column);
    }
}

static void faults_end_the_run_under_every_policy(void)
{
    static const struct {
        sluice_status status;
        const char *words;
    } want[BATCH_FAULTS] = {
        {SLUICE_E_IO, "map() returned E_IO: no partner"},
        {SLUICE_E_CALLBACK, "map() returned -4711, which is not a sluice_status"},
        {SLUICE_E_CALLBACK, "map() wrote outside column sum, which has 32 bytes"},
        {SLUICE_E_CALLBACK, "map() wrote outside column sum"},
        {SLUICE_E_CALLBACK, "map() wrote to number, which is an input; list it in changes"},
        {SLUICE_E_INVALID, "image is not a column of the map; it lists: number, sum"},
    };

    fill_arrays();
    for (int i = 0; i < BATCH_FAULTS * 3; i++) {
        batch_fault fault = (batch_fault)(i / 3);
        sluice_map_batch map = map_called("wrong", do_wrong);
        sluice_dataset *dataset = arrays_of(plain_images);
        tape t;

        map.inputs = number_column;
        map.input_count = 1;
        map.outputs = sum_column;
        map.output_count = 1;
        map.user = &fault;
        setenv("SLUICE_GUARDS", "on", 1);
        T_OK(sluice_dataset_add(dataset, "batch 4"));
        T_OK(sluice_dataset_map_batch(dataset, &map));
        unsetenv("SLUICE_GUARDS");
        t = record_own(dataset, &(run_options){.workers = 2,
                                               .settings = {.on_error = (sli_error_policy)(i % 3),
                                                            .world = 1}});
        T_EQ(t.end, want[fault].status);
        T_EQ(t.batches, 1);
        T_CONTAINS(t.error, "wrong: the batch at position 4 of pass 0: wrong: ");
        T_CONTAINS(t.error, want[fault].words);
        T_EQ(t.errors.failed + t.errors.replaced + t.errors.zeroed, 0);
        free(t.bytes);
    }
}

static sluice_status never(sluice_host_batch *batch, void *user)
{
    (void)batch;
    (void)user;
    T_FAIL_("a map was called that was %s", "refused");
    return SLUICE_OK;
}

static void refused_map(const sluice_map_batch *map, const char *stages, const char *words)
{
    sluice_dataset *dataset = arrays_of(plain_images);

    T_OK(sluice_dataset_add(dataset, stages));
    T_STATUS(sluice_dataset_map_batch(dataset, map), SLUICE_E_INVALID);
    T_CONTAINS(sluice_last_error(), words);
    sluice_dataset_destroy(dataset);
}

static void bad_settings_are_refused(void)
{
    static const char *const unknown[] = {"nmuber"};
    static const char *const null_name[] = {NULL};
    static const sluice_column_spec exists[] = {{.name = "number", .dtype = SLUICE_I64}};
    static const sluice_column_spec ragged[] = {
        {.name = "r", .dtype = SLUICE_I64, .rank = 1, .shape = {4}, .ragged = 1}};
    sluice_map_batch map = map_called("mine", never);

    fill_arrays();
    refused_map(&map, "batch 4", "0 inputs, 0 changes and 0 outputs; there must be 1 to 16 in all");
    map.inputs = number_column;
    map.input_count = 1;
    refused_map(&map, "shuffle", "map_batch works on whole batches; it must come after batch");
    map.changes = number_column;
    map.change_count = 1;
    refused_map(&map, "batch 4", "mine: number is listed twice");
    map.changes = NULL;
    refused_map(&map, "batch 4", "inputs, changes or outputs is NULL");
    map.change_count = 0;
    map.inputs = unknown;
    refused_map(&map, "batch 4", "mine: there is no column 'nmuber'");
    map.inputs = null_name;
    refused_map(&map, "batch 4", "the name of a column is NULL");
    map.input_count = 17;
    refused_map(&map, "batch 4", "17 inputs");
    map.input_count = 0;
    map.output_count = 1;
    map.outputs = exists;
    refused_map(&map, "batch 4", "there is a column number already; list it in changes");
    map.outputs = ragged;
    refused_map(&map, "batch 4",
                "mine: r: a column that a map of batches adds must have SLUICE_ROLE_PLAIN");
    map.outputs = sum_column;
    map.map = NULL;
    refused_map(&map, "batch 4", "mine: map is NULL");
    map.map = never;
    map.name = "";
    refused_map(&map, "batch 4", "name is NULL, empty");
}

static void only_maps_of_batches_follow_batch(void)
{
    sluice_dataset *dataset = summed("batch 5");
    int64_t number;

    T_STATUS(sluice_dataset_add(dataset, "shuffle"), SLUICE_E_INVALID);
    T_CONTAINS(sluice_last_error(), "shuffle must come before batch, which is the last stage");
    sluice_dataset_destroy(dataset);
    dataset = summed("batch 5");
    T_STATUS(sluice_dataset_get(dataset, 0, 0, 0, (void *const[]){NULL, &number, NULL}, NULL),
             SLUICE_E_UNSUPPORTED);
    T_CONTAINS(sluice_last_error(), "add_up works on whole batches");
    sluice_dataset_destroy(dataset);
    check_refused("synthetic | batch 2 | map_batch mine", "no stage 'map_batch'");
}

/* ---- workers, identity ----------------------------------------------------------------------- */

typedef struct lives {
    atomic_int begun;
    atomic_int ended;
    atomic_int closed;
    atomic_int inside;
    atomic_int most;
} lives;

static sluice_status begin_life(void *user, void **worker_out)
{
    *worker_out = malloc(1);
    ((lives *)user)->begun++;
    return SLUICE_OK;
}

static void end_life(void *worker, void *user)
{
    free(worker);
    ((lives *)user)->ended++;
}

static void close_life(void *user)
{
    ((lives *)user)->closed++;
}

static sluice_status live(sluice_host_batch *batch, void *user)
{
    lives *l = user;

    T_TRUE(sluice_host_batch_worker(batch) != NULL);
    if (++l->inside > 1) {
        l->most = 2;
    }
    for (volatile int i = 0; i < 2000; i++) {
    }
    l->inside--;
    return SLUICE_OK;
}

static void workers_have_states_and_serial_calls_come_one_by_one(void)
{
    lives l = {0};
    sluice_map_batch map = map_called("live", live);
    sluice_dataset *dataset = parsed("synthetic 2000 4,4,3 2 | project label | batch 2");
    static const char *const label[] = {"label"};
    tape t;

    map.inputs = label;
    map.input_count = 1;
    map.begin = begin_life;
    map.end = end_life;
    map.close = close_life;
    map.serial = 1;
    map.user = &l;
    T_OK(sluice_dataset_map_batch(dataset, &map));
    t = record(dataset, &(run_options){.workers = 4, .slots = 16});
    T_EQ(t.batches, 1000);
    free(t.bytes);
    T_TRUE(l.begun >= 1 && l.begun <= 4 && l.ended == l.begun);
    T_EQ(l.most, 0);
    T_EQ(l.closed, 0);
    sluice_dataset_destroy(dataset);
    T_EQ(l.closed, 1);
}

static void batch_size_and_version_are_part_of_the_identity(void)
{
    sluice_dataset *dataset = summed("shuffle | batch 5");
    sli_plan *plan = open_plan(dataset, &(sli_run_settings){.world = 1});
    sli_dataset_identity identity;

    T_OK(sli_plan_identity(plan, &identity));
    T_CONTAINS(identity.stages, "batch n=5 drop_remainder=false | map_batch name=add_up version=2");
    T_STATUS(sli_stages_compare(identity.stages,
                                "shuffle seed=run buffer=1000 | batch n=6 drop_remainder=false | "
                                "map_batch name=add_up version=3"),
             SLUICE_E_INVALID);
    T_CONTAINS(sluice_last_error(), "batch: n was 5 and is 6 now; map_batch: version was 2");
    sli_dataset_identity_free(&identity);
    close_plan(plan, dataset);
}

const t_test map_batch_tests[] = {
    T_TEST(it_changes_columns_and_adds_some),
    T_TEST(it_sees_the_image_as_the_step_does),
    T_TEST(offload_to_the_device_before_it_is_refused),
    T_TEST(draws_depend_on_seed_and_position_alone),
    T_TEST(filters_may_stand_before_it),
    T_TEST(bad_samples_under_policy_zero_are_no_samples),
    T_TEST(faults_end_the_run_under_every_policy),
    T_TEST(bad_settings_are_refused),
    T_TEST(only_maps_of_batches_follow_batch),
    T_TEST(workers_have_states_and_serial_calls_come_one_by_one),
    T_TEST(batch_size_and_version_are_part_of_the_identity),
    T_END,
};
