/* SPDX-License-Identifier: Apache-2.0 */
/* The lines that a run is announced with, and who prints for all ranks. */
#include <stdlib.h>
#include <unistd.h>

#include "rank_identity.h"
#include "testing.h"
#include "train_kit.h"

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

/* ---- the words ------------------------------------------------------------------------------- */

typedef struct known {
    sluice_ranks ranks;
    uint32_t cores;
    uint32_t machine_cores;
    bool bound;
    double quota;
    const char *quota_source;
    int32_t device_node;
    int32_t memory_node;
    const char *line;
} known;

static const known cases[] = {
    {{sizeof(sluice_ranks), 3, 8, 3, 4, "Open MPI"},
     16,
     32,
     true,
     8,
     "cpu.max",
     0,
     1,
     "rank 3 of 8 (Open MPI), local 3 of 4, host:0, 16 cores (affinity), quota 8.0 (cpu.max), "
     "node 0"},
    {{sizeof(sluice_ranks), 1, 2, 0, 0, "config"},
     2,
     2,
     false,
     0,
     "",
     -1,
     -1,
     "rank 1 of 2 (config), host:0, 2 cores"},
    {{sizeof(sluice_ranks), 0, 1, 0, 1, "alone"},
     1,
     4,
     false,
     0.25,
     "cpu.max of /job",
     -1,
     2,
     "rank 0 of 1 (alone), local 0 of 1, host:0, 1 core (cpuset), quota 0.25 (cpu.max of /job), "
     "node 2"},
};

static void the_line_has_what_is_known_and_nothing_else(void)
{
    sluice_device *device = NULL;

    T_OK(sluice_device_open("host:0", &device));
    for (size_t i = 0; i < COUNT(cases); i++) {
        const known *c = &cases[i];
        sli_topology topology = {.core_count = c->cores,
                                 .machine_core_count = c->machine_cores,
                                 .bound = c->bound,
                                 .quota = c->quota};
        sli_placement placement = {.device_node = c->device_node, .memory_node = c->memory_node};
        const data_feed feed = {
            .config.device = device, .topology = &topology, .placement = &placement};
        sli_text text = {0};

        snprintf(topology.quota_source, sizeof(topology.quota_source), "%s", c->quota_source);
        rank_identity_print(&c->ranks, &feed, &text);
        T_STR(text.data, c->line);
        sli_text_free(&text);
    }
    sluice_device_close(device);
}

/* ---- which runs say it ----------------------------------------------------------------------- */

static sluice_status count_rows(const sluice_step *step, void *user)
{
    (void)user;
    step->outputs[0] = (float)*step->valid_rows;
    return SLUICE_OK;
}

static uint32_t count_of(const char *text, const char *part)
{
    uint32_t count = 0;

    for (const char *at = text; (at = strstr(at, part)) != NULL; at++) {
        count++;
    }
    return count;
}

/* A run of four steps with four validations, as this rank of so many; what it logs. */
static const char *log_of(uint32_t rank, uint32_t world, sluice_log_level level)
{
    sluice_dataset *validation = NULL;
    const char *log;
    kit k;

    kit_init(&k);
    T_OK(sluice_dataset_parse("synthetic samples=12 shape=4,4,3 | batch 2", &validation));
    k.pipeline = "synthetic samples=16 shape=4,4,3 | batch 2";
    k.model.eval = count_rows;
    k.config.max_steps = 4;
    k.config.rank = rank;
    k.config.world = world;
    k.config.nan_guard = SLUICE_NAN_COUNT;
    k.validation.dataset = validation;
    k.validation.every_steps = 1;
    sluice_log_set_level(level);
    kit_log_start(NULL, NULL);
    T_OK(kit_run(&k));
    log = kit_log_stop();
    sluice_log_set_level(SLUICE_LOG_WARN);
    T_EQ(k.report->stats.validations, 4);
    T_EQ(strncmp(k.plan, "plan: 4 steps", 13), 0); /* the hook has it on every rank */
    sluice_dataset_destroy(validation);
    kit_fini(&k);
    return log;
}

static void every_rank_says_who_it_is_and_rank_0_what_will_happen(void)
{
    for (uint32_t rank = 0; rank < 2; rank++) {
        const char *log = log_of(rank, 2, SLUICE_LOG_INFO);
        char who[60];

        snprintf(who, sizeof(who), "rank %u of 2 (config), host:0, ", rank);
        T_EQ(strncmp(log, who, strlen(who)), 0);
        T_EQ(count_of(log, " of 2 (config), "), 1); /* and not once more for each validation */
        T_EQ(count_of(log, "plan: "), rank == 0);
    }
}

static void nothing_is_said_at_the_default_level(void)
{
    T_STR(log_of(0, 2, SLUICE_LOG_WARN), "");
}

static void a_run_that_is_alone_says_both(void)
{
    const char *log = log_of(0, 1, SLUICE_LOG_INFO);

    T_EQ(count_of(log, "rank 0 of 1 (config), host:0, "), 1);
    T_EQ(count_of(log, "plan: "), 1);
}

const t_test rank_identity_tests[] = {
    T_TEST(the_line_has_what_is_known_and_nothing_else),
    T_TEST(every_rank_says_who_it_is_and_rank_0_what_will_happen),
    T_TEST(nothing_is_said_at_the_default_level),
    T_TEST(a_run_that_is_alone_says_both),
    T_END,
};
