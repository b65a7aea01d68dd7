/* SPDX-License-Identifier: Apache-2.0 */
/* Rank and world size of this process, from environment variables of launchers. */
#include <sluice/ranks.h>

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "status_int.h"
#include "struct_size_int.h"

typedef struct launcher {
    const char *name;
    const char *rank; /* this field and the next four: names of environment variables */
    const char *world;
    const char *local_rank;
    const char *local_world;
    const char *node; /* holds this machine's index in the list that local_world then holds.
                         NULL: local_world is one number */
} launcher;

/*
 * In order of precedence: the innermost launcher first. torchrun and mpirun often run inside a
 * Slurm step with one task per machine. Their processes inherit SLURM_PROCID of that task, which as
 * a rank would be the same for all processes of a machine. For the same reason torchrun precedes
 * MPI, which may start it on many machines.
 */
static const launcher launchers[] = {
    {"torchrun", "RANK", "WORLD_SIZE", "LOCAL_RANK", "LOCAL_WORLD_SIZE", NULL},
    {"Open MPI", "OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE", "OMPI_COMM_WORLD_LOCAL_RANK",
     "OMPI_COMM_WORLD_LOCAL_SIZE", NULL},
    {"MVAPICH", "MV2_COMM_WORLD_RANK", "MV2_COMM_WORLD_SIZE", "MV2_COMM_WORLD_LOCAL_RANK",
     "MV2_COMM_WORLD_LOCAL_SIZE", NULL},
    {"PMI", "PMI_RANK", "PMI_SIZE", "MPI_LOCALRANKID", "MPI_LOCALNRANKS", NULL},
    {"Slurm", "SLURM_PROCID", "SLURM_STEP_NUM_TASKS", "SLURM_LOCALID", "SLURM_STEP_TASKS_PER_NODE",
     "SLURM_NODEID"},
};

/* The value of an environment variable; NULL: unset or empty. */
static const char *value_of(const char *name)
{
    const char *value = getenv(name);

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
                        "%s is \"%s\", want a number from 0 to 4294967295; correct it, or unset it "
                        "with the others of its launcher",
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

/* The number of processes on this machine; 0: unknown. */
static sluice_status find_local_world(const launcher *l, uint32_t *local_world_out)
{
    const char *value = value_of(l->local_world);
    const char *node_value = l->node != NULL ? value_of(l->node) : NULL;
    uint32_t node = 0;
    sluice_status st;

    *local_world_out = 0;
    if (value == NULL || (l->node != NULL && node_value == NULL)) {
        return SLUICE_OK;
    }
    if (l->node == NULL) {
        return number_of(l->local_world, value, local_world_out);
    }
    st = number_of(l->node, node_value, &node);
    if (st == SLUICE_OK && !find_in_list(value, node, local_world_out)) {
        st = sli_fail(SLUICE_E_INVALID,
                      "%s is \"%s\", which has no entry %u (%s); want numbers such as 4(x2),3; set "
                      "RANK and WORLD_SIZE, which come first",
                      l->local_world, value, node, l->node);
    }
    return st;
}

/* Sets the local rank and size, as far as the launcher provides them. */
static sluice_status find_local(const launcher *l, sluice_ranks *ranks)
{
    const char *value = value_of(l->local_rank);
    sluice_status st = find_local_world(l, &ranks->local_world);

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
    if (ranks->local_world > ranks->world ||
        (ranks->local_world > 0 && ranks->local_rank >= ranks->local_world)) {
        return sli_fail(SLUICE_E_INVALID,
                        "%s is %u and %s is %u, of %u processes in all (%s): want the first below "
                        "the second, and that not above the third",
                        l->local_rank, ranks->local_rank, l->local_world, ranks->local_world,
                        ranks->world, l->world);
    }
    return SLUICE_OK;
}

static sluice_status find_by(const launcher *l, const char *rank, const char *world,
                             sluice_ranks *ranks)
{
    sluice_status st;

    if (rank == NULL || world == NULL) {
        return sli_fail(SLUICE_E_INVALID, "%s is %s, but %s is not set; set both, or neither",
                        rank != NULL ? l->rank : l->world, rank != NULL ? rank : world,
                        rank != NULL ? l->world : l->rank);
    }
    st = number_of(l->rank, rank, &ranks->rank);
    if (st == SLUICE_OK) {
        st = number_of(l->world, world, &ranks->world);
    }
    if (st == SLUICE_OK && ranks->rank >= ranks->world) {
        st = sli_fail(SLUICE_E_INVALID,
                      "%s is %s and %s is %s: want a rank from 0 to one below the size; correct "
                      "them, or unset both",
                      l->rank, rank, l->world, world);
    }
    ranks->source = l->name;
    return st == SLUICE_OK ? find_local(l, ranks) : st;
}

static const sli_struct ranks_struct = SLI_STRUCT(sluice_ranks, source);

void sluice_ranks_init_size(sluice_ranks *ranks, size_t size)
{
    sli_struct_init(ranks, size);
}

sluice_status sluice_ranks_find(sluice_ranks *ranks_out)
{
    sluice_ranks ranks = {.world = 1, .local_world = 1, .source = "alone"};
    sluice_status st = sli_struct_check(&ranks_struct, "sluice_ranks_find", ranks_out);

    if (st != SLUICE_OK) {
        return st;
    }
    for (size_t i = 0; i < sizeof(launchers) / sizeof(launchers[0]); i++) {
        const launcher *l = &launchers[i];
        const char *world = value_of(l->world);
        const char *rank = value_of(l->rank);

        /* An sbatch script and an salloc shell have SLURM_PROCID set, but are not Slurm tasks. */
        if (world != NULL || (rank != NULL && l->node == NULL)) {
            st = find_by(l, rank, world, &ranks);
            break;
        }
    }
    return st == SLUICE_OK ? sli_struct_write(&ranks_struct, "sluice_ranks_find", &ranks, ranks_out)
                           : st;
}
