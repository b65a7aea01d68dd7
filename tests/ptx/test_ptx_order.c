/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The order of memory that the kernels ask for, by the PTX memory consistency model: what they read
 * of a slot comes after the host's writes of it, and before the host writes it again, and what they
 * report of an end comes before they say that it is one. Kernels with a weaker order, or without a
 * barrier, must be found to race.
 */
#include <string.h>

#include "cuda/step_kernels.h"
#include "ptx_kit.h"
#include "ptx_order.h"
#include "testing.h"

enum { SLOT_BYTES = 256, BLOCKS = 3, THREADS = 8, SEQ = 2, SLOTS = 2 };

/* What the host and the grids share, and the grids among themselves. */
typedef struct shared_memory {
    sli_getnext_state state;
    uint64_t ready[SLOTS];
    uint64_t consumed;
    uint64_t stop;
    step_report report;
    _Alignas(64) uint8_t slots[SLOTS][SLOT_BYTES];
} shared_memory;

static struct {
    shared_memory shared;
    ptx_order *order;
    sli_getnext_command command;
    sli_getnext_report report;
    sli_getnext getnext;
    sli_gather gather;
    _Alignas(64) uint8_t copied[SLOT_BYTES];
    uint32_t condition;
    uint64_t now;
    uint64_t pauses;
} m;

/* The host writes batch SEQ and says so, while a kernel waits for it. */
static void publish(void)
{
    sli_batch_header *header = (void *)m.shared.slots[(SEQ - 1) % SLOTS];

    memset(header, 7, SLOT_BYTES);
    header->seq = SEQ;
    ptx_order_host_write(m.order, header, SLOT_BYTES);
    sli_ring_publish(&m.getnext.ring, SEQ, SLI_RING_BATCH);
    ptx_order_host_release(m.order, &m.shared.ready[(SEQ - 1) % SLOTS]);
}

static uint64_t now_ns(void)
{
    return m.now += 100;
}

static void pause_publishes(uint32_t ns)
{
    (void)ns;
    if (m.pauses++ == 1) {
        publish();
    }
}

static void set_condition(uint64_t handle, uint32_t value)
{
    T_EQ(handle, 77);
    m.condition = value;
}

static const ptx_host host = {now_ns, pause_publishes, set_condition, NULL};

static void start(void)
{
    memset(&m, 0, sizeof(m));
    m.order = ptx_order_create(BLOCKS * THREADS, &m.shared, sizeof(m.shared));
    sli_getnext_state_init(&m.shared.state);
    m.getnext.ring = (sli_ring){m.shared.ready, &m.shared.consumed, SLOTS};
    m.getnext.slots = m.shared.slots[0];
    m.getnext.slot_bytes = SLOT_BYTES;
    m.getnext.state = &m.shared.state;
    m.getnext.command = &m.command;
    m.getnext.report = &m.report;
    m.getnext.stop = &m.shared.stop;
    m.getnext.micro_batches = 1;
    m.getnext.conditional = 77;
    m.getnext.has_conditional = 1;
    m.command = (sli_getnext_command){.steps = 5, .spin_ns = 1000000, .collects = 1};
    m.shared.state.seq = SEQ;
}

static void run(const ptx_kernel *kernel, uint32_t blocks, uint32_t threads)
{
    ptx_counts counts = {0, 0, 0};
    const ptx_launch launch = {.kernel = kernel,
                               .host = &host,
                               .order = m.order,
                               .params = {&m.getnext, &m.gather},
                               .blocks = blocks,
                               .threads = threads};

    T_TRUE(kernel != NULL);
    ptx_run(&launch, &counts);
}

static const ptx_kernel *kernel_of(const ptx_module *mutant, const char *name)
{
    return mutant != NULL ? ptx_module_find(mutant, name) : ptx_kit_kernel(name);
}

static uint64_t end(void)
{
    const uint64_t races = ptx_order_races(m.order)->count;

    ptx_order_destroy(m.order);
    return races;
}

/* A kernel finds a batch that comes while it waits. Returns the number of races. */
static uint64_t races_of_control(const ptx_module *mutant, const char *name, bool next)
{
    start();
    if (next) {
        m.shared.state.seq = SEQ - 1;
        m.shared.state.left = 5;
        m.shared.state.spin_ns = m.command.spin_ns;
        m.shared.state.end = SLI_GETNEXT_GOES_ON;
    }
    run(kernel_of(mutant, name), 1, 1);
    T_EQ(m.condition, 1);
    T_EQ(m.shared.state.seq, SEQ);
    T_EQ(m.pauses, 2);
    return end();
}

/* A grid reads the slot and releases it; the host then writes the next batch into it. */
static uint64_t races_of_gather(const ptx_module *mutant, const char *name)
{
    start();
    publish();
    run(ptx_kit_kernel("sli_kernel_begin"), 1, 1);
    T_EQ(m.condition, 1);
    m.gather.copy_count = 1; /* every kernel copies; without rows it does nothing else */
    m.gather.copies[0] = (sli_gather_copy){0, SLOT_BYTES, m.copied};
    m.gather.image = (sli_gather_image){.pixels = 8, .width = 8, .channels = 3};
    run(kernel_of(mutant, name), BLOCKS, THREADS);
    T_EQ(memcmp(m.copied, m.shared.slots[(SEQ - 1) % SLOTS], SLOT_BYTES), 0);
    T_EQ(m.shared.consumed, SEQ);
    ptx_order_host_acquire(m.order, &m.shared.consumed);
    ptx_order_host_write(m.order, m.shared.slots[(SEQ - 1) % SLOTS], SLOT_BYTES);
    return end();
}

