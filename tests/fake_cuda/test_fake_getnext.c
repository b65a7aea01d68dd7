/* SPDX-License-Identifier: Apache-2.0 */
/* GetNext's kernels in a graph's loop, on the fake of CUDA. */

#include "cuda/step_graph.h"
#include "fake_kit.h"
#include "getnext_int.h"
#include "testing.h"

enum { SLOTS = 4, ROWS = 3, PIXELS = 4096 };

/* A bound that no test comes to. */
#define LONG_NS UINT64_C(30000000000)

/* A ring and its consumer's words: slots and state on the device, the rest on the host. */
typedef struct ring_kit {
    sli_layout layout;
    sli_getnext getnext;
    sli_gather gather;
    uint64_t consumed;
    uint64_t stop;
    sli_getnext_command command;
    sli_getnext_report report;
    uint8_t *memory;
    uint8_t *output; /* (ROWS, PIXELS) */
    sli_batch_header *header;
    cudaGraphExec_t exec;
} ring_kit;

static void open_ring(ring_kit *r)
{
    sluice_column column = {.name = "image", .dtype = SLUICE_U8, .rank = 1, .shape = {PIXELS}};
    sluice_tensor tensor = {.name = "image", .dtype = SLUICE_U8, .rank = 2};
    sli_getnext *g = &r->getnext;
    size_t slots;

    memset(r, 0, sizeof(*r));
    T_OK(sli_layout_make(&column, 1, ROWS, &r->layout));
    slots = SLOTS * r->layout.slot_bytes;
    T_CUDA(cudaMalloc((void **)&r->memory, slots + 3072 + ROWS * PIXELS));
    g->slots = r->memory;
    g->slot_bytes = r->layout.slot_bytes;
    g->state = (sli_getnext_state *)(r->memory + slots);
    g->ring.ready = (uint64_t *)(r->memory + slots + 1024);
    r->header = (sli_batch_header *)(r->memory + slots + 2048);
    r->output = r->memory + slots + 3072;
    g->ring.consumed = &r->consumed;
    g->ring.slots = SLOTS;
    g->command = &r->command;
    g->report = &r->report;
    g->stop = &r->stop;
    g->micro_batches = 1;
    sli_getnext_state_init(g->state);
    memset(g->ring.ready, 0, SLOTS * sizeof(g->ring.ready[0]));
    tensor.data = r->output;
    tensor.bytes = ROWS * PIXELS;
    T_OK(sli_gather_plan(&r->layout, NULL, 0, SLI_PROGRAMS_NONE, &tensor, r->header, &r->gather));
}

/* Puts what stands at seq in, without saying so. */
static void fill(const ring_kit *r, uint64_t seq)
{
    const sli_batch_header header = {.seq = seq, .valid_rows = ROWS};
    uint8_t *slot = r->memory + (seq - 1) % SLOTS * r->layout.slot_bytes;

    memcpy(slot, &header, sizeof(header));
    memset(slot + r->layout.offsets[0], (int)seq, ROWS * PIXELS);
}

static void publish(const ring_kit *r, uint64_t seq, sli_ring_kind kind)
{
    T_TRUE(sli_ring_may_fill(&r->getnext.ring, seq));
    if (kind == SLI_RING_BATCH) {
        fill(r, seq);
    }
    sli_ring_publish(&r->getnext.ring, seq, kind);
}

/* The step: notes which batch it has, and that all of it is there. */
static void step_body(void *const *args, unsigned blocks, unsigned threads)
{
    uint64_t *log = *(uint64_t **)args[0];
    const sli_batch_header *header = *(sli_batch_header **)args[1];
    const uint8_t *output = *(uint8_t **)args[2];
    bool whole = true;

    (void)blocks;
    (void)threads;
    for (size_t i = 0; i < ROWS * PIXELS; i++) {
        whole = whole && output[i] == (uint8_t)header->seq;
    }
    log[++log[0]] = whole ? header->seq : 0;
}

static const fake_kernel step_kernel = {"step", step_body, 3, {8, 8, 8}};

static cudaError_t launch_kernel(const sli_kernel_launch *launch)
{
    void *args[2] = {launch->args[0], launch->args[1]};

    return cudaLaunchKernel(launch->function, (dim3){launch->blocks, 1, 1},
                            (dim3){launch->threads, 1, 1}, args, 0, fake_kit_stream);
}

/* begin -> while: gather -> step -> next */
static void build_sink(ring_kit *r)
{
    void *args[] = {&fake_kit_words, &r->header, &r->output};
    sli_kernel_launch launch;
    fake_loop l;

    T_CUDA(fake_loop_add_handle(&l, 0));
    r->getnext.conditional = l.handle;
    r->getnext.has_conditional = 1;
    sli_getnext_begin_launch(&r->getnext, &launch);
    T_CUDA(fake_loop_add_kernel(&l, launch.function, launch.args));
    T_CUDA(fake_loop_add_loop(&l));
    T_CUDA(fake_loop_begin_body(&l));
    sli_getnext_gather_launch(&r->getnext, &r->gather, &launch);
    T_CUDA(launch_kernel(&launch));
    T_CUDA(
        cudaLaunchKernel(&step_kernel, fake_kit_single, fake_kit_single, args, 0, fake_kit_stream));
    sli_getnext_next_launch(&r->getnext, &launch);
    T_CUDA(launch_kernel(&launch));
    T_CUDA(fake_loop_end_body());
    T_CUDA(cudaGraphInstantiate(&r->exec, l.graph, 0));
    T_CUDA(cudaGraphDestroy(l.graph));
}

