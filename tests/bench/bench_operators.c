/* SPDX-License-Identifier: Apache-2.0 */
/*
 * bench_operators FILE SIDE: what stages make of images in memory, and their CPU time, for
 * peers/operators.py. FILE has images of SIDE x SIDE x 3 bytes, one after another. Commands come
 * from standard input, a line each:
 *
 *     time STAGES          prints the CPU time of an image in us, from its array to its row, as the
 *                          worker writes it: with the stage device, what the host still does
 *     save FILE STAGES     writes the rows
 *
 * Both answer with one line. One thread.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <sluice/arrays.h>

#include "sample_loader.h"

enum { BATCH = 8, CHANNELS = 3, LONGEST = 2000 };

#define LEAST_US 20000.0 /* of a measurement */

typedef struct pictures {
    uint8_t *pixels;
    uint64_t count;
    uint64_t side;
} pictures;

/* A pipeline of the pictures, with the worker's state and a row. */
typedef struct bench_run {
    sluice_dataset *dataset;
    sli_plan *plan;
    sample_loader loader;
    sli_counters counters[PLAN_PROFILED];
    sli_layout layout; /* of a row, as the worker writes it */
    uint8_t *row;
} bench_run;

static void check(sluice_status st)
{
    if (st != SLUICE_OK) {
        fprintf(stderr, "%s\n", sluice_last_error());
        exit(2);
    }
}

static void fail(const char *what)
{
    fprintf(stderr, "bench_operators: %s\n", what);
    exit(2);
}

static void read_pictures(const char *path, const char *side, pictures *p)
{
    FILE *file = fopen(path, "rb");
    size_t bytes;
    long size;

    p->side = strtoul(side, NULL, 10);
    bytes = p->side * p->side * CHANNELS;
    if (file == NULL || fseek(file, 0, SEEK_END) != 0 || bytes == 0) {
        fail(path);
    }
    size = ftell(file);
    rewind(file);
    p->count = (uint64_t)size / bytes;
    p->pixels = malloc((size_t)size + 1);
    if (p->count == 0 || p->pixels == NULL || fread(p->pixels, bytes, p->count, file) != p->count) {
        fail(path);
    }
    fclose(file);
}

static void open_run(const pictures *p, const char *stages, bench_run *run)
{
    const sluice_array array = {.name = "image",
                                .data = p->pixels,
                                .dtype = SLUICE_U8,
                                .rank = 4,
                                .shape = {p->count, p->side, p->side, CHANNELS}};
    const sli_run_settings settings = {.seed = 7, .rank = 0, .world = 1};

    memset(run, 0, sizeof(*run));
    check(sluice_dataset_memory(&array, 1, &run->dataset));
    if (stages[0] != '\0') {
        check(sluice_dataset_add(run->dataset, stages));
    }
    check(sluice_dataset_addf(run->dataset, "batch %u", BATCH));
    check(sli_plan_open(run->dataset, &settings, &run->plan));
    check(sample_loader_init(&run->loader, run->plan));
    for (int i = 0; i < PLAN_PROFILED; i++) {
        run->loader.report.counters[i] = &run->counters[i];
    }
    check(sli_layout_make(run->plan->wire, run->plan->wire_count, 1, &run->layout));
    run->row = aligned_alloc(64, (run->layout.slot_bytes + 63) / 64 * 64);
    if (run->row == NULL) {
        fail("no memory");
    }
    memset(run->row, 0, run->layout.slot_bytes);
}

static void close_run(bench_run *run)
{
    sample_loader_end(&run->loader);
    sample_loader_fini(&run->loader);
    sli_plan_close(run->plan);
    sluice_dataset_destroy(run->dataset);
    free(run->row);
}

static void load(bench_run *run, uint64_t sample)
{
    uint8_t flags = 0;
    sample_row row = {.flags = &flags};

    for (uint32_t i = 0; i < run->plan->wire_count; i++) {
        row.columns[i] = run->row + run->layout.offsets[i];
    }
    check(sample_load(&run->loader, sample, 0, &row));
}

static double cpu_us(void)
{
    struct timespec now;

    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return (double)now.tv_sec * 1e6 + (double)now.tv_nsec * 1e-3;
}

static void time_stages(const pictures *p, const char *stages)
{
    bench_run *run = aligned_alloc(64, (sizeof(bench_run) + 63) / 64 * 64);
    uint64_t images = 0;
    double start;

    open_run(p, stages, run);
    for (uint64_t i = 0; i < p->count; i++) {
        load(run, i);
    }
    start = cpu_us();
    do {
        for (uint64_t i = 0; i < p->count; i++) {
            load(run, i);
        }
        images += p->count;
    } while (cpu_us() - start < LEAST_US);
    printf("%.2f\n", (cpu_us() - start) / (double)images);
    close_run(run);
    free(run);
}

static void save_rows(const pictures *p, const char *path, const char *stages)
{
    bench_run *run = aligned_alloc(64, (sizeof(bench_run) + 63) / 64 * 64);
    FILE *file = fopen(path, "wb");

    open_run(p, stages, run);
    for (uint64_t i = 0; i < p->count && file != NULL; i++) {
        load(run, i);
        fwrite(run->row + run->layout.offsets[run->plan->image_column],
               sli_conversion_out_bytes(&run->plan->host_conversion), 1, file);
    }
    if (file == NULL || fclose(file) != 0) {
        fail(path);
    }
    printf("saved\n");
    close_run(run);
    free(run);
}

int main(int argc, char **argv)
{
    pictures p;
    char line[LONGEST];

    if (argc != 3) {
        fprintf(stderr, "bench_operators FILE SIDE, with commands from standard input\n");
        return 2;
    }
    read_pictures(argv[1], argv[2], &p);
    while (fgets(line, sizeof(line), stdin) != NULL) {
        char *rest = line + 5;

        line[strcspn(line, "\n")] = '\0';
        if (strncmp(line, "time ", 5) == 0) {
            time_stages(&p, rest);
        } else if (strncmp(line, "save ", 5) == 0 && strchr(rest, ' ') != NULL) {
            char *stages = strchr(rest, ' ');

            *stages = '\0';
            save_rows(&p, rest, stages + 1);
        } else {
            fail("want time STAGES, or save FILE STAGES");
        }
        fflush(stdout);
    }
    free(p.pixels);
    return 0;
}
