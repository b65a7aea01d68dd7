/* SPDX-License-Identifier: Apache-2.0 */
#include "launch_lines.h"

#include "placement_report.h"

typedef struct launch {
    const sli_topology *topology;
    sli_placement *const *plans; /* (ranks) */
    uint32_t ranks;
    sli_text *text;
} launch;

/*
 * Adds "numactl --physcpubind=0-3 --preferred=0". Memory is preferred, not bound, so that a full
 * node does not end a rank.
 */
static void add_numactl(const launch *l, uint32_t rank)
{
    const sli_placement *plan = l->plans[rank];

    sli_text_add(l->text, "numactl --physcpubind=");
    sli_cpus_write(&plan->device_cpus, l->text);
    if (plan->memory_node >= 0) {
        sli_text_add(l->text, " --preferred=%d", plan->memory_node);
    }
}

static void print_numactl(const launch *l)
{
    for (uint32_t r = 0; r < l->ranks; r++) {
        sli_text_add(l->text, "RANK=%u WORLD_SIZE=%u LOCAL_RANK=%u LOCAL_WORLD_SIZE=%u ", r,
                     l->ranks, r, l->ranks);
        add_numactl(l, r);
        sli_text_add(l->text, " ./train &\n");
    }
    sli_text_add(l->text, "wait\n");
}

/* Adds the core numbers (sli_core.id) of the rank's cores, for a rankfile of Open MPI: "0-3,8". */
static void add_cores(const launch *l, uint32_t rank)
{
    const sli_cpus *cpus = &l->plans[rank]->device_cpus;
    sli_cpus cores = {{0}};

    for (uint32_t c = 0; c < l->topology->all_core_count; c++) {
        const sli_core *core = &l->topology->all_cores[c];

        for (size_t i = 0; i < SLI_MAX_CPUS / 64 && core->id < SLI_MAX_CPUS; i++) {
            if ((core->cpus.bits[i] & cpus->bits[i]) != 0) {
                sli_cpus_add(&cores, core->id);
            }
        }
    }
    sli_cpus_write(&cores, l->text);
}

static void print_mpirun(const launch *l)
{
    sli_text_add(l->text, "cat >rankfile <<'END'\n");
    for (uint32_t r = 0; r < l->ranks; r++) {
        sli_text_add(l->text, "rank %u=localhost slot=", r);
        add_cores(l, r);
        sli_text_add(l->text, "\n");
    }
    sli_text_add(l->text, "END\nmpirun -n %u --rankfile rankfile ./train\n", l->ranks);
}

/* Adds a mask of CPUs, in hexadecimal, without leading zeros. */
static void add_mask(const sli_cpus *cpus, sli_text *text)
{
    bool begun = false;

    sli_text_add(text, "0x");
    for (size_t i = SLI_MAX_CPUS / 64; i-- > 0;) {
        if (begun) {
            sli_text_add(text, "%016llx", (unsigned long long)cpus->bits[i]);
        } else if (cpus->bits[i] != 0) {
            sli_text_add(text, "%llx", (unsigned long long)cpus->bits[i]);
            begun = true;
        }
    }
}

static void print_srun(const launch *l)
{
    sli_text_add(l->text, "srun --ntasks-per-node=%u --cpu-bind=mask_cpu:", l->ranks);
    for (uint32_t r = 0; r < l->ranks; r++) {
        sli_text_add(l->text, r > 0 ? "," : "");
        add_mask(&l->plans[r]->device_cpus, l->text);
    }
    sli_text_add(l->text, " ./train\n");
}

/* torchrun does not bind processes: each one executes numactl, which executes the program. */
static void print_torchrun(const launch *l)
{
    sli_text_add(l->text, "torchrun --no-python --nproc-per-node=%u sh -c '\ncase $LOCAL_RANK in\n",
                 l->ranks);
    for (uint32_t r = 0; r < l->ranks; r++) {
        sli_text_add(l->text, "%u) exec ", r);
        add_numactl(l, r);
        sli_text_add(l->text, " ./train ;;\n");
    }
    sli_text_add(l->text, "esac'\n");
}

static void (*const launchers[])(const launch *l) = {
    [SLUICE_LAUNCHER_NUMACTL] = print_numactl,
    [SLUICE_LAUNCHER_MPIRUN] = print_mpirun,
    [SLUICE_LAUNCHER_SRUN] = print_srun,
    [SLUICE_LAUNCHER_TORCHRUN] = print_torchrun,
};

bool sli_launcher_is_known(sluice_launcher launcher)
{
    const size_t number = (size_t)launcher;

    return number < sizeof(launchers) / sizeof(launchers[0]) && launchers[number] != NULL;
}

void sli_launch_lines_print(sluice_launcher launcher, const sli_topology *topology,
                            sli_placement *const *plans, uint32_t ranks, sli_text *text)
{
    const launch l = {topology, plans, ranks, text};

    launchers[launcher](&l);
}
