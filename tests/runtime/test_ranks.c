/* SPDX-License-Identifier: Apache-2.0 */
/* Who a process is, by what launchers leave in the environment. */
#include <stdlib.h>

#include "log_kit.h"
#include "ranks_int.h"
#include "testing.h"

static const char *const all[] = {"SLUICE_LOCAL",
                                  "RANK_ID",
                                  "RANK_SIZE",
                                  "MS_ROLE",
                                  "FLUX_TASK_RANK",
                                  "FLUX_JOB_SIZE",
                                  "FLUX_TASK_LOCAL_ID",
                                  "FLUX_JOB_NNODES",
                                  "RANK",
                                  "WORLD_SIZE",
                                  "LOCAL_RANK",
                                  "LOCAL_WORLD_SIZE",
                                  "OMPI_COMM_WORLD_RANK",
                                  "OMPI_COMM_WORLD_SIZE",
                                  "OMPI_COMM_WORLD_LOCAL_RANK",
                                  "OMPI_COMM_WORLD_LOCAL_SIZE",
                                  "MV2_COMM_WORLD_RANK",
                                  "MV2_COMM_WORLD_SIZE",
                                  "MV2_COMM_WORLD_LOCAL_RANK",
                                  "MV2_COMM_WORLD_LOCAL_SIZE",
                                  "PMI_RANK",
                                  "PMI_SIZE",
                                  "MPI_LOCALRANKID",
                                  "MPI_LOCALNRANKS",
                                  "SLURM_PROCID",
                                  "SLURM_STEP_NUM_TASKS",
                                  "SLURM_LOCALID",
                                  "SLURM_STEP_TASKS_PER_NODE",
                                  "SLURM_NODEID",
                                  "SLURM_NTASKS"};

enum { COUNT = sizeof(all) / sizeof(all[0]) };

/* Of the last find(): what sli_ranks_warn() logged, and what sli_ranks_local() found. */
static char warned[600];
static sluice_status local_status;
static uint32_t local_rank;

static void unset_all(void)
{
    for (size_t i = 0; i < COUNT; i++) {
        unsetenv(all[i]);
    }
}

/* Adds "NAME=value NAME=value" to the environment. */
static void set(const char *variables)
{
    char text[600];
    char *rest = NULL;

    snprintf(text, sizeof(text), "%s", variables);
    for (char *one = strtok_r(text, " ", &rest); one != NULL; one = strtok_r(NULL, " ", &rest)) {
        char *value = strchr(one, '=');

        *value = '\0';
        setenv(one, value + 1, 1);
    }
}

/* What is found with exactly these variables; the environment is then as it was. */
static sluice_status find(const char *variables, sluice_ranks *ranks_out)
{
    char *kept[COUNT];
    sluice_status st;

    for (size_t i = 0; i < COUNT; i++) {
        const char *value = getenv(all[i]);

        kept[i] = value != NULL ? strdup(value) : NULL;
    }
    unset_all();
    set(variables);
    *ranks_out = (sluice_ranks){.struct_size = sizeof(*ranks_out), .rank = 77};
    st = sluice_ranks_find(ranks_out);
    if (st == SLUICE_OK) {
        kit_log_start(NULL, NULL);
        sli_ranks_warn(ranks_out);
        snprintf(warned, sizeof(warned), "%s", kit_log_stop());
        local_rank = 77;
        local_status = sli_ranks_local(&local_rank);
    }
    unset_all();
    for (size_t i = 0; i < COUNT; i++) {
        if (kept[i] != NULL) {
            setenv(all[i], kept[i], 1);
            free(kept[i]);
        }
    }
    return st;
}

/* "rank/world local_rank/local_world source", or what is wrong. */
static const char *found(const char *variables)
{
    static char text[1100];
    sluice_ranks r;

    if (find(variables, &r) != SLUICE_OK) {
        return sluice_last_error();
    }
    T_EQ(r.struct_size, sizeof(r));
    snprintf(text, sizeof(text), "%u/%u %u/%u %s", r.rank, r.world, r.local_rank, r.local_world,
             r.source);
    return text;
}

