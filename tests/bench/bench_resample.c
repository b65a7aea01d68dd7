/* SPDX-License-Identifier: Apache-2.0 */
/*
 * bench_resample [IN [OUT [ROUNDS [FILTER]]]]: what resizing an IN x IN crop of RGB to OUT x OUT
 * costs, at each level of instructions. IN varies by a few pixels from image to image, as crops do,
 * so that weights are computed each time. Levels take turns, each in a process of its own; times
 * are thread CPU time.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "cpu_int.h"
#include "resample.h"

enum { IMAGES = 64, MAX_ROUNDS = 1000, LEVELS = 3 };

typedef struct work {
    image_resampler resampler;
    uint8_t *in;
    size_t stride;
    uint8_t *out;
    uint32_t in_size;
    uint32_t out_size;
    resize_filter filter;
} work;

static double now_us(void)
{
    struct timespec t;

    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return (double)t.tv_sec * 1e6 + (double)t.tv_nsec * 1e-3;
}

/* The i-th image. */
static void resize(work *w, uint32_t i)
{
    const uint32_t width = w->in_size + i % 7;
    const uint32_t height = w->in_size + i % 5;
    const resample_job job = {.channels = 3,
                              .in_width = width,
                              .in_height = height,
                              .out_width = w->out_size,
                              .out_height = w->out_size,
                              .window_width = w->out_size,
                              .window_height = w->out_size,
                              .filter = w->filter};
    const line_sink sink = {NULL, NULL, w->out};
    image_box needed;
    image_view view;

    if (resample_prepare(&w->resampler, &job, &needed) != SLUICE_OK) {
        exit(2);
    }
    view = (image_view){w->in + needed.y * w->stride + (size_t)needed.x * 3,
                        w->stride,
                        needed.width,
                        needed.height,
                        3,
                        IMAGE_U8};
    if (resample_run(&w->resampler, &view, &sink) != SLUICE_OK) {
        exit(2);
    }
}

/* One round of one level: microseconds per image; ends the process. */
static void run_level(uint32_t in_size, uint32_t out_size, uint32_t filter, int to)
{
    work w = {.in_size = in_size, .out_size = out_size, .filter = {filter, true}};
    size_t in_bytes;
    double time;

    w.stride = ((size_t)(in_size + 7) * 3 + IMAGE_SLACK + 63) / 64 * 64;
    in_bytes = w.stride * (in_size + 7) + IMAGE_SLACK;
    w.in = malloc(in_bytes);
    w.out = malloc((size_t)out_size * out_size * 3);
    if (w.in == NULL || w.out == NULL) {
        exit(2);
    }
    for (size_t i = 0; i < in_bytes; i++) {
        w.in[i] = (uint8_t)(i * 2654435761U >> 13);
    }
    for (uint32_t i = 0; i < 8; i++) {
        resize(&w, i);
    }
    time = now_us();
    for (uint32_t i = 0; i < IMAGES; i++) {
        resize(&w, i);
    }
    time = (now_us() - time) / IMAGES;
    if (write(to, &time, sizeof(time)) != sizeof(time)) {
        exit(2);
    }
    exit(0);
}

static double measure(sli_cpu_level level, uint32_t in_size, uint32_t out_size, uint32_t filter)
{
    double time = 0;
    int ends[2];
    pid_t child;

    if (pipe(ends) != 0 || (child = fork()) < 0) {
        exit(2);
    }
    if (child == 0) {
        setenv("SLUICE_CPU", sli_cpu_level_name(level), 1);
        setenv("SLUICE_LOG", "error", 1);
        run_level(in_size, out_size, filter, ends[1]);
    }
    close(ends[1]);
    if (read(ends[0], &time, sizeof(time)) != sizeof(time)) {
        fprintf(stderr, "a level gave no answer\n");
        exit(2);
    }
    close(ends[0]);
    waitpid(child, NULL, 0);
    return time;
}

static int by_value(const void *a, const void *b)
{
    double x = *(const double *)a;
    double y = *(const double *)b;

    return (x > y) - (x < y);
}

int main(int argc, char **argv)
{
    static double times[LEVELS][MAX_ROUNDS];
    const uint32_t in_size = argc > 1 ? (uint32_t)strtoul(argv[1], NULL, 10) : 295;
    const uint32_t out_size = argc > 2 ? (uint32_t)strtoul(argv[2], NULL, 10) : 224;
    const uint32_t rounds = argc > 3 ? (uint32_t)strtoul(argv[3], NULL, 10) : 50;
    uint32_t filter = 0;
    const int levels = (int)sli_cpu_best() + 1;

    while (argc > 4 && filter < FILTERS && strcmp(argv[4], resize_filter_names[filter]) != 0) {
        filter++;
    }
    if (filter == FILTERS || in_size == 0 || out_size == 0 || rounds == 0 || rounds > MAX_ROUNDS) {
        fprintf(stderr, "bench_resample [IN [OUT [ROUNDS [FILTER]]]], up to %d rounds\n",
                MAX_ROUNDS);
        return 2;
    }
    for (uint32_t round = 0; round < rounds; round++) {
        for (int level = 0; level < levels; level++) {
            times[level][round] = measure((sli_cpu_level)level, in_size, out_size, filter);
        }
    }
    printf("%ux%u to %ux%u, RGB, %s; us per image\n", in_size, in_size, out_size, out_size,
           resize_filter_names[filter]);
    for (int level = 0; level < levels; level++) {
        qsort(times[level], rounds, sizeof(times[level][0]), by_value);
        printf("%-8s  least %8.1f  median %8.1f\n", sli_cpu_level_name((sli_cpu_level)level),
               times[level][0], times[level][rounds / 2]);
    }
    return 0;
}