/* No batch comes, so the launch ends early: the host reads why once it sees that it has ended. */
static uint64_t races_of_report(const ptx_module *mutant, const char *name, bool next)
{
    static step_frame frame;
    static step_state state;
    static step_trace traces[8];
    static const float rates[8];
    ptx_counts counts = {0, 0, 0};
    step_control control = {.frame = &frame,
                            .state = &state,
                            .traces = traces,
                            .report = &m.shared.report,
                            .rates = rates,
                            .steps_per_epoch = 10};
    ptx_launch launch = {.kernel = kernel_of(mutant, name),
                         .host = &host,
                         .params = {&control},
                         .blocks = 1,
                         .threads = 1};

    T_TRUE(launch.kernel != NULL);
    start();
    m.command.spin_ns = 1;
    if (next) {
        m.shared.state.seq = SEQ - 1;
        m.shared.state.left = 5;
        m.shared.state.spin_ns = 1;
        m.shared.state.end = SLI_GETNEXT_GOES_ON;
    }
    launch.order = m.order;
    control.getnext = m.getnext;
    ptx_run(&launch, &counts);
    T_EQ(m.condition, 0);
    T_EQ(m.report.end, SLI_GETNEXT_YIELD);
    T_EQ(m.shared.report.ended, 1);
    ptx_order_host_acquire(m.order, &m.shared.report.ended);
    ptx_order_host_write(m.order, &m.shared.report.nan_steps, sizeof(uint64_t));
    ptx_order_host_write(m.order, &m.shared.report.idle_ns, sizeof(uint64_t));
    return end();
}

static void kernels_of_steps_report_before_they_say_so(void)
{
    for (int i = 0; i < 2; i++) {
        const char *name = i == 0 ? "step_kernel_begin" : "step_kernel_next";
        ptx_module *mutant = ptx_kit_mutant(name, "st.release.sys=>st.relaxed.sys");
        ptx_module *near = ptx_kit_mutant(name, "st.release.sys=>st.release.gpu");

        T_EQ(races_of_report(NULL, name, i == 1), 0);
        T_TRUE(races_of_report(mutant, name, i == 1) > 0);
        T_TRUE(races_of_report(near, name, i == 1) > 0);
        ptx_module_free(near);
        ptx_module_free(mutant);
    }
}

static void kernels_that_wait_read_a_batch_after_it_is_written(void)
{
    T_EQ(races_of_control(NULL, "sli_kernel_begin", false), 0);
    T_EQ(races_of_control(NULL, "sli_kernel_next", true), 0);
}

static void every_gather_releases_a_slot_after_it_is_read(void)
{
    for (uint32_t path = 0; path < SLI_GATHER_PATHS; path++) {
        T_EQ(races_of_gather(NULL, ptx_kit_gather_name((sli_gather_path)path)), 0);
    }
}

static void a_wait_without_acquire_is_found(void)
{
    ptx_module *mutant = ptx_kit_mutant("sli_kernel_begin", "ld.acquire.sys=>ld.relaxed.sys");
    ptx_module *near = ptx_kit_mutant("sli_kernel_begin", "ld.acquire.sys=>ld.acquire.gpu");

    T_TRUE(races_of_control(mutant, "sli_kernel_begin", false) > 0);
    T_TRUE(races_of_control(mutant, "sli_kernel_next", true) > 0);
    T_TRUE(races_of_control(near, "sli_kernel_begin", false) > 0);
    ptx_module_free(near);
    ptx_module_free(mutant);
}

static void a_gather_without_release_vote_or_barrier_is_found(void)
{
    static const char *const edits[] = {
        "st.release.sys=>st.relaxed.sys", "st.release.sys=>st.release.gpu",
        "atom.acq_rel=>atom.relaxed", "atom.acq_rel.gpu=>atom.acq_rel.cta", "bar.sync \t0;=>;"};

    for (size_t i = 0; i < sizeof(edits) / sizeof(edits[0]); i++) {
        ptx_module *mutant = ptx_kit_mutant("sli_kernel_gather_copy", edits[i]);

        for (uint32_t path = 0; path < SLI_GATHER_PATHS; path++) {
            const char *name = ptx_kit_gather_name((sli_gather_path)path);

            T_TRUE(races_of_gather(mutant, name) > 0);
        }
        ptx_module_free(mutant);
    }
}

const t_test ptx_order_tests[] = {T_TEST(kernels_that_wait_read_a_batch_after_it_is_written),
                                  T_TEST(every_gather_releases_a_slot_after_it_is_read),
                                  T_TEST(kernels_of_steps_report_before_they_say_so),
                                  T_TEST(a_wait_without_acquire_is_found),
                                  T_TEST(a_gather_without_release_vote_or_barrier_is_found),
                                  T_END};
