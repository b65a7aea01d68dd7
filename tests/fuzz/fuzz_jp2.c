/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Any bytes as a JPEG 2000 file: in colour and in gray. OpenJPEG is not instrumented: the target
 * tests our walk of the markers and our glue, and that OpenJPEG allocates no more than the walk has
 * computed, where the sanitizer counts what is allocated.
 */
#include <string.h>

#include "fuzz_target.h"
#include "jp2_boxes.h"
#include "jp2_cost.h"
#include "jp2_walk.h"

#if defined(__has_feature)
#if __has_feature(address_sanitizer)
#define COUNTS_ALLOCATIONS
#endif
#endif

#ifdef COUNTS_ALLOCATIONS
#include <sanitizer/allocator_interface.h>

static size_t allocated;
static size_t most_allocated;

static void count_allocation(const volatile void *block, size_t size)
{
    (void)block;
    allocated += size;
    most_allocated = allocated > most_allocated ? allocated : most_allocated;
}

static void count_free(const volatile void *block)
{
    allocated -= block != NULL ? __sanitizer_get_allocated_size(block) : 0;
}

static void begin_count(void)
{
    static bool is_installed;

    if (!is_installed) {
        (void)__sanitizer_install_malloc_and_free_hooks(count_allocation, count_free);
        is_installed = true;
    }
    allocated = (size_t)1 << 40; /* memory from before may be freed */
    most_allocated = allocated;
}

static size_t end_count(void)
{
    return most_allocated - ((size_t)1 << 40);
}
#else
static void begin_count(void)
{
}

static size_t end_count(void)
{
    return 0;
}
#endif

enum { DECODER_ITSELF = 1 << 16 }; /* and messages of errors */

/* The memory that the walk permits: what it computes for the file; else what is before that. */
static uint64_t permitted(const uint8_t *data, size_t size)
{
    static jp2_boxes boxes;
    jp2_walk walk;
    uint64_t cost = 65535 * sizeof(jp2_tile);

    if (jp2_boxes_read(&boxes, data, size) == SLUICE_OK &&
        jp2_walk_header(&walk, boxes.code, boxes.code_size) == SLUICE_OK) {
        if (jp2_cost_of_tiles(&walk) <= jp2_cost_limit(&walk) &&
            jp2_walk_tiles(&walk) == SLUICE_OK && jp2_cost_check_packets(&walk) == SLUICE_OK &&
            jp2_cost(&walk) <= jp2_cost_limit(&walk)) {
            cost = jp2_cost(&walk) + (uint64_t)walk.tiles_x * walk.tiles_y * sizeof(jp2_tile);
        }
        jp2_walk_end(&walk);
    }
    return cost + DECODER_ITSELF;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    image_box box;
    image_view region;

    if (size >= 12 && (memcmp(data + 4, "jP  ", 4) == 0 || data[0] == 0xFF)) {
        const uint64_t most = permitted(data, size);

        begin_count();
        (void)fuzz_region(data, size, false, &box, &region);
        (void)fuzz_region(data, size, true, &box, &region);
        if (end_count() > most) {
            fuzz_fail("more memory than the walk computed");
        }
    }
    return 0;
}
