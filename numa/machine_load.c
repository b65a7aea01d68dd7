/* SPDX-License-Identifier: Apache-2.0 */
#include "machine_load_int.h"

#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "cgroup_tree.h"
#include "clock_int.h"
#include "small_file_int.h"

/* The files are below 200 bytes; cpu.stat below 1 KB. What is longer is cut. */
enum { FILE_SIZE = 4096 };

/* ---- parsing --------------------------------------------------------------------------------- */

/* The text after `key` in the first line that begins with it; NULL: no line does. */
static const char *find_line(const char *text, const char *key)
{
    const size_t length = strlen(key);
    const char *line = text;

    while (line != NULL && strncmp(line, key, length) != 0) {
        line = strchr(line, '\n');
        line = line != NULL ? line + 1 : NULL;
    }
    return line != NULL ? line + length : NULL;
}

/* Parses digits up to the end of the line. A text that was cut after a digit has no such end. */
static bool parse_last(const char *at, int64_t *number_out)
{
    return sli_digits_parse(&at, number_out) && *at == '\n';
}

bool sli_pressure_parse(const char *text, int64_t *total_us_out)
{
    static const char key[] = " total="; /* its blank may be the one before `line` */
    const char *line = find_line(text, "some ");
    const char *total = line != NULL ? strstr(line - 1, key) : NULL;

    if (total == NULL || (size_t)(total - line + 1) > strcspn(line - 1, "\n")) {
        return false;
    }
    return parse_last(total + sizeof(key) - 1, total_us_out);
}

static bool parse_line(const char *text, const char *key, int64_t *number_out)
{
    const char *at = find_line(text, key);

    return at != NULL && parse_last(at, number_out);
}

bool sli_throttling_parse(const char *text, sli_throttling *throttling_out)
{
    sli_throttling found = {0};
    int64_t us = 0;

    if (!parse_line(text, "nr_periods ", &found.periods) ||
        !parse_line(text, "nr_throttled ", &found.throttled_periods)) {
        return false;
    }
    if (parse_line(text, "throttled_usec ", &us) && us <= INT64_MAX / 1000) {
        found.throttled_ns = us * 1000;
    } else if (!parse_line(text, "throttled_time ", &found.throttled_ns)) {
        return false;
    }
    *throttling_out = found;
    return true;
}

bool sli_busy_parse(const char *line, uint32_t *cpu_out, int64_t *ticks_out)
{
    enum { IDLE = 3, IOWAIT = 4, STEAL = 7 }; /* user, nice, system, idle, iowait, irq, softirq */
    const char *at = line + 3;
    int64_t cpu = 0;
    int64_t sum = 0;

    if (strncmp(line, "cpu", 3) != 0 || !sli_digits_parse(&at, &cpu) || cpu >= SLI_MAX_CPUS) {
        return false;
    }
    for (int i = 0; i <= STEAL; i++) {
        int64_t number = 0;

        if (*at != ' ') {
            return false;
        }
        at++;
        if (!sli_digits_parse(&at, &number) || number > INT64_MAX / 16) {
            return false;
        }
        sum += i != IDLE && i != IOWAIT ? number : 0;
    }
    *cpu_out = (uint32_t)cpu;
    *ticks_out = sum;
    return true;
}

/* ---- reading --------------------------------------------------------------------------------- */

static bool read_file(const char *root, const char *folder, const char *name, char text[FILE_SIZE])
{
    char path[4 * CGROUP_PATH];
    const int length = snprintf(path, sizeof(path), "%s%s/%s", root, folder, name);

    return length > 0 && (size_t)length < sizeof(path) &&
           sli_small_file_read(path, text, FILE_SIZE);
}

static bool read_pressure(const char *root, const char *name, int64_t *total_us_out)
{
    char text[FILE_SIZE];

    return read_file(root, "/proc/pressure", name, text) && sli_pressure_parse(text, total_us_out);
}

/* Sums up the lines of CPUs, which are the first of the file. */
static bool read_busy(const char *root, const sli_cpus *cpus, int64_t *busy_ns_out)
{
    const int64_t tick_ns = 1000000000 / sysconf(_SC_CLK_TCK);
    char line[FILE_SIZE];
    int64_t sum = 0;
    uint32_t found = 0;
    FILE *file;

    snprintf(line, sizeof(line), "%s/proc/stat", root);
    file = fopen(line, "re");
    while (file != NULL && fgets(line, sizeof(line), file) != NULL &&
           strncmp(line, "cpu", 3) == 0) {
        int64_t ticks;
        uint32_t cpu;

        if (sli_busy_parse(line, &cpu, &ticks) && sli_cpus_has(cpus, cpu) &&
            ticks <= INT64_MAX / tick_ns - sum) {
            sum += ticks;
            found++;
        }
    }
    if (file != NULL) {
        fclose(file);
    }
    *busy_ns_out = sum * tick_ns;
    return found > 0 && found == sli_cpus_count(cpus);
}

