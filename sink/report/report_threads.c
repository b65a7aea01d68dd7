/* SPDX-License-Identifier: Apache-2.0 */
#include "report_threads.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "alloc_int.h"
#include "format_int.h"
#include "report_places.h"

/* ---- collecting ------------------------------------------------------------------------------ */

/* The times of a thread at the start of the run; NULL: it did not run yet. */
static const sli_thread_times *find_start(const start_clocks *start, int32_t id)
{
    for (uint32_t i = 0; start != NULL && id > 0 && i < start->thread_count; i++) {
        if (start->threads[i].id == id) {
            return &start->threads[i];
        }
    }
    return NULL;
}

/* Sets *seconds_out to the rise of a counter; false if it went back, as for another thread that
 * the kernel gave the same id. */
static bool subtract(int64_t before, int64_t now, double *seconds_out)
{
    *seconds_out = now >= before ? (double)(now - before) / 1e9 : 0;
    return now >= before;
}

void report_thread_times(const start_clocks *start, const sli_thread_times *now, bool is_caller,
                         report_thread *thread_out)
{
    static const sli_thread_times zero;
    const sli_thread_times *before = find_start(start, now->id);
    report_times *times = &thread_out->times;
    int64_t from_ns = now->start_ns;

    if (before != NULL || is_caller) {
        from_ns = start != NULL ? start->ns : 0;
    }
    if (from_ns > 0) {
        (void)subtract(from_ns, now->at_ns, &thread_out->seconds);
    }
    if (is_caller && before == NULL) {
        return; /* it ran before the run, and its clocks of that time were not read */
    }
    before = before != NULL ? before : &zero;
    times->has_cpu = now->has_cpu && subtract(before->cpu_ns, now->cpu_ns, &times->cpu_s);
    times->has_runqueue = times->has_cpu && now->has_runqueue &&
                          subtract(before->runqueue_ns, now->runqueue_ns, &times->runqueue_s);
    if (thread_out->seconds > 0) { /* the clocks are read one after the other, or one has jumped */
        times->cpu_s = fmin(times->cpu_s, thread_out->seconds);
        times->runqueue_s = fmin(times->runqueue_s, thread_out->seconds - times->cpu_s);
    }
    times->blocked_s = times->has_cpu && thread_out->seconds > times->cpu_s + times->runqueue_s
                           ? thread_out->seconds - times->cpu_s - times->runqueue_s
                           : 0;
}

report_machine report_machine_of(const sli_load_change *change)
{
    return (report_machine){
        .has_throttling = change->has_throttling,
        .periods = (uint64_t)change->throttling.periods,
        .throttled_periods = (uint64_t)change->throttling.throttled_periods,
        .throttled_s = (double)change->throttling.throttled_ns / 1e9,
        .has_pressure = change->has_pressure,
        .cpu_pressure = change->cpu_pressure,
        .io_pressure = change->io_pressure,
        .memory_pressure = change->memory_pressure,
        .has_busy = change->has_busy,
        .busy_cores = change->busy_cores,
        .major_faults = change->major_faults,
        .minor_faults = change->minor_faults,
    };
}

static void collect_machine(const report_run *run, report_machine *machine)
{
    const start_clocks *start = run->start;
    sli_machine_load now;
    sli_load_change change;

    if (start == NULL || start->ns == 0) {
        return;
    }
    sli_machine_load_read("", &run->feed->topology->allowed, &now);
    sli_machine_load_change(&start->load, &now, &change);
    *machine = report_machine_of(&change);
}

sluice_status report_collect_threads(const report_run *run, sluice_report *report)
{
    collect_machine(run, &report->machine);
    report->threads = sli_calloc(report->place_count, sizeof(*report->threads));
    if (report->threads == NULL) {
        return sli_fail(SLUICE_E_NO_MEMORY, "a report");
    }
    for (uint32_t i = 0; i < report->place_count; i++) {
        const sli_thread_place *place = &report->places[i];
        report_thread *thread = &report->threads[report->thread_count++];

        snprintf(thread->name, sizeof(thread->name), "%s", place->name);
        report_thread_times(run->start, &place->times, strcmp(place->name, "caller") == 0, thread);
    }
    return SLUICE_OK;
}

/* ---- text ------------------------------------------------------------------------------------ */

