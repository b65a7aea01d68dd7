/* SPDX-License-Identifier: Apache-2.0 */
/*
 * bench_pixels FOLDER [ROUNDS [IMAGES]]: what a worker does with a photograph after decoding it:
 * the random crop to 224, mirrored by half, as bytes, as f32 and f16 planes, in microseconds and as
 * a share of decoding whole files. FOLDER holds class folders of JPEGs.
 *
 * Kinds take turns picture by picture, all with the same crops. Times are the profile's own of each
 * stage; of a picture the median over the rounds, so that a preempted one does not count.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "clock_int.h"
#include "cpu_int.h"
#include "sample_loader.h"

#define CROP "random_resized_crop 224 | random_horizontal_flip 0.5"

enum { KINDS = 5, MAX_ROUNDS = 99, ROWS = 64 };

static const struct {
    const char *name;
    const char *stages;
} kinds[KINDS] = {
    {"whole files, resized", "resize 224,224"},
    {"u8", CROP},
    {"f32 planes", CROP " | normalize imagenet | to_chw"},
    {"f16 planes", CROP " | normalize imagenet dtype=f16 | to_chw"},
    {"u8, bicubic", "random_resized_crop 224 filter=bicubic | random_horizontal_flip 0.5"},
};

typedef struct kind_run {
    sluice_dataset *dataset;
    sli_plan *plan;
    sample_loader loader;
    sli_counters counters[PLAN_PROFILED];
    uint8_t *rows; /* (ROWS) images */
    double sums[2];
} kind_run;

static void check(sluice_status st)
{
    if (st != SLUICE_OK) {
        fprintf(stderr, "%s\n", sluice_last_error());
        exit(2);
    }
}

static void kind_open(kind_run *run, const char *folder, const char *stages)
{
    const sli_run_settings settings = {.seed = 7, .rank = 0, .world = 1};
    char text[4096];

    snprintf(text, sizeof(text), "image_folder '%s' | decode | %s | batch %d", folder, stages,
             ROWS);
    check(sluice_dataset_parse(text, &run->dataset));
    check(sli_plan_open(run->dataset, &settings, &run->plan));
    check(sample_loader_init(&run->loader, run->plan));
    for (int i = 0; i < PLAN_PROFILED; i++) {
        run->loader.report.counters[i] = &run->counters[i];
    }
    run->rows = calloc(ROWS, sli_conversion_out_bytes(&run->plan->host_conversion));
    if (run->rows == NULL) {
        exit(2);
    }
}

/* Ticks of decode and of what follows. */
static void run_sample(kind_run *run, uint64_t sample, double ticks_out[2])
{
    const int stages[2] = {PLAN_DECODE, PLAN_PIXELS};
    uint8_t flags = 0;
    int32_t label;
    sample_row row = {.flags = &flags};

    row.columns[run->plan->image_column] =
        run->rows + sample % ROWS * sli_conversion_out_bytes(&run->plan->host_conversion);
    row.columns[run->plan->label_column] = &label;
    for (int i = 0; i < 2; i++) {
        ticks_out[i] = -(double)run->counters[stages[i]].busy_ticks;
    }
    check(sample_load(&run->loader, sample, 0, &row));
    for (int i = 0; i < 2; i++) {
        ticks_out[i] += (double)run->counters[stages[i]].busy_ticks;
    }
}

static int by_value(const void *a, const void *b)
{
    double x = *(const double *)a;
    double y = *(const double *)b;

    return (x > y) - (x < y);
}

/* All kinds of one sample, in turn. */
static void measure(kind_run *runs, uint64_t sample, uint32_t rounds)
{
    static double times[KINDS][2][MAX_ROUNDS];

    for (uint32_t round = 0; round < rounds; round++) {
        for (int k = 0; k < KINDS; k++) {
            double ticks[2];

            run_sample(&runs[k], sample, ticks);
            times[k][0][round] = ticks[0];
            times[k][1][round] = ticks[1];
        }
    }
    for (int k = 0; k < KINDS; k++) {
        for (int i = 0; i < 2; i++) {
            qsort(times[k][i], rounds, sizeof(double), by_value);
            runs[k].sums[i] += times[k][i][rounds / 2];
        }
    }
}

int main(int argc, char **argv)
{
    const uint32_t rounds = argc > 2 ? (uint32_t)strtoul(argv[2], NULL, 10) : 5;
    kind_run *runs = aligned_alloc(64, KINDS * sizeof(*runs));
    uint64_t start = sli_ticks();
    int64_t start_ns = sli_now_ns();
    uint64_t images;
    double us;

    if (argc < 2 || rounds == 0 || rounds > MAX_ROUNDS || runs == NULL) {
        fprintf(stderr, "bench_pixels FOLDER [ROUNDS [IMAGES]], up to %d rounds\n", MAX_ROUNDS);
        return 2;
    }
    memset(runs, 0, KINDS * sizeof(*runs));
    for (int k = 0; k < KINDS; k++) {
        kind_open(&runs[k], argv[1], kinds[k].stages);
    }
    images = runs[0].plan->samples_per_pass;
    if (argc > 3 && strtoul(argv[3], NULL, 10) < images) {
        images = strtoul(argv[3], NULL, 10);
    }
    for (uint64_t sample = 0; sample < images; sample++) {
        measure(runs, sample, rounds);
    }
    us = (double)(sli_now_ns() - start_ns) * 1e-3 / (double)(sli_ticks() - start) / (double)images;
    printf("%llu pictures, %s; us per picture, and share of decoding whole files\n",
           (unsigned long long)images, sli_cpu_level_name(sli_cpu_current()));
    for (int k = 0; k < KINDS; k++) {
        printf("%-22s decode %7.1f  %.3f   resize and convert %6.1f  %.4f\n", kinds[k].name,
               runs[k].sums[0] * us, runs[k].sums[0] / runs[0].sums[0], runs[k].sums[1] * us,
               runs[k].sums[1] / runs[0].sums[0]);
    }
    printf("f32 / u8, decode and pixels: %.3f\n",
           (runs[2].sums[0] + runs[2].sums[1]) / (runs[1].sums[0] + runs[1].sums[1]));
    return 0;
}
