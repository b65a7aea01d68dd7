/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The real queue under real threads: rounds of up to five workers, a consumer and sometimes a
 * closer, on every kind of host device, with and without conversion, that end by END, by an error
 * of a row, by a failed copy, or by a close in the middle. Every row says which batch and row it
 * is; the step reads all of them twice, with time for a slot to be overwritten in between. In half
 * of the rounds a worker claims one row and then waits for its room, in the others it waits for
 * room and then claims a run of rows, some of which it gives back.
 *
 *     stress_queue [ROUNDS [FIRST]]     a round's number decides all about it
 */
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "device_int.h"
#include "queue_int.h"
#include "rng_int.h"
#include "row_claims.h"
#include "status_int.h"

enum {
    HEIGHT = 2,
    WIDTH = 3,
    CHANNELS = 3,
    IMAGE_BYTES = HEIGHT * WIDTH * CHANNELS,
    MAX_ROWS = 6,
    MAX_WORKERS = 5,
    ROUND_LIMIT_S = 60
};

typedef enum ending { END_BY_END, END_BY_ROW, END_BY_COPY, END_BY_CLOSE, ENDINGS } ending;

typedef struct stress {
    uint64_t round;
    char uri[64];
    uint32_t workers;
    uint32_t rows;
    uint32_t slots;
    bool converts;
    bool runs;  /* workers claim runs of rows where there is room */
    bool polls; /* the consumer polls and gives up for a while, as a GPU does */
    ending end;
    uint64_t batches;
    uint64_t end_seq; /* where the error stands, or after which the closer closes */

    sluice_device *device;
    sli_layout layout;
    sli_conversion conversion;
    sli_queue *queue;
    _Atomic uint64_t next_row;
    row_claims claims;
    _Atomic uint64_t stop_at;
    _Atomic uint64_t seen; /* by the consumer, for the closer */
    atomic_bool failed;
} stress;

typedef struct worker {
    stress *s;
    pthread_t thread;
    uint64_t random;
} worker;

static uint64_t draw(uint64_t *state)
{
    *state += UINT64_C(0x9E3779B97F4A7C15);
    return sli_mix64(*state);
}

static uint64_t below(uint64_t *state, uint64_t range)
{
    return draw(state) % range;
}

static void wrong(stress *s, uint64_t seq, const char *what)
{
    if (!atomic_exchange(&s->failed, true)) {
        printf("FAIL round %llu: batch %llu: %s (%s, %u workers, %u rows, %u slots%s%s%s, ending "
               "%d)\n",
               (unsigned long long)s->round, (unsigned long long)seq, what, s->uri, s->workers,
               s->rows, s->slots, s->converts ? ", converts" : "", s->polls ? ", polls" : "",
               s->runs ? ", runs" : "", (int)s->end);
    }
    sli_queue_close(s->queue);
}

static void time_is_up(int signal_number)
{
    static const char text[] = "stress_queue: 0 passed, 1 failed, 0 skipped (nothing moves)\n";

    (void)signal_number;
    _exit(write(1, text, sizeof(text) - 1) < 0 ? 2 : 1);
}

/* A short time of no fixed length. */
static void dawdle(uint64_t *random)
{
    const uint64_t bits = draw(random);

    if (bits % 8 == 0) {
        sched_yield();
    } else if (bits % 8 == 1) {
        for (uint64_t i = bits >> 52; i > 0; i--) {
            sli_relax();
        }
    }
}

/* ---- what rows hold -------------------------------------------------------------------------- */

static void image_of(uint64_t seq, uint32_t row, uint8_t image[IMAGE_BYTES])
{
    for (uint32_t i = 0; i < IMAGE_BYTES; i++) {
        image[i] = (uint8_t)sli_mix64(seq << 16 | row << 8 | i);
    }
}

static uint8_t flags_of(uint64_t seq, uint32_t row)
{
    return (seq + row) % 5 == 0 ? SLI_ROW_FLIP : 0;
}

static int32_t label_of(uint64_t seq, uint32_t row)
{
    return (int32_t)(seq * MAX_ROWS + row);
}

/* Rows that fail, where rows do: two of the batch, and one of the next, which nobody must see. */
static bool fails(const stress *s, uint64_t seq, uint32_t row)
{
    return s->end == END_BY_ROW &&
           ((seq == s->end_seq && row + 2 >= s->rows) || (seq == s->end_seq + 1 && row == 0));
}

static void error_text(uint64_t seq, uint32_t row, char text[64])
{
    snprintf(text, 64, "batch %llu row %u", (unsigned long long)seq, row);
}

/* ---- workers --------------------------------------------------------------------------------- */