static void close_ring(ring_kit *r)
{
    T_CUDA(cudaGraphExecDestroy(r->exec));
    T_CUDA(cudaFree(r->memory));
}

static void sink(ring_kit *r, uint64_t steps, uint64_t spin_ns)
{
    r->command.steps = steps;
    r->command.spin_ns = spin_ns;
    r->command.collects++;
    T_CUDA(cudaGraphLaunch(r->exec, fake_kit_stream));
}

static void sunk(const ring_kit *r, sli_getnext_end end, uint64_t steps)
{
    T_CUDA(cudaStreamSynchronize(fake_kit_stream));
    T_EQ(r->report.end, end);
    T_EQ(r->report.steps, steps);
}

static void getnext_feeds_the_steps_of_a_loop(void)
{
    ring_kit r;

    fake_kit_start();
    open_ring(&r);
    build_sink(&r);
    fake_cuda_guard_sinks(true);
    for (uint64_t seq = 1; seq <= 4; seq++) {
        publish(&r, seq, SLI_RING_BATCH);
    }
    sink(&r, 3, LONG_NS);
    sunk(&r, SLI_GETNEXT_DONE, 3);
    publish(&r, 5, SLI_RING_BATCH);
    sink(&r, 9, 100000);
    sunk(&r, SLI_GETNEXT_YIELD, 2);
    sink(&r, 7, LONG_NS);
    publish(&r, 6, SLI_RING_BATCH); /* while the loop waits for it */
    publish(&r, 7, SLI_RING_END);
    sunk(&r, SLI_GETNEXT_END_OF_DATA, 1);
    fake_kit_appended(6, (const uint64_t[]){1, 2, 3, 4, 5, 6});
    T_EQ(r.consumed, 6);
    T_EQ(fake_cuda_count_of("cudaGraphLaunch"), 3);
    close_ring(&r);
    fake_kit_finish();
}

/* What the device waits for is behind it in the only queue that there is. */
static void with_the_least_concurrency_a_bounded_wait_yields(void)
{
    uint64_t word = 1;
    cudaStream_t copies;
    ring_kit r;

    fake_kit_start();
    T_CUDA(cudaStreamDestroy(fake_kit_stream));
    fake_cuda_least_concurrency(true);
    T_CUDA(cudaStreamCreateWithFlags(&fake_kit_stream, cudaStreamNonBlocking));
    T_CUDA(cudaStreamCreateWithFlags(&copies, cudaStreamNonBlocking));
    open_ring(&r);
    build_sink(&r);
    fill(&r, 1);
    sink(&r, 1, 100000);
    T_CUDA(cudaMemcpyAsync(r.getnext.ring.ready, &word, 8, cudaMemcpyHostToDevice, copies));
    sunk(&r, SLI_GETNEXT_YIELD, 0);
    T_CUDA(cudaStreamSynchronize(copies));
    sink(&r, 1, 100000);
    sunk(&r, SLI_GETNEXT_DONE, 1);
    T_CUDA(cudaStreamDestroy(copies));
    close_ring(&r);
    fake_kit_finish();
}

static void a_grid_is_what_the_device_runs_at_once(void)
{
    static const uint32_t grids[][2] = {
        {1, 1}, {5, 5}, {12, 12}, {13, FAKE_MULTIPROCESSORS * FAKE_BLOCKS_EACH}};
    ring_kit r;
    sli_kernel_launch launch;

    fake_kit_start();
    open_ring(&r);
    for (size_t i = 0; i < 4; i++) {
        sli_getnext_gather_launch(&r.getnext, &r.gather, &launch);
        launch.blocks = grids[i][0];
        T_OK(step_graph_load_kernel(&launch, FAKE_MULTIPROCESSORS));
        T_EQ(launch.blocks, grids[i][1]);
    }
    launch.function = NULL;
    T_STATUS(step_graph_load_kernel(&launch, FAKE_MULTIPROCESSORS), SLUICE_E_DEVICE);
    T_CONTAINS(sluice_last_error(), "to load a kernel of this library");
    T_CUDA(cudaFree(r.memory));
    fake_kit_finish();
}

const t_test fake_getnext_tests[] = {
    T_TEST(getnext_feeds_the_steps_of_a_loop),
    T_TEST(with_the_least_concurrency_a_bounded_wait_yields),
    T_TEST(a_grid_is_what_the_device_runs_at_once),
    T_END,
};
