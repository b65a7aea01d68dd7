/* SPDX-License-Identifier: Apache-2.0 */
/* Prints a placement as a table and as JSON. */
#include "placement_report.h"

#include <stdio.h>
#include <string.h>

void sli_cpus_write(const sli_cpus *cpus, sli_text *text)
{
    const char *comma = "";

    for (int first = sli_cpus_next(cpus, 0); first >= 0;) {
        int last = first;

        while (sli_cpus_has(cpus, (uint32_t)last + 1)) {
            last++;
        }
        sli_text_add(text, last > first ? "%s%d-%d" : "%s%d", comma, first, last);
        comma = ",";
        first = sli_cpus_next(cpus, (uint32_t)last + 1);
    }
}

/* Writes the numbers of all nodes that have any of these CPUs, separated by commas. */
static void write_nodes(const sli_topology *topology, const sli_cpus *cpus, sli_text *text)
{
    const char *comma = "";

    for (uint32_t n = 0; n < topology->node_count; n++) {
        const sli_node *node = &topology->nodes[n];

        for (size_t i = 0; i < SLI_MAX_CPUS / 64; i++) {
            if ((cpus->bits[i] & node->cpus.bits[i]) != 0) {
                sli_text_add(text, "%s%u", comma, node->id);
                comma = ",";
                break;
            }
        }
    }
}

static void print_row(const sli_topology *topology, const char *name, const sli_cpus *cpus,
                      const char *remark, sli_text *text)
{
    sli_text ranges = {0};
    sli_text nodes = {0};

    sli_cpus_write(cpus, &ranges);
    write_nodes(topology, cpus, &nodes);
    text->failed = text->failed || ranges.failed || nodes.failed;
    sli_text_add(text, "  %-16s %-16s %s%s%s\n", name, ranges.data != NULL ? ranges.data : "-",
                 nodes.data != NULL ? nodes.data : "-", *remark != '\0' ? "  " : "", remark);
    sli_text_free(&ranges);
    sli_text_free(&nodes);
}

static int32_t node_of(const sli_topology *topology, const sli_cpus *cpus)
{
    for (uint32_t c = 0; c < topology->core_count; c++) {
        const int cpu = sli_cpus_next(&topology->cores[c].cpus, 0);

        if (cpu >= 0 && sli_cpus_has(cpus, (uint32_t)cpu)) {
            return topology->cores[c].node;
        }
    }
    return -1;
}

/* Collects the CPUs of workers from `first` on, on the same node; returns the worker after them. */
static uint32_t collect_workers(const sli_topology *topology, const sli_placement *placement,
                                uint32_t first, sli_cpus *cpus_out)
{
    const int32_t node = node_of(topology, &placement->worker_cpus[first]);
    uint32_t next = first;

    memset(cpus_out, 0, sizeof(*cpus_out));
    for (;
         next < placement->worker_count && node_of(topology, &placement->worker_cpus[next]) == node;
         next++) {
        for (size_t i = 0; i < SLI_MAX_CPUS / 64; i++) {
            cpus_out->bits[i] |= placement->worker_cpus[next].bits[i];
        }
    }
    return next;
}

/* True if workers `first` and `first` + 1 of one of several ranks have the same CPUs. */
static bool share_cores(const sli_placement *placement, uint32_t first)
{
    const sli_cpus *cpus = placement->worker_cpus;

    return placement->local_world > 1 && placement->core_count > 1 &&
           memcmp(&cpus[first], &cpus[first + 1], sizeof(*cpus)) == 0;
}

/* Prints the workers; consecutive workers on the same node share a line. */
static void print_workers(const sli_topology *topology, const sli_placement *placement,
                          sli_text *text)
{
    for (uint32_t first = 0; first < placement->worker_count;) {
        const char *each = "";
        char name[40];
        sli_cpus cpus;
        const uint32_t next = collect_workers(topology, placement, first, &cpus);

        if (next - first > 1) {
            each = share_cores(placement, first)                     ? "on any of these cores"
                   : placement->worker_count > placement->core_count ? "several on a core"
                                                                     : "one core each";
        }
        snprintf(name, sizeof(name), next - first > 1 ? "workers %u-%u" : "worker %u", first,
                 next - 1);
        print_row(topology, name, &cpus, each, text);
        first = next;
    }
}

static void add_cpus_and_nodes(const sli_topology *topology, const sli_cpus *cpus, bool nodes,
                               sli_text *text)
{
    sli_text_add(text, " CPU%s ", sli_cpus_count(cpus) == 1 ? "" : "s");
    sli_cpus_write(cpus, text);
    if (nodes && topology->node_count > 0) {
        sli_text_add(text, " node ");
        write_nodes(topology, cpus, text);
    }
}