/* Refused, with all of these parts in the text, and nothing is written. */
static void refused(const char *variables, const char *part, const char *also)
{
    sluice_ranks r;

    T_STATUS(find(variables, &r), SLUICE_E_INVALID);
    T_EQ(r.rank, 77);
    T_CONTAINS(sluice_last_error(), part);
    T_CONTAINS(sluice_last_error(), also);
}

/* ---- launchers ------------------------------------------------------------------------------- */

static void without_a_launcher_a_process_is_alone(void)
{
    T_STR(found(""), "0/1 0/1 alone");
    T_STR(found("LOCAL_RANK=3 LOCAL_WORLD_SIZE=2"), "0/1 0/1 alone");
    T_STR(found("RANK= WORLD_SIZE="), "0/1 0/1 alone");
}

static void each_launcher_is_understood(void)
{
    T_STR(found("RANK=5 WORLD_SIZE=8 LOCAL_RANK=1 LOCAL_WORLD_SIZE=4"), "5/8 1/4 torchrun");
    T_STR(found("OMPI_COMM_WORLD_RANK=5 OMPI_COMM_WORLD_SIZE=8 OMPI_COMM_WORLD_LOCAL_RANK=1 "
                "OMPI_COMM_WORLD_LOCAL_SIZE=4"),
          "5/8 1/4 Open MPI");
    T_STR(found("MV2_COMM_WORLD_RANK=5 MV2_COMM_WORLD_SIZE=8 MV2_COMM_WORLD_LOCAL_RANK=1 "
                "MV2_COMM_WORLD_LOCAL_SIZE=4"),
          "5/8 1/4 MVAPICH");
    T_STR(found("PMI_RANK=5 PMI_SIZE=8 MPI_LOCALRANKID=1 MPI_LOCALNRANKS=4"), "5/8 1/4 PMI");
    T_STR(found("SLURM_PROCID=5 SLURM_STEP_NUM_TASKS=8 SLURM_LOCALID=1 SLURM_NODEID=1 "
                "SLURM_STEP_TASKS_PER_NODE=4(x2)"),
          "5/8 1/4 Slurm");
    T_STR(found("RANK_ID=5 RANK_SIZE=8"), "5/8 0/0 msrun");
    T_STR(found("RANK_ID=5 RANK_SIZE=8 MS_ROLE=MS_WORKER"), "5/8 0/0 msrun");
    T_STR(found("FLUX_TASK_RANK=5 FLUX_JOB_SIZE=8 FLUX_TASK_LOCAL_ID=1 FLUX_JOB_NNODES=2"),
          "5/8 1/0 Flux");
}

static void flux_on_one_machine_has_its_local_world(void)
{
    T_STR(found("FLUX_TASK_RANK=5 FLUX_JOB_SIZE=8 FLUX_TASK_LOCAL_ID=5 FLUX_JOB_NNODES=1"),
          "5/8 5/8 Flux");
    refused("FLUX_TASK_RANK=5 FLUX_JOB_SIZE=8 FLUX_TASK_LOCAL_ID=9 FLUX_JOB_NNODES=1",
            "FLUX_TASK_LOCAL_ID is 9", "FLUX_JOB_SIZE");
    refused("FLUX_TASK_RANK=5 FLUX_JOB_SIZE=8 FLUX_TASK_LOCAL_ID=5 FLUX_JOB_NNODES=1x",
            "FLUX_JOB_NNODES is \"1x\"", "must be a number");
}

/* Such as an environment of another program that uses the name RANK_SIZE. */
static void half_of_msruns_variables_count_only_in_msrun(void)
{
    T_STR(found("RANK_SIZE=8"), "0/1 0/1 alone");
    T_STR(found("RANK_ID=8"), "0/1 0/1 alone");
    refused("RANK_SIZE=8 MS_ROLE=MS_WORKER", "RANK_SIZE is 8, but RANK_ID is not", "--node_rank");
}