typedef struct groups_reader {
    const char *root;
    sli_machine_load *load;
} groups_reader;

static void visit_group(const char *folder, const char *group, void *user)
{
    const groups_reader *reader = user;
    sli_machine_load *load = reader->load;
    char text[FILE_SIZE];

    (void)group;
    if (load->group_count < SLI_THROTTLED_GROUPS &&
        read_file(reader->root, folder, "cpu.stat", text) &&
        sli_throttling_parse(text, &load->groups[load->group_count])) {
        load->groups[load->group_count++].group = cgroup_inode(reader->root, folder);
    }
}

void sli_machine_load_read(const char *root, const sli_cpus *cpus, sli_machine_load *load_out)
{
    groups_reader reader = {root, load_out};
    struct rusage usage;

    memset(load_out, 0, sizeof(*load_out));
    load_out->at_ns = sli_now_ns();
    load_out->has_pressure = read_pressure(root, "cpu", &load_out->cpu_us) &&
                             read_pressure(root, "io", &load_out->io_us) &&
                             read_pressure(root, "memory", &load_out->memory_us);
    load_out->has_busy = read_busy(root, cpus, &load_out->busy_ns);
    cgroup_each_group(root, NULL, visit_group, &reader);
    cgroup_each_group(root, "cpu", visit_group, &reader);
    if (getrusage(RUSAGE_SELF, &usage) == 0) {
        load_out->major_faults = usage.ru_majflt;
        load_out->minor_faults = usage.ru_minflt;
    }
}

/* ---- the change ------------------------------------------------------------------------------ */

/* Sets the share of `ns` by which a counter in us rose. False if it went back. */
static bool find_share(int64_t start_us, int64_t end_us, int64_t ns, double *share_out)
{
    if (end_us < start_us) {
        return false;
    }
    *share_out = (double)(end_us - start_us) * 1e3 / (double)ns;
    *share_out = *share_out < 1 ? *share_out : 1; /* the two clocks are read one after the other */
    return true;
}

/* False if a counter went back, or if more periods were throttled than there were. */
static bool subtract(const sli_throttling *start, const sli_throttling *end,
                     sli_throttling *change_out)
{
    if (start->group != end->group || end->periods < start->periods ||
        end->throttled_periods < start->throttled_periods ||
        end->throttled_ns < start->throttled_ns) {
        return false;
    }
    *change_out = (sli_throttling){end->group, end->periods - start->periods,
                                   end->throttled_periods - start->throttled_periods,
                                   end->throttled_ns - start->throttled_ns};
    return change_out->throttled_periods <= change_out->periods;
}

/* True if `a` explains more of a slow run than `b`. A group without a quota counts no periods. */
static bool is_worse(const sli_throttling *a, const sli_throttling *b)
{
    return a->throttled_ns != b->throttled_ns ? a->throttled_ns > b->throttled_ns
                                              : a->periods > b->periods;
}

static void find_throttling(const sli_machine_load *start, const sli_machine_load *end,
                            sli_load_change *change)
{
    sli_throttling one;

    /* A process that was moved to another group has other groups at its end. */
    for (uint32_t i = 0; i < start->group_count && i < end->group_count; i++) {
        if (subtract(&start->groups[i], &end->groups[i], &one) &&
            (!change->has_throttling || is_worse(&one, &change->throttling))) {
            change->has_throttling = true;
            change->throttling = one;
        }
    }
}

static uint64_t rise(int64_t start, int64_t end)
{
    return end > start ? (uint64_t)(end - start) : 0;
}

void sli_machine_load_change(const sli_machine_load *start, const sli_machine_load *end,
                             sli_load_change *change_out)
{
    const int64_t ns = end->at_ns - start->at_ns;
    sli_load_change change = {.has_pressure = false};

    change.has_pressure = start->has_pressure && end->has_pressure && ns > 0 &&
                          find_share(start->cpu_us, end->cpu_us, ns, &change.cpu_pressure) &&
                          find_share(start->io_us, end->io_us, ns, &change.io_pressure) &&
                          find_share(start->memory_us, end->memory_us, ns, &change.memory_pressure);
    if (!change.has_pressure) {
        change.cpu_pressure = change.io_pressure = change.memory_pressure = 0;
    }
    change.has_busy = start->has_busy && end->has_busy && ns > 0 && end->busy_ns >= start->busy_ns;
    if (change.has_busy) {
        change.busy_cores = (double)(end->busy_ns - start->busy_ns) / (double)ns;
    }
    find_throttling(start, end, &change);
    change.major_faults = rise(start->major_faults, end->major_faults);
    change.minor_faults = rise(start->minor_faults, end->minor_faults);
    *change_out = change;
}
