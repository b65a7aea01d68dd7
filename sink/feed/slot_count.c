/* SPDX-License-Identifier: Apache-2.0 */
#include "slot_count.h"

#include "queue_int.h"

/*
 * Host devices: one slot above the minimum evens out batches of different cost. This helps while
 * the slots fit a processor's cache (CACHED_BYTES). For larger slots, another one only takes memory
 * that must be cleared first.
 */
enum { HOST_SLOTS = 4, LEAST_SLOTS = 3, CACHED_BYTES = 64 << 20 };

/* Devices with kernels: a step may take only tens of microseconds, so small batches need many
 * slots. */
enum { KERNEL_LEAST = 4, KERNEL_MOST = 64, KERNEL_BYTES = 16 << 20 };

/* Rows in flight for each worker. One slow sample holds up its batch. A worker that has filled its
 * rows of all later slots then sleeps (bench_slots simulates this). */
enum { ROWS_OF_A_WORKER = 16 };

/* Bounds of the memory of slots that are added for the workers: MOST_BYTES, and 1 / FREE_SHARE of
 * the free memory. */
enum { MOST_BYTES = 1 << 30, FREE_SHARE = 16 };

static uint64_t least(uint64_t a, uint64_t b)
{
    return a < b ? a : b;
}

static uint64_t larger(uint64_t a, uint64_t b)
{
    return a > b ? a : b;
}

static uint64_t for_device(const slot_request *r)
{
    if (r->kernels) {
        return larger(KERNEL_LEAST, least(KERNEL_MOST, KERNEL_BYTES / r->slot_bytes));
    }
    return r->lends && HOST_SLOTS * r->slot_bytes > CACHED_BYTES ? LEAST_SLOTS : HOST_SLOTS;
}

uint32_t slot_count(const slot_request *request)
{
    const slot_request *r = request;
    const uint64_t rows = (uint64_t)ROWS_OF_A_WORKER * r->workers;
    const uint64_t for_workers = (rows + r->batch_size - 1) / r->batch_size;
    const uint64_t most = least(MOST_BYTES, r->free_bytes / FREE_SHARE) / r->slot_bytes;
    const uint64_t device = for_device(r);
    const uint64_t few = r->kernels ? KERNEL_LEAST : device;

    return (uint32_t)larger(few, least(least(larger(device, for_workers), SLI_MAX_SLOTS), most));
}
