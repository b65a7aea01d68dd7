/* SPDX-License-Identifier: Apache-2.0 */
/*
 * bench_tokens FOLDER [ROWS SEQ]: batches of tokens, by alternating rounds of
 *
 *   memcpy   a copy of the step's tensors of one batch, in memory
 *   fread    a loader that reads the windows of a batch into a buffer by fread(), and writes inputs
 *            and targets of it on the calling thread, as the data loader of llm.c does
 *   the channel on host:0 and host:0,copy=1, with each offload=, one worker
 *
 * Writes a file of 16-bit tokens into the folder; it stays in the page cache. Prints medians: GB/s
 * of inputs and targets (8 bytes per token) on the wall clock, CPU time of the process per token,
 * and the bytes of a slot per token. With sluice/sluice.h alone.
 */
#define _GNU_SOURCE
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <sluice/sluice.h>

enum { ROUNDS = 31, WAYS = 6, TOKENS = 32 << 20, TOKENS_EACH = 8 << 20 };

static void check(sluice_status st)
{
    if (st != SLUICE_OK) {
        fprintf(stderr, "bench_tokens: %s: %s\n", sluice_status_name(st), sluice_last_error());
        exit(2);
    }
}

static void *block_of(size_t bytes)
{
    void *block = calloc(1, bytes);

    if (block == NULL) {
        fprintf(stderr, "bench_tokens: no memory\n");
        exit(2);
    }
    return block;
}

