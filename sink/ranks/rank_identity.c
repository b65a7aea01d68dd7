/* SPDX-License-Identifier: Apache-2.0 */
#include "rank_identity.h"

#include "log_int.h"

/* Why the process may use fewer cores than the machine has; "" if it may use all of them. */
static const char *why_cores(const sli_topology *topology)
{
    if (topology->bound) {
        return " (affinity)";
    }
    return topology->core_count < topology->machine_core_count ? " (cpuset)" : "";
}

void rank_identity_print(const sluice_ranks *ranks, const data_feed *feed, sli_text *text)
{
    const sli_topology *topology = feed->topology;
    const sli_placement *placement = feed->placement;
    const int32_t node =
        placement->device_node >= 0 ? placement->device_node : placement->memory_node;

    sli_text_add(text, "rank %u of %u (%s)", ranks->rank, ranks->world, ranks->source);
    if (ranks->local_world > 0) {
        sli_text_add(text, ", local %u of %u", ranks->local_rank, ranks->local_world);
    }
    sli_text_add(text, ", %s, %u core%s%s", sluice_device_name(feed->config.device),
                 topology->core_count, topology->core_count == 1 ? "" : "s", why_cores(topology));
    if (topology->quota > 0) {
        sli_text_add(text, ", quota %.*f (%s)", topology->quota < 1 ? 2 : 1, topology->quota,
                     topology->quota_source);
    }
    if (node >= 0) {
        sli_text_add(text, ", node %d", node);
    }
}

void rank_identity_log(const sluice_ranks *ranks, const data_feed *feed)
{
    sli_text text = {0};

    rank_identity_print(ranks, feed, &text);
    if (!text.failed) {
        sli_log(SLUICE_LOG_INFO, "%s", text.data);
    }
    sli_text_free(&text);
}
