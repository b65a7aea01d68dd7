/* SPDX-License-Identifier: Apache-2.0 */
#include "memory_policy_int.h"

#include <numaif.h>
#include <stdio.h>
#include <string.h>

#include "log_int.h"
#include "status_int.h"

/* Constants of set_mempolicy() that libnuma's header may lack. The bits above the mode are flags.
 */
enum {
    POLICY_PREFERRED_MANY = 5,
    POLICY_WEIGHTED_INTERLEAVE = 6,
    POLICY_MODE_BITS = 0xFF,
    POLICY_RELATIVE_NODES = 1 << 14
};

static bool has_node(const sli_memory_policy *policy, uint32_t node)
{
    return node < SLI_MAX_NODES &&
           (policy->nodes[node / SLI_NODE_WORD_BITS] >> node % SLI_NODE_WORD_BITS & 1) != 0;
}

static bool has_nodes(const sli_memory_policy *policy)
{
    for (uint32_t node = 0; node < SLI_MAX_NODES; node++) {
        if (has_node(policy, node)) {
            return true;
        }
    }
    return false;
}

static sli_policy_mode mode_of(int policy)
{
    switch (policy & POLICY_MODE_BITS) {
    case MPOL_BIND:
        return SLI_POLICY_BIND;
    case MPOL_PREFERRED:
    case POLICY_PREFERRED_MANY:
        return SLI_POLICY_PREFERRED;
    case MPOL_INTERLEAVE:
    case POLICY_WEIGHTED_INTERLEAVE:
        return SLI_POLICY_INTERLEAVE;
    default: /* MPOL_DEFAULT and MPOL_LOCAL */
        return SLI_POLICY_DEFAULT;
    }
}

void sli_memory_policy_read(sli_memory_policy *policy_out)
{
    int policy = MPOL_DEFAULT;

    memset(policy_out, 0, sizeof(*policy_out));
    if (get_mempolicy(&policy, policy_out->nodes, SLI_MAX_NODES + 1, NULL, 0) != 0) {
        memset(policy_out, 0, sizeof(*policy_out)); /* a container may forbid the system call */
        return;
    }
    policy_out->mode = mode_of(policy);
    policy_out->relative = (policy & POLICY_RELATIVE_NODES) != 0;
    if (!has_nodes(policy_out)) { /* MPOL_PREFERRED without a node is local allocation */
        policy_out->mode = SLI_POLICY_DEFAULT;
    }
}

bool sli_memory_policy_permits(const sli_memory_policy *policy, uint32_t node)
{
    return policy->mode != SLI_POLICY_BIND || policy->relative || has_node(policy, node);
}

bool sli_memory_policy_leaves(const sli_memory_policy *policy, uint32_t node)
{
    for (uint32_t other = 0; other < SLI_MAX_NODES; other++) {
        if (other != node && has_node(policy, other)) {
            return policy->mode != SLI_POLICY_DEFAULT && !policy->relative;
        }
    }
    return false;
}

char *sli_memory_policy_format(const sli_memory_policy *policy, char *text, size_t size)
{
    static const char *const names[] = {"default", "preferred", "bind", "interleave"};
    const char *separator = " ";
    size_t used = (size_t)snprintf(text, size, "%s", names[policy->mode]);

    for (uint32_t first = 0; policy->mode != SLI_POLICY_DEFAULT && first < SLI_MAX_NODES; first++) {
        uint32_t last = first;

        if (!has_node(policy, first)) {
            continue;
        }
        while (has_node(policy, last + 1)) {
            last++;
        }
        if (used < size) {
            used += (size_t)snprintf(text + used, size - used, last > first ? "%s%u-%u" : "%s%u",
                                     separator, first, last);
        }
        separator = ",";
        first = last;
    }
    return text;
}

sli_memory_way sli_memory_choose(const sli_memory_policy *policy, int32_t node)
{
    if (node < 0) {
        return SLI_MEMORY_INHERIT;
    }
    if (policy->mode != SLI_POLICY_BIND) {
        return SLI_MEMORY_PREFER;
    }
    return policy->relative || !has_node(policy, (uint32_t)node) ? SLI_MEMORY_INHERIT
                                                                 : SLI_MEMORY_BIND_NEAR;
}

bool sli_node_available(const char *root, uint32_t node, uint64_t *bytes_out)
{
    static const char *const parts[] = {"MemFree", "Active(file)", "Inactive(file)",
                                        "SReclaimable"};
    char path[4200];
    char line[256];
    uint64_t kib = 0;
    bool found = false;
    FILE *file;

    snprintf(path, sizeof(path), "%.4000s/sys/devices/system/node/node%u/meminfo", root, node);
    file = fopen(path, "re");
    if (file == NULL) {
        return false;
    }
    while (fgets(line, sizeof(line), file) != NULL) {
        unsigned long long number;
        char name[64];

        if (sscanf(line, "Node %*u %63[^:]: %llu kB", name, &number) != 2) {
            continue;
        }
        for (size_t i = 0; i < sizeof(parts) / sizeof(parts[0]); i++) {
            if (strcmp(name, parts[i]) == 0 && number < UINT64_MAX / 4096) {
                kib += number;
                found = found || i == 0;
            }
        }
    }
    fclose(file);
    *bytes_out = kib * 1024;
    return found;
}

/* Bytes available on the bound nodes; UINT64_MAX: the amount of one of them is not known. */
static uint64_t bound_available(const char *root, const sli_memory_policy *policy)
{
    uint64_t all = 0;

    for (uint32_t node = 0; node < SLI_MAX_NODES; node++) {
        uint64_t bytes;

        if (!has_node(policy, node)) {
            continue;
        }
        if (!sli_node_available(root, node, &bytes)) {
            return UINT64_MAX;
        }
        all += bytes;
    }
    return all;
}

sluice_status sli_memory_check(const char *root, const sli_memory_policy *policy, int32_t node,
                               size_t bytes)
{
    const double mb = (double)bytes / 1e6;
    uint64_t available = UINT64_MAX;
    char bound[128];

    if (policy->mode == SLI_POLICY_BIND && !policy->relative) {
        available = bound_available(root, policy);
        if (bytes > available) {
            return sli_fail(SLUICE_E_NO_MEMORY,
                            "memory of the nodes that this process is bound to (%s): %.6g MB "
                            "needed, %.6g MB available; allow more nodes (numactl --membind), or "
                            "use fewer slots or a smaller batch",
                            sli_memory_policy_format(policy, bound, sizeof(bound)), mb,
                            (double)available / 1e6);
        }
    }
    if (sli_memory_choose(policy, node) != SLI_MEMORY_INHERIT &&
        sli_node_available(root, (uint32_t)node, &available) && bytes > available) {
        sli_log(SLUICE_LOG_WARN,
                "memory on node %d: %.6g MB needed, %.6g MB available; the rest lies on other "
                "nodes. Use fewer slots or a smaller batch, or free memory of this node",
                node, mb, (double)available / 1e6);
    }
    return SLUICE_OK;
}
