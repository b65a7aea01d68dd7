/* SPDX-License-Identifier: Apache-2.0 */
/* Collects the placement of a run's threads and memory, and formats it as a table of the report. */
#include <stdio.h>
#include <string.h>

#include "alloc_int.h"
#include "report_data.h"
#include "report_places.h"

/* Number of threads that belong neither to the engine nor to the queue: the device's thread, the
 * callback watchdog's thread and the caller's thread. */
enum { OTHER_THREADS = 3 };

static void add_place(sluice_report *report, const sli_thread_place *place)
{
    if (place->name[0] != '\0') {
        report->places[report->place_count++] = *place;
    }
}

static void add_thread(sluice_report *report, const sli_thread *thread)
{
    sli_thread_place place;

    sli_thread_place_get(thread, &place);
    add_place(report, &place);
}

/* Adds the threads of the queue, the device's thread, the callback watchdog and the calling thread.
 */
static void add_others(const report_run *run, sluice_report *report)
{
    sli_thread_place caller = {.name = "caller"};
    sli_thread_place copying[SLI_QUEUE_THREADS];

    sli_queue_threads(run->feed->queue, copying);
    for (uint32_t i = 0; i < SLI_QUEUE_THREADS; i++) {
        add_place(report, &copying[i]);
    }
    if (run->program != NULL && run->program->ops->thread != NULL) {
        add_thread(report, run->program->ops->thread(run->program));
    }
    if (run->watchdog != NULL) {
        add_thread(report, run->watchdog);
    }
    (void)sli_cpus_of_thread(&caller.got);
    sli_thread_times_own(&caller.times);
    add_place(report, &caller);
}

/* Collects what the process may use, and what it shares with other ranks. */
static void collect_cores(const data_feed *feed, sluice_report *report)
{
    const sli_topology *topology = feed->topology;
    const sli_placement *placement = feed->placement;

    report->cpus = topology->allowed;
    report->bound = topology->bound;
    report->machine_cores = topology->machine_core_count;
    (void)sli_memory_policy_format(&topology->policy, report->policy, sizeof(report->policy));
    report->core_count = placement->core_count;
    report->spare_cores = placement->spare_cores;
    report->shared_cores = placement->shared_cores;
    report->sharing_ranks = placement->sharing_ranks;
    report->undivided = placement->undivided;
}

sluice_status report_collect_places(const report_run *run, sluice_report *report)
{
    uint32_t threads = 0;

    while (sli_engine_thread(run->feed->engine, threads) != NULL) {
        threads++;
    }
    report->places =
        sli_calloc((size_t)threads + SLI_QUEUE_THREADS + OTHER_THREADS, sizeof(*report->places));
    if (report->places == NULL) {
        return sli_fail(SLUICE_E_NO_MEMORY, "a report");
    }
    for (uint32_t i = 0; i < threads; i++) {
        add_thread(report, sli_engine_thread(run->feed->engine, i));
    }
    add_others(run, report);
    report->buffer_count = sli_queue_buffers(run->feed->queue, report->buffers);
    collect_cores(run->feed, report);
    if (run->program != NULL) {
        step_threads_find(run->program, run->mode, &report->step);
    }
    return SLUICE_OK;
}

/* ---- a table --------------------------------------------------------------------------------- */

static bool equal(const sli_cpus *a, const sli_cpus *b)
{
    return memcmp(a, b, sizeof(*a)) == 0;
}

size_t report_pool_stem(const char *name)
{
    const char *slash = strrchr(name, '/');

    return slash != NULL && slash[1] >= '0' && slash[1] <= '9' ? (size_t)(slash - name) + 1 : 0;
}

/* True if two threads can share a row: they belong to one pool, and both run on the CPUs requested
 * for them, or their CPUs are equal. */
static bool goes_on(const sli_thread_place *first, const sli_thread_place *next)
{
    const size_t length = report_pool_stem(first->name);
    const bool placed = equal(&first->wanted, &first->got) && equal(&next->wanted, &next->got);

    return length > 0 && report_pool_stem(next->name) == length &&
           memcmp(first->name, next->name, length) == 0 &&
           (placed || (equal(&first->wanted, &next->wanted) && equal(&first->got, &next->got)));
}

/* Formats the table's remark for the thread that runs steps. */
static void write_step(const sluice_report *report, char *text, size_t size)
{
    char threads[40] = "";

    if (report->step.count > 1) {
        snprintf(threads, sizeof(threads), ", %u threads", report->step.count);
    }
    if (report->spare_cores == 0) {
        snprintf(text, size, "runs the step%s; no core without a worker", threads);
    } else {
        snprintf(text, size, "runs the step%s; %u of %u cores without a worker", threads,
                 report->spare_cores, report->core_count);
    }
}

