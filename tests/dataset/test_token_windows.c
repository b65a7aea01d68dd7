/* SPDX-License-Identifier: Apache-2.0 */
/* Tokens that cross the bus as stored windows, of which GetNext makes the columns: the same bits.
 */
#include <stdlib.h>
#include <unistd.h>

#include "dataset_kit.h"
#include "engine_kit.h"
#include "map_kit.h"
#include "plan_kit.h"
#include "source_kit.h"
#include "testing.h"
#include "tokens_kit.h"

enum { SEQ = 8 };

/* Two files of 100 and 33 tokens. */
static sluice_dataset *tokens_of(const char *folder, uint32_t token_bytes, const char *arguments,
                                 const char *stages)
{
    char text[800];

    tokens_write(folder, "a_0.bin", token_bytes, 1, 65000, 100);
    tokens_write(folder, "a_1.bin", token_bytes, 1, 2000, 33);
    snprintf(text, sizeof(text), "tokens %s/a_*.bin %d %s | %s", folder, SEQ, arguments, stages);
    return parsed(text);
}

static tape record_tokens(uint32_t token_bytes, const char *arguments, const char *stages,
                          const run_options *options)
{
    return record_own(tokens_of(t_folder(), token_bytes, arguments, stages), options);
}

static const char *const stage_lists[] = {
    "batch 5",
    "shuffle | batch 3 drop_remainder=true",
    "project targets,inputs | batch 5",
    "project targets | batch 4",
    "drop targets | rename inputs x | batch 4",
};

static void batches_have_the_bits_of_the_host(void)
{
    for (size_t i = 0; i < sizeof(stage_lists) / sizeof(stage_lists[0]); i++) {
        for (uint32_t bytes = 2; bytes <= 4; bytes += 2) {
            tape host = record_tokens(bytes, "offload=host", stage_lists[i],
                                      &(run_options){.settings = {.prefer_device = true}});

            T_EQ(host.end, SLUICE_END_OF_DATA);
            for (uint32_t k = 0; k < 4; k++) {
                const run_options options = {.device = devices[k % 2],
                                             .workers = 1 + k,
                                             .settings = {.prefer_device = k / 2 != 0}};
                tape got = record_tokens(bytes, k / 2 != 0 ? "" : "offload=device", stage_lists[i],
                                         &options);

                check_equal_tapes(&got, &host, stage_lists[i]);
                free(got.bytes);
            }
            free(host.bytes);
        }
    }
}

/* The column of policy zero is another one of the row than of the batch; bad rows are zero. */
static void rows_without_a_sample_are_zero(void)
{
    for (uint32_t k = 0; k < 3; k++) {
        const char *folder = t_folder();
        sluice_dataset *dataset = tokens_of(folder, 4, k == 0 ? "" : "offload=device", "batch 5");
        engine_run run;

        T_OK(dataset_open(dataset));
        T_EQ(truncate(t_path(folder, "a_0.bin"), 1024 + 4 * 2 * SEQ), 0); /* one window is left */
        open_run(
            &run, dataset,
            &(run_options){.device = devices[k % 2], .settings = {.on_error = SLI_ON_ERROR_ZERO}});
        T_OK(next_batch(&run));
        T_EQ(run.input.count, 3);
        T_STR(run.input.tensors[2].name, "mask");
        for (uint32_t row = 0; row < 5; row++) {
            const uint8_t *mask = row_of(&run, 2, row);
            const int32_t *inputs = row_of(&run, 0, row);
            const int32_t *targets = row_of(&run, 1, row);

            T_EQ(*mask, row == 0 ? 1 : 0);
            T_EQ(inputs[0], row == 0 ? 65000 : 0);
            T_EQ(targets[SEQ - 1], row == 0 ? 65000 + SEQ : 0);
            T_TRUE(row == 0 || (is_zero(inputs, 4 * SEQ) && is_zero(targets, 4 * SEQ)));
        }
        close_run(&run);
        sluice_dataset_destroy(dataset);
    }
}

static void tokens_beyond_i32_are_bad_samples(void)
{
    const char *folder = t_folder();
    char text[600];

    tokens_write(folder, "b.bin", 4, 1, 0x7ffffff0, 40); /* beyond i32 from token 16 on */
    snprintf(text, sizeof(text), "tokens %s/b.bin 8 offload=device | batch 1", folder);
    T_EQ(batches_to_error(parsed(text), &(run_options){.workers = 1}, SLUICE_E_CORRUPT,
                          "b.bin has a token above 2147483647"),
         1);
}

static void one_sample_has_the_bits_of_the_host(void)
{
    int32_t inputs[SEQ];
    int32_t targets[SEQ];
    void *const columns[] = {inputs, targets};
    void *const only[] = {NULL, targets};
    sluice_dataset *dataset = tokens_of(t_folder(), 2, "offload=device", "batch 5");

    T_OK(sluice_dataset_get(dataset, 0, 0, 3, columns, NULL));
    for (int i = 0; i < SEQ; i++) {
        T_EQ(inputs[i], 65000 + 3 * SEQ + i);
        T_EQ(targets[i], 65000 + 3 * SEQ + i + 1);
    }
    T_OK(sluice_dataset_get(dataset, 0, 0, 2, only, NULL));
    T_EQ(inputs[0], 65000 + 3 * SEQ);
    T_EQ(targets[0], 65000 + 2 * SEQ + 1);
    sluice_dataset_destroy(dataset);
}

/* ---- what the planner decides ------------------------------------------------------------------
 */

