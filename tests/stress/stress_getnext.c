/* SPDX-License-Identifier: Apache-2.0 */
/*
 * GetNext for a GPU, the bodies of its kernels as they are, under real threads: a producer fills
 * the ring, one thread waits and counts, one thread a block gathers and votes. Barriers stand for
 * the borders between kernels. The host relaunches after a yield.
 *
 * Compiled with -DBUG=n it makes one mistake, and the thread sanitizer or a check below must find
 * it: run.sh does that. The orders that the votes and the ring's words ask for can be taken away.
 *
 *     stress_getnext [BATCHES]
 */
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

enum {
    NO_BUG,
    BUG_VOTE_FIRST,    /* a block votes before it has read */
    BUG_VOTES_RELAXED, /* a vote does not hand over the other blocks' reads */
    BUG_VOTE_MISSING,  /* the slot is released by the last block but one */
    BUG_NEXT_EARLY,    /* next runs beside the gather instead of behind it */
    BUG_WORD_FIRST,    /* the word says that the batch is there before it is */
    BUG_STORE_RELAXED, /* the stores of both words lose their release order */
    BUG_LOAD_RELAXED   /* the loads of both words lose their acquire order */
};
#ifndef BUG
#define BUG NO_BUG
#endif

#if BUG == 2
#undef __ATOMIC_ACQ_REL
#define __ATOMIC_ACQ_REL __ATOMIC_RELAXED
#elif BUG == 6
#undef __ATOMIC_RELEASE
#define __ATOMIC_RELEASE __ATOMIC_RELAXED
#elif BUG == 7
#undef __ATOMIC_ACQUIRE
#define __ATOMIC_ACQUIRE __ATOMIC_RELAXED
#endif
#include "cuda/getnext_gather.h"
#include "getnext_control_int.h"

enum {
    SLOTS = 2,
    BLOCKS = 2,
    THREADS = 3, /* of a block: few, so that both have work */
    ROWS = 4,
    PIXELS = 16,
    STEPS = 7, /* of a launch */
    SPIN_NS = 20000,
    TIME_LIMIT_S = 120
};

/* A slot as layout_int.h lays it out, nearer together. */
enum { FLAGS_AT = 64, LABELS_AT = 128, LABEL_BYTES = 64, IMAGES_AT = 256, SLOT_BYTES = 512 };

static _Alignas(256) uint8_t slots[SLOTS][SLOT_BYTES];
static uint64_t ready[SLOTS];
static uint64_t consumed;
static uint64_t stop;
static sli_getnext_state state;
static sli_getnext_command command = {.spin_ns = SPIN_NS};
static sli_getnext_report report;
static _Alignas(16) uint8_t labels[LABEL_BYTES];
static _Alignas(16) uint16_t images[ROWS][3][PIXELS];
static sli_batch_header header;
static sli_getnext getnext;
static sli_gather grid;
static pthread_barrier_t kernel_begins;
static pthread_barrier_t kernel_ends;
static bool over; /* what the blocks find at their next kernel */
static uint64_t batches = 4000;
static uint64_t yields;

