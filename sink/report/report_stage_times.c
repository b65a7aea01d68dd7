/* SPDX-License-Identifier: Apache-2.0 */
#include "report_stage_times.h"

#include "format_int.h"

report_stage_times report_times_of_stage(const sli_stage_summary *stage)
{
    report_stage_times out = {.measured = stage->measured, .max_ns = stage->max_ns};
    const double runqueue = stage->has_runqueue ? stage->runqueue_ns : 0;
    const double known = stage->cpu_ns + runqueue;
    /* Clocks of short stages can add up to a little more than the stage. */
    const double all = known > stage->measured_ns ? known : stage->measured_ns;
    const double off_cpu = all - stage->cpu_ns;
    double cpu = all > 0 ? stage->cpu_ns / all * stage->busy_ns : 0;

    /* Of samples that mostly wait, the waits vary far more than the time on a CPU. Then the sum of
     * that time is the better estimate. */
    if (off_cpu > stage->cpu_ns) {
        cpu = stage->cpu_ns < stage->busy_ns ? stage->cpu_ns : stage->busy_ns;
    }
    if (stage->measured > 0) {
        const double rest_s = (stage->busy_ns - cpu) / 1e9;
        const double waited = off_cpu > 0 ? runqueue / off_cpu : 0;

        out.times = (report_times){
            .has_cpu = true,
            .has_runqueue = stage->has_runqueue,
            .cpu_s = cpu / 1e9,
            .runqueue_s = rest_s * waited,
            .blocked_s = rest_s * (1 - waited),
        };
    }
    return out;
}

void report_print_time(double ns, char *text, size_t size)
{
    static const char *const units[] = {"us", "ms", "s"};
    double value = ns / 1e3;
    size_t unit = 0;

    while (value >= 999.95 && unit < 2) {
        value /= 1e3;
        unit++;
    }
    sli_print(text, size, "%.1f %s", value, units[unit]);
}

/* Adds a key, with null for a value that is not known. */
static void add_known(sli_text *text, const char *key, bool is_known, double value)
{
    sli_text_add(text, ",\"%s\":", key);
    if (is_known) {
        sli_text_add_number(text, value);
    } else {
        sli_text_add(text, "null");
    }
}

static double share(double part, double whole)
{
    return whole > 0 ? part / whole : 0;
}

void report_add_stage_times_json(const sluice_report *report, uint32_t i, sli_text *text)
{
    const sli_stage_summary *stage = &report->stages[i];
    const report_stage_times *of = &report->stage_times[i];
    const report_times *times = &of->times;
    const double busy_s = stage->busy_ns / 1e9;
    const bool has_runqueue = times->has_cpu && times->has_runqueue;

    add_known(text, "max_us", true, of->max_ns / 1e3);
    add_known(text, "measured", true, (double)of->measured);
    add_known(text, "cpu_us_per_sample", times->has_cpu,
              share(times->cpu_s * 1e6, report_stage_samples(report, stage)));
    add_known(text, "cpu_share", times->has_cpu, share(times->cpu_s, busy_s));
    add_known(text, "runqueue_share", has_runqueue, share(times->runqueue_s, busy_s));
    add_known(text, "blocked_share", has_runqueue, share(times->blocked_s, busy_s));
    add_known(text, "lock_wait_share", true, share(stage->lock_wait_ns, stage->busy_ns));
}

/* Formats a share of the busy time in percent; "-": not known. */
static void print_share(bool is_known, double part_s, double busy_ns, char *text, size_t size)
{
    if (is_known) {
        sli_print(text, size, "%.1f", 100 * share(part_s * 1e9, busy_ns));
    } else {
        sli_print(text, size, "-");
    }
}

static void add_row(const sluice_report *report, uint32_t i, sli_text *text)
{
    const sli_stage_summary *stage = &report->stages[i];
    const report_times *times = &report->stage_times[i].times;
    const bool has_runqueue = times->has_cpu && times->has_runqueue;
    char cpu_time[24] = "-";
    char cpu[16];
    char runqueue[16];
    char blocked[16];
    char max[24];

    if (times->has_cpu) {
        report_print_time(share(times->cpu_s * 1e9, report_stage_samples(report, stage)), cpu_time,
                          sizeof(cpu_time));
    }
    print_share(times->has_cpu, times->cpu_s, stage->busy_ns, cpu, sizeof(cpu));
    print_share(has_runqueue, times->runqueue_s, stage->busy_ns, runqueue, sizeof(runqueue));
    print_share(has_runqueue, times->blocked_s, stage->busy_ns, blocked, sizeof(blocked));
    report_print_time(report->stage_times[i].max_ns, max, sizeof(max));
    sli_text_add(text, "%-27.27s %10s %6s %6s %8s %6.1f %8s\n", stage->name, cpu_time, cpu,
                 runqueue, blocked, 100 * share(stage->lock_wait_ns, stage->busy_ns), max);
}

void report_add_stage_times(const sluice_report *report, sli_text *text)
{
    sli_text_add(text, "%-27s %10s %6s %6s %8s %6s %8s\n", "busy time of", "CPU/sample", "CPU%",
                 "queue%", "blocked%", "lock%", "max");
    for (uint32_t i = 0; i < report->stage_count; i++) {
        add_row(report, i, text);
    }
}
