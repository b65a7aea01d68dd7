/* SPDX-License-Identifier: Apache-2.0 */
/*
 * bench_cache FOLDER [RANKS [PASSES [BYTES]]]: what the stage cache saves. FOLDER has class folders
 * of images. RANKS processes (4) read PASSES passes (3), each shuffled anew, without a cache, with
 * private caches of BYTES / RANKS each, and with a shared one of BYTES (1G). One worker each.
 *
 * Prints for each pass the number of images that all ranks have decoded, and the samples per second
 * of all ranks, by the time of the slowest one.
 */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <sluice/sluice.h>

enum { MOST_RANKS = 64, MOST_PASSES = 16 };

typedef enum cache_kind { CACHE_NONE, CACHE_PRIVATE, CACHE_SHARED, CACHE_KINDS } cache_kind;

static const char *const kinds[CACHE_KINDS] = {"none", "private", "shared"};

/* What a rank has done in a pass. */
typedef struct pass_result {
    uint64_t samples;
    uint64_t decoded;
    double seconds;
} pass_result;

/* In memory that all ranks share. */
typedef struct results {
    pthread_barrier_t passes;
    pass_result of[MOST_RANKS][MOST_PASSES];
} results;

typedef struct settings {
    const char *folder;
    uint32_t ranks;
    uint32_t passes;
    uint64_t bytes;
} settings;

static void check(sluice_status st)
{
    if (st != SLUICE_OK) {
        fprintf(stderr, "bench_cache: %s\n", sluice_last_error());
        _exit(2);
    }
}

static sluice_status no_step(const sluice_step *step, void *user)
{
    (void)step;
    (void)user;
    return SLUICE_OK;
}

/* The samples of the stage `decode` in a report; 0: there is none. */
static uint64_t decoded_in(const sluice_report *report)
{
    static const char key[] = "\"name\":\"decode\",\"samples\":";
    char *json = NULL;
    const char *at;
    uint64_t count;

    check(sluice_report_json(report, &json));
    at = strstr(json, key);
    count = at != NULL ? strtoull(at + sizeof(key) - 1, NULL, 10) : 0;
    sluice_string_free(json);
    return count;
}

static sluice_dataset *make_dataset(const settings *s, cache_kind kind)
{
    sluice_dataset *dataset = NULL;

    check(sluice_dataset_parsef(&dataset, "image_folder %s | shuffle | decode | resize 256",
                                s->folder));
    if (kind == CACHE_PRIVATE) {
        check(
            sluice_dataset_addf(dataset, "cache %llu", (unsigned long long)(s->bytes / s->ranks)));
    } else if (kind == CACHE_SHARED) {
        check(sluice_dataset_addf(dataset, "cache %llu shared=true", (unsigned long long)s->bytes));
    }
    check(sluice_dataset_add(dataset, "random_crop 224 | random_horizontal_flip | batch 8"));
    return dataset;
}

static void run_pass(const settings *s, uint32_t rank, uint32_t pass, sluice_dataset *dataset,
                     pass_result *result)
{
    sluice_report_stats stats;
    sluice_train_config config;
    sluice_report *report = NULL;
    sluice_device *device = NULL;
    sluice_model model;

    sluice_model_init(&model);
    model.step = no_step;
    model.reads_valid_rows = true;
    sluice_train_config_init(&config);
    config.mode = SLUICE_MODE_DATA;
    config.dataset_sink_mode = true;
    config.epochs = 1;
    config.workers = 1;
    config.seed = pass; /* another order */
    config.nan_guard = SLUICE_NAN_COUNT;
    config.rank = rank;
    config.world = s->ranks;
    config.local_rank = rank;
    config.local_world = s->ranks;
    check(sluice_device_open("host:0", &device));
    check(sluice_train(device, &model, dataset, &config, &report));
    sluice_report_stats_init(&stats);
    check(sluice_report_stats_get(report, &stats));
    result->samples = stats.samples;
    result->seconds = stats.seconds;
    result->decoded = decoded_in(report);
    sluice_report_destroy(report);
    sluice_device_close(device);
}

static void be_a_rank(const settings *s, uint32_t rank, cache_kind kind, results *all)
{
    sluice_dataset *dataset = make_dataset(s, kind);

    for (uint32_t pass = 0; pass < s->passes; pass++) {
        pthread_barrier_wait(&all->passes);
        run_pass(s, rank, pass, dataset, &all->of[rank][pass]);
    }
    sluice_dataset_destroy(dataset);
    _exit(0);
}

static void print_passes(const settings *s, cache_kind kind, const results *all)
{
    for (uint32_t pass = 0; pass < s->passes; pass++) {
        pass_result sum = {0};

        for (uint32_t r = 0; r < s->ranks; r++) {
            const pass_result *one = &all->of[r][pass];

            sum.samples += one->samples;
            sum.decoded += one->decoded;
            sum.seconds = one->seconds > sum.seconds ? one->seconds : sum.seconds;
        }
        printf("%-8s %5u %9llu %9llu %10.0f\n", kinds[kind], pass + 1,
               (unsigned long long)sum.samples, (unsigned long long)sum.decoded,
               (double)sum.samples / sum.seconds);
    }
}

static int run_kind(const settings *s, cache_kind kind)
{
    results *all =
        mmap(NULL, sizeof(*all), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    pthread_barrierattr_t attributes;
    char job[60];
    int failed = 0;

    if (all == MAP_FAILED) {
        return 2;
    }
    pthread_barrierattr_init(&attributes);
    pthread_barrierattr_setpshared(&attributes, PTHREAD_PROCESS_SHARED);
    pthread_barrier_init(&all->passes, &attributes, s->ranks);
    snprintf(job, sizeof(job), "bench-cache-%d-%d", (int)getpid(), (int)kind);
    setenv("TORCHELASTIC_RUN_ID", job, 1);
    fflush(stdout);
    for (uint32_t r = 0; r < s->ranks; r++) {
        if (fork() == 0) {
            be_a_rank(s, r, kind, all);
        }
    }
    for (uint32_t r = 0; r < s->ranks; r++) {
        int status = 0;

        (void)wait(&status);
        failed += status != 0;
    }
    if (failed == 0) {
        print_passes(s, kind, all);
    }
    munmap(all, sizeof(*all));
    return failed > 0 ? 2 : 0;
}

int main(int argc, char **argv)
{
    const settings s = {.folder = argc > 1 ? argv[1] : NULL,
                        .ranks = argc > 2 ? (uint32_t)atoi(argv[2]) : 4,
                        .passes = argc > 3 ? (uint32_t)atoi(argv[3]) : 3,
                        .bytes = argc > 4 ? strtoull(argv[4], NULL, 10) : UINT64_C(1) << 30};
    int status = 0;

    if (s.folder == NULL || s.ranks == 0 || s.ranks > MOST_RANKS || s.passes == 0 ||
        s.passes > MOST_PASSES) {
        fprintf(stderr, "usage: bench_cache FOLDER [RANKS [PASSES [BYTES]]]\n");
        return 2;
    }
    printf("cache     pass   samples   decoded  samples/s\n");
    for (int kind = 0; kind < CACHE_KINDS && status == 0; kind++) {
        status = run_kind(&s, (cache_kind)kind);
    }
    return status;
}
