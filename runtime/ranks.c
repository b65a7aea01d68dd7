/* SPDX-License-Identifier: Apache-2.0 */
/* Rank and world size of this process, from environment variables of launchers. */
#include "ranks_int.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "log_int.h"
#include "status_int.h"
#include "struct_size_int.h"

/* The fields from rank to inner are names of environment variables; NULL: the launcher has none. */
typedef struct launcher {
    const char *name;
    const char *rank;
    const char *world;
    const char *local_rank;
    const char *local_world;
    const char *node;  /* holds this machine's index in the list that local_world then holds. NULL:
                          local_world is one number */
    const char *nodes; /* the number of machines: if it is 1, all ranks are on this one */
    const char *role;  /* if not NULL: rank without world, or the reverse, is an error only if this
                          variable is set, and ignored otherwise */
    const char *inner; /* set by a launcher that runs inside this one; if it is set, this launcher
                          is skipped */
} launcher;

/*
 * In order of precedence: the innermost launcher first. torchrun, msrun and mpirun often run inside
 * a Slurm step with one task per machine. Their processes inherit SLURM_PROCID of that task, which
 * as a rank would be the same for all processes of a machine. For the same reason torchrun and
 * msrun precede MPI, which may start them on many machines. Flux sets PMI_RANK and PMI_SIZE, too,
 * so it precedes PMI, unless Hydra runs inside a task of Flux.
 */
static const launcher launchers[] = {
    {.name = "torchrun",
     .rank = "RANK",
     .world = "WORLD_SIZE",
     .local_rank = "LOCAL_RANK",
     .local_world = "LOCAL_WORLD_SIZE"},
    {.name = "msrun", .rank = "RANK_ID", .world = "RANK_SIZE", .role = "MS_ROLE"},
    {.name = "Open MPI",
     .rank = "OMPI_COMM_WORLD_RANK",
     .world = "OMPI_COMM_WORLD_SIZE",
     .local_rank = "OMPI_COMM_WORLD_LOCAL_RANK",
     .local_world = "OMPI_COMM_WORLD_LOCAL_SIZE"},
    {.name = "MVAPICH",
     .rank = "MV2_COMM_WORLD_RANK",
     .world = "MV2_COMM_WORLD_SIZE",
     .local_rank = "MV2_COMM_WORLD_LOCAL_RANK",
     .local_world = "MV2_COMM_WORLD_LOCAL_SIZE"},
    {.name = "Flux",
     .rank = "FLUX_TASK_RANK",
     .world = "FLUX_JOB_SIZE",
     .local_rank = "FLUX_TASK_LOCAL_ID",
     .nodes = "FLUX_JOB_NNODES",
     .inner = "MPI_LOCALRANKID"},
    {.name = "PMI",
     .rank = "PMI_RANK",
     .world = "PMI_SIZE",
     .local_rank = "MPI_LOCALRANKID",
     .local_world = "MPI_LOCALNRANKS"},
    {.name = "Slurm",
     .rank = "SLURM_PROCID",
     .world = "SLURM_STEP_NUM_TASKS",
     .local_rank = "SLURM_LOCALID",
     .local_world = "SLURM_STEP_TASKS_PER_NODE",
     .node = "SLURM_NODEID"},
};

enum { LAUNCHERS = sizeof(launchers) / sizeof(launchers[0]) };

static const char LOCAL[] = "SLUICE_LOCAL";

/* The value of an environment variable; NULL: unset, empty, or `name` is NULL. */
static const char *value_of(const char *name)
{
    const char *value = name != NULL ? getenv(name) : NULL;

    return value != NULL && value[0] != '\0' ? value : NULL;
}

/* Parses a number that ends at one of `ends`, and moves *text there; false: not a number. */
static bool read_number(const char **text, const char *ends, uint32_t *number_out)
{
    const size_t digits = strspn(*text, "0123456789");
    const char end = (*text)[digits];
    uint64_t number;

    if (digits == 0 || digits > 10 || (end != '\0' && strchr(ends, end) == NULL)) {
        return false;
    }
    number = strtoull(*text, NULL, 10);
    *text += digits;
    *number_out = (uint32_t)number;
    return number <= UINT32_MAX;
}

static sluice_status number_of(const char *name, const char *value, uint32_t *number_out)
{
    const char *text = value;

    if (!read_number(&text, "", number_out)) {
        return sli_fail(SLUICE_E_INVALID,
                        "%s is \"%s\", and must be a number from 0 to 4294967295; correct it, or "
                        "unset it with the others of its launcher",
                        name, value);
    }
    return SLUICE_OK;
}

