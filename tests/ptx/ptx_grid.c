/* SPDX-License-Identifier: Apache-2.0 */
/* Modules, and the threads of a grid in turns. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ptx_order.h"

/* More than any kernel of ours runs in a thread; one that does not end ends the process. */
enum { MOST_INSTRUCTIONS = 2000000000 };

_Noreturn void ptx_fail_text(const char *path, uint32_t line, const char *text, const char *what)
{
    fprintf(stderr, "ptx: %s, line %u: %.60s: %s\n", path, line, text, what);
    abort();
}

_Noreturn void ptx_fail(const ptx_thread *thread, const ptx_insn *insn, const char *what)
{
    fprintf(stderr, "ptx: %s, line %u, kernel %s, block %u, thread %u: %s\n",
            thread->launch->kernel->path, insn->line, thread->launch->kernel->name, thread->block,
            thread->index, what);
    abort();
}

/* ---- modules --------------------------------------------------------------------------------- */

static char *text_of(const char *path)
{
    FILE *file = fopen(path, "rb");
    char *text;
    long bytes;

    if (file == NULL || fseek(file, 0, SEEK_END) != 0 || (bytes = ftell(file)) <= 0) {
        ptx_fail_text(path, 0, "", "cannot be read");
    }
    rewind(file);
    text = calloc(1, (size_t)bytes + 1);
    if (text == NULL || fread(text, 1, (size_t)bytes, file) != (size_t)bytes) {
        ptx_fail_text(path, 0, "", "cannot be read");
    }
    fclose(file);
    return text;
}

/* Replaces all of FROM by TO, which is not longer than FROM; blanks fill the rest. */
static uint32_t edit_text(char *text, const char *edit)
{
    const char *arrow = strstr(edit, "=>");
    const size_t from = arrow != NULL ? (size_t)(arrow - edit) : 0;
    const size_t to = arrow != NULL ? strlen(arrow + 2) : 0;
    uint32_t count = 0;

    if (from == 0 || to > from) {
        ptx_fail_text("SLUICE_PTX_EDIT", 0, edit, "must be FROM=>TO, TO not longer than FROM");
    }
    for (char *at = text; *at != '\0'; at++) {
        if (strncmp(at, edit, from) == 0) {
            memset(at, ' ', from);
            memcpy(at, arrow + 2, to);
            count++;
        }
    }
    return count;
}

ptx_module *ptx_module_load(const char *path, const char *edit, uint32_t *edits_out)
{
    ptx_module *module = calloc(1, sizeof(*module));
    char *text = text_of(path);

    if (module == NULL) {
        abort();
    }
    snprintf(module->path, sizeof(module->path), "%s", path);
    if (edit != NULL) {
        *edits_out += edit_text(text, edit);
    }
    ptx_parse(module, text);
    free(text);
    return module;
}

void ptx_module_free(ptx_module *module)
{
    for (size_t i = 0; i < module->kernel_count; i++) {
        free(module->kernels[i].insns);
        free(module->kernels[i].initial);
    }
    free(module->kernels);
    free(module);
}

const ptx_kernel *ptx_module_find(const ptx_module *module, const char *name)
{
    for (size_t i = 0; i < module->kernel_count; i++) {
        if (strcmp(module->kernels[i].name, name) == 0) {
            return &module->kernels[i];
        }
    }
    return NULL;
}

size_t ptx_kernel_param_bytes(const ptx_kernel *kernel, unsigned param)
{
    return param < PTX_PARAMS ? kernel->param_bytes[param] : 0;
}

/* ---- threads --------------------------------------------------------------------------------- */

static void thread_begin(ptx_thread *thread, uint32_t block, uint32_t index)
{
    const ptx_launch *launch = thread->launch;

    memcpy(thread->r, launch->kernel->initial, launch->kernel->constant_count * sizeof(*thread->r));
    thread->r[PTX_TID] = index;
    thread->r[PTX_NTID] = launch->threads;
    thread->r[PTX_CTAID] = block;
    thread->r[PTX_NCTAID] = launch->blocks;
    thread->r[PTX_PARAM_0] = (uint64_t)(uintptr_t)launch->params[0];
    thread->r[PTX_PARAM_1] = (uint64_t)(uintptr_t)launch->params[1];
    thread->pc = 0;
    thread->state = PTX_RUNS;
    thread->block = block;
    thread->index = index;
}

