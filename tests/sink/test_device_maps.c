/* SPDX-License-Identifier: Apache-2.0 */
/* config.device_maps: operators of the user's between GetNext and the step, in every mode; on the
 * fake of CUDA they are enqueued as kernels. */
#include "checkpoint_kit.h"
#include "device_map_kit.h"
#include "testing.h"

enum { PIXELS = 48 };

static bool maps_are_captured(sluice_mode mode)
{
#if defined(SLI_FAKE_CUDA)
    return mode == SLUICE_MODE_GRAPH || mode == SLUICE_MODE_LOOP;
#else
    (void)mode;
    return false;
#endif
}

typedef struct two_maps {
    sluice_device_map sum;
    sluice_device_map pair;
    const sluice_device_map *list[2];
    _Atomic uint64_t right;
    _Atomic uint64_t wrong;
} two_maps;

/* The step: checks what the maps wrote. */
static void look(kit *k, const sluice_step *step)
{
    two_maps *maps = k->user;
    const sluice_tensor *image = sluice_step_input(step, "image");
    const sluice_tensor *label = sluice_step_input(step, "label");
    const sluice_tensor *sum = sluice_step_input(step, "sum");
    bool right = step->input_count == 3 && label->rank == 2 && label->shape[0] == 2 &&
                 label->shape[1] == 2 && sum->rank == 1 && sum->bytes == 8;

    for (uint64_t row = 0; right && row < 2; row++) {
        const int32_t *pair = (const int32_t *)label->data + 2 * row;
        int32_t want = 0;

        for (int i = 0; i < PIXELS; i++) {
            want += ((const uint8_t *)image->data)[row * PIXELS + (uint64_t)i];
        }
        right = ((const int32_t *)sum->data)[row] == want && pair[0] >= 1000 && pair[1] == 2 * want;
    }
    atomic_fetch_add(right ? &maps->right : &maps->wrong, 1);
}

static void init(kit *k, two_maps *maps)
{
    memset((void *)maps, 0, sizeof(*maps));
    device_map_init(&maps->sum, "row sums", device_map_sum, &device_map_sum_column);
    device_map_init(&maps->pair, "pairs", device_map_pair, &device_map_pair_column);
    maps->list[0] = &maps->sum;
    maps->list[1] = &maps->pair;
    kit_init(k);
    k->config.device_maps = maps->list;
    k->config.device_map_count = 2;
    k->user = maps;
}

static void the_step_reads_what_the_maps_wrote_in_every_mode(void)
{
    static const sluice_mode modes[] = {SLUICE_MODE_DIRECT, SLUICE_MODE_DATA, SLUICE_MODE_GRAPH,
                                        SLUICE_MODE_LOOP};
    static const char *const devices[] = {"host:0", "host:0,copy=1"};

    for (size_t i = 0; i < 8; i++) {
        const sluice_column expected[] = {device_map_sum_column, device_map_pair_column};
        two_maps maps;
        kit k;

        init(&k, &maps);
        k.device = devices[i % 2];
        k.config.mode = modes[i / 2];
        k.config.micro_batches = i % 2 == 0 ? 1 : 2;
        k.model.inputs = expected;
        k.model.input_count = 2;
        k.in_step = look;
        T_OK(kit_run(&k));
        kit_check(&k);
        T_EQ(atomic_load(&maps.right), 100);
        T_EQ(atomic_load(&maps.wrong), 0);
        kit_fini(&k);
    }
}

static void an_error_of_a_map_ends_the_run_with_its_name(void)
{
    two_maps maps;
    kit k;

    init(&k, &maps);
    maps.pair.map = device_map_fail;
    T_STATUS(kit_run(&k), SLUICE_E_IO);
    T_CONTAINS(k.error, "device map pairs returned");
    T_CONTAINS(k.error, "no table of weights");
    kit_fini(&k);
}

static void refuse(kit *k, const char *text)
{
    T_STATUS(kit_run(k), SLUICE_E_INVALID);
    T_CONTAINS(k->error, text);
}

static void wrong_maps_are_refused(void)
{
    sluice_column column = device_map_sum_column;
    two_maps maps;
    kit k;

    init(&k, &maps);
    maps.sum.outputs = &column;
    column.rank = 1;
    refuse(&k, "device map row sums: output sum");
    column.shape[0] = UINT64_MAX / 4;
    refuse(&k, "outputs of device maps take 1.84467e+13 MB for batches of 2");
    column.shape[0] = UINT64_MAX;
    refuse(&k, "device map row sums: output sum");
    column.rank = SLUICE_MAX_RANK + 1;
    refuse(&k, "device map row sums: outputs[0] is not a column");
    maps.sum.output_count = 0;
    refuse(&k, "device map row sums: 0 outputs");
    maps.sum.map = NULL;
    refuse(&k, "device map row sums: map is NULL");
    maps.sum.name = "row\nsums";
    refuse(&k, "device_maps[0].name has a control character");
    maps.sum.name = NULL;
    refuse(&k, "device_maps[0].name is NULL");
    maps.list[0] = NULL;
    refuse(&k, "device_maps[0] is NULL");
    k.config.device_maps = NULL;
    refuse(&k, "device_maps is NULL");
    kit_fini(&k);
}

