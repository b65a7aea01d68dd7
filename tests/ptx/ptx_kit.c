/* SPDX-License-Identifier: Apache-2.0 */
#include "ptx_kit.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *const units[] = {"getnext", "step_kernels"};

enum { UNITS = sizeof(units) / sizeof(units[0]) };

static ptx_module *modules[UNITS];
static ptx_counts total;
static pthread_once_t loaded = PTHREAD_ONCE_INIT;

static const char *variable(const char *name, const char *otherwise)
{
    const char *value = getenv(name);

    return value != NULL && *value != '\0' ? value : otherwise;
}

static void count(const ptx_counts *counts)
{
    __atomic_fetch_add(&total.instructions, counts->instructions, __ATOMIC_RELAXED);
    __atomic_fetch_add(&total.loads, counts->loads, __ATOMIC_RELAXED);
    __atomic_fetch_add(&total.stores, counts->stores, __ATOMIC_RELAXED);
}

void ptx_kit_run(const ptx_launch *launch)
{
    ptx_counts counts = {0, 0, 0};

    ptx_run(launch, &counts);
    count(&counts);
}

static void print_counts(void)
{
    fprintf(stderr, "ptx: %llu instructions, %llu loads, %llu stores\n",
            (unsigned long long)total.instructions, (unsigned long long)total.loads,
            (unsigned long long)total.stores);
}

static ptx_module *load_unit(unsigned unit, const char *edit, uint32_t *edits)
{
    const char *folder = variable("SLUICE_PTX", SLUICE_PTX_FOLDER);
    char path[512];

    snprintf(path, sizeof(path), "%s/%s_%s.ptx", folder, units[unit],
             variable("SLUICE_PTX_TARGET", SLUICE_PTX_FIRST));
    return ptx_module_load(path, edit, edits);
}

ptx_module *ptx_kit_mutant(const char *kernel, const char *edit)
{
    const unsigned unit = strncmp(kernel, "step_", 5) == 0 ? 1 : 0; /* of units[] */
    uint32_t edits = 0;
    ptx_module *mutant = load_unit(unit, edit, &edits);

    if (edits == 0) {
        fprintf(stderr, "ptx: %s changes nothing\n", edit);
        abort();
    }
    return mutant;
}

static void load(void)
{
    const char *edit = variable("SLUICE_PTX_EDIT", NULL);
    uint32_t edits = 0;

    for (unsigned i = 0; i < UNITS; i++) {
        modules[i] = load_unit(i, edit, &edits);
    }
    if (edit != NULL && edits == 0) {
        fprintf(stderr, "ptx: SLUICE_PTX_EDIT=%s changes nothing\n", edit);
        abort();
    }
    atexit(print_counts);
}

const ptx_kernel *ptx_kit_kernel(const char *name)
{
    const ptx_kernel *kernel = NULL;

    pthread_once(&loaded, load);
    for (unsigned i = 0; i < UNITS && kernel == NULL; i++) {
        kernel = ptx_module_find(modules[i], name);
    }
    if (kernel == NULL) {
        fprintf(stderr, "ptx: no kernel %s\n", name);
        abort();
    }
    return kernel;
}