/* Until it ends or waits. */
static void thread_run(ptx_thread *thread)
{
    const ptx_insn *insns = thread->launch->kernel->insns;
    uint64_t count = 0;

    while (thread->state == PTX_RUNS) {
        const ptx_insn *insn = &insns[thread->pc++];

        if (insn->guard == PTX_NO_GUARD || (thread->r[insn->guard] != 0) == insn->guard_value) {
            insn->run(thread, insn);
        }
        if (++count == MOST_INSTRUCTIONS) {
            ptx_fail(thread, insn, "the kernel does not end");
        }
    }
    thread->counts->instructions += count;
}

/* Lane by lane: the value of the lane that is so many lanes later, or its own at the end. */
static void exchange(ptx_thread *warp, uint32_t lanes)
{
    uint64_t offered[PTX_WARP];

    for (uint32_t lane = 0; lane < lanes; lane++) {
        if (warp[lane].state != PTX_AT_SHUFFLE || warp[lane].shuffle != warp[0].shuffle) {
            ptx_fail(&warp[lane], &warp[lane].launch->kernel->insns[warp[lane].pc - 1],
                     "the lanes of a warp are not at the same shuffle");
        }
        offered[lane] = warp[lane].r[warp[lane].shuffle->from[0]];
    }
    for (uint32_t lane = 0; lane < lanes; lane++) {
        const ptx_insn *insn = warp[lane].shuffle;
        const uint32_t other = lane + (uint32_t)warp[lane].r[insn->from[1]];

        warp[lane].r[insn->to[1]] = other < lanes;
        warp[lane].r[insn->to[0]] = other < lanes ? offered[other] : offered[lane];
        warp[lane].state = PTX_RUNS;
    }
}

static uint32_t count_of(const ptx_thread *threads, uint32_t count, ptx_state state)
{
    uint32_t found = 0;

    for (uint32_t i = 0; i < count; i++) {
        found += threads[i].state == state;
    }
    return found;
}

/* All threads wait or have ended: lets go on those that wait for nothing else. */
static void release(const ptx_launch *launch, ptx_thread *threads, uint32_t block)
{
    const uint32_t ended = count_of(threads, launch->threads, PTX_ENDED);

    for (uint32_t first = 0; first < launch->threads; first += PTX_WARP) {
        const uint32_t left = launch->threads - first;

        if (count_of(threads + first, left < PTX_WARP ? left : PTX_WARP, PTX_AT_SHUFFLE) > 0) {
            exchange(threads + first, left < PTX_WARP ? left : PTX_WARP);
        }
    }
    if (count_of(threads, launch->threads, PTX_AT_BARRIER) + ended == launch->threads) {
        if (launch->order != NULL && ended < launch->threads) {
            ptx_order_barrier(launch->order, block, launch->threads);
        }
        for (uint32_t i = 0; i < launch->threads; i++) {
            threads[i].state = threads[i].state == PTX_ENDED ? PTX_ENDED : PTX_RUNS;
        }
    }
}

static ptx_thread *threads_of(const ptx_launch *launch, uint32_t count, ptx_counts *counts)
{
    const size_t registers = launch->kernel->register_count;
    ptx_thread *threads = calloc(count, sizeof(*threads));
    uint64_t *r = calloc(count, registers * sizeof(*r));

    if (threads == NULL || r == NULL) {
        abort();
    }
    for (uint32_t i = 0; i < count; i++) {
        threads[i].launch = launch;
        threads[i].counts = counts;
        threads[i].r = r + i * registers;
    }
    return threads;
}

void ptx_run(const ptx_launch *launch, ptx_counts *counts)
{
    ptx_thread *threads = threads_of(launch, launch->threads, counts);

    if (launch->order != NULL) {
        ptx_order_begin(launch->order, launch->threads);
    }
    for (uint32_t block = 0; block < launch->blocks; block++) {
        for (uint32_t i = 0; i < launch->threads; i++) {
            thread_begin(&threads[i], block, i);
        }
        while (count_of(threads, launch->threads, PTX_ENDED) < launch->threads) {
            for (uint32_t i = 0; i < launch->threads; i++) {
                thread_run(&threads[i]);
            }
            release(launch, threads, block);
        }
    }
    free(threads->r);
    free(threads);
}

void ptx_run_thread(const ptx_launch *launch, uint32_t index, ptx_counts *counts)
{
    ptx_thread *thread = threads_of(launch, 1, counts);

    thread_begin(thread, 0, index);
    while (thread->state != PTX_ENDED) {
        thread->state = PTX_RUNS;
        thread_run(thread);
        if (thread->state == PTX_AT_SHUFFLE) {
            ptx_fail(thread, thread->shuffle, "a shuffle of a single thread");
        }
    }
    free(thread->r);
    free(thread);
}