static sluice_status negate(sluice_sample *sample, void *user)
{
    sluice_sample_view tokens;
    void *room = NULL;
    sluice_status st = sluice_sample_get(sample, "targets", &tokens);

    (void)user;
    if (st == SLUICE_OK) {
        st = sluice_sample_room(sample, "negative", NULL, &room);
    }
    for (int i = 0; st == SLUICE_OK && i < SEQ; i++) {
        ((int32_t *)room)[i] = -((const int32_t *)tokens.data)[i];
    }
    return st;
}

static void add_negate(sluice_dataset *dataset)
{
    static const char *const inputs[] = {"targets"};
    static const sluice_column_spec outputs[] = {
        {.name = "negative", .dtype = SLUICE_I32, .rank = 1, .shape = {SEQ}}};

    add_map(dataset, "negate", negate, inputs, 1, outputs, 1, NULL);
}

static void the_planner_says_where_columns_are_made(void)
{
    static const struct {
        const char *arguments;
        const char *stages;
        bool prefer_device;
        uint32_t token_bytes;
        bool widens;
        uint32_t wire_count;
        const char *note;
    } cases[] = {
        {"", "batch 4", true, 2, true, 1,
         "inputs, targets: windows of one row of 9 u16, in the device's GetNext"},
        {"", "batch 4", true, 4, true, 1, "of one row of 9 u32, in the device's GetNext"},
        {"", "batch 4", false, 2, false, 2, "inputs, targets: in the workers' write to the row\n"},
        {"offload=host", "batch 4", true, 2, false, 2, "in the workers' write to the row\n"},
        {"offload=device", "batch 4", false, 2, true, 1, "in the device's GetNext"},
        {"", "project targets | batch 4", true, 2, true, 1, "\ntargets: windows of one row"},
        {"", "cast inputs i64 | batch 4", true, 2, false, 2,
         "inputs, targets: in the workers' write to the row, for cast reads inputs on the host"},
        {"", "project targets | cast targets i64 | batch 4", true, 2, false, 1,
         "targets: in the workers' write to the row, for cast reads targets"},
    };

    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        const sli_run_settings settings = {.world = 1, .prefer_device = cases[i].prefer_device};
        sluice_dataset *dataset =
            tokens_of(t_folder(), cases[i].token_bytes, cases[i].arguments, cases[i].stages);
        sli_plan *plan = open_plan(dataset, &settings);
        char *text = explained(plan);

        T_CONTAINS(text, cases[i].note);
        T_EQ(plan->device_widens, cases[i].widens);
        T_EQ(plan->wire_count, cases[i].wire_count);
        T_EQ(plan->wire[0].dtype, !cases[i].widens            ? plan->seen[0].dtype
                                  : cases[i].token_bytes == 2 ? SLUICE_U16
                                                              : SLUICE_U32);
        sluice_string_free(text);
        close_plan(plan, dataset);
    }
}

static void maps_read_the_columns_on_the_host(void)
{
    const sli_run_settings settings = {.world = 1, .prefer_device = true};
    sluice_dataset *dataset = tokens_of(t_folder(), 2, "", "project inputs,targets");
    sli_plan *plan;
    engine_run run;
    char *text;

    add_negate(dataset);
    T_OK(sluice_dataset_add(dataset, "batch 4"));
    plan = open_plan(dataset, &settings);
    text = explained(plan);
    T_TRUE(!plan->device_widens);
    T_CONTAINS(text, "inputs, targets: in the workers' write to the row, for negate reads targets");
    sluice_string_free(text);
    sli_plan_close(plan);
    open_own(&run, dataset, &(run_options){.settings = {.prefer_device = true}});
    T_OK(next_batch(&run));
    for (int i = 0; i < SEQ; i++) {
        T_EQ(((const int32_t *)row_of(&run, 1, 1))[i], 65000 + SEQ + i + 1);
        T_EQ(((const int32_t *)row_of(&run, 2, 1))[i], -(65000 + SEQ + i + 1));
    }
    close_run(&run);
}

static void what_the_device_cannot_make_is_refused(void)
{
    const sli_run_settings settings = {.world = 1};
    sluice_dataset *dataset =
        tokens_of(t_folder(), 2, "offload=device", "cast inputs i64 | batch 4");
    sli_plan *plan = NULL;

    T_STATUS(sli_plan_open(dataset, &settings, &plan), SLUICE_E_INVALID);
    T_STR(sluice_last_error(), "tokens offload=device is not possible: cast reads inputs on the "
                               "host; use offload=auto");
    sluice_dataset_destroy(dataset);
}

/* Where it is done is no part of what a run is: texts without it, and with another one, are equal.
 */
static void offload_does_not_identify_a_run(void)
{
    T_OK(sli_stages_compare("tokens files=- seq=8 stride=8 dtype=auto order=none",
                            "tokens files=- seq=8 stride=8 dtype=auto order=none offload=device"));
    T_STATUS(sli_stages_compare("tokens files=- seq=8 stride=8 dtype=auto order=none",
                                "tokens files=- seq=9 stride=9 dtype=auto order=none offload=auto"),
             SLUICE_E_INVALID);
}

const t_test token_windows_tests[] = {
    T_TEST(batches_have_the_bits_of_the_host),
    T_TEST(rows_without_a_sample_are_zero),
    T_TEST(tokens_beyond_i32_are_bad_samples),
    T_TEST(one_sample_has_the_bits_of_the_host),
    T_TEST(the_planner_says_where_columns_are_made),
    T_TEST(maps_read_the_columns_on_the_host),
    T_TEST(what_the_device_cannot_make_is_refused),
    T_TEST(offload_does_not_identify_a_run),
    T_END,
};
