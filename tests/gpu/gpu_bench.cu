/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Measures on a GPU: first its limits and what single kernels and copies do beside them, then steps
 * per second of sluice_train(), one factor at a time around a base cell, against the same kernel in
 * a device loop without any data and against a plain copy of pinned memory; then what lies between
 * steps. CSV as it goes, a short table last; below 7 minutes. Exits with 77 where there is no GPU.
 *
 *     sluice_gpu_bench             all sections
 *     sluice_gpu_bench SECTION...  the limits, and these: memory, kernels, maps, copies, cells,
 * gaps sluice_gpu_bench --columns   the columns of the cells
 *
 * The step is a busy kernel of one thread; data are the source `synthetic`, without conversions.
 */
#include "gpu_measures.h"

#include <stdio.h>
#include <string.h>

struct payload {
    const char *name;
    const char *pipeline;
    uint64_t bytes;
};

/* How steps are run. */
struct way {
    const char *name;
    const char *device;
    sluice_mode mode;
};

/* One value of each factor. */
struct cell {
    int way, step, payload, sink;
};

static const way ways[] = {
    {"direct", "cuda:0", SLUICE_MODE_DIRECT},
    {"data", "cuda:0", SLUICE_MODE_DATA},
    {"graph", "cuda:0", SLUICE_MODE_GRAPH},
    {"loop", "cuda:0", SLUICE_MODE_LOOP},
    {"loop pull", "cuda:0,transport=pull", SLUICE_MODE_LOOP},
    {"loop unroll=4", "cuda:0,unroll=4", SLUICE_MODE_LOOP},
    {"loop copy_streams=1", "cuda:0,copy_streams=1", SLUICE_MODE_LOOP},
};
static const int step_us[] = {5, 50, 500, 5000};
static const payload payloads[] = {
    {"8 KB", "synthetic 100000 shape=32,32,1 | batch 8", 8192},
    {"196 KB", "synthetic 100000 shape=32,64,3 | batch 32", 196608},
    {"4 MB", "synthetic 100000 shape=256,256,1 | batch 64", 4194304},
    {"38.5 MB", "synthetic 100000 shape=224,224,3 | batch 256", 38535168},
};
static const int sinks[] = {1, 10, 100, 1000};

enum {
    WAYS = 7,
    MODES = 4,
    STEPS = 4,
    PAYLOADS = 4,
    SINKS = 4
}; /* the first four ways are modes */
enum { FAST_STEP = 0, BASE_STEP = 1, SLOW_STEP = 2 };
enum { SMALL_PAYLOAD = 0, BASE_PAYLOAD = 1, COPIED_PAYLOAD = 2 };
enum { BASE_SINK = 2, MAX_CELLS = 64, GAP_CELLS = 6, ALL_SECONDS = 380 };
static const double CELL_SECONDS = 1.5;

/* What came of a cell, for the table. */
struct result {
    cell at;
    bool ok;
    double share;
};

static struct {
    double begin;
    gpu_busy *busy[STEPS];   /* on the device */
    double reference[STEPS]; /* steps per second without data */
    double pinned;           /* GB/s */
    double device_copy;      /* GB/s read and written */
    result results[MAX_CELLS];
    int count;
    bool failed;
    char text[GPU_TEXT]; /* what failed */
} bench;

/* ---- limits ---------------------------------------------------------------------------------- */

/* What the cells are compared with. */
static gpu_verdict measure_limits(char *text)
{
    double launch = 0.0;
    double loop = 0.0;

    if (gpu_measure_copy(cudaMemcpyHostToDevice, 0, &bench.pinned, text) != GPU_PASS ||
        gpu_measure_copy(cudaMemcpyDeviceToDevice, 0, &bench.device_copy, text) != GPU_PASS ||
        gpu_measure_launch(&launch, text) != GPU_PASS ||
        gpu_measure_loop(NULL, 10000, &loop, text) != GPU_PASS) {
        return GPU_FAIL;
    }
    bench.device_copy *= 2.0;
    printf("pinned_h2d,%.2f,GB/s\n", bench.pinned);
    printf("device_copy,%.2f,GB/s read and written\n", bench.device_copy);
    printf("graph_launch_and_sync,%.2f,us\n", launch);
    printf("while_iteration,%.2f,us\n", 1e6 / loop);
    for (int i = 0; i < STEPS; i++) {
        NEED_CUDA(gpu_make_busy(step_us[i], NULL, &bench.busy[i]));
        if (gpu_measure_loop(bench.busy[i], (uint32_t)(500000 / step_us[i]), &bench.reference[i],
                             text) != GPU_PASS) {
            return GPU_FAIL;
        }
        printf("steps_of_%d_us_without_data,%.1f,1/s\n", step_us[i], bench.reference[i]);
    }
    return GPU_PASS;
}

