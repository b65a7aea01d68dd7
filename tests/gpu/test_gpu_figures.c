/* SPDX-License-Identifier: Apache-2.0 */
/* What the programs for a GPU compute and print, which takes no GPU. */
#include "gpu/gpu_figures.h"
#include "testing.h"

static void a_share_of_nothing_is_nothing(void)
{
    T_NEAR(gpu_share(1.0, 4.0), 0.25, 1e-12);
    T_NEAR(gpu_share(1.0, 0.0), 0.0, 0.0);
    T_NEAR(gpu_share(1.0, -1.0), 0.0, 0.0);
}

static void percentiles_are_values_that_are_there(void)
{
    uint64_t values[200];

    for (uint64_t i = 0; i < 200; i++) {
        values[i] = i + 1;
    }
    T_EQ(gpu_percentile(values, 200, 50), 100);
    T_EQ(gpu_percentile(values, 200, 99), 198);
    T_EQ(gpu_percentile(values, 200, 100), 200);
    T_EQ(gpu_percentile(values, 200, 0), 1);
    T_EQ(gpu_percentile(values, 1, 99), 1);
    T_EQ(gpu_percentile(values, 0, 50), 0);
}

static void gaps_lie_between_steps(void)
{
    const gpu_stamp stamps[] = {{100, 200}, {207, 300}, {301, 400}, {490, 500}};
    const gpu_stamp overlap[] = {{100, 200}, {199, 300}};
    uint64_t ns[4];
    gpu_gaps gaps;

    T_TRUE(gpu_gaps_of(stamps, 4, ns, &gaps));
    T_EQ(gaps.count, 3);
    T_EQ(gaps.p50_ns, 7);
    T_EQ(gaps.p99_ns, 90);
    T_EQ(gaps.most_ns, 90);
    T_TRUE(!gpu_gaps_of(overlap, 2, ns, &gaps));
    T_TRUE(!gpu_gaps_of(stamps, 1, ns, &gaps));
    T_TRUE(!gpu_gaps_of(stamps, 0, ns, &gaps));
}

static int columns_of(const char *row)
{
    int columns = 1;

    for (; *row != '\0'; row++) {
        columns += *row == ',';
    }
    return columns;
}

static void a_row_has_the_columns_of_its_header(void)
{
    gpu_row row = {.mode = "loop", .step_us = 50, .batch_bytes = 4000000, .sink_size = 100};
    char text[400];

    row.steps = 3000;
    row.seconds = 1.5;
    row.no_data_per_s = 4000.0;
    row.pinned_gb_per_s = 16.0;
    row.launches = 30;
    row.syncs = 31;
    row.yields = 1;
    row.data_wait_share = 0.125;
    row.cpu_seconds = 0.5;
    row.sink_seconds = 2.0;
    T_NEAR(gpu_row_text(&row, text, sizeof(text)), 0.5, 1e-12);
    T_STR(text, "loop,50,4000000,100,3000,1.500,2000.0,0.5000,8.000,0.5000,30,31,1,0.1250,0.2500");
    T_EQ(columns_of(text), columns_of(GPU_ROW_HEADER));
}

static void a_row_of_a_run_without_time_has_numbers(void)
{
    const gpu_row row = {.mode = "direct"};
    char text[400];

    T_NEAR(gpu_row_text(&row, text, sizeof(text)), 0.0, 0.0);
    T_STR(text, "direct,0,0,0,0,0.000,0.0,0.0000,0.000,0.0000,0,0,0,0.0000,0.0000");
}

static void calls_are_known_by_their_names(void)
{
    static const struct {
        const char *name;
        gpu_call call;
    } calls[] = {
        {"cuGraphLaunch", GPU_CALL_GRAPH_LAUNCH},
        {"cudaGraphLaunch_v10000", GPU_CALL_GRAPH_LAUNCH},
        {"cuLaunchKernel", GPU_CALL_KERNEL_LAUNCH},
        {"cudaLaunchKernelExC_v11060", GPU_CALL_KERNEL_LAUNCH},
        {"cuLaunchCooperativeKernel", GPU_CALL_KERNEL_LAUNCH},
        {"cuLaunchHostFunc", GPU_CALL_OTHER},
        {"cuEventSynchronize", GPU_CALL_SYNC},
        {"cudaStreamSynchronize_v3020", GPU_CALL_SYNC},
        {"cuCtxSynchronize_v2", GPU_CALL_SYNC},
        {"cuMemcpyHtoDAsync_v2", GPU_CALL_COPY},
        {"cudaMemcpyAsync_v3020", GPU_CALL_COPY},
        {"cuStreamBatchMemOp_v2", GPU_CALL_MEMORY_OPERATION},
        {"cuStreamWriteValue64_v2", GPU_CALL_MEMORY_OPERATION},
        {"cudaGraphAddMemcpyNode_v10000", GPU_CALL_OTHER},
        {"cuGraphAddBatchMemOpNode", GPU_CALL_OTHER},
        {"cuEventRecord", GPU_CALL_OTHER},
    };

    for (size_t i = 0; i < sizeof(calls) / sizeof(calls[0]); i++) {
        if (gpu_call_of(calls[i].name) != calls[i].call) {
            T_STR(calls[i].name, "");
        }
        T_EQ(gpu_call_of(calls[i].name), calls[i].call);
    }
}

const t_test gpu_figures_tests[] = {
    T_TEST(a_share_of_nothing_is_nothing),
    T_TEST(percentiles_are_values_that_are_there),
    T_TEST(gaps_lie_between_steps),
    T_TEST(a_row_has_the_columns_of_its_header),
    T_TEST(a_row_of_a_run_without_time_has_numbers),
    T_TEST(calls_are_known_by_their_names),
    T_END,
};