/* It runs the same program, and has the RANK_ID of the first worker. */
static void the_scheduler_of_msrun_is_no_rank(void)
{
    refused("RANK_ID=0 RANK_SIZE=8 MS_ROLE=MS_SCHED", "MS_ROLE is MS_SCHED", "not a rank");
}

static void the_environment_is_read_each_time(void)
{
    T_STR(found("RANK=0 WORLD_SIZE=2 LOCAL_RANK=0 LOCAL_WORLD_SIZE=2"), "0/2 0/2 torchrun");
    T_STR(found("RANK=1 WORLD_SIZE=3 LOCAL_RANK=1 LOCAL_WORLD_SIZE=3"), "1/3 1/3 torchrun");
}

static void what_a_machine_holds_may_be_unknown(void)
{
    T_STR(found("PMI_RANK=5 PMI_SIZE=8"), "5/8 0/0 PMI");
    T_STR(found("RANK=5 WORLD_SIZE=8 LOCAL_RANK=3"), "5/8 3/0 torchrun");
    T_STR(found("RANK=5 WORLD_SIZE=8 LOCAL_WORLD_SIZE=4"), "5/8 0/0 torchrun");
    T_STR(found("RANK=0 WORLD_SIZE=1"), "0/1 0/1 torchrun");
    T_STR(found("SLURM_PROCID=5 SLURM_STEP_NUM_TASKS=8 SLURM_LOCALID=1 "
                "SLURM_STEP_TASKS_PER_NODE=4(x2)"),
          "5/8 1/0 Slurm");
}

/* ---- one within the other -------------------------------------------------------------------- */

/* A Slurm step of one torchrun on each of two machines. */
static void torchrun_within_slurm_says_who_it_is(void)
{
    T_STR(found("SLURM_PROCID=1 SLURM_STEP_NUM_TASKS=2 SLURM_LOCALID=0 SLURM_NODEID=1 "
                "SLURM_STEP_TASKS_PER_NODE=1(x2) "
                "RANK=6 WORLD_SIZE=8 LOCAL_RANK=2 LOCAL_WORLD_SIZE=4"),
          "6/8 2/4 torchrun");
}

/* mpirun starts its daemons as a Slurm step. */
static void mpi_within_slurm_says_who_it_is(void)
{
    T_STR(found("SLURM_PROCID=1 SLURM_STEP_NUM_TASKS=2 PMI_RANK=6 PMI_SIZE=8 MPI_LOCALRANKID=2 "
                "MPI_LOCALNRANKS=4"),
          "6/8 2/4 PMI");
    T_STR(found("SLURM_PROCID=1 SLURM_STEP_NUM_TASKS=2 OMPI_COMM_WORLD_RANK=3 "
                "OMPI_COMM_WORLD_SIZE=4"),
          "3/4 0/0 Open MPI");
}

static void torchrun_comes_before_mpi(void)
{
    T_STR(found("OMPI_COMM_WORLD_RANK=1 OMPI_COMM_WORLD_SIZE=2 PMI_RANK=1 PMI_SIZE=2 "
                "MV2_COMM_WORLD_RANK=1 MV2_COMM_WORLD_SIZE=2 "
                "RANK=6 WORLD_SIZE=8 LOCAL_RANK=2 LOCAL_WORLD_SIZE=4"),
          "6/8 2/4 torchrun");
}

/* mpirun of MPICH in a task of Flux; without it PMI_RANK is Flux's, and has no local rank. */
static void flux_comes_before_its_own_pmi_but_not_before_hydra(void)
{
    T_STR(found("FLUX_TASK_RANK=0 FLUX_JOB_SIZE=1 FLUX_TASK_LOCAL_ID=0 FLUX_JOB_NNODES=1 "
                "PMI_RANK=6 PMI_SIZE=8 MPI_LOCALRANKID=2 MPI_LOCALNRANKS=4"),
          "6/8 2/4 PMI");
    T_STR(found("FLUX_TASK_RANK=3 FLUX_JOB_SIZE=4 FLUX_TASK_LOCAL_ID=3 FLUX_JOB_NNODES=1 "
                "PMI_RANK=3 PMI_SIZE=4"),
          "3/4 3/4 Flux");
}