/* A figure that no other depends on; where it was not to be had, why. */
static void print_rate(gpu_verdict verdict, const char *name, double value, const char *unit)
{
    if (verdict == GPU_PASS) {
        printf("%s,%.3f,%s\n", name, value, unit);
        return;
    }
    printf("%s,failed: %s\n", name, bench.text);
    bench.failed = true;
}

static void print_rates(gpu_verdict verdict, const gpu_rate *rates, int count, const char *unit)
{
    for (int i = 0; i < (verdict == GPU_PASS ? count : 1); i++) {
        print_rate(verdict, rates[i].name, rates[i].value, unit);
    }
}

/* Memory of the host: page-locked, and write-combined, which a CPU only writes. */
static void print_memory(void)
{
    const unsigned int combined = cudaHostAllocWriteCombined;
    double gb_s = 0.0;
    gpu_verdict verdict = gpu_measure_copy(cudaMemcpyHostToDevice, combined, &gb_s, bench.text);

    print_rate(verdict, "write_combined_h2d", gb_s, "GB/s");
    verdict = gpu_measure_fill(0, &gb_s, bench.text);
    print_rate(verdict, "pinned_fill_by_one_thread", gb_s, "GB/s");
    verdict = gpu_measure_fill(combined, &gb_s, bench.text);
    print_rate(verdict, "write_combined_fill_by_one_thread", gb_s, "GB/s");
    for (int i = COPIED_PAYLOAD; i < PAYLOADS; i++) {
        char name[60];

        snprintf(name, sizeof(name), "batches_of_%llu_bytes_made",
                 (unsigned long long)payloads[i].bytes);
        verdict = gpu_measure_producer(payloads[i].pipeline, payloads[i].bytes, &gb_s, bench.text);
        print_rate(verdict, name, gb_s, "GB/s");
    }
}

/* The gather beside the device copy, which is its limit. */
static void print_gathers(gpu_verdict verdict, gpu_rate *gathers, int count)
{
    print_rates(verdict, gathers, count, "GB/s read and written");
    for (int i = 0; i < count; i++) {
        gathers[i].value = gpu_share(gathers[i].value, bench.device_copy);
    }
    print_rates(verdict, gathers, count, "of the device copy");
}

/* Single kernels. */
static void print_kernels(void)
{
    gpu_rate gathers[GPU_GATHERS] = {{"gather", 0.0}};
    gpu_rate programs[GPU_PROGRAMS] = {{"program", 0.0}};
    gpu_rate mixes[GPU_MIXES] = {{"mix", 0.0}};
    gpu_rate releases[GPU_RELEASES] = {{"release", 0.0}};
    gpu_rate looks[GPU_LOOKS] = {{"look", 0.0}};
    double us = 0.0;
    gpu_verdict verdict = gpu_measure_convnet(&us, bench.text);

    print_rate(verdict, "convnet_step_of_128_images", us, "us");
    verdict = gpu_measure_gathers(gathers, bench.text);
    print_gathers(verdict, gathers, GPU_GATHERS);
    verdict = gpu_measure_programs(programs, bench.text);
    print_gathers(verdict, programs, GPU_PROGRAMS);
    verdict = gpu_measure_mixes(mixes, bench.text);
    print_gathers(verdict, mixes, GPU_MIXES);
    verdict = gpu_measure_releases(releases, bench.text);
    print_rates(verdict, releases, GPU_RELEASES, "ns a step");
    verdict = gpu_measure_looks(looks, bench.text);
    print_rates(verdict, looks, GPU_LOOKS, "ns");
}

/* Steps with a kernel of the user's between GetNext and the step. */
static void print_maps(void)
{
    gpu_rate maps[GPU_MAPS] = {{"map", 0.0}};

    print_rates(gpu_measure_maps(maps, bench.text), maps, GPU_MAPS, "us a step");
}

