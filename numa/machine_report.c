/* SPDX-License-Identifier: Apache-2.0 */
#include "machine_report.h"

#include "placement_report.h"

static const char *kind_of_source(const sli_topology *topology, const sli_topology_config *source)
{
    if (source->synthetic != NULL) {
        return "synthetic";
    }
    if (source->xml != NULL) {
        return "XML";
    }
    return topology->this_system ? "this machine" : "HWLOC_* environment variables";
}

/* The synthetic text or the name of the XML file; NULL: the source is this machine. */
static const char *name_of_source(const sli_topology_config *source)
{
    return source->synthetic != NULL ? source->synthetic : source->xml;
}

static void print_bytes(uint64_t bytes, sli_text *text)
{
    const double mib = (double)bytes / (1 << 20);

    if (mib >= 1024) {
        sli_text_add(text, "%.1f GiB", mib / 1024);
    } else {
        sli_text_add(text, "%.0f MiB", mib);
    }
}

/* Prints a count with its noun: "1 core, ", "2 cores, ". */
static void print_count(uint32_t count, const char *what, sli_text *text)
{
    sli_text_add(text, "%u %s%s, ", count, what, count == 1 ? "" : "s");
}

static void print_allowed(const sli_topology *topology, sli_text *line)
{
    sli_text_add(line, "allowed  ");
    print_count(topology->core_count, "core", line);
    sli_text_add(line, "CPUs ");
    sli_cpus_write(&topology->allowed, line);
    if (topology->bound || topology->core_count < topology->machine_core_count) {
        sli_text_add(line, topology->bound ? " (affinity)" : " (cpuset)");
    }
    if (topology->quota > 0) {
        sli_text_add(line, ", CPU quota %.4g (", topology->quota);
        sli_text_add_printable(line, topology->quota_source);
        sli_text_add(line, "), memory ");
    } else {
        sli_text_add(line, ", no CPU quota, memory ");
    }
    print_bytes(topology->memory_limit, line);
    if (topology->policy.mode != SLI_POLICY_DEFAULT) {
        char policy[128];

        sli_text_add(line, ", memory policy %s",
                     sli_memory_policy_format(&topology->policy, policy, sizeof(policy)));
    }
}

/* Adds the line, wrapped, and empties it. */
static void end_line(sli_text *line, sli_text *text)
{
    sli_text_add_wrapped(text, line->data != NULL ? line->data : "", 9);
    text->failed = text->failed || line->failed;
    sli_text_free(line);
}

static void print_node(const sli_node *node, sli_text *text)
{
    sli_text ranges = {0};

    sli_cpus_write(&node->cpus, &ranges);
    text->failed = text->failed || ranges.failed;
    sli_text_add(text, "  %-5u %-6u %-16s ", node->id, node->core_count,
                 ranges.data != NULL ? ranges.data : "-");
    sli_text_free(&ranges);
    if (node->memory_bytes == 0) {
        sli_text_add(text, "none\n");
        return;
    }
    print_bytes(node->memory_bytes, text);
    sli_text_add(text, "%s\n", node->memory_allowed ? "" : ", not allowed");
}

void sli_machine_print(const sli_topology *topology, const sli_topology_config *source,
                       sli_text *text)
{
    const char *name = name_of_source(source);
    sli_text line = {0};

    sli_text_add(&line, "machine  ");
    print_count(topology->package_count, "package", &line);
    print_count(topology->node_count, "node", &line);
    print_count(topology->machine_core_count, "core", &line);
    print_count(topology->machine_cpu_count, "CPU", &line);
    print_bytes(topology->machine_memory, &line);
    sli_text_add(&line, " (%s%s", kind_of_source(topology, source), name != NULL ? ": " : "");
    sli_text_add_printable(&line, name != NULL ? name : "");
    sli_text_add(&line, ")");
    end_line(&line, text);
    print_allowed(topology, &line);
    end_line(&line, text);
    sli_text_add(text, "\n  %-5s %-6s %-16s %s\n", "node", "cores", "CPUs", "memory");
    for (uint32_t n = 0; n < topology->node_count; n++) {
        print_node(&topology->nodes[n], text);
    }
}

static void print_allowed_json(const sli_topology *topology, sli_text *text)
{
    char policy[128];

    sli_text_add(text, "\"allowed\":{\"cores\":%u,\"cpus\":\"", topology->core_count);
    sli_cpus_write(&topology->allowed, text);
    sli_text_add(text,
                 "\",\"memory_bytes\":%llu,\"quota\":", (unsigned long long)topology->memory_limit);
    if (topology->quota > 0) {
        sli_text_add_number(text, topology->quota);
        sli_text_add(text, ",\"quota_source\":");
        sli_text_add_json(text, topology->quota_source);
    } else {
        sli_text_add(text, "null,\"quota_source\":null");
    }
    sli_text_add(text, ",\"memory_policy\":\"%s\"}",
                 sli_memory_policy_format(&topology->policy, policy, sizeof(policy)));
}

static void print_node_json(const sli_node *node, sli_text *text)
{
    sli_text_add(text, "{\"node\":%u,\"cores\":%u,\"cpus\":\"", node->id, node->core_count);
    sli_cpus_write(&node->cpus, text);
    sli_text_add(text, "\",\"memory_bytes\":%llu,\"memory_allowed\":%s}",
                 (unsigned long long)node->memory_bytes, node->memory_allowed ? "true" : "false");
}

void sli_machine_print_json(const sli_topology *topology, const sli_topology_config *source,
                            sli_text *text)
{
    const char *name = name_of_source(source);

    sli_text_add(text,
                 "\"machine\":{\"source\":\"%s\",\"name\":", kind_of_source(topology, source));
    if (name != NULL) {
        sli_text_add_json(text, name);
    } else {
        sli_text_add(text, "null");
    }
    sli_text_add(text,
                 ",\"packages\":%u,\"nodes\":%u,\"cores\":%u,\"cpus\":%u,\"memory_bytes\":%llu,",
                 topology->package_count, topology->node_count, topology->machine_core_count,
                 topology->machine_cpu_count, (unsigned long long)topology->machine_memory);
    print_allowed_json(topology, text);
    sli_text_add(text, "},\"nodes\":[");
    for (uint32_t n = 0; n < topology->node_count; n++) {
        sli_text_add(text, "%s", n > 0 ? "," : "");
        print_node_json(&topology->nodes[n], text);
    }
    sli_text_add(text, "]");
}