static void the_model_is_checked_against_the_outputs(void)
{
    const sluice_column scalar = {.name = "label", .dtype = SLUICE_I32};
    two_maps maps;
    kit k;

    init(&k, &maps);
    k.model.inputs = &scalar; /* the dataset's own column, which the map replaces */
    k.model.input_count = 1;
    refuse(&k, "column label is i32 (2)");
    kit_fini(&k);
}

/* The time of the maps is in the report, except where they are captured with the step. */
static void the_report_has_a_row_for_the_maps(void)
{
    static const sluice_mode modes[] = {SLUICE_MODE_DIRECT, SLUICE_MODE_DATA, SLUICE_MODE_GRAPH,
                                        SLUICE_MODE_LOOP};

    for (size_t i = 0; i < 4; i++) {
        const sli_stage_summary *row;
        char *text = NULL;
        two_maps maps;
        kit k;

        init(&k, &maps);
        k.config.mode = modes[i];
        k.in_step = look;
        T_OK(kit_run(&k));
        row = report_find_stage(k.report, "device_maps");
        T_OK(sluice_report_text(k.report, &text));
        if (maps_are_captured(modes[i])) {
            CU_ASSERT_PTR_NULL(row);
            T_CONTAINS(text, "device maps: row sums, pairs; captured with the step");
        } else {
            T_EQ(row != NULL ? row->samples : 0, 100);
            T_TRUE(row != NULL && row->busy_ns > 0 && row->busy_ns < k.report->stats.seconds * 1e9);
            T_CONTAINS(text, "device maps: row sums, pairs\n");
        }
        sluice_string_free(text);
        T_OK(sluice_report_json(k.report, &text));
        T_CONTAINS(text, "\"device_maps\":{\"names\":\"row sums, pairs\",\"timed\":");
        T_CONTAINS(text, "\"device_map_bytes\":512");
        sluice_string_free(text);
        kit_fini(&k);
    }
}

/* Each output takes a multiple of 256 bytes, beside the slots. */
static void outputs_count_in_the_memory_bound(void)
{
    two_maps maps;
    kit k;

    init(&k, &maps);
    T_OK(kit_run(&k));
    T_EQ(k.report->stats.device_map_bytes, 512);
    T_CONTAINS(k.plan, " slots + 0.0 MB device maps on ");
    k.config.memory_bytes = k.report->stats.staging_bytes + k.report->stats.slot_bytes + 512;
    k.config.slots = (uint32_t)k.report->queues[k.report->queue_count - 1].capacity;
    T_OK(kit_run(&k));
    k.config.memory_bytes--;
    refuse(&k, "MB beside 0.000512 MB for outputs of device maps, more than the bound of");
    kit_fini(&k);
}

/* Runs 10 more steps from the newest checkpoint in `folder`. */
static sluice_status resume(kit *k, const char *folder)
{
    k->model.save = kit_save;
    k->model.load = kit_load;
    k->checkpoint.folder = folder;
    k->checkpoint.resume = true;
    k->config.max_steps = 10;
    return kit_run(k);
}

static void a_resumed_run_compares_names_and_versions(void)
{
    const char *folder = t_file("run");
    two_maps maps;
    kit k;

    init(&k, &maps);
    maps.sum.version = 3;
    maps.sum.name = "row \"sums\"";
    maps.pair.version = 1;
    T_OK(resume(&k, folder));
    T_OK(resume(&k, folder));
    maps.pair.version = 2;
    refuse(&k, "the device maps differ: they were \"row \\\"sums\\\"\" version=3, \"pairs\" "
               "version=1, now \"row \\\"sums\\\"\" version=3, \"pairs\" version=2");
    k.config.device_map_count = 0;
    k.in_step = NULL;
    refuse(&k, "now none");
    kit_fini(&k);
}

static void a_resumed_run_warns_of_maps_without_a_version(void)
{
    const char *log;
    const char *folder = t_file("run");
    two_maps maps;
    kit k;

    init(&k, &maps);
    maps.pair.version = 1;
    T_OK(resume(&k, folder));
    kit_log_start(NULL, NULL);
    T_OK(resume(&k, folder));
    log = kit_log_stop();
    T_CONTAINS(log, "device map row sums has no version");
    CU_ASSERT_PTR_NULL(strstr(log, "device map pairs has no version"));
    kit_fini(&k);
}

const t_test device_maps_tests[] = {
    T_TEST(the_step_reads_what_the_maps_wrote_in_every_mode),
    T_TEST(an_error_of_a_map_ends_the_run_with_its_name),
    T_TEST(wrong_maps_are_refused),
    T_TEST(the_model_is_checked_against_the_outputs),
    T_TEST(the_report_has_a_row_for_the_maps),
    T_TEST(outputs_count_in_the_memory_bound),
    T_TEST(a_resumed_run_compares_names_and_versions),
    T_TEST(a_resumed_run_warns_of_maps_without_a_version),
    T_END,
};
