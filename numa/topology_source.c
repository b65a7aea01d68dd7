/* SPDX-License-Identifier: Apache-2.0 */
#include "topology_source.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "format_int.h"
#include "status_int.h"
#include "topology_xml.h"

/* Upper bounds for synthetic topologies. They allow more CPUs than the library handles; hwloc's
 * time grows with the square of the number of siblings. */
enum { SYNTHETIC_MAX_CPUS = 2 * SLI_MAX_CPUS, SYNTHETIC_MAX_SIBLINGS = 1024 };

/*
 * Upper bound on explicit numbers of CPUs and nodes: hwloc allocates memory for all numbers up to
 * the largest.
 */
enum { SYNTHETIC_MAX_INDEX = 65535 };

static sluice_status synthetic_too_big(const char *text)
{
    return sli_fail(SLUICE_E_INVALID,
                    "topology \"%.100s\" is too big: at most %d CPUs, %d of a kind beside each "
                    "other, indexes up to %d",
                    text, SYNTHETIC_MAX_CPUS, SYNTHETIC_MAX_SIBLINGS, SYNTHETIC_MAX_INDEX);
}

static bool indexes_fit(const char *text)
{
    for (const char *at = strstr(text, "indexes="); at != NULL; at = strstr(at, "indexes=")) {
        at += strlen("indexes=");
        while (*at != '\0' && *at != ' ' && *at != ')') {
            char *end;

            if (strtoul(at, &end, 0) > SYNTHETIC_MAX_INDEX) {
                return false;
            }
            at = end > at ? end : at + 1;
        }
    }
    return true;
}

static sluice_status synthetic_is_wrong(const char *text)
{
    return sli_fail(SLUICE_E_INVALID,
                    "topology \"%.200s\" is invalid; write levels with counts down to pu, as in "
                    "\"pack:2 [numa(memory=8GB)] core:4 pu:2\"",
                    text);
}

/* Parser state of check_synthetic(), which rejects texts that hwloc does not check itself. */
typedef struct synthetic_walk {
    unsigned long total; /* number of objects on the current level */
    bool too_big;        /* a number is too large */
    bool has_attached;   /* the text has "[numa]" between the levels */
    bool has_node_level; /* the text has a level such as "numa:2" */
    bool ends_in_cpus;   /* the last level has no name, or is "pu" */
} synthetic_walk;

/* Parses one level, "TYPE:COUNT" or "COUNT". Returns its end; NULL: the level is too large, or
 * hwloc would refuse it. */
static const char *walk_level(const char *at, synthetic_walk *walk)
{
    const bool named = *at < '0' || *at > '9';
    unsigned long count;
    char *end;

    walk->ends_in_cpus = !named || sli_same_begin(at, "pu", 2);
    if (named) {
        walk->has_node_level =
            walk->has_node_level || sli_same_begin(at, "numa", 4) || sli_same_begin(at, "node", 4);
        at = strchr(at, ':');
        if (at == NULL) {
            return NULL;
        }
        at++;
    }
    count = strtoul(at, &end, 0);
    if (count == 0 || end == at) {
        return NULL;
    }
    if (count > SYNTHETIC_MAX_SIBLINGS || walk->total * count > SYNTHETIC_MAX_CPUS) {
        walk->too_big = true;
        return NULL;
    }
    walk->total *= count;
    return end;
}

/*
 * Parses the text as hwloc does: levels "TYPE:COUNT(attributes)", and "[memory]" between them. For
 * large numbers hwloc would take minutes or all memory, and it leaks memory when it refuses text
 * after a "[memory]".
 */
static sluice_status check_synthetic(const char *text)
{
    synthetic_walk walk = {.total = 1, .too_big = !indexes_fit(text)};
    const char *at = text;

    while (at != NULL && *at != '\0' && !walk.too_big) {
        if (*at == ' ' || *at == '\n') {
            at++;
        } else if (*at == '[' || *at == '(') {
            walk.has_attached = walk.has_attached || *at == '[';
            at = strchr(at, *at == '[' ? ']' : ')');
            at = at != NULL ? at + 1 : NULL;
        } else {
            at = walk_level(at, &walk);
        }
    }
    if (walk.too_big) {
        return synthetic_too_big(text);
    }
    if (at == NULL || !walk.ends_in_cpus || (walk.has_attached && walk.has_node_level)) {
        return synthetic_is_wrong(text);
    }
    return SLUICE_OK;
}

static sluice_status set_synthetic(hwloc_topology_t loaded, const char *text)
{
    sluice_status st = check_synthetic(text);

    if (st != SLUICE_OK) {
        return st;
    }
    if (hwloc_topology_set_synthetic(loaded, text) != 0) {
        return synthetic_is_wrong(text);
    }
    return SLUICE_OK;
}

/*
 * Disables all parts of the topology that take time and are not needed. Groups are kept: a NUMA
 * node without its own package or die is attached to a group; without groups it would get the CPUs
 * of the whole machine. Components that open contexts on GPUs are never loaded; a device's node
 * follows from its PCI bus id.
 */
