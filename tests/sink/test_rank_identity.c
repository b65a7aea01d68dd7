/* SPDX-License-Identifier: Apache-2.0 */
/* The lines that a run is announced with, and who prints for all ranks. */
#include <stdlib.h>
#include <unistd.h>

#include "feed.h"
#include "log_kit.h"
#include "rank_identity.h"
#include "testing.h"
#include "train_kit.h"

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
     "rank 3 of 8 (Open MPI) on node07, local 3 of 4, host:0 on node 0, 3 of 16 cores (affinity), "
     "quota 8.0 (cpu.max): workers 0-1 CPUs 4-6 node 0, step CPUs 4-6, buffers node 1"},
    {{sizeof(sluice_ranks), 1, 2, 0, 0, "config"},
     2,
     2,
     false,
     0,
     "",
     -1,
     -1,
     "rank 1 of 2 (config) on node07, host:0, 2 cores: workers 0-1 CPUs 4-6 node 0, step CPUs 4-6, "
     "buffers on any node"},
    {{sizeof(sluice_ranks), 0, 1, 0, 1, "alone"},
     1,
     4,
     false,
     0.25,
     "cpu.max of /job",
     -1,
     2,
     "rank 0 of 1 (alone) on node07, local 0 of 1, host:0, 1 core (cpuset), quota 0.25 (cpu.max of "
     "/job): workers 0-1 CPUs 4-6 node 0, step CPUs 4-6, buffers node 2"},
};