/* Adds one row for threads [first, end). */
static void add_row(const sluice_report *report, uint32_t first, uint32_t end, sli_text *text)
{
    const sli_thread_place *place = &report->places[first];
    sli_cpus all = {{0}};
    char name[32];
    char cpus[200];
    char wanted[200];
    char remark[300] = "";

    snprintf(name, sizeof(name), "%s", place->name);
    if (end - first > 1) {
        snprintf(name, sizeof(name), "%s-%s", place->name,
                 report->places[end - 1].name + report_pool_stem(place->name));
    }
    for (uint32_t i = first; i < end; i++) {
        for (size_t k = 0; k < SLI_MAX_CPUS / 64; k++) {
            all.bits[k] |= report->places[i].got.bits[k];
        }
    }
    if (strcmp(place->name, report->step.name) == 0) {
        write_step(report, remark, sizeof(remark));
    } else if (end - first > 1 && !equal(&all, &place->got)) {
        snprintf(remark, sizeof(remark), "one core each");
    }
    if (sli_cpus_count(&place->wanted) > 0 && !equal(&place->wanted, &place->got)) {
        snprintf(remark + strlen(remark), sizeof(remark) - strlen(remark), "%sto be on %s",
                 remark[0] != '\0' ? "; " : "",
                 sli_cpus_format(&place->wanted, wanted, sizeof(wanted)));
    }
    sli_cpus_format(&all, cpus, sizeof(cpus));
    if (remark[0] != '\0') {
        sli_text_add_line(text, "%-16s %-10s %s", name, cpus, remark);
    } else {
        sli_text_add_line(text, "%-16s %s", name, cpus);
    }
}

/* Adds the nodes of a buffer, and the node that was requested if it is another one. */
static void add_buffer(const sluice_report *report, const sli_buffer_place *buffer, sli_text *text)
{
    char got[200];

    if (buffer->on_device) {
        sli_text_add_line(text, "memory of %s: %s", buffer->name, report->device_name);
        return;
    }
    if (buffer->got.count == 0) {
        return;
    }
    sli_node_shares_format(&buffer->got, got, sizeof(got));
    if (buffer->wanted >= 0 &&
        (buffer->got.count > 1 || buffer->got.of[0].node != buffer->wanted)) {
        sli_text_add_line(text, "memory of %s: %s; requested: node %d", buffer->name, got,
                          buffer->wanted);
    } else {
        sli_text_add_line(text, "memory of %s: %s", buffer->name, got);
    }
}

void report_add_cores(const sluice_report *report, sli_text *text)
{
    char shared[80] = "";
    char cpus[2000];

    if (report->shared_cores > 0) {
        snprintf(shared, sizeof(shared), ", %u of them shared with %u other rank%s",
                 report->shared_cores, report->sharing_ranks,
                 report->sharing_ranks == 1 ? "" : "s");
    } else if (report->undivided) {
        snprintf(shared, sizeof(shared), ", not divided among the ranks of this machine");
    }
    sli_text_add_line(text, "cores: %u of %u%s; the process may use CPUs %s%s, memory policy %s",
                      report->core_count, report->machine_cores, shared,
                      sli_cpus_format(&report->cpus, cpus, sizeof(cpus)),
                      report->bound ? " (affinity)" : "", report->policy);
}

void report_add_places(const sluice_report *report, sli_text *text)
{
    uint32_t first = 0;

    sli_text_add_line(text, "%-16s %s", "thread", "CPUs");
    while (first < report->place_count) {
        uint32_t end = first + 1;

        while (end < report->place_count && goes_on(&report->places[first], &report->places[end])) {
            end++;
        }
        add_row(report, first, end, text);
        first = end;
    }
    for (uint32_t i = 0; i < report->buffer_count; i++) {
        add_buffer(report, &report->buffers[i], text);
    }
    if (step_threads_take_turns(&report->step)) {
        const uint32_t count = sli_cpus_count(&report->step.cpus);
        char cpus[200];

        sli_text_add_line(
            text,
            "warning: the step runs %u threads on %u CPU%s (%s), and they take turns: set "
            "OMP_NUM_THREADS=%u, or allow more CPUs",
            report->step.count, count, count == 1 ? "" : "s",
            sli_cpus_format(&report->step.cpus, cpus, sizeof(cpus)), count);
    }
}