void sli_placement_print_line(const sli_topology *topology, const sli_placement *placement,
                              sli_text *text)
{
    for (uint32_t first = 0; first < placement->worker_count;) {
        sli_cpus cpus;
        const uint32_t next = collect_workers(topology, placement, first, &cpus);

        sli_text_add(text, next - first > 1 ? "workers %u-%u" : "worker %u", first, next - 1);
        add_cpus_and_nodes(topology, &cpus, true, text);
        sli_text_add(text, ", ");
        first = next;
    }
    sli_text_add(text, "step");
    add_cpus_and_nodes(topology, &placement->device_cpus, false, text);
    if (placement->memory_node >= 0) {
        sli_text_add(text, ", buffers node %d", placement->memory_node);
    } else {
        sli_text_add(text, ", buffers on any node");
    }
    if (topology->policy.mode != SLI_POLICY_DEFAULT) {
        char policy[128];

        sli_text_add(text, ", memory policy %s",
                     sli_memory_policy_format(&topology->policy, policy, sizeof(policy)));
    }
    if (placement->undivided || placement->shared) {
        sli_text_add(text, placement->shared ? "; other ranks use these cores, too"
                                             : "; not divided among the ranks");
    }
}

static void print_step(const sli_topology *topology, const sli_placement *placement, sli_text *text)
{
    char remark[64] = "shared with the workers";

    if (placement->spare_cores > 0) {
        snprintf(remark, sizeof(remark), "%u of %u cores have no worker", placement->spare_cores,
                 placement->core_count);
    }
    print_row(topology, "step", &placement->device_cpus, remark, text);
}

void sli_placement_print(const sli_topology *topology, const sli_placement *placement,
                         sli_text *text)
{
    sli_text_add(text, "  %-16s %-16s %s\n", "thread", "CPUs", "node");
    print_workers(topology, placement, text);
    print_row(topology, "copier", &placement->copier_cpus, "", text);
    if (!placement->step_elsewhere) {
        print_step(topology, placement, text);
    }
    if (placement->memory_node >= 0) {
        sli_text_add(text, "  %-16s %-16s %d\n", "buffers", "-", placement->memory_node);
    } else {
        sli_text_add(text, "  %-16s %-16s %s\n", "buffers", "-", "as the kernel chooses");
    }
}

static void print_node_json(const char *key, int32_t node, sli_text *text)
{
    if (node >= 0) {
        sli_text_add(text, "\"%s\":%d", key, node);
    } else {
        sli_text_add(text, "\"%s\":null", key);
    }
}

static void print_thread_json(const sli_topology *topology, const char *name, const sli_cpus *cpus,
                              sli_text *text)
{
    sli_text_add(text, "{\"name\":\"%s\",\"cpus\":\"", name);
    sli_cpus_write(cpus, text);
    sli_text_add(text, "\",\"nodes\":[");
    write_nodes(topology, cpus, text);
    sli_text_add(text, "]}");
}

void sli_placement_print_json(const sli_topology *topology, const sli_placement *placement,
                              sli_text *text)
{
    sli_text_add(text, "{\"local_rank\":%u,\"local_world\":%u,", placement->local_rank,
                 placement->local_world);
    print_node_json("device_node", placement->device_node, text);
    sli_text_add(text, ",\"workers\":%u,\"cores\":%u,\"threads\":[", placement->worker_count,
                 placement->core_count);
    for (uint32_t w = 0; w < placement->worker_count; w++) {
        char name[24];

        snprintf(name, sizeof(name), "worker %u", w);
        print_thread_json(topology, name, &placement->worker_cpus[w], text);
        sli_text_add(text, ",");
    }
    print_thread_json(topology, "copier", &placement->copier_cpus, text);
    if (!placement->step_elsewhere) {
        sli_text_add(text, ",");
        print_thread_json(topology, "step", &placement->device_cpus, text);
    }
    sli_text_add(text, "],\"step_shares_cores\":%s,\"buffers\":{",
                 !placement->step_elsewhere && placement->spare_cores == 0 ? "true" : "false");
    print_node_json("node", placement->memory_node, text);
    sli_text_add(text, "},\"notes\":[");
    for (uint32_t i = 0; i < placement->note_count; i++) {
        sli_text_add(text, i > 0 ? "," : "");
        sli_text_add_json(text, placement->notes[i]);
    }
    sli_text_add(text, "]}");
}