static void fail_row(stress *s, uint64_t seq, uint32_t row)
{
    uint64_t stop_at = atomic_load(&s->stop_at);
    char text[64];

    error_text(seq, row, text);
    sli_queue_row_failed(s->queue, seq, row, SLUICE_E_IO, text);
    while (seq + 1 < stop_at && !atomic_compare_exchange_weak(&s->stop_at, &stop_at, seq + 1)) {
    }
}

static void write_row(stress *s, const sli_batch *batch, uint64_t seq, uint32_t row)
{
    const int32_t label = label_of(seq, row);

    image_of(seq, row, batch->data + s->layout.offsets[0] + row * s->layout.row_bytes[0]);
    memcpy(batch->data + s->layout.offsets[1] + row * sizeof(label), &label, sizeof(label));
    batch->row_flags[row] = flags_of(seq, row);
    batch->samples[row] = seq * 1000 + row;
    if (fails(s, seq, row)) {
        fail_row(s, seq, row);
    }
}

static void publish(stress *s, const sli_batch *batch, uint64_t seq)
{
    memset(batch->header, 0, sizeof(*batch->header));
    batch->header->position = seq + 7;
    batch->header->first_sample = batch->samples[0];
    batch->header->valid_rows = s->rows;
    sli_queue_publish(s->queue, seq);
}

/* One row, as the engine does it; false when there is nothing more to do. */
static bool work(worker *w)
{
    stress *s = w->s;
    const uint64_t claim = atomic_fetch_add(&s->next_row, 1);
    const uint64_t seq = claim / s->rows + 1;
    const uint32_t row = (uint32_t)(claim % s->rows);
    sli_batch batch;

    if (seq > atomic_load(&s->stop_at) || seq > s->batches + 1 ||
        (seq == s->batches + 1 && row != 0) ||
        sli_queue_acquire(s->queue, seq, -1, &batch) != SLUICE_OK) {
        return false;
    }
    if (seq == s->batches + 1) {
        sli_queue_publish_end(s->queue, seq);
        return false;
    }
    write_row(s, &batch, seq, row);
    dawdle(&w->random);
    if (sli_queue_add_rows(s->queue, seq, 1)) {
        publish(s, &batch, seq);
    }
    return true;
}

static bool needs_no_room(void *arg)
{
    const stress *s = arg;

    return row_claims_need_no_room(&s->claims);
}

/* Claims a run, as the engine does; false when there is nothing more to do. */
static bool claim(worker *w, row_run *run)
{
    stress *s = w->s;

    for (;;) {
        const uint64_t room = sli_queue_room(s->queue);
        const uint32_t most = 1 + (uint32_t)below(&w->random, MAX_ROWS);
        const row_claim what = row_claims_take(&s->claims, room, most, run);
        const sli_room_request request = {.seq = row_claims_next_batch(&s->claims),
                                          .slots = below(&w->random, 4),
                                          .other = needs_no_room,
                                          .arg = s};

        if (what != ROW_CLAIM_NO_ROOM) {
            return what == ROW_CLAIM_RUN && run->seq <= atomic_load(&s->stop_at);
        }
        dawdle(&w->random);
        if (!sli_queue_await_room(s->queue, &request)) {
            return false;
        }
    }
}

/* Fills a run, or a part of it; returns how many rows. */
static uint32_t fill_run(worker *w, const sli_batch *batch, const row_run *run)
{
    uint32_t done = 0;

    while (done < run->count) {
        row_run rest;

        write_row(w->s, batch, run->seq, run->first + done);
        dawdle(&w->random);
        done++;
        rest = (row_run){run->seq, run->first + done, run->count - done};
        if (rest.count > 0 && below(&w->random, 3) == 0 &&
            row_claims_give_back(&w->s->claims, &rest)) {
            sli_queue_wake(w->s->queue, (uint32_t)below(&w->random, 3));
            break;
        }
    }
    return done;
}

/* One run, as the engine does it; false when there is nothing more to do. */
static bool work_on_run(worker *w)
{
    stress *s = w->s;
    sli_batch batch;
    row_run run;

    if (!claim(w, &run) || sli_queue_acquire(s->queue, run.seq, 0, &batch) != SLUICE_OK) {
        return false;
    }
    if (run.seq == s->batches + 1) {
        sli_queue_publish_end(s->queue, run.seq);
        return false;
    }
    if (below(&w->random, 4) == 0) {
        sli_queue_wake(s->queue, 1);
    }
    if (sli_queue_add_rows(s->queue, run.seq, fill_run(w, &batch, &run))) {
        publish(s, &batch, run.seq);
    }
    return true;
}

static void *worker_main(void *arg)
{
    worker *w = arg;

    while (w->s->runs ? work_on_run(w) : work(w)) {
    }
    return NULL;
}