/* As the copier gives them, beside the plain copy. */
static void print_copies(void)
{
    gpu_rate copies[GPU_COPIES] = {{"copies", 0.0}};
    gpu_rate firsts[GPU_FIRST_WORDS] = {{"first_of_two_copies", 0.0}};
    gpu_verdict verdict = gpu_measure_copies(copies, bench.text);

    print_rates(verdict, copies, GPU_COPIES, "GB/s");
    for (int i = 0; i < GPU_COPIES; i++) {
        copies[i].value = gpu_share(copies[i].value, bench.pinned);
    }
    print_rates(verdict, copies, GPU_COPIES, "of the pinned copy");
    verdict = gpu_measure_first_words(firsts, bench.text);
    print_rates(verdict, firsts, GPU_FIRST_WORDS, "us");
}

/* ---- cells ----------------------------------------------------------------------------------- */

static void run_cell(cell at)
{
    result *r = &bench.results[bench.count++];
    const way *w = &ways[at.way];
    gpu_run run = {};
    gpu_row row = {};
    char text[400];

    run.device = w->device;
    run.pipeline = payloads[at.payload].pipeline;
    run.mode = w->mode;
    run.seconds = CELL_SECONDS;
    run.sink_size = sinks[at.sink];
    run.step = gpu_busy_step;
    run.user = bench.busy[at.step];
    gpu_train(&run);
    r->at = at;
    r->ok = run.status == SLUICE_OK && run.stats.seconds > 0.0;
    row.mode = w->name;
    row.step_us = step_us[at.step];
    row.batch_bytes = payloads[at.payload].bytes;
    row.sink_size = sinks[at.sink];
    if (!r->ok) {
        printf("%s,%d,%llu,%lld,failed: %s\n", row.mode, row.step_us,
               (unsigned long long)row.batch_bytes, (long long)row.sink_size, run.error);
        bench.failed = true;
        return;
    }
    row.steps = run.stats.steps;
    row.seconds = run.stats.seconds;
    row.no_data_per_s = bench.reference[at.step];
    row.pinned_gb_per_s = bench.pinned;
    row.launches = run.stats.launches;
    row.syncs = run.stats.syncs;
    row.yields = run.stats.yields;
    row.data_wait_share = run.stats.data_wait_share;
    row.cpu_seconds = run.cpu_seconds;
    row.sink_seconds = run.sink_seconds;
    r->share = gpu_row_text(&row, text, sizeof(text));
    puts(text);
}

static void run_ways(int from, int to, int step, int payload, int sink)
{
    for (int i = from; i < to; i++) {
        const cell at = {i, step, payload, sink};

        if (bench.count < MAX_CELLS - GAP_CELLS && gpu_now() - bench.begin < ALL_SECONDS) {
            run_cell(at);
            fflush(stdout);
        }
    }
}

/* Every mode: the base cell, then each other value of each factor; then what modes come in. */
static void run_cells(void)
{
    puts(GPU_ROW_HEADER);
    for (int i = 0; i < STEPS; i++) {
        run_ways(0, MODES, i, BASE_PAYLOAD, BASE_SINK);
    }
    for (int i = 0; i < PAYLOADS; i++) {
        if (i != BASE_PAYLOAD) {
            run_ways(0, MODES, BASE_STEP, i, BASE_SINK);
        }
    }
    run_ways(0, MODES, SLOW_STEP, SMALL_PAYLOAD, BASE_SINK);
    for (int i = 0; i < SINKS; i++) {
        if (i != BASE_SINK) {
            run_ways(0, MODES, BASE_STEP, BASE_PAYLOAD, i);
        }
    }
    run_ways(MODES, WAYS, FAST_STEP, BASE_PAYLOAD, BASE_SINK);
    run_ways(MODES, WAYS, BASE_STEP, BASE_PAYLOAD, BASE_SINK);
    run_ways(MODES, WAYS, BASE_STEP, COPIED_PAYLOAD, BASE_SINK);
}