static uint64_t getnext_now_ns(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

static void getnext_pause(uint32_t ns)
{
    (void)ns;
    sched_yield();
}

_Noreturn static void wrong(const char *what, uint64_t seq)
{
    printf("batch %llu: %s\n", (unsigned long long)seq, what);
    fflush(stdout);
    _exit(1);
}

static void time_is_up(int signal_number)
{
    static const char text[] = "nothing moves any more\n";

    (void)signal_number;
    _exit(write(1, text, sizeof(text) - 1) < 0 ? 2 : 1);
}

static void init(void)
{
    sli_getnext_state *s = &state;

    s->seq = 1;
    getnext.ring = (sli_ring){ready, &consumed, SLOTS};
    getnext.slots = slots[0];
    getnext.slot_bytes = SLOT_BYTES;
    getnext.state = s;
    getnext.command = &command;
    getnext.report = &report;
    getnext.stop = &stop;
    getnext.micro_batches = 1;
    grid.batch_size = ROWS;
    grid.row_flags = FLAGS_AT;
    grid.path = SLI_GATHER_PLANES_F16;
    grid.copies[0] = (sli_gather_copy){LABELS_AT, LABEL_BYTES, labels};
    grid.copies[1] = (sli_gather_copy){0, sizeof(header), (uint8_t *)&header};
    grid.copy_count = 2;
    grid.image.from = IMAGES_AT;
    grid.image.from_bytes = 3 * PIXELS;
    grid.image.to = (uint8_t *)images;
    grid.image.to_bytes = sizeof(images[0]);
    grid.image.pixels = PIXELS;
    grid.image.width = PIXELS;
    for (int c = 0; c < 3; c++) {
        grid.image.scale[c] = 1;
    }
}

static uint8_t value_of(uint64_t seq, uint64_t row)
{
    return (uint8_t)(seq * ROWS + row);
}

static void fill(uint64_t seq)
{
    uint8_t *slot = slots[sli_ring_slot(&getnext.ring, seq)];
    const sli_batch_header filled = {.seq = seq, .valid_rows = ROWS};

    memcpy(slot, &filled, sizeof(filled));
    memset(slot + LABELS_AT, value_of(seq, 0), LABEL_BYTES);
    for (uint64_t row = 0; row < ROWS; row++) {
        memset(slot + IMAGES_AT + row * 3 * PIXELS, value_of(seq, row), 3 * PIXELS);
    }
}

static void *producer_main(void *arg)
{
    (void)arg;
    for (uint64_t seq = 1; seq <= batches + 1; seq++) {
        while (!sli_ring_may_fill(&getnext.ring, seq)) {
            sched_yield();
        }
        if (seq > batches) {
            sli_ring_publish(&getnext.ring, seq, SLI_RING_END);
            break;
        }
        if (BUG == BUG_WORD_FIRST) {
            sli_ring_publish(&getnext.ring, seq, SLI_RING_BATCH);
        }
        fill(seq);
        if (BUG != BUG_WORD_FIRST) {
            sli_ring_publish(&getnext.ring, seq, SLI_RING_BATCH);
        }
        if (seq % 61 == 0) {
            usleep(200); /* late enough for a yield */
        }
    }
    return NULL;
}

static void gather_block(uint32_t block)
{
    const uint8_t *slot = gather_slot(&getnext);

    if (slot == NULL) {
        wrong("a gather after the end", state.seq);
    }
    if (BUG == BUG_VOTE_FIRST) {
        gather_block_done(&getnext, BLOCKS);
    }
    for (uint32_t t = 0; t < THREADS; t++) {
        gather_thread(&grid, slot, block * THREADS + t, BLOCKS * THREADS, SLI_GATHER_PLANES_F16);
    }
    if (BUG != BUG_VOTE_FIRST) {
        gather_block_done(&getnext, BUG == BUG_VOTE_MISSING ? BLOCKS - 1 : BLOCKS);
    }
}

static void *block_main(void *arg)
{
    for (;;) {
        pthread_barrier_wait(&kernel_begins);
        if (over) {
            return NULL;
        }
        gather_block((uint32_t)(uintptr_t)arg);
        pthread_barrier_wait(&kernel_ends);
    }
}

static void check_batch(uint64_t seq)
{
    if (header.seq != seq || header.valid_rows != ROWS) {
        wrong("the header of another batch", seq);
    }
    for (size_t i = 0; i < LABEL_BYTES; i++) {
        if (labels[i] != value_of(seq, 0)) {
            wrong("labels of another batch", seq);
        }
    }
    for (uint64_t row = 0; row < ROWS; row++) {
        const uint16_t want = sli_f16_of_f32(value_of(seq, row));

        for (size_t i = 0; i < 3 * PIXELS; i++) {
            if (images[row][i / PIXELS][i % PIXELS] != want) {
                wrong("a row of another batch", seq);
            }
        }
    }
}

/* One launch: begin, and as long as the loop goes on gather, step and next. */
static void launch(uint64_t *seq)
{
    bool goes_on = getnext_begin(&getnext);

    while (goes_on) {
        pthread_barrier_wait(&kernel_begins);
        if (BUG == BUG_NEXT_EARLY) {
            goes_on = getnext_next(&getnext);
        }
        pthread_barrier_wait(&kernel_ends);
        check_batch(++*seq);
        if (BUG != BUG_NEXT_EARLY) {
            goes_on = getnext_next(&getnext);
        }
    }
}

static void consume(void)
{
    uint64_t seq = 0;

    for (;;) {
        const uint64_t before = seq;

        command.steps = STEPS;
        launch(&seq);
        if (report.steps != seq - before || report.seq != seq + 1) {
            wrong("the report has other steps", seq);
        }
        if (report.end == SLI_GETNEXT_END_OF_DATA && seq == batches) {
            return;
        }
        if (report.end != SLI_GETNEXT_DONE && report.end != SLI_GETNEXT_YIELD) {
            wrong("the launch ended for no reason", seq);
        }
        yields += report.end == SLI_GETNEXT_YIELD;
        command.collects++;
    }
}

int main(int argc, char **argv)
{
    pthread_t producer;
    pthread_t blocks[BLOCKS];

    if (argc > 1) {
        batches = strtoull(argv[1], NULL, 10);
    }
    signal(SIGALRM, time_is_up);
    alarm(TIME_LIMIT_S);
    init();
    pthread_barrier_init(&kernel_begins, NULL, BLOCKS + 1);
    pthread_barrier_init(&kernel_ends, NULL, BLOCKS + 1);
    pthread_create(&producer, NULL, producer_main, NULL);
    for (size_t i = 0; i < BLOCKS; i++) {
        pthread_create(&blocks[i], NULL, block_main, (void *)(uintptr_t)i);
    }
    consume();
    over = true;
    pthread_barrier_wait(&kernel_begins);
    for (size_t i = 0; i < BLOCKS; i++) {
        pthread_join(blocks[i], NULL);
    }
    pthread_join(producer, NULL);
    printf("%llu batches, %llu yields\n", (unsigned long long)batches, (unsigned long long)yields);
    return 0;
}