static double seconds_of(clockid_t clock)
{
    struct timespec now;

    clock_gettime(clock, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

/* A way to get batches, and what its rounds took. */
typedef struct way {
    const char *name;
    const char *device;  /* NULL: no channel */
    const char *offload; /* of the channel */
    sluice_device *opened;
    sluice_dataset *dataset;
    sluice_channel *channel;
    double slot_bytes; /* per token; 0: there is no slot */
    double gb_s[ROUNDS];
    double cpu_ns[ROUNDS]; /* per token */
} way;

static way ways[WAYS] = {
    {.name = "memcpy"},
    {.name = "fread"},
    {.name = "host:0 offload=host", .device = "host:0", .offload = "host"},
    {.name = "host:0 offload=device", .device = "host:0", .offload = "device"},
    {.name = "host:0,copy=1 offload=host", .device = "host:0,copy=1", .offload = "host"},
    {.name = "host:0,copy=1 offload=device", .device = "host:0,copy=1", .offload = "device"},
};

/* What the ways share. */
static struct {
    char path[1000];
    uint32_t rows;
    size_t seq;
    FILE *file;       /* of fread */
    uint16_t *buffer; /* (rows * seq + 1) */
    int32_t *inputs;  /* (2, rows, seq): inputs and targets */
    int32_t *copied;  /* the same */
    uint64_t sum;     /* what consumers do: a value of each batch */
} bench;

static void write_tokens(void)
{
    FILE *file = fopen(bench.path, "wb");
    uint16_t tokens[4096];
    uint32_t state = 1;

    for (size_t done = 0; file != NULL && done < TOKENS; done += 4096) {
        for (size_t i = 0; i < 4096; i++) {
            state = state * 1664525 + 1013904223;
            tokens[i] = (uint16_t)(state >> 16);
        }
        if (fwrite(tokens, sizeof(tokens), 1, file) != 1) {
            break;
        }
    }
    if (file == NULL || ferror(file) != 0 || fclose(file) != 0) {
        perror(bench.path);
        exit(2);
    }
}

/* ---- one batch of each way ------------------------------------------------------------------- */

static void next_by_memcpy(void)
{
    memcpy(bench.copied, bench.inputs, 2 * bench.rows * bench.seq * sizeof(int32_t));
    bench.sum += (uint64_t)bench.copied[7];
}

static void next_by_fread(void)
{
    const size_t count = bench.rows * bench.seq;
    int32_t *targets = bench.inputs + count;

    if (fread(bench.buffer, sizeof(uint16_t), count + 1, bench.file) != count + 1) {
        rewind(bench.file);
        next_by_fread();
        return;
    }
    fseek(bench.file, -(long)sizeof(uint16_t), SEEK_CUR);
    for (size_t i = 0; i < count; i++) {
        bench.inputs[i] = (int)bench.buffer[i];
        targets[i] = (int)bench.buffer[i + 1];
    }
    bench.sum += (uint64_t)targets[7];
}

static void next_by_channel(const way *w)
{
    const sluice_batch *batch = NULL;

    check(sluice_channel_get_next(w->channel, NULL, SLUICE_FOREVER, &batch));
    bench.sum += (uint64_t)((const int32_t *)batch->inputs[1].data)[7];
    check(sluice_channel_release(w->channel, batch, NULL));
}

/* ---- rounds ---------------------------------------------------------------------------------- */

static void open_way(way *w)
{
    sluice_channel_config config;
    sluice_channel_info info;
    char text[1200];

    if (w->device == NULL) {
        return;
    }
    snprintf(text, sizeof(text), "tokens %s %zu dtype=u16 offload=%s | batch %u", bench.path,
             bench.seq, w->offload, bench.rows);
    sluice_channel_config_init(&config);
    sluice_channel_info_init(&info);
    config.workers = 1;
    config.slots = 8;
    check(sluice_device_open(w->device, &w->opened));
    check(sluice_dataset_parse(text, &w->dataset));
    check(sluice_channel_open(w->opened, w->dataset, &config, &w->channel));
    check(sluice_channel_start(w->channel));
    check(sluice_channel_pause(w->channel));
    check(sluice_channel_inspect(w->channel, &info));
    w->slot_bytes = (double)info.staging_bytes / info.slots / (double)(bench.rows * bench.seq);
}

static void close_way(way *w)
{
    sluice_channel_close(w->channel);
    sluice_dataset_destroy(w->dataset);
    sluice_device_close(w->opened);
}

static void next_batch(const way *w)
{
    if (w->channel != NULL) {
        next_by_channel(w);
    } else if (w == &ways[0]) {
        next_by_memcpy();
    } else {
        next_by_fread();
    }
}

static void run_round(way *w, int round)
{
    const size_t count = bench.rows * bench.seq;
    const size_t batches = TOKENS_EACH / count;
    const double tokens = (double)(batches * count);
    double start;
    double cpu;

    if (w->channel != NULL) {
        check(sluice_channel_resume(w->channel));
    }
    start = seconds_of(CLOCK_MONOTONIC);
    cpu = seconds_of(CLOCK_PROCESS_CPUTIME_ID);
    for (size_t i = 0; i < batches; i++) {
        next_batch(w);
    }
    w->gb_s[round] = 8e-9 * tokens / (seconds_of(CLOCK_MONOTONIC) - start);
    w->cpu_ns[round] = 1e9 * (seconds_of(CLOCK_PROCESS_CPUTIME_ID) - cpu) / tokens;
    if (w->channel != NULL) {
        check(sluice_channel_pause(w->channel));
    }
}

static int compare(const void *a, const void *b)
{
    const double x = *(const double *)a;
    const double y = *(const double *)b;

    return (x > y) - (x < y);
}

static double median(double *values)
{
    qsort(values, ROUNDS, sizeof(values[0]), compare);
    return values[ROUNDS / 2];
}

int main(int argc, char **argv)
{
    size_t count;

    if (argc != 2 && argc != 4) {
        fprintf(stderr, "usage: bench_tokens FOLDER [ROWS SEQ]\n");
        return 2;
    }
    snprintf(bench.path, sizeof(bench.path), "%s/bench_tokens.u16", argv[1]);
    bench.rows = argc > 2 ? (uint32_t)atoi(argv[2]) : 32;
    bench.seq = argc > 2 ? (size_t)atoi(argv[3]) : 1024;
    count = bench.rows * bench.seq;
    if (count == 0 || count > TOKENS_EACH) {
        fprintf(stderr, "bench_tokens: ROWS * SEQ: want 1 to %d\n", TOKENS_EACH);
        return 2;
    }
    write_tokens();
    bench.buffer = block_of((count + 1) * sizeof(*bench.buffer));
    bench.inputs = block_of(2 * count * sizeof(*bench.inputs));
    bench.copied = block_of(2 * count * sizeof(*bench.copied));
    bench.file = fopen(bench.path, "rb");
    if (bench.file == NULL) {
        perror(bench.path);
        return 2;
    }
    for (int i = 0; i < WAYS; i++) {
        open_way(&ways[i]);
    }
    for (int round = -1; round < ROUNDS; round++) { /* the first one is not kept */
        for (int i = 0; i < WAYS; i++) {
            run_round(&ways[i], round < 0 ? 0 : round);
        }
    }
    for (int i = 0; i < WAYS; i++) {
        way *w = &ways[i];

        printf("%-30s %6.2f GB/s %7.3f ns CPU a token", w->name, median(w->gb_s),
               median(w->cpu_ns));
        printf(w->slot_bytes > 0 ? " %5.2f bytes a token copied\n" : "\n", w->slot_bytes);
        close_way(w);
    }
    fclose(bench.file);
    remove(bench.path);
    free(bench.buffer);
    free(bench.inputs);
    free(bench.copied);
    return bench.sum == 0;
}
