/* SPDX-License-Identifier: Apache-2.0 */
#include "box_tally.h"

#include <inttypes.h>

#include "alloc_int.h"
#include "log_int.h"
#include "printable_int.h"
#include "status_int.h"

uint64_t box_tally_memory(uint64_t samples)
{
    return (samples / 8 + 1) * (uint64_t)BOX_CHANGES;
}

sluice_status box_tally_init(box_tally *tally, uint64_t samples)
{
    tally->samples = samples;
    if (samples == 0) {
        return SLUICE_OK;
    }
    tally->seen = sli_calloc(box_tally_memory(samples), sizeof(*tally->seen));
    return tally->seen != NULL
               ? SLUICE_OK
               : sli_fail(SLUICE_E_NO_MEMORY, "the boxes of %" PRIu64 " samples", samples);
}

void box_tally_end(box_tally *tally)
{
    const uint64_t clipped =
        atomic_load_explicit(&tally->boxes[BOX_CHANGE_CLIPPED], memory_order_relaxed);
    const uint64_t dropped =
        atomic_load_explicit(&tally->boxes[BOX_CHANGE_DROPPED], memory_order_relaxed);

    if (clipped + dropped > 0) {
        sli_log(SLUICE_LOG_WARN,
                "boxes: %" PRIu64 " were clipped to their image, and %" PRIu64
                " without an area were dropped, in the samples that were read%s",
                clipped, dropped, tally->seen == NULL ? " (in all passes of the stream)" : "");
    }
    sli_free((void *)(uintptr_t)tally->seen);
    tally->seen = NULL;
}

/* True if the sample has this change for the first time. */
static bool is_new(box_tally *tally, uint64_t sample, box_change change)
{
    const uint64_t bit = sample * (uint64_t)BOX_CHANGES + (uint64_t)change;
    const uint8_t mask = (uint8_t)(1U << (bit % 8));

    return tally->seen == NULL || sample >= tally->samples ||
           (atomic_fetch_or_explicit(&tally->seen[bit / 8], mask, memory_order_relaxed) & mask) ==
               0;
}

bool box_tally_add(box_tally *tally, uint64_t sample, box_change change, uint32_t boxes)
{
    const uint32_t bit = 1U << change;

    if (boxes == 0 || !is_new(tally, sample, change)) {
        return false;
    }
    atomic_fetch_add_explicit(&tally->boxes[change], boxes, memory_order_relaxed);
    return (atomic_load_explicit(&tally->said, memory_order_relaxed) & bit) == 0 &&
           (atomic_fetch_or_explicit(&tally->said, bit, memory_order_relaxed) & bit) == 0;
}

void box_tally_say(box_change change, uint64_t sample, const char *name, const char *column,
                   uint64_t number, const float *box)
{
    char printable[256];

    sli_printable(name, SLI_ONE_LINE, printable, sizeof(printable));
    sli_log(SLUICE_LOG_WARN,
            "sample %" PRIu64 ", %s: %s: box %" PRIu64 ", %g,%g,%g,%g, %s; all such boxes are, "
            "and their number is logged when the dataset is closed",
            sample, printable, column, number, (double)box[0], (double)box[1], (double)box[2],
            (double)box[3],
            change == BOX_CHANGE_DROPPED ? "has no area and is dropped"
                                         : "reaches beyond its image and is clipped to it");
}