static void *closer_main(void *arg)
{
    stress *s = arg;
    uint64_t random = s->round;

    while (atomic_load(&s->seen) < s->end_seq) {
        sched_yield();
    }
    for (uint64_t i = below(&random, 2000); i > 0; i--) {
        sli_relax();
    }
    sli_queue_close(s->queue);
    return NULL;
}

/* ---- the consumer ---------------------------------------------------------------------------- */

static void check_row(stress *s, uint64_t seq, uint32_t row, const sli_inputs *inputs)
{
    const int32_t *labels = inputs->tensors[1].data;
    const size_t bytes = inputs->tensors[0].bytes / s->rows;
    uint8_t image[IMAGE_BYTES];
    float converted[IMAGE_BYTES];
    const void *want = image;

    image_of(seq, row, image);
    if (s->converts) {
        sli_convert_image(&s->conversion, image, converted, flags_of(seq, row));
        want = converted;
    }
    if (memcmp((const uint8_t *)inputs->tensors[0].data + row * bytes, want, bytes) != 0) {
        wrong(s, seq, "a row is not what was written");
    }
    if (labels[row] != label_of(seq, row)) {
        wrong(s, seq, "a label is not what was written");
    }
    if (inputs->samples[row] != seq * 1000 + row) {
        wrong(s, seq, "the list of samples is another batch's");
    }
}

static void step(stress *s, uint64_t seq, const sli_inputs *inputs, uint64_t *random)
{
    if (inputs->header->seq != seq || inputs->header->position != seq + 7 ||
        inputs->header->valid_rows != s->rows || inputs->header->first_sample != seq * 1000) {
        wrong(s, seq, "the header is not what was written");
    }
    for (int time = 0; time < 2; time++) {
        for (uint32_t row = 0; row < s->rows; row++) {
            check_row(s, seq, row, inputs);
        }
        dawdle(random);
        sched_yield();
    }
}

static sluice_status wait_for(stress *s, uint64_t seq, uint64_t *random)
{
    sluice_status st = SLUICE_TIMEOUT;

    sli_queue_sample_depth(s->queue);
    if (s->polls) {
        st = sli_queue_wait(s->queue, seq, (int64_t)below(random, 20000), true);
    }
    return st == SLUICE_TIMEOUT ? sli_queue_wait(s->queue, seq, -1, false) : st;
}

/* Runs until something other than a batch comes; returns its place, and what it is by *end_out. */
static uint64_t consume(stress *s, sluice_status *end_out)
{
    uint64_t random = s->round << 8;
    uint64_t seq = 1;
    sluice_status st;

    while ((st = wait_for(s, seq, &random)) == SLUICE_OK) {
        sli_inputs inputs;

        st = sli_queue_get_next(s->queue, seq, &inputs);
        if (st != SLUICE_OK) {
            wrong(s, seq, sluice_last_error());
            break;
        }
        step(s, seq, &inputs, &random);
        sli_queue_step_done(s->queue, seq);
        atomic_store(&s->seen, seq);
        seq++;
    }
    *end_out = st;
    return seq;
}

/* Did it end where and as it should? */
static void check_end(stress *s, uint64_t seq, sluice_status end)
{
    char text[64];

    switch (s->end) {
    case END_BY_END:
        if (end != SLUICE_END_OF_DATA || seq != s->batches + 1) {
            wrong(s, seq, "not the end");
        }
        break;
    case END_BY_ROW:
        error_text(s->end_seq, s->rows > 1 ? s->rows - 2 : 0, text);
        if (end != SLUICE_E_IO || seq != s->end_seq || strcmp(sluice_last_error(), text) != 0) {
            wrong(s, seq, "not the error of its lowest row");
        }
        break;
    case END_BY_COPY:
        if (end != SLUICE_E_DEVICE || seq != s->end_seq) {
            wrong(s, seq, "not the failed copy");
        }
        break;
    default:
        if (end != SLUICE_CLOSED && !(end == SLUICE_END_OF_DATA && seq == s->batches + 1)) {
            wrong(s, seq, "not closed");
        }
        break;
    }
}

static void check_stats(stress *s, uint64_t seq)
{
    sli_queue_stats stats;

    sli_queue_stats_get(s->queue, &stats);
    if (stats.consumed != seq - 1 || stats.produced < stats.consumed ||
        stats.produced - stats.consumed > (stats.has_staging ? 2 : 1) * s->slots ||
        stats.slots.depth_samples != seq || stats.slots.depth_sum > seq * s->slots ||
        (s->end == END_BY_END && stats.produced != stats.consumed)) {
        wrong(s, seq, "the statistics do not add up");
    }
}

/* ---- rounds ---------------------------------------------------------------------------------- */

