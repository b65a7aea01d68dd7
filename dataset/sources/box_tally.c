/* SPDX-License-Identifier: Apache-2.0 */
#include "box_tally.h"

#include <inttypes.h>

#include "alloc_int.h"
#include "log_int.h"
#include "printable_int.h"
#include "status_int.h"

/* Limit on the bits of `seen`: 4e9 samples with one column. A source of a program may declare many
 * more, since it may make its samples when they are read. */
static const uint64_t MOST_BITS = (uint64_t)1 << 33;

_Static_assert(SLUICE_MAX_COLUMNS *BOX_CHANGES <= 32, "bits of told_boxes.changes");

static uint64_t bits_of(const box_tally *tally)
{
    return (uint64_t)tally->columns * BOX_CHANGES;
}

uint64_t box_tally_memory(const box_tally *tally)
{
    return tally->seen != NULL ? tally->samples * bits_of(tally) / 8 + 1 : 0;
}

sluice_status box_tally_init(box_tally *tally, uint64_t samples, uint32_t columns)
{
    tally->samples = samples;
    tally->columns = columns;
    if (samples == 0 || samples > MOST_BITS / bits_of(tally)) {
        return SLUICE_OK;
    }
    tally->seen = sli_calloc(samples * bits_of(tally) / 8 + 1, sizeof(*tally->seen));
    return tally->seen != NULL
               ? SLUICE_OK
               : sli_fail(SLUICE_E_NO_MEMORY, "the boxes of %" PRIu64 " samples", samples);
}

void box_tally_read(const box_tally *tally, uint64_t *clipped, uint64_t *dropped)
{
    *clipped += atomic_load_explicit(&tally->boxes[BOX_CHANGE_CLIPPED], memory_order_relaxed);
    *dropped += atomic_load_explicit(&tally->boxes[BOX_CHANGE_DROPPED], memory_order_relaxed);
}

void box_tally_end(box_tally *tally)
{
    uint64_t clipped = 0;
    uint64_t dropped = 0;

    box_tally_read(tally, &clipped, &dropped);
    if (clipped + dropped > 0) {
        sli_log(SLUICE_LOG_WARN,
                "boxes: %" PRIu64 " were clipped to their image, and %" PRIu64
                " without an area were dropped, in the samples that were read%s",
                clipped, dropped, tally->seen == NULL ? ", each time that a sample was read" : "");
    }
    sli_free((void *)(uintptr_t)tally->seen);
    tally->seen = NULL;
}

/* True if the sample has this change for the first time. A worker may read it several times in
 * turn: for a filter, and then for its row. */
static bool is_new(box_tally *tally, uint64_t sample, sample_io *io, uint32_t kind)
{
    const uint64_t bit = sample * bits_of(tally) + kind;
    const uint8_t mask = (uint8_t)(1U << (bit % 8));
    const uint32_t told =
        io->told.sample == sample && io->told.pass == io->pass ? io->told.changes : 0;

    io->told = (told_boxes){sample, io->pass, told | 1U << kind};
    if ((told >> kind & 1) != 0) {
        return false;
    }
    return tally->seen == NULL || sample >= tally->samples ||
           (atomic_fetch_or_explicit(&tally->seen[bit / 8], mask, memory_order_relaxed) & mask) ==
               0;
}

bool box_tally_add(box_tally *tally, uint64_t sample, sample_io *io, uint32_t column,
                   box_change change, uint32_t boxes)
{
    const uint32_t bit = 1U << change;

    if (boxes == 0 || !is_new(tally, sample, io, column * BOX_CHANGES + change)) {
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
            "sample %" PRIu64 ", %s: %s: box %" PRIu64 ", %g,%g,%g,%g, %s; further ones are "
            "counted, and the number is logged when the dataset is closed",
            sample, printable, column, number, (double)box[0], (double)box[1], (double)box[2],
            (double)box[3],
            change == BOX_CHANGE_DROPPED ? "has no area and is dropped"
                                         : "reaches beyond its image and is clipped to it");
}
