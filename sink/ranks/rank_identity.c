/* SPDX-License-Identifier: Apache-2.0 */
#include "rank_identity.h"

#include <unistd.h>

#include "log_int.h"

/* Adds the number of the rank's cores; "(affinity)" or "(cpuset)" if that restricts the process. */
static void add_cores(const sli_topology *topology, const sli_placement *placement, sli_text *text)
{
    const uint32_t allowed = topology->core_count;

    if (placement->core_count < allowed) {
        sli_text_add(text, ", %u of %u cores", placement->core_count, allowed);
    } else {
        sli_text_add(text, ", %u core%s", allowed, allowed == 1 ? "" : "s");
    }
    if (topology->bound || allowed < topology->machine_core_count) {
        sli_text_add(text, topology->bound ? " (affinity)" : " (cpuset)");
    }
}

void rank_identity_print(const sluice_ranks *ranks, const char *host, const data_feed *feed,
                         sli_text *text)
{
    const sli_topology *topology = feed->topology;
    const sli_placement *placement = feed->placement;

    sli_text_add(text, "rank %u of %u (%s) on %s", ranks->rank, ranks->world, ranks->source, host);
    if (ranks->local_world > 0) {
        sli_text_add(text, ", local %u of %u", ranks->local_rank, ranks->local_world);
    }
    sli_text_add(text, ", %s", sluice_device_name(feed->config.device));
    if (placement->device_node >= 0) {
        sli_text_add(text, " on node %d", placement->device_node);
    }
    add_cores(topology, placement, text);
    if (topology->quota > 0) {
        sli_text_add(text, ", quota %.*f (%s)", topology->quota < 1 ? 2 : 1, topology->quota,
                     topology->quota_source);
    }
    sli_text_add(text, ": ");
    sli_placement_print_line(topology, placement, text);
}

void rank_identity_log(const sluice_ranks *ranks, const data_feed *feed)
{
    const sli_placement *placement = feed->placement;
    char host[256] = "";
    sli_text text = {0};

    (void)gethostname(host, sizeof(host) - 1);
    rank_identity_print(ranks, host, feed, &text);
    if (!text.failed) {
        sli_log(SLUICE_LOG_INFO, "%s", text.data);
    }
    sli_text_free(&text);
    for (uint32_t i = 0; i < placement->note_count; i++) {
        if ((placement->warnings >> i & 1) != 0) {
            sli_log(SLUICE_LOG_WARN, "rank %u: %s", ranks->rank, placement->notes[i]);
        }
    }
}