static void choose_content(hwloc_topology_t loaded, bool devices)
{
    static const char *const off[] = {"opencl", "gl", "cuda", "nvml", "rsmi", "levelzero"};
    const unsigned long flags = HWLOC_TOPOLOGY_FLAG_INCLUDE_DISALLOWED |
                                HWLOC_TOPOLOGY_FLAG_DONT_CHANGE_BINDING |
                                HWLOC_TOPOLOGY_FLAG_NO_DISTANCES | HWLOC_TOPOLOGY_FLAG_NO_MEMATTRS |
                                HWLOC_TOPOLOGY_FLAG_NO_CPUKINDS;

    (void)hwloc_topology_set_flags(loaded, flags);
    (void)hwloc_topology_set_cache_types_filter(loaded, HWLOC_TYPE_FILTER_KEEP_NONE);
    (void)hwloc_topology_set_type_filter(loaded, HWLOC_OBJ_MISC, HWLOC_TYPE_FILTER_KEEP_NONE);
    (void)hwloc_topology_set_io_types_filter(loaded, HWLOC_TYPE_FILTER_KEEP_NONE);
    if (devices) {
        (void)hwloc_topology_set_type_filter(loaded, HWLOC_OBJ_PCI_DEVICE,
                                             HWLOC_TYPE_FILTER_KEEP_ALL);
    }
    for (size_t i = 0; i < sizeof(off) / sizeof(off[0]); i++) {
        (void)hwloc_topology_set_components(loaded, HWLOC_TOPOLOGY_COMPONENTS_FLAG_BLACKLIST,
                                            off[i]); /* fails if the component does not exist */
    }
}

/* Reports a failed load; hwloc often leaves the errno of the cause. */
static sluice_status load_failed(const sli_topology_config *config, int error)
{
    if (error == ENOMEM) {
        return sli_fail(SLUICE_E_NO_MEMORY, "hwloc cannot load the topology");
    }
    if (config->xml != NULL) {
        return sli_topology_xml_refused(config->xml);
    }
    if (config->synthetic != NULL) {
        return sli_fail(SLUICE_E_INVALID,
                        "topology \"%.200s\" must be a description that hwloc accepts, such as "
                        "\"numa:2 core:4 pu:1\"",
                        config->synthetic);
    }
    return sli_fail(SLUICE_E_IO, "hwloc cannot read this machine; check that /sys is mounted, and "
                                 "that HWLOC_XMLFILE and HWLOC_SYNTHETIC are unset or valid");
}

sluice_status sli_topology_load(const sli_topology_config *config, bool devices,
                                hwloc_topology_t *loaded_out)
{
    static const sli_topology_config this_machine = {NULL, NULL};
    hwloc_topology_t loaded;
    sluice_status st = SLUICE_OK;

    if (config == NULL) {
        config = &this_machine;
    }
    if (config->synthetic != NULL && config->xml != NULL) {
        return sli_fail(SLUICE_E_INVALID,
                        "topology: synthetic and xml are set, and one must be NULL");
    }
    if (hwloc_topology_init(&loaded) != 0) {
        return sli_fail(SLUICE_E_NO_MEMORY, "topology");
    }
    if (config->synthetic != NULL) {
        st = set_synthetic(loaded, config->synthetic);
    } else if (config->xml != NULL) {
        st = sli_topology_set_xml(loaded, config->xml);
    }
    if (st == SLUICE_OK) {
        choose_content(loaded, devices);
        errno = 0;
        st = hwloc_topology_load(loaded) == 0 ? SLUICE_OK : load_failed(config, errno);
    }
    if (st != SLUICE_OK) {
        hwloc_topology_destroy(loaded);
        return st;
    }
    *loaded_out = loaded;
    return SLUICE_OK;
}

/*
 * True if `node` is a better choice than `than`: nodes with memory come first, then nodes with
 * fewer CPUs.
 */
static bool is_nearer(hwloc_obj_t node, hwloc_obj_t than)
{
    const bool memory = node->attr->numanode.local_memory > 0;
    const bool than_memory = than->attr->numanode.local_memory > 0;

    if (memory != than_memory) {
        return memory;
    }
    return hwloc_bitmap_weight(node->cpuset) < hwloc_bitmap_weight(than->cpuset);
}

hwloc_obj_t sli_nearest_node(hwloc_topology_t loaded, hwloc_const_bitmap_t cpus)
{
    hwloc_obj_t nearest = NULL;
    hwloc_obj_t node = NULL;

    while ((node = hwloc_get_next_obj_by_type(loaded, HWLOC_OBJ_NUMANODE, node)) != NULL) {
        if (hwloc_bitmap_intersects(node->cpuset, cpus) &&
            (nearest == NULL || is_nearer(node, nearest))) {
            nearest = node;
        }
    }
    return nearest;
}