static void the_line_has_what_is_known_and_nothing_else(void)
{
    sluice_device *device = NULL;

    T_OK(sluice_device_open("host:0", &device));
    for (size_t i = 0; i < COUNT(cases); i++) {
        const known *c = &cases[i];
        const sli_cpus cpus = {.bits = {0x70}};
        sli_cpus workers[] = {cpus, cpus};
        sli_node node = {.cpus = cpus};
        sli_core cores[16] = {{.cpus = cpus}};
        sli_topology topology = {.core_count = c->cores,
                                 .cores = cores,
                                 .machine_core_count = c->machine_cores,
                                 .bound = c->bound,
                                 .quota = c->quota,
                                 .nodes = &node,
                                 .node_count = 1};
        sli_placement placement = {.device_node = c->device_node,
                                   .memory_node = c->memory_node,
                                   .worker_count = 2,
                                   .worker_cpus = workers,
                                   .device_cpus = cpus,
                                   .core_count = c->cores < 3 ? c->cores : 3};
        const data_feed feed = {
            .config.device = device, .topology = &topology, .placement = &placement};
        sli_text text = {0};

        snprintf(topology.quota_source, sizeof(topology.quota_source), "%s", c->quota_source);
        rank_identity_print(&c->ranks, "node07", &feed, &text);
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

        snprintf(who, sizeof(who), "rank %u of 2 (config) on ", rank);
        T_EQ(strncmp(log, who, strlen(who)), 0);
        T_EQ(count_of(log, " of 2 (config) on "), 1); /* and not once more for each validation */
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

    T_EQ(count_of(log, "rank 0 of 1 (config) on "), 1);
    T_EQ(count_of(log, "plan: "), 1);
}

/* ---- the local rank -------------------------------------------------------------------------- */

/* "rank/world local_rank/local_world", or what is wrong, with these settings. */
static const char *local_of(uint32_t rank, uint32_t world, uint32_t local_rank,
                            uint32_t local_world)
{
    static char text[600];
    const sluice_ranks set = {0, rank, world, local_rank, local_world, NULL};
    sluice_ranks r;

    if (feed_find_ranks(&set, &r) != SLUICE_OK) {
        return sluice_last_error();
    }
    snprintf(text, sizeof(text), "%u/%u %u/%u", r.rank, r.world, r.local_rank, r.local_world);
    return text;
}

static void the_local_rank_is_that_of_the_variable_then_config_then_the_launcher(void)
{
    setenv("RANK", "5", 1);
    setenv("WORLD_SIZE", "8", 1);
    setenv("LOCAL_RANK", "1", 1);
    setenv("LOCAL_WORLD_SIZE", "4", 1);
    T_STR(local_of(0, 0, 0, 0), "5/8 1/4");
    T_STR(local_of(0, 0, 5, 8), "5/8 5/8");
    T_STR(local_of(5, 8, 0, 0), "5/8 1/4"); /* the launcher's rank, by config */
    T_STR(local_of(4, 8, 0, 0), "4/8 0/0"); /* not the launcher's */
    T_STR(local_of(5, 9, 0, 0), "5/9 0/0");
    setenv("SLUICE_LOCAL", "2/4", 1);
    T_STR(local_of(0, 0, 5, 8), "5/8 2/4");
    T_STR(local_of(3, 4, 0, 0), "3/4 2/4");
    T_CONTAINS(local_of(0, 2, 0, 0), "SLUICE_LOCAL is \"2/4\", and must be R/W");
    unsetenv("SLUICE_LOCAL");
    setenv("WORLD_SIZE", "x", 1);
    T_STR(local_of(5, 8, 0, 0), "5/8 0/0");
    unsetenv("RANK");
    unsetenv("WORLD_SIZE");
    unsetenv("LOCAL_RANK");
    unsetenv("LOCAL_WORLD_SIZE");
}

static void a_run_takes_its_local_rank_from_config(void)
{
    const char *log;
    kit k;

    kit_init(&k);
    k.config.max_steps = 1;
    k.config.rank = 1;
    k.config.world = 4;
    k.config.local_rank = 1;
    k.config.local_world = 2;
    k.config.nan_guard = SLUICE_NAN_COUNT;
    setenv("SLUICE_EXCHANGE_MS", "0", 1); /* the other rank of this machine never comes */
    sluice_log_set_level(SLUICE_LOG_INFO);
    kit_log_start(NULL, NULL);
    T_OK(kit_run(&k));
    log = kit_log_stop();
    T_CONTAINS(log, "rank 1 of 4 (config) on ");
    T_CONTAINS(log, ", local 1 of 2, host:0, ");
    T_CONTAINS(log, "; not divided among the ranks");
    sluice_log_set_level(SLUICE_LOG_WARN);
    k.config.local_rank = 2;
    T_STATUS(kit_run(&k), SLUICE_E_INVALID);
    T_CONTAINS(sluice_last_error(), "local_rank is 2, and must be less than local_world, 2");
    k.config.local_world = 5;
    T_STATUS(kit_run(&k), SLUICE_E_INVALID);
    T_CONTAINS(sluice_last_error(), "local_world is 5, and must be at most world, 4");
    unsetenv("SLUICE_EXCHANGE_MS");
    kit_fini(&k);
}

static void a_run_warns_once_of_a_leftover_of_another_job(void)
{
    const char *log;

    setenv("RANK", "0", 1);
    setenv("WORLD_SIZE", "1", 1);
    setenv("OMPI_COMM_WORLD_RANK", "3", 1);
    setenv("OMPI_COMM_WORLD_SIZE", "8", 1);
    log = log_of(0, 0, SLUICE_LOG_WARN);
    T_EQ(count_of(log, "OMPI_COMM_WORLD_SIZE is 8 (Open MPI): WORLD_SIZE counts"), 1);
    T_STR(log_of(0, 1, SLUICE_LOG_WARN), ""); /* config alone counts */
    unsetenv("RANK");
    unsetenv("WORLD_SIZE");
    unsetenv("OMPI_COMM_WORLD_RANK");
    unsetenv("OMPI_COMM_WORLD_SIZE");
}

const t_test rank_identity_tests[] = {
    T_TEST(the_line_has_what_is_known_and_nothing_else),
    T_TEST(every_rank_says_who_it_is_and_rank_0_what_will_happen),
    T_TEST(nothing_is_said_at_the_default_level),
    T_TEST(a_run_that_is_alone_says_both),
    T_TEST(the_local_rank_is_that_of_the_variable_then_config_then_the_launcher),
    T_TEST(a_run_takes_its_local_rank_from_config),
    T_TEST(a_run_warns_once_of_a_leftover_of_another_job),
    T_END,
};