/* Loop and graph: idle cores, busy ones, busy ones with 16 ms of batches ahead. */
static void run_gaps(void)
{
    static const struct {
        bool busy;
        uint32_t slots;
    } hosts[GAP_CELLS / 2] = {{false, 4}, {true, 4}, {true, 64}};

    printf("\ngaps_between_steps,cores,slots,gaps,p50_us,p99_us,most_us,yields\n");
    for (int i = 0; i < GAP_CELLS; i++) {
        gpu_gap_run run = {};

        run.mode = i % 2 == 0 ? SLUICE_MODE_LOOP : SLUICE_MODE_GRAPH;
        run.busy_cores = hosts[i / 2].busy;
        run.slots = hosts[i / 2].slots;
        if (gpu_now() - bench.begin >= ALL_SECONDS + 20) {
            return;
        }
        if (gpu_measure_gaps(&run, bench.text) != GPU_PASS) {
            printf("%s,failed: %s\n", sluice_mode_name(run.mode), bench.text);
            bench.failed = true;
            continue;
        }
        printf("%s,%s,%u,%llu,%.2f,%.2f,%.2f,%llu\n", sluice_mode_name(run.mode),
               run.busy_cores ? "busy" : "idle", run.slots, (unsigned long long)run.gaps.count,
               1e-3 * (double)run.gaps.p50_ns, 1e-3 * (double)run.gaps.p99_ns,
               1e-3 * (double)run.gaps.most_ns, (unsigned long long)run.yields);
        fflush(stdout);
    }
}

/* A line for each but the way, a column for each mode: steps per second as a share of no data. */
static void print_table(void)
{
    printf("\nsteps/s as %% of the same kernel without data\n%-9s %-8s %5s ", "step", "batch",
           "sink");
    for (int i = 0; i < MODES; i++) {
        printf("%8s", ways[i].name);
    }
    for (int n = 0; n < bench.count; n++) {
        const result *r = &bench.results[n];

        if (r->at.way == 0) {
            printf("\n%6d us %-8s %5d ", step_us[r->at.step], payloads[r->at.payload].name,
                   sinks[r->at.sink]);
        } else if (r->at.way >= MODES) {
            printf("\n%6d us %-8s %5d %s: ", step_us[r->at.step], payloads[r->at.payload].name,
                   sinks[r->at.sink], ways[r->at.way].name);
        }
        if (r->ok) {
            printf("%8.1f", 100.0 * r->share);
        } else {
            printf("%8s", "failed");
        }
    }
    printf("\n%d cells in %.0f s\n", bench.count, gpu_now() - bench.begin);
}

/* ---- sections -------------------------------------------------------------------------------- */

static void print_cells(void)
{
    run_cells();
    print_table();
}

struct section {
    const char *name;
    void (*print)(void);
};

static const section sections[] = {
    {"memory", print_memory}, {"kernels", print_kernels}, {"maps", print_maps},
    {"copies", print_copies}, {"cells", print_cells},     {"gaps", run_gaps},
};
enum { SECTIONS = sizeof(sections) / sizeof(sections[0]) };

/* Is the section asked for by the words? None ask for all. */
static bool wanted(const section *s, int argc, char **argv)
{
    bool named = argc == 1;

    for (int i = 1; i < argc; i++) {
        named = named || strcmp(argv[i], s->name) == 0;
    }
    return named;
}

/* Are all words sections? */
static bool understood(int argc, char **argv)
{
    for (int i = 1; i < argc; i++) {
        bool known = false;

        for (int n = 0; n < SECTIONS; n++) {
            known = known || strcmp(argv[i], sections[n].name) == 0;
        }
        if (!known) {
            fprintf(stderr, "no section is called %s; usage: sluice_gpu_bench [--columns | ",
                    argv[i]);
            fprintf(stderr, "memory | kernels | maps | copies | cells | gaps ...]\n");
            return false;
        }
    }
    return true;
}

int main(int argc, char **argv)
{
    sluice_device *device = NULL;
    sluice_status st;

    if (argc == 2 && strcmp(argv[1], "--columns") == 0) {
        puts(GPU_ROW_HEADER);
        return 0;
    }
    if (!understood(argc, argv)) {
        return 2;
    }
    st = sluice_device_open("cuda:0", &device);
    if (st != SLUICE_OK) {
        printf("SKIP bench: %s\n", sluice_last_error());
        return st == SLUICE_E_NO_DEVICE ? 77 : 1;
    }
    sluice_device_close(device);
    bench.begin = gpu_now();
    printf("limit,value,unit\n");
    if (measure_limits(bench.text) != GPU_PASS) {
        printf("FAIL limits: %s\n", bench.text);
        return 1;
    }
    for (int i = 0; i < SECTIONS; i++) {
        fflush(stdout);
        if (wanted(&sections[i], argc, argv)) {
            sections[i].print();
        }
    }
    return bench.failed;
}