static void msrun_within_slurm_says_who_it_is(void)
{
    T_STR(found("SLURM_PROCID=1 SLURM_STEP_NUM_TASKS=2 SLURM_LOCALID=0 SLURM_NODEID=1 "
                "SLURM_STEP_TASKS_PER_NODE=1(x2) RANK_ID=6 RANK_SIZE=8"),
          "6/8 0/0 msrun");
}

static void the_script_of_sbatch_is_alone(void)
{
    T_STR(found("SLURM_PROCID=0 SLURM_LOCALID=0 SLURM_NODEID=0 SLURM_NTASKS=8"), "0/1 0/1 alone");
}

/* ---- launchers that contradict each other ---------------------------------------------------- */

static void a_leftover_of_a_smaller_job_is_warned_of(void)
{
    T_STR(found("RANK=0 WORLD_SIZE=1 OMPI_COMM_WORLD_RANK=3 OMPI_COMM_WORLD_SIZE=8"),
          "0/1 0/1 torchrun");
    T_CONTAINS(warned, "WORLD_SIZE is 1 (torchrun), but OMPI_COMM_WORLD_SIZE is 8 (Open MPI): "
                       "WORLD_SIZE counts, so this process is rank 0 of 1; unset RANK and "
                       "WORLD_SIZE");
    T_STR(found("OMPI_COMM_WORLD_RANK=0 OMPI_COMM_WORLD_SIZE=2 SLURM_PROCID=3 "
                "SLURM_STEP_NUM_TASKS=4"),
          "0/2 0/0 Open MPI");
    T_CONTAINS(warned, "OMPI_COMM_WORLD_SIZE counts");
}

/* One torchrun or mpirun on each machine; launchers that agree. */
static void a_job_within_a_smaller_one_is_not_warned_of(void)
{
    static const char *const good[] = {
        "",
        "RANK=0 WORLD_SIZE=1",
        "RANK=6 WORLD_SIZE=8 SLURM_PROCID=1 SLURM_STEP_NUM_TASKS=2",
        "RANK=6 WORLD_SIZE=8 OMPI_COMM_WORLD_RANK=6 OMPI_COMM_WORLD_SIZE=8",
        "RANK=0 WORLD_SIZE=1 OMPI_COMM_WORLD_RANK=3 OMPI_COMM_WORLD_SIZE=x",
        "RANK=0 WORLD_SIZE=1 RANK_SIZE=8",
        "RANK=0 WORLD_SIZE=1 SLURM_NTASKS=8 SLURM_PROCID=0"};

    for (size_t i = 0; i < sizeof(good) / sizeof(good[0]); i++) {
        (void)found(good[i]);
        T_STR(warned, "");
    }
}

/* ---- the local rank -------------------------------------------------------------------------- */

static void sluice_local_comes_before_the_launcher(void)
{
    T_STR(found("RANK_ID=5 RANK_SIZE=8 SLUICE_LOCAL=1/4"), "5/8 1/4 msrun");
    T_STR(found("RANK=5 WORLD_SIZE=8 LOCAL_RANK=x LOCAL_WORLD_SIZE=2 SLUICE_LOCAL=7/8"),
          "5/8 7/8 torchrun");
    T_STR(found("SLUICE_LOCAL=1/4"), "0/1 1/4 alone"); /* rank and world may be in config */
    T_STR(found("RANK=5 WORLD_SIZE=8 SLUICE_LOCAL="), "5/8 0/0 torchrun");
}