const char *ptx_kit_gather_name(sli_gather_path path)
{
    static const char *const names[] = {
        [SLI_GATHER_COPY] = "sli_kernel_gather_copy",
        [SLI_GATHER_ANY] = "sli_kernel_gather_any",
        [SLI_GATHER_PLANES_F32] = "sli_kernel_gather_planes_f32",
        [SLI_GATHER_PLANES_F16] = "sli_kernel_gather_planes_f16",
        [SLI_GATHER_PLANES_BF16] = "sli_kernel_gather_planes_bf16",
        [SLI_GATHER_PACKED_F32] = "sli_kernel_gather_packed_f32",
        [SLI_GATHER_PACKED_F16] = "sli_kernel_gather_packed_f16",
        [SLI_GATHER_PACKED_BF16] = "sli_kernel_gather_packed_bf16",
        [SLI_GATHER_WINDOWS] = "sli_kernel_gather_windows",
        [SLI_GATHER_RAGGED] = "sli_kernel_gather_ragged",
        [SLI_GATHER_PROGRAM] = "sli_kernel_gather_program",
        [SLI_GATHER_PROGRAM_PLANES_F32] = "sli_kernel_gather_program_planes_f32",
        [SLI_GATHER_PROGRAM_PLANES_F16] = "sli_kernel_gather_program_planes_f16",
        [SLI_GATHER_PROGRAM_PLANES_BF16] = "sli_kernel_gather_program_planes_bf16",
        [SLI_GATHER_PROGRAM_PACKED_F32] = "sli_kernel_gather_program_packed_f32",
        [SLI_GATHER_PROGRAM_PACKED_F16] = "sli_kernel_gather_program_packed_f16",
        [SLI_GATHER_PROGRAM_PACKED_BF16] = "sli_kernel_gather_program_packed_bf16",
        [SLI_GATHER_MIX] = "sli_kernel_gather_mix",
        [SLI_GATHER_MIX_PLANES_F32] = "sli_kernel_gather_mix_planes_f32",
        [SLI_GATHER_MIX_PLANES_F16] = "sli_kernel_gather_mix_planes_f16",
        [SLI_GATHER_MIX_PLANES_BF16] = "sli_kernel_gather_mix_planes_bf16",
        [SLI_GATHER_MIX_PACKED_F32] = "sli_kernel_gather_mix_packed_f32",
        [SLI_GATHER_MIX_PACKED_F16] = "sli_kernel_gather_mix_packed_f16",
        [SLI_GATHER_MIX_PACKED_BF16] = "sli_kernel_gather_mix_packed_bf16",
    };
    _Static_assert(sizeof(names) / sizeof(names[0]) == SLI_GATHER_PATHS, "each path has a kernel");

    return names[path];
}

static uint64_t no_clock(void)
{
    return 0;
}

static void no_pause(uint32_t ns)
{
    (void)ns;
}

/* A ring of one slot, whose batch has the number 9, in a grid of one block. */
static void run_thread(const sli_gather *gather, const uint8_t *slot, uint32_t t, uint32_t n,
                       sli_gather_path path, ptx_access_hook *access, ptx_counts *counts)
{
    const ptx_host still = {.now_ns = no_clock, .pause = no_pause, .access = access};
    sli_getnext_state state;
    uint64_t consumed = 0;
    sli_getnext getnext = {.slots = slot, .ring = {.consumed = &consumed, .slots = 1}};
    const ptx_launch launch = {.kernel = ptx_kit_kernel(ptx_kit_gather_name(path)),
                               .host = &still,
                               .params = {&getnext, gather},
                               .blocks = 1,
                               .threads = n};

    sli_getnext_state_init(&state);
    state.end = SLI_GETNEXT_GOES_ON;
    state.seq = 9;
    getnext.state = &state;
    ptx_run_thread(&launch, t, counts);
    if (consumed != (t == 0 ? 9U : 0U)) {
        fprintf(stderr, "ptx: thread %u of one block releases batch %llu\n", t,
                (unsigned long long)consumed);
        abort();
    }
}

void ptx_kit_gather_thread(const sli_gather *gather, const uint8_t *slot, uint32_t t, uint32_t n,
                           sli_gather_path path, ptx_access_hook *access)
{
    ptx_counts counts = {0, 0, 0};

    run_thread(gather, slot, t, n, path, access, &counts);
    count(&counts);
}

void ptx_kit_gather_counts(const sli_gather *gather, const uint8_t *slot, ptx_counts *counts)
{
    run_thread(gather, slot, 0, 1, (sli_gather_path)gather->path, NULL, counts);
}

static void set_condition(uint64_t handle, uint32_t value)
{
    *(uint32_t *)(uintptr_t)handle = value;
}

bool ptx_kit_control(const char *kernel, const sli_getnext *getnext, const ptx_host *host)
{
    uint32_t condition = UINT32_MAX;
    ptx_host with_condition = *host;
    sli_getnext conditional = *getnext;
    const ptx_launch launch = {.kernel = ptx_kit_kernel(kernel),
                               .host = &with_condition,
                               .params = {&conditional},
                               .blocks = 1,
                               .threads = 1};

    with_condition.set_conditional = set_condition;
    conditional.has_conditional = 1;
    conditional.conditional = (uint64_t)(uintptr_t)&condition;
    ptx_kit_run(&launch);
    if (condition > 1) {
        fprintf(stderr, "ptx: %s does not set the loop's condition\n", kernel);
        abort();
    }
    return condition == 1;
}