static void choose(stress *s, uint64_t round)
{
    static const char *const devices[] = {"host:0", "host:0,copy=1", "host:0,copy=1,latency_us=20"};
    uint64_t random = round * 7919;
    int used;

    memset((void *)s, 0, sizeof(*s));
    s->round = round;
    s->end = (ending)(round % ENDINGS);
    s->workers = 1 + (uint32_t)below(&random, MAX_WORKERS);
    s->rows = 1 + (uint32_t)below(&random, MAX_ROWS);
    s->slots = 2 + (uint32_t)below(&random, 4);
    s->converts = below(&random, 2) != 0;
    s->polls = below(&random, 2) != 0;
    s->runs = below(&random, 2) != 0;
    s->batches = 100 + below(&random, 600);
    s->end_seq = 1 + below(&random, s->batches - 1);
    used = snprintf(s->uri, sizeof(s->uri), "%s",
                    devices[s->end == END_BY_COPY ? 1 + below(&random, 2) : below(&random, 3)]);
    if (s->end == END_BY_COPY) {
        snprintf(s->uri + used, sizeof(s->uri) - (size_t)used, ",fail_after=%llu",
                 (unsigned long long)(s->end_seq - 1));
    }
}

static sluice_status open_round(stress *s)
{
    const sluice_column columns[] = {
        {.name = "image", .dtype = SLUICE_U8, .rank = 3, .shape = {HEIGHT, WIDTH, CHANNELS}},
        {.name = "label", .dtype = SLUICE_I32}};
    sli_queue_config config = {.layout = &s->layout, .slots = s->slots, .node = -1};
    sluice_status st = sluice_device_open(s->uri, &s->device);

    s->conversion = (sli_conversion){.height = HEIGHT,
                                     .width = WIDTH,
                                     .channels = CHANNELS,
                                     .from = SLUICE_U8,
                                     .to = SLUICE_F32,
                                     .to_chw = true,
                                     .flip = true,
                                     .affine = true,
                                     .scale = {0.5F, 0.25F, 3},
                                     .bias = {1, -2, 0.1F}};
    config.device = s->device;
    config.conversion = s->converts ? &s->conversion : NULL;
    if (st == SLUICE_OK) {
        st = sli_conversion_prepare(&s->conversion);
    }
    if (st == SLUICE_OK) {
        st = sli_layout_make(columns, 2, s->rows, &s->layout);
    }
    st = st == SLUICE_OK ? sli_queue_create(&config, &s->queue) : st;
    return st == SLUICE_OK ? sli_queue_start(s->queue, NULL) : st;
}

static void run_threads(stress *s)
{
    worker workers[MAX_WORKERS];
    pthread_t closer;
    sluice_status end;
    uint64_t seq;

    atomic_store(&s->stop_at, UINT64_MAX);
    row_claims_init(&s->claims, s->batches, s->rows);
    for (uint32_t i = 0; i < s->workers; i++) {
        workers[i] = (worker){.s = s, .random = s->round << 32 | i};
        pthread_create(&workers[i].thread, NULL, worker_main, &workers[i]);
    }
    if (s->end == END_BY_CLOSE) {
        pthread_create(&closer, NULL, closer_main, s);
    }
    seq = consume(s, &end);
    check_end(s, seq, end);
    atomic_store(&s->seen, UINT64_MAX);
    if (s->end == END_BY_CLOSE) {
        pthread_join(closer, NULL);
    }
    sli_queue_close(s->queue);
    for (uint32_t i = 0; i < s->workers; i++) {
        pthread_join(workers[i].thread, NULL);
    }
    check_stats(s, seq);
}

int main(int argc, char **argv)
{
    const uint64_t rounds = argc > 1 ? strtoull(argv[1], NULL, 10) : 120;
    const uint64_t first = argc > 2 ? strtoull(argv[2], NULL, 10) : 0;
    unsigned long long passed = 0;
    unsigned long long failed = 0;
    static stress s;

    setvbuf(stdout, NULL, _IOLBF, 0);
    signal(SIGALRM, time_is_up);
    for (uint64_t round = first; round < first + rounds; round++) {
        alarm(ROUND_LIMIT_S);
        choose(&s, round);
        if (open_round(&s) != SLUICE_OK) {
            printf("FAIL round %llu: %s\n", (unsigned long long)round, sluice_last_error());
            failed++;
            continue;
        }
        run_threads(&s);
        sli_queue_destroy(s.queue);
        sluice_device_close(s.device);
        failed += atomic_load(&s.failed);
        passed += !atomic_load(&s.failed);
    }
    printf("stress_queue: %llu passed, %llu failed, 0 skipped\n", passed, failed);
    return failed > 0;
}