static void a_sluice_local_that_makes_no_sense_is_refused(void)
{
    static const char *const bad[] = {"1",   "1/",   "/2",    "2/2",  "0/0", "1/9",
                                      "a/2", "1/2x", "1/2/3", "-1/2", "1,2", "1/4294967296"};

    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        char variables[100];

        snprintf(variables, sizeof(variables), "RANK=5 WORLD_SIZE=8 SLUICE_LOCAL=%s", bad[i]);
        refused(variables, "SLUICE_LOCAL is \"", "must be R/W");
        T_CONTAINS(sluice_last_error(), bad[i]);
    }
}

static void an_unknown_local_rank_is_not_zero(void)
{
    (void)found("RANK=5 WORLD_SIZE=8 LOCAL_RANK=3");
    T_STATUS(local_status, SLUICE_OK);
    T_EQ(local_rank, 3);
    (void)found("");
    T_STATUS(local_status, SLUICE_OK);
    T_EQ(local_rank, 0);
    (void)found("PMI_RANK=5 PMI_SIZE=8");
    T_STATUS(local_status, SLUICE_E_INVALID);
    T_EQ(local_rank, 77);
    T_CONTAINS(sluice_last_error(), "PMI started 8 processes");
    T_CONTAINS(sluice_last_error(), "SLUICE_LOCAL=R/W");
    (void)found("PMI_RANK=5 PMI_SIZE=8 SLUICE_LOCAL=2/4");
    T_EQ(local_rank, 2);
}

/* ---- Slurm's list ---------------------------------------------------------------------------- */

static const char *on_node(const char *list, unsigned node)
{
    char variables[300];

    snprintf(variables, sizeof(variables),
             "SLURM_PROCID=0 SLURM_STEP_NUM_TASKS=99 SLURM_LOCALID=0 SLURM_NODEID=%u "
             "SLURM_STEP_TASKS_PER_NODE=%s",
             node, list);
    return found(variables);
}

static void slurm_lists_tasks_of_each_node(void)
{
    T_STR(on_node("4(x2),3", 0), "0/99 0/4 Slurm");
    T_STR(on_node("4(x2),3", 1), "0/99 0/4 Slurm");
    T_STR(on_node("4(x2),3", 2), "0/99 0/3 Slurm");
    T_STR(on_node("7,4(x4294967295)", 4294967295U), "0/99 0/4 Slurm");
    T_STR(on_node("2,1,5", 2), "0/99 0/5 Slurm");
}

static void a_list_without_the_node_is_refused(void)
{
    static const char *const bad[] = {"4(x2),3", "4(x2)", "4(x2", "4(y2),3",  "4x2",
                                      "4(x2)3",  "x",     "4,",   "4(x),3,3", "4(x2),,4"};

    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        const char *text = on_node(bad[i], 3);

        T_CONTAINS(text, bad[i]);
        T_CONTAINS(text, "has no entry 3 (SLURM_NODEID)");
    }
}

/* ---- what makes no sense --------------------------------------------------------------------- */

static void a_rank_without_a_size_is_refused(void)
{
    refused("RANK=3", "RANK is 3, but WORLD_SIZE is not set", "set both");
    refused("WORLD_SIZE=4", "WORLD_SIZE is 4, but RANK is not set", "set both");
    refused("OMPI_COMM_WORLD_RANK=3", "OMPI_COMM_WORLD_RANK is 3", "OMPI_COMM_WORLD_SIZE is not");
    refused("MV2_COMM_WORLD_RANK=3", "MV2_COMM_WORLD_RANK is 3", "MV2_COMM_WORLD_SIZE is not");
    refused("PMI_RANK=3", "PMI_RANK is 3", "PMI_SIZE is not set");
    refused("SLURM_STEP_NUM_TASKS=3", "SLURM_STEP_NUM_TASKS is 3", "SLURM_PROCID is not set");
}