/* Entry `node` of a list such as "4(x2),3", which means 4, 4, 3; false: no such entry. */
static bool find_in_list(const char *list, uint32_t node, uint32_t *number_out)
{
    const char *text = list;
    uint64_t seen = 0;

    while (seen <= node) {
        uint32_t times = 1;

        if (!read_number(&text, "(,", number_out)) {
            return false;
        }
        if (text[0] == '(') {
            if (text[1] != 'x') {
                return false;
            }
            text += 2;
            if (!read_number(&text, ")", &times) || *text++ != ')') {
                return false;
            }
        }
        seen += times;
        if (seen <= node && *text++ != ',') {
            return false;
        }
    }
    return true;
}

/* Sets the local world to the world if the job has one machine, else to 0: not known. */
static sluice_status find_nodes(const launcher *l, uint32_t world, uint32_t *local_world_out)
{
    const char *value = value_of(l->nodes);
    uint32_t nodes = 0;
    sluice_status st = value != NULL ? number_of(l->nodes, value, &nodes) : SLUICE_OK;

    *local_world_out = nodes == 1 ? world : 0;
    return st;
}

/* The number of processes on this machine; 0: unknown. */
static sluice_status find_local_world(const launcher *l, uint32_t world, uint32_t *local_world_out)
{
    const char *value = value_of(l->local_world);
    const char *node_value = l->node != NULL ? value_of(l->node) : NULL;
    uint32_t node = 0;
    sluice_status st;

    if (l->nodes != NULL) {
        return find_nodes(l, world, local_world_out);
    }
    *local_world_out = 0;
    if (value == NULL || (l->node != NULL && node_value == NULL)) {
        return SLUICE_OK;
    }
    if (l->node == NULL) {
        return number_of(l->local_world, value, local_world_out);
    }
    st = number_of(l->node, node_value, &node);
    if (st == SLUICE_OK && !find_in_list(value, node, local_world_out)) {
        st = sli_fail(
            SLUICE_E_INVALID,
            "%s is \"%s\", which has no entry %u (%s); it must have a number for each node, such "
            "as 4(x2),3; correct it, or set RANK and WORLD_SIZE, which take precedence",
            l->local_world, value, node, l->node);
    }
    return st;
}

static sluice_status check_local(const launcher *l, const sluice_ranks *ranks)
{
    if (ranks->local_world == 0 ||
        (ranks->local_world <= ranks->world && ranks->local_rank < ranks->local_world)) {
        return SLUICE_OK;
    }
    return sli_fail(SLUICE_E_INVALID,
                    "%s is %u and %s is %u, of %u processes in all (%s): the first must be below "
                    "the second, and the second at most the third; %s=R/W overrides them",
                    l->local_rank, ranks->local_rank,
                    l->local_world != NULL ? l->local_world : l->world, ranks->local_world,
                    ranks->world, l->world, LOCAL);
}

/* Sets the local rank and size, as far as the launcher provides them. */
static sluice_status find_local(const launcher *l, sluice_ranks *ranks, bool *has_local_out)
{
    const char *value = value_of(l->local_rank);
    sluice_status st = find_local_world(l, ranks->world, &ranks->local_world);

    if (st == SLUICE_OK && value != NULL) {
        st = number_of(l->local_rank, value, &ranks->local_rank);
    }
    if (st != SLUICE_OK) {
        return st;
    }
    if (value == NULL) {
        ranks->local_world = 0; /* useless without a local rank */
    }
    if (ranks->world == 1 && ranks->local_world == 0 && ranks->local_rank == 0) {
        ranks->local_world = 1;
    }
    *has_local_out = value != NULL || ranks->world == 1;
    return check_local(l, ranks);
}

sluice_status sli_ranks_override_local(sluice_ranks *ranks, uint32_t most)
{
    const char *value = value_of(LOCAL);
    const char *text = value;
    uint32_t rank;
    uint32_t world;

    if (value == NULL) {
        return SLUICE_OK;
    }
    if (!read_number(&text, "/", &rank) || *text++ != '/' || !read_number(&text, "", &world) ||
        rank >= world || world > most) {
        return sli_fail(SLUICE_E_INVALID,
                        "environment: %s is \"%.100s\", and must be R/W: the rank of this process "
                        "among those of the job on this machine, from 0, and their number, such as "
                        "1/4, at most %u; correct it, or unset it",
                        LOCAL, value, most);
    }
    ranks->local_rank = rank;
    ranks->local_world = world;
    return SLUICE_OK;
}

/* Fails in msrun's scheduler: msrun starts the program one extra time for it, with RANK_ID 0. */
static sluice_status check_role(const launcher *l)
{
    const char *role = value_of(l->role);

    if (role != NULL && strcmp(role, "MS_SCHED") == 0) {
        return sli_fail(SLUICE_E_INVALID,
                        "%s is MS_SCHED: this process is the scheduler of msrun, and not a rank; "
                        "end the program there before it trains",
                        l->role);
    }
    return SLUICE_OK;
}

