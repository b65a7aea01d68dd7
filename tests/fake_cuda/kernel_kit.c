/* SPDX-License-Identifier: Apache-2.0 */
#include "kernel_kit.h"

#include <sched.h>
#include <unistd.h>

#include "testing.h"

const fake_cuda_machine readable = {.devices = 1, .driver = CUDART_VERSION, .host_reads = true};

const char *const transports[TRANSPORTS] = {"cuda:0,transport=push", "cuda:0,transport=pull"};

void nothing_is_live(void)
{
    const fake_cuda_live live = fake_cuda_count();

    T_EQ(live.contexts + live.blocks + live.locked + live.streams + live.events + live.pushed, 0);
}

void describe_kernels(fixture *f, const char *uri, uint32_t slots)
{
    describe(f, uri, true);
    f->device->caps.kernels = true;
    f->config.slots = slots;
}

void open_kernels(fixture *f, const char *uri, uint32_t slots)
{
    describe_kernels(f, uri, slots);
    T_OK(sli_queue_create(&f->config, &f->queue));
    T_OK(sli_queue_start(f->queue, NULL));
}

/* ---- a consumer like GetNext's kernels ------------------------------------------------------- */

bool is_batch(const fixture *f, const sli_getnext *g, uint64_t seq)
{
    const uint8_t *slot = g->slots + sli_ring_slot(&g->ring, seq) * g->slot_bytes;
    const sli_batch_header *header = (const sli_batch_header *)(const void *)slot;
    bool whole = header->seq == seq && header->position == seq - 1 && header->pass == 7;

    for (uint32_t row = 0; row < BATCH; row++) {
        int32_t label;

        memcpy(&label, slot + f->layout.offsets[1] + row * sizeof(label), sizeof(label));
        whole = whole && label == (int32_t)(seq * 100 + row);
        for (size_t i = 0; i < ROW_BYTES; i++) {
            whole =
                whole && slot[f->layout.offsets[0] + row * ROW_BYTES + i] == byte_of(seq, row, i);
        }
    }
    return whole;
}

static void *run_kernel(void *arg)
{
    kernel *k = arg;
    /* The copier's words advance in order; workers that kernels read from publish in any order. */
    const bool in_order = !k->f->device->caps.pull;
    sli_getnext g;

    memset(&g, 0, sizeof(g));
    sli_queue_getnext(k->f->queue, &g);
    for (uint64_t seq = 1;;) {
        const bool later = sli_ring_peek(&g.ring, seq + 1) != SLI_RING_EMPTY;

        k->kind = sli_ring_peek(&g.ring, seq);
        if (k->kind == SLI_RING_EMPTY) {
            k->wrong += later && in_order;
            sched_yield();
            continue;
        }
        if (k->kind != SLI_RING_BATCH) {
            break;
        }
        if (is_batch(k->f, &g, seq)) {
            k->batches++;
        } else {
            k->wrong++;
        }
        sli_ring_release(&g.ring, seq);
        seq++;
        if (k->step_us > 0) {
            usleep((unsigned)k->step_us);
        }
    }
    return NULL;
}

void start_kernel(kernel *k, fixture *f, int64_t step_us)
{
    memset((void *)k, 0, sizeof(*k));
    k->f = f;
    k->step_us = step_us;
    T_EQ(pthread_create(&k->thread, NULL, run_kernel, k), 0);
}