/* True if two threads can share a row: they belong to one pool, and the same of their times are
 * known. */
static bool goes_on(const report_thread *first, const report_thread *next)
{
    const size_t length = report_pool_stem(first->name);

    return length > 0 && report_pool_stem(next->name) == length &&
           memcmp(first->name, next->name, length) == 0 &&
           first->times.has_cpu == next->times.has_cpu &&
           first->times.has_runqueue == next->times.has_runqueue;
}

/* Formats a share in percent; "-" if it is unknown. */
static void print_share(bool known, double part, double whole, char *text, size_t size)
{
    if (known && whole > 0) {
        const double share = part < whole ? part / whole : 1;

        sli_print(text, size, "%.1f", 100 * share);
    } else {
        snprintf(text, size, "-");
    }
}

/* Adds one row for threads [first, end). */
static void add_row(const sluice_report *report, uint32_t first, uint32_t end, sli_text *text)
{
    const report_thread *thread = &report->threads[first];
    const report_times *known = &thread->times;
    report_thread sum = {.seconds = 0};
    char name[64];
    char seconds[24] = "-";
    char cpu[16];
    char runqueue[16];
    char blocked[16];

    snprintf(name, sizeof(name), "%s%s%s", thread->name, end - first > 1 ? "-" : "",
             end - first > 1 ? report->threads[end - 1].name + report_pool_stem(thread->name) : "");
    for (uint32_t i = first; i < end; i++) {
        sum.seconds += report->threads[i].seconds;
        sum.times.cpu_s += report->threads[i].times.cpu_s;
        sum.times.runqueue_s += report->threads[i].times.runqueue_s;
        sum.times.blocked_s += report->threads[i].times.blocked_s;
    }
    if (known->has_cpu) {
        sli_print(seconds, sizeof(seconds), "%.2f", sum.times.cpu_s);
    }
    print_share(known->has_cpu, sum.times.cpu_s, sum.seconds, cpu, sizeof(cpu));
    print_share(known->has_runqueue, sum.times.runqueue_s, sum.seconds, runqueue, sizeof(runqueue));
    print_share(known->has_cpu, sum.times.blocked_s, sum.seconds, blocked, sizeof(blocked));
    sli_text_add(text, "%-22s %10s %6s %6s %8s\n", name, seconds, cpu, runqueue, blocked);
}

/* True if a stage was measured, but not its time in the run queue. */
static bool stages_lack_runqueue(const sluice_report *report)
{
    for (uint32_t i = 0; i < report->stage_count; i++) {
        if (report->stage_times[i].times.has_cpu && !report->stage_times[i].times.has_runqueue) {
            return true;
        }
    }
    return false;
}

/* Adds a line that names what could not be measured, and why. */
static void add_unknown(const sluice_report *report, sli_text *text)
{
    bool no_cpu = false;
    bool no_runqueue = false;
    char threads[200] = "";
    char parts[3][120] = {"", "", ""};

    for (uint32_t i = 0; i < report->thread_count; i++) {
        const report_thread *thread = &report->threads[i];

        if (strcmp(thread->name, "caller") == 0 && !thread->times.has_cpu) {
            snprintf(threads, sizeof(threads),
                     "; times of the caller, which is not the thread that started the channel");
        } else {
            no_cpu = no_cpu || !thread->times.has_cpu;
            no_runqueue = no_runqueue || !thread->times.has_runqueue;
        }
    }
    if (no_cpu) {
        snprintf(parts[0], sizeof(parts[0]), "; CPU time of some threads");
    }
    if (no_runqueue) {
        snprintf(parts[1], sizeof(parts[1]),
                 "; time in the run queue, which is in blocked%% (cannot read schedstat in /proc)");
    } else if (stages_lack_runqueue(report)) {
        snprintf(parts[1], sizeof(parts[1]),
                 "; time in the run queue of some stages (most of the time their threads could not "
                 "read schedstat in /proc)");
    }
    if (!report->machine.has_pressure) {
        snprintf(parts[2], sizeof(parts[2]), "; pressure of the machine (no /proc/pressure)");
    }
    if (threads[0] != '\0' || no_cpu || parts[1][0] != '\0' || !report->machine.has_pressure ||
        !report->machine.has_throttling) {
        sli_text line = {0};

        sli_text_add(&line, "%s%s%s%s%s", threads, parts[0], parts[1], parts[2],
                     report->machine.has_throttling
                         ? ""
                         : "; throttling by a CPU quota (no cpu.stat of a cgroup counts it)");
        sli_text_add_line(text, "not measured: %s", line.failed ? "no memory" : line.data + 2);
        sli_text_free(&line);
    }
}

