/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What Sluice says of its launches and waits is what CUDA is asked for: calls counted from outside,
 * by CUPTI, while sinks run. Of the first sink, which sets things up, only graph launches count.
 * Waits block (poll_us=0): how often a poll asks is nothing that could be compared.
 */
#include "gpu_checks.h"

#include <dlfcn.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "gpu_calls.h"

enum { SINKS = 40, SINK_SIZE = 50 };

/* The copying thread waits for its copies; everybody else waits for steps. */
static const char *const copying_thread = "sluice/copy";

struct counter {
    gpu_calls_read_fn *read;
    gpu_calls_list_fn *list;
    uint64_t sinks;
    gpu_calls first, last; /* when the first sink had ended, and the last so far */
    gpu_calls first_of_copies, last_of_copies;
};

static void note_calls(void *user)
{
    counter *c = (counter *)user;

    c->read(NULL, &c->last);
    c->read(copying_thread, &c->last_of_copies);
    if (c->sinks++ == 0) {
        c->first = c->last;
        c->first_of_copies = c->last_of_copies;
    }
}

static unsigned long long between(const counter *c, gpu_call call)
{
    return c->last.counts[call] - c->first.counts[call];
}

/* Beside the thread that copies ahead. */
static unsigned long long without_copies(const counter *c, gpu_call call)
{
    return between(c, call) - (c->last_of_copies.counts[call] - c->first_of_copies.counts[call]);
}

/* Loads the module, which lies in lib beside this program's bin. */
static gpu_verdict load(counter *c, char *text)
{
    gpu_calls_begin_fn *begin;
    char folder[400];
    char path[500];
    const char *why;
    void *module;

    gpu_own_folder(folder, sizeof(folder));
    snprintf(path, sizeof(path), "%s/../lib/%s", folder, GPU_CALLS_MODULE);
    if (access(path, F_OK) != 0) {
        return gpu_say(
            text, GPU_SKIP,
            "built without CUPTI: install cuda-cupti-dev of the toolkit's version, or its "
            "extras/CUPTI, and build again");
    }
    module = dlopen(path, RTLD_NOW);
    if (module == NULL) {
        return gpu_say(text, GPU_SKIP, "%.400s", dlerror());
    }
    *(void **)&begin = dlsym(module, "gpu_calls_begin");
    *(void **)&c->read = dlsym(module, "gpu_calls_read");
    *(void **)&c->list = dlsym(module, "gpu_calls_list");
    NEED(begin != NULL && c->read != NULL && c->list != NULL, "%s is another module", path);
    why = begin();
    if (why != NULL) {
        return gpu_say(text, GPU_SKIP, "CUPTI does not count here: %s", why);
    }
    return GPU_PASS;
}

/* Runs sinks in a mode, and compares what both have counted. */
static gpu_verdict count_run(counter *c, const char *device, sluice_mode mode, gpu_run *run,
                             char *text)
{
    const bool loop = mode == SLUICE_MODE_LOOP;
    unsigned long long launches;
    unsigned long long syncs;
    unsigned long long graphs;
    char threads[GPU_TEXT / 2];
    gpu_calls before;

    memset(run, 0, sizeof(*run));
    run->device = device;
    run->pipeline = "synthetic 4000 shape=32,64,3 | batch 8";
    run->mode = mode;
    run->sink_size = SINK_SIZE;
    run->steps = SINKS * SINK_SIZE;
    run->step = gpu_probe_step;
    run->sink_ended = note_calls;
    run->sink_user = c;
    c->sinks = 0;
    c->read(NULL, &before);
    gpu_train(run);
    NEED(run->status == SLUICE_OK && c->sinks == SINKS, "%s %s: %s", sluice_mode_name(mode), device,
         run->error);
    graphs = c->last.counts[GPU_CALL_GRAPH_LAUNCH] - before.counts[GPU_CALL_GRAPH_LAUNCH];
    NEED(graphs == run->stats.launches + loop, /* the loop's self-test */
         "%s %s: %llu graph launches, Sluice says %llu", sluice_mode_name(mode), device, graphs,
         (unsigned long long)run->stats.launches);
    launches = between(c, GPU_CALL_GRAPH_LAUNCH);
    syncs = without_copies(c, GPU_CALL_SYNC);
    NEED(launches >= (loop ? SINKS - 1 : (SINKS - 1) * SINK_SIZE) &&
             launches <= (loop ? SINKS - 1 + run->stats.yields : (SINKS - 1) * SINK_SIZE),
         "%s %s: %llu graph launches in %d sinks, %llu yields", sluice_mode_name(mode), device,
         launches, SINKS - 1, (unsigned long long)run->stats.yields);
    c->list(GPU_CALL_SYNC, threads, sizeof(threads));
    /* In graph mode also waits for room behind every second launch, which `syncs` leaves out. */
    NEED(loop ? syncs == launches : syncs >= SINKS - 1 && syncs <= SINKS - 1 + launches / 2,
         "%s %s: %llu waits for %llu launches in %d sinks (waits of all runs by thread: %s)",
         sluice_mode_name(mode), device, syncs, launches, SINKS - 1, threads);
    NEED(between(c, GPU_CALL_KERNEL_LAUNCH) == 0, "%s %s: %llu kernels launched beside graphs",
         sluice_mode_name(mode), device, between(c, GPU_CALL_KERNEL_LAUNCH));
    return GPU_PASS;
}

gpu_verdict check_launches_counted(char *text)
{
    counter c = {};
    unsigned long long copies;
    unsigned long long operations;
    gpu_verdict verdict = load(&c, text);
    gpu_run loop;
    gpu_run other;

    if (verdict != GPU_PASS) {
        return verdict;
    }
    if (count_run(&c, "cuda:0,transport=pull,poll_us=0", SLUICE_MODE_LOOP, &other, text) !=
            GPU_PASS ||
        count_run(&c, "cuda:0,poll_us=0", SLUICE_MODE_GRAPH, &other, text) != GPU_PASS ||
        count_run(&c, "cuda:0,poll_us=0", SLUICE_MODE_LOOP, &loop, text) != GPU_PASS) {
        return GPU_FAIL;
    }
    copies = between(&c, GPU_CALL_COPY);
    operations = between(&c, GPU_CALL_MEMORY_OPERATION);
    return gpu_say(
        text, GPU_PASS,
        "%d sinks of %d: %llu launches and %llu waits counted, %llu and %llu by Sluice "
        "with the first, %llu yields, no kernel launched beside; %llu copies, %llu memory "
        "operations",
        SINKS - 1, (int)SINK_SIZE, between(&c, GPU_CALL_GRAPH_LAUNCH),
        without_copies(&c, GPU_CALL_SYNC), (unsigned long long)loop.stats.launches,
        (unsigned long long)loop.stats.syncs, (unsigned long long)loop.stats.yields, copies,
        operations);
}