static sluice_status find_by(const launcher *l, sluice_ranks *ranks, bool *has_local_out)
{
    const char *rank = value_of(l->rank);
    const char *world = value_of(l->world);
    sluice_status st = check_role(l);

    if (st == SLUICE_OK && (rank == NULL || world == NULL)) {
        st = sli_fail(SLUICE_E_INVALID, "%s is %s, but %s is not set; set both, or neither%s",
                      rank != NULL ? l->rank : l->world, rank != NULL ? rank : world,
                      rank != NULL ? l->world : l->rank,
                      l->role != NULL ? " (msrun sets RANK_ID on several machines only with "
                                        "--node_rank)"
                                      : "");
    }
    if (st == SLUICE_OK) {
        st = number_of(l->rank, rank, &ranks->rank);
    }
    if (st == SLUICE_OK) {
        st = number_of(l->world, world, &ranks->world);
    }
    if (st == SLUICE_OK && ranks->rank >= ranks->world) {
        st = sli_fail(SLUICE_E_INVALID,
                      "%s is %s and %s is %s: the rank must be from 0 to one below the size; "
                      "correct them, or unset both",
                      l->rank, rank, l->world, world);
    }
    ranks->source = l->name;
    if (st == SLUICE_OK && value_of(LOCAL) != NULL) {
        *has_local_out = true;
        return sli_ranks_override_local(ranks, ranks->world);
    }
    return st == SLUICE_OK ? find_local(l, ranks, has_local_out) : st;
}

/* True if this launcher started this process, judging by its variables. */
static bool has_started(const launcher *l)
{
    const bool has_rank = value_of(l->rank) != NULL;
    const bool has_world = value_of(l->world) != NULL;

    if (value_of(l->inner) != NULL) {
        return false;
    }
    if (has_rank && has_world) {
        return true;
    }
    if (l->role != NULL) {
        return (has_rank || has_world) && value_of(l->role) != NULL;
    }
    /* An sbatch script and an salloc shell have SLURM_PROCID set, but are not Slurm tasks. */
    return has_world || (has_rank && l->node == NULL);
}

/* Finds the ranks. *has_local_out: true if the local rank is known. */
static sluice_status find(sluice_ranks *ranks, bool *has_local_out)
{
    *ranks = (sluice_ranks){sizeof(*ranks), 0, 1, 0, 1, "alone"};
    *has_local_out = true;
    for (size_t i = 0; i < LAUNCHERS; i++) {
        if (has_started(&launchers[i])) {
            *has_local_out = false;
            ranks->local_world = 0;
            return find_by(&launchers[i], ranks, has_local_out);
        }
    }
    /* Rank and world may come from the run's config, so 1 is not a bound of SLUICE_LOCAL. */
    return sli_ranks_override_local(ranks, UINT32_MAX);
}

sluice_status sli_ranks_local(uint32_t *local_rank_out)
{
    sluice_ranks ranks;
    bool has_local;
    sluice_status st = find(&ranks, &has_local);

    if (st == SLUICE_OK && !has_local) {
        st = sli_fail(SLUICE_E_INVALID,
                      "the local rank is not known: %s started %u processes and does not set it; "
                      "set %s=R/W, the rank of this process among those on its machine",
                      ranks.source, ranks.world, LOCAL);
    }
    if (st == SLUICE_OK) {
        *local_rank_out = ranks.local_rank;
    }
    return st;
}

bool sli_ranks_find_outer(const sluice_ranks *ranks, sli_outer_launcher *outer_out)
{
    const launcher *used = NULL;

    for (size_t i = 0; i < LAUNCHERS; i++) {
        const launcher *l = &launchers[i];
        const char *text = value_of(l->world);
        uint32_t world;

        if (strcmp(l->name, ranks->source) == 0) {
            used = l;
        } else if (used != NULL && has_started(l) && read_number(&text, "", &world) &&
                   world > ranks->world) {
            *outer_out =
                (sli_outer_launcher){l->name, l->world, world, used->name, used->rank, used->world};
            return true;
        }
    }
    return false;
}

void sli_ranks_warn(const sluice_ranks *ranks)
{
    sli_outer_launcher l;

    if (sli_ranks_find_outer(ranks, &l)) {
        sli_log(SLUICE_LOG_WARN,
                "%s is %u (%s), but %s is %u (%s): %s counts, so this process is rank %u of "
                "%u; unset %s and %s if they are left from another job",
                l.inner_world, ranks->world, l.inner, l.world_name, l.world, l.name, l.inner_world,
                ranks->rank, ranks->world, l.inner_rank, l.inner_world);
    }
}

static const sli_struct ranks_struct = SLI_STRUCT(sluice_ranks, source);

sluice_status sluice_ranks_find(sluice_ranks *ranks_out)
{
    sluice_ranks ranks;
    bool has_local;
    sluice_status st = sli_struct_check(&ranks_struct, "sluice_ranks_find", ranks_out);

    if (st == SLUICE_OK) {
        st = find(&ranks, &has_local);
    }
    return st == SLUICE_OK ? sli_struct_write(&ranks_struct, "sluice_ranks_find", &ranks, ranks_out)
                           : st;
}