static void what_is_no_number_is_refused(void)
{
    refused("RANK=one WORLD_SIZE=2", "RANK is \"one\"", "must be a number");
    refused("RANK=-1 WORLD_SIZE=2", "RANK is \"-1\"", "must be a number");
    refused("RANK=+1 WORLD_SIZE=2", "RANK is \"+1\"", "must be a number");
    refused("RANK=1 WORLD_SIZE=2x", "WORLD_SIZE is \"2x\"", "must be a number");
    refused("RANK=1 WORLD_SIZE=4294967296", "WORLD_SIZE is \"4294967296\"", "must be a number");
    refused("RANK=1 WORLD_SIZE=18446744073709551618", "WORLD_SIZE is", "must be a number");
    refused("RANK=1 WORLD_SIZE=2 LOCAL_RANK=a LOCAL_WORLD_SIZE=2", "LOCAL_RANK is \"a\"", "number");
    refused("RANK=1 WORLD_SIZE=2 LOCAL_RANK=1 LOCAL_WORLD_SIZE=b", "LOCAL_WORLD_SIZE is \"b\"", "");
    refused("SLURM_PROCID=0 SLURM_STEP_NUM_TASKS=2 SLURM_LOCALID=0 SLURM_NODEID=x "
            "SLURM_STEP_TASKS_PER_NODE=2",
            "SLURM_NODEID is \"x\"", "must be a number");
}

static void a_rank_beyond_its_size_is_refused(void)
{
    refused("RANK=2 WORLD_SIZE=2", "RANK is 2 and WORLD_SIZE is 2", "from 0 to one below the size");
    refused("RANK=0 WORLD_SIZE=0", "RANK is 0 and WORLD_SIZE is 0", "unset both");
    refused("RANK=1 WORLD_SIZE=4 LOCAL_RANK=2 LOCAL_WORLD_SIZE=2", "LOCAL_RANK is 2",
            "LOCAL_WORLD_SIZE is 2");
    refused("RANK=1 WORLD_SIZE=4 LOCAL_RANK=2 LOCAL_WORLD_SIZE=5", "LOCAL_WORLD_SIZE is 5",
            "of 4 processes in all (WORLD_SIZE)");
}

static void a_struct_without_its_size_is_refused(void)
{
    sluice_ranks ranks = {.struct_size = 0};

    T_STATUS(sluice_ranks_find(NULL), SLUICE_E_INVALID);
    T_STATUS(sluice_ranks_find(&ranks), SLUICE_E_INVALID);
    T_CONTAINS(sluice_last_error(), "struct_size of sluice_ranks is 0");
}

const t_test ranks_tests[] = {
    T_TEST(without_a_launcher_a_process_is_alone),
    T_TEST(each_launcher_is_understood),
    T_TEST(flux_on_one_machine_has_its_local_world),
    T_TEST(half_of_msruns_variables_count_only_in_msrun),
    T_TEST(the_scheduler_of_msrun_is_no_rank),
    T_TEST(flux_comes_before_its_own_pmi_but_not_before_hydra),
    T_TEST(msrun_within_slurm_says_who_it_is),
    T_TEST(a_leftover_of_a_smaller_job_is_warned_of),
    T_TEST(a_job_within_a_smaller_one_is_not_warned_of),
    T_TEST(sluice_local_comes_before_the_launcher),
    T_TEST(a_sluice_local_that_makes_no_sense_is_refused),
    T_TEST(an_unknown_local_rank_is_not_zero),
    T_TEST(the_environment_is_read_each_time),
    T_TEST(what_a_machine_holds_may_be_unknown),
    T_TEST(torchrun_within_slurm_says_who_it_is),
    T_TEST(mpi_within_slurm_says_who_it_is),
    T_TEST(torchrun_comes_before_mpi),
    T_TEST(the_script_of_sbatch_is_alone),
    T_TEST(slurm_lists_tasks_of_each_node),
    T_TEST(a_list_without_the_node_is_refused),
    T_TEST(a_rank_without_a_size_is_refused),
    T_TEST(what_is_no_number_is_refused),
    T_TEST(a_rank_beyond_its_size_is_refused),
    T_TEST(a_struct_without_its_size_is_refused),
    T_END,
};
