/* SPDX-License-Identifier: Apache-2.0 */
/*
 * bench_slots FOLDER [SAMPLES]: how busy the slots of a channel keep many workers, by simulation
 * (ring_simulation.h), with the sizes of the JPEG files of FOLDER, which holds class folders. The
 * time of a sample is a constant and a share for each byte, fitted to the time that SAMPLES (200)
 * of the files take here: read, decoded, cropped to 224 and mirrored.
 *
 * Prints the efficiency of 16 to 256 workers: the share of their time that they work.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "clock_int.h"
#include "dataset_state.h"
#include "ring_simulation.h"
#include "sample_loader.h"
#include "slot_count.h"

#define STAGES "decode | random_resized_crop 224 | random_horizontal_flip 0.5 | batch 64"

enum { ROUNDS = 5, BATCHES = 4000 };

/* Time of a step, as a share of what all workers take for its batch: nearly as much. */
static const double STEP_SHARE = 0.95;

typedef struct costs {
    sluice_dataset *dataset;
    sli_plan *plan;
    size_t samples;
    double *bytes; /* (samples) of each file */
    double *ns;    /* (samples) */
} costs;

static void check(sluice_status st)
{
    if (st != SLUICE_OK) {
        fprintf(stderr, "bench_slots: %s\n", sluice_last_error());
        exit(2);
    }
}

static void open_folder(costs *c, const char *folder)
{
    const sli_run_settings settings = {.seed = 7, .rank = 0, .world = 1};
    char path[4096];

    snprintf(path, sizeof(path), "image_folder '%s' | " STAGES, folder);
    check(sluice_dataset_parse(path, &c->dataset));
    check(sli_plan_open(c->dataset, &settings, &c->plan));
    c->samples = c->plan->samples_per_pass;
    c->bytes = calloc(c->samples, sizeof(double));
    c->ns = calloc(c->samples, sizeof(double));
    if (c->bytes == NULL || c->ns == NULL) {
        exit(2);
    }
    for (size_t i = 0; i < c->samples; i++) {
        const int length = snprintf(path, sizeof(path), "%s/", folder);
        struct stat info;

        dataset_source(c->dataset)
            ->name(c->dataset->source, i, path + length, sizeof(path) - (size_t)length);
        if (stat(path, &info) != 0) {
            perror(path);
            exit(2);
        }
        c->bytes[i] = (double)info.st_size;
    }
}

/* Nanoseconds of one sample on this core: the least of a few rounds. */
static double measure(sample_loader *loader, uint64_t sample, const sample_row *row)
{
    double least = 0;

    for (int round = 0; round < ROUNDS; round++) {
        const int64_t start = sli_now_ns();
        double ns;

        check(sample_load(loader, sample, 0, row));
        ns = (double)(sli_now_ns() - start);
        least = round == 0 || ns < least ? ns : least;
    }
    return least;
}

/* Least squares over so many files, spread over the folder. */
static void fit(const costs *c, size_t count, double *constant_out, double *per_byte_out)
{
    static sli_counters counters[PLAN_PROFILED];
    double n = 0;
    double x = 0;
    double y = 0;
    double xx = 0;
    double xy = 0;
    uint8_t flags;
    int32_t label;
    sample_row row = {.flags = &flags};
    sample_loader loader;

    check(sample_loader_init(&loader, c->plan));
    for (int i = 0; i < PLAN_PROFILED; i++) {
        loader.report.counters[i] = &counters[i];
    }
    row.columns[c->plan->image_column] =
        malloc(sli_conversion_out_bytes(&c->plan->host_conversion));
    row.columns[c->plan->label_column] = &label;
    for (size_t i = 0; i < count; i++) {
        const size_t sample = i * c->samples / count;
        const double ns = measure(&loader, sample, &row);

        n++;
        x += c->bytes[sample];
        y += ns;
        xx += c->bytes[sample] * c->bytes[sample];
        xy += c->bytes[sample] * ns;
    }
    *per_byte_out = n * xx > x * x ? (n * xy - x * y) / (n * xx - x * x) : 0;
    *constant_out = (y - *per_byte_out * x) / n;
    if (*constant_out < 0) { /* crops of large files vary more than a constant can show */
        *constant_out = 0;
        *per_byte_out = xy / xx;
    }
    free(row.columns[c->plan->image_column]);
    sample_loader_fini(&loader);
}

/* What feed_open() takes for batches of 224 x 224 x 3 bytes on a device of this memory. */
static uint32_t default_slots(uint32_t workers, uint32_t batch)
{
    const slot_request request = {.workers = workers,
                                  .batch_size = batch,
                                  .slot_bytes = UINT64_C(224) * 224 * 3 * batch,
                                  .free_bytes = UINT64_C(64) << 30,
                                  .lends = true};

    return slot_count(&request);
}

static double efficiency(const costs *c, uint32_t workers, uint32_t batch, uint32_t slots,
                         double step_share)
{
    const ring_simulation s = {.costs = c->ns,
                               .samples = c->samples,
                               .workers = workers,
                               .batch_size = batch,
                               .slots = slots,
                               .step_share = step_share,
                               .lends = true,
                               .batches = BATCHES};

    return ring_simulation_run(&s);
}

static void print_rows(const costs *c, uint32_t workers, uint32_t batch)
{
    const uint32_t by_default = default_slots(workers, batch);
    const uint32_t slots[] = {3, 4, 8, by_default};

    for (size_t i = 0; i < sizeof(slots) / sizeof(slots[0]); i++) {
        if (slots[i] < by_default || i == 3) {
            printf("%7u %6u %6u%-8s %12.3f %18.3f\n", workers, batch, slots[i],
                   slots[i] == by_default ? " default" : "",
                   efficiency(c, workers, batch, slots[i], 0),
                   efficiency(c, workers, batch, slots[i], STEP_SHARE));
        }
    }
}

int main(int argc, char **argv)
{
    size_t count = argc > 2 ? strtoul(argv[2], NULL, 10) : 200;
    double constant;
    double per_byte;
    double mean = 0;
    costs c;

    if (argc < 2 || count == 0) {
        fprintf(stderr, "usage: bench_slots FOLDER [SAMPLES]\n");
        return 2;
    }
    open_folder(&c, argv[1]);
    fit(&c, count < c.samples ? count : c.samples, &constant, &per_byte);
    for (size_t i = 0; i < c.samples; i++) {
        c.ns[i] = constant + per_byte * c.bytes[i];
        mean += c.ns[i] / (double)c.samples;
    }
    printf("%zu files; a sample takes %.3f ms and %.3f ms for each 100 KB, %.3f ms on average\n",
           c.samples, constant / 1e6, per_byte / 10, mean / 1e6);
    printf("efficiency without a step, and with steps of %.2f of what the workers take\n",
           STEP_SHARE);
    printf("workers  batch  slots             no step   steps of batches lent\n");
    for (uint32_t workers = 16; workers <= 256; workers *= 2) {
        print_rows(&c, workers, 64);
    }
    print_rows(&c, 64, 16);
    print_rows(&c, 64, 256);
    free(c.bytes);
    free(c.ns);
    sli_plan_close(c.plan);
    sluice_dataset_destroy(c.dataset);
    return 0;
}