static void add_machine(const sluice_report *report, sli_text *text)
{
    const report_machine *machine = &report->machine;

    if (machine->throttled_periods > 0) {
        sli_text_add_line(text,
                          "throttled: the CPU quota was used up in %" PRIu64 " of %" PRIu64
                          " periods, %.3f s in all",
                          machine->throttled_periods, machine->periods, machine->throttled_s);
    }
    if (machine->has_pressure) {
        sli_text_add_line(text,
                          "pressure: in %.1f %% of the time some task of the machine waited for a "
                          "CPU, in %.1f %% for I/O, in %.1f %% for memory",
                          100 * machine->cpu_pressure, 100 * machine->io_pressure,
                          100 * machine->memory_pressure);
    }
    if (machine->major_faults > 0) {
        sli_text_add_line(text, "page faults: %" PRIu64 " pages were read from a disk",
                          machine->major_faults);
    }
}

void report_add_threads(const sluice_report *report, sli_text *text)
{
    uint32_t first = 0;

    sli_text_add(text, "%-22s %10s %6s %6s %8s\n", "threads", "CPU s", "CPU%", "queue%",
                 "blocked%");
    while (first < report->thread_count) {
        uint32_t end = first + 1;

        while (end < report->thread_count &&
               goes_on(&report->threads[first], &report->threads[end])) {
            end++;
        }
        add_row(report, first, end, text);
        first = end;
    }
    add_machine(report, text);
    add_unknown(report, text);
}

/* ---- JSON ------------------------------------------------------------------------------------ */

static void add_number(const char *key, bool known, double value, sli_text *text)
{
    sli_text_add(text, ",\"%s\":", key);
    if (known) {
        sli_text_add_number(text, value);
    } else {
        sli_text_add(text, "null");
    }
}

static void add_count(const char *key, bool known, uint64_t value, sli_text *text)
{
    sli_text_add(text, ",\"%s\":", key);
    if (known) {
        sli_text_add(text, "%" PRIu64, value);
    } else {
        sli_text_add(text, "null");
    }
}

static void add_machine_json(const sluice_report *report, sli_text *text)
{
    const report_machine *machine = &report->machine;

    if (!report->ran) {
        sli_text_add(text, ",\"machine\":null");
        return;
    }
    sli_text_add(text, ",\"machine\":{\"minor_faults\":%" PRIu64, machine->minor_faults);
    add_count("major_faults", true, machine->major_faults, text);
    add_number("cpu_pressure", machine->has_pressure, machine->cpu_pressure, text);
    add_number("io_pressure", machine->has_pressure, machine->io_pressure, text);
    add_number("memory_pressure", machine->has_pressure, machine->memory_pressure, text);
    add_number("busy_cores", machine->has_busy, machine->busy_cores, text);
    add_count("throttled_periods", machine->has_throttling, machine->throttled_periods, text);
    add_count("periods", machine->has_throttling, machine->periods, text);
    add_number("throttled_s", machine->has_throttling, machine->throttled_s, text);
    sli_text_add(text, "}");
}

void report_add_threads_json(const sluice_report *report, sli_text *text)
{
    sli_text_add(text, ",\"threads\":[");
    for (uint32_t i = 0; i < report->thread_count; i++) {
        const report_thread *thread = &report->threads[i];
        const report_times *times = &thread->times;

        sli_text_add(text, "%s{\"thread\":", i > 0 ? "," : "");
        sli_text_add_json(text, thread->name);
        add_number("seconds", thread->seconds > 0, thread->seconds, text);
        add_number("cpu_s", times->has_cpu, times->cpu_s, text);
        add_number("runqueue_s", times->has_runqueue, times->runqueue_s, text);
        add_number("blocked_s", times->has_cpu, times->blocked_s, text);
        sli_text_add(text, "}");
    }
    sli_text_add(text, "]");
    add_machine_json(report, text);
}
