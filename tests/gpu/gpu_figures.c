/* SPDX-License-Identifier: Apache-2.0 */
#include "gpu_figures.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

double gpu_share(double part, double whole)
{
    return whole > 0.0 ? part / whole : 0.0;
}

/* ---- gaps between steps ---------------------------------------------------------------------- */

uint64_t gpu_percentile(const uint64_t *sorted, size_t count, unsigned int percent)
{
    const size_t rank = (count * percent + 99) / 100;

    if (count == 0) {
        return 0;
    }
    return sorted[rank > 0 ? rank - 1 : 0];
}

static int compare(const void *left, const void *right)
{
    const uint64_t a = *(const uint64_t *)left;
    const uint64_t b = *(const uint64_t *)right;

    return (a > b) - (a < b);
}

bool gpu_gaps_of(const gpu_stamp *stamps, size_t count, uint64_t *ns, gpu_gaps *gaps_out)
{
    const size_t gaps = count > 0 ? count - 1 : 0;

    for (size_t i = 0; i < gaps; i++) {
        if (stamps[i + 1].begin_ns < stamps[i].end_ns) {
            return false;
        }
        ns[i] = stamps[i + 1].begin_ns - stamps[i].end_ns;
    }
    if (gaps == 0) {
        return false;
    }
    qsort(ns, gaps, sizeof(*ns), compare);
    gaps_out->count = gaps;
    gaps_out->p50_ns = gpu_percentile(ns, gaps, 50);
    gaps_out->p99_ns = gpu_percentile(ns, gaps, 99);
    gaps_out->most_ns = ns[gaps - 1];
    return true;
}

/* ---- rows ------------------------------------------------------------------------------------ */

double gpu_row_text(const gpu_row *row, char *text, size_t size)
{
    const double steps_per_s = gpu_share((double)row->steps, row->seconds);
    const double gb_per_s = steps_per_s * (double)row->batch_bytes / 1e9;
    const double share = gpu_share(steps_per_s, row->no_data_per_s);

    snprintf(text, size, "%s,%d,%llu,%lld,%llu,%.3f,%.1f,%.4f,%.3f,%.4f,%llu,%llu,%llu,%.4f,%.4f",
             row->mode, row->step_us, (unsigned long long)row->batch_bytes,
             (long long)row->sink_size, (unsigned long long)row->steps, row->seconds, steps_per_s,
             share, gb_per_s, gpu_share(gb_per_s, row->pinned_gb_per_s),
             (unsigned long long)row->launches, (unsigned long long)row->syncs,
             (unsigned long long)row->yields, row->data_wait_share,
             gpu_share(row->cpu_seconds, row->sink_seconds));
    return share;
}

/* ---- calls of CUDA --------------------------------------------------------------------------- */

static bool has(const char *name, const char *part)
{
    return strstr(name, part) != NULL;
}

gpu_call gpu_call_of(const char *name)
{
    if (has(name, "GraphLaunch")) {
        return GPU_CALL_GRAPH_LAUNCH;
    }
    if (has(name, "Graph") || has(name, "Attribute")) {
        return GPU_CALL_OTHER; /* nodes, which only later do what they are called for */
    }
    if (has(name, "LaunchKernel") || has(name, "LaunchCooperative")) {
        return GPU_CALL_KERNEL_LAUNCH;
    }
    if (has(name, "Synchronize")) {
        return GPU_CALL_SYNC;
    }
    if (has(name, "Memcpy")) {
        return GPU_CALL_COPY;
    }
    return has(name, "MemOp") || has(name, "WriteValue") || has(name, "WaitValue")
               ? GPU_CALL_MEMORY_OPERATION
               : GPU_CALL_OTHER;
}
