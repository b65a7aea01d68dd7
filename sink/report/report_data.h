/* SPDX-License-Identifier: Apache-2.0 */
/* The contents of a report: plain data, collected in one call. */
#ifndef SLUICE_REPORT_DATA_H
#define SLUICE_REPORT_DATA_H

#include <sluice/ranks.h>
#include <sluice/report.h>
#include <sluice/train.h>

#include "engine_int.h"
#include "pci_link_int.h"
#include "profiler_int.h"
#include "queue_int.h"
#include "rank_waits.h"
#include "report_pipeline.h"
#include "report_times.h"
#include "run_series.h"
#include "status_int.h"
#include "step_threads.h"

/* The most entries of report_waits.late: the ranks for which this one waited longest. */
enum { REPORT_LATE = 8 };

/* The waits of this rank for another one. */
typedef struct report_late {
    uint32_t rank;
    double seconds;
    uint64_t lasts;   /* meetings to which that rank came last */
    rank_delay delay; /* what most often delayed that rank */
} report_late;

typedef struct report_waits {
    bool known; /* several ranks met, by agree */
    double agree_seconds;
    double late_seconds; /* part of agree_seconds in which this rank waited for the one that came
                            last */
    uint64_t meetings;
    uint64_t own_lasts; /* meetings to which this rank came last */
    rank_delay own_delay;
    uint32_t count;
    report_late late[REPORT_LATE]; /* (count), the longest wait first */
} report_waits;

enum { REPORT_QUEUES = 2 };

/* Memory in bytes. The other pools are in the stats and in the counts of the cache. */
typedef struct report_memory {
    uint64_t source;      /* sample list, indexes of shards, splits */
    uint64_t stream;      /* the most that the shuffle buffers of a stream held */
    uint64_t rows;        /* as in sli_engine_memory */
    uint64_t workers;     /* likewise */
    bool slots_on_device; /* the memory of the device is not the host's */
    uint64_t peak_rss;    /* of the process */
} report_memory;

struct sluice_report {
    sluice_report_stats stats;
    char error[SLI_ERROR_SIZE]; /* error text; "" if there was no error */
    bool ran;                   /* the run began; otherwise most of the following fields are zero */
    bool is_running;            /* the run had not ended when the report was made */
    bool clock_jumped;          /* times were outside of the run, and are bounded to it */
    bool was_complete;          /* a resumed run had no steps left */
    sluice_ranks ranks;         /* of this process; local_world 0: the local rank is unknown */
    char host[64];
    int64_t pid;
    const char *mode; /* NULL: the run never began, or this is the report of a channel */
    char mode_reason[400];
    const char *source; /* name of the source stage */
    uint64_t batches;
    uint64_t step_times; /* that the loop of a channel has published */
    uint64_t bytes_read;
    uint64_t ahead_samples; /* samples whose bytes readahead requested */
    uint64_t ahead_bytes;
    sli_index_counts indexes;
    sli_image_counts images;
    uint64_t replayed; /* samples that workers processed again to find the run's first one */
    double replay_seconds;
    bool has_cache;
    sli_cache_counts cache; /* valid if has_cache */
    uint64_t bytes_h2d;
    const char *transport; /* as in sli_queue_stats; NULL if the run never began */
    uint64_t h2d_batches;
    uint64_t h2d_copies;
    uint64_t publishes;
    bool has_digest;
    int64_t cpu_ns;        /* CPU time of the whole process so far, from getrusage() */
    int64_t cpu_before_ns; /* part of it before the run; the report has the difference */
    char maps[400];        /* names of the device maps: "blur, warp"; "": none */
    bool maps_untimed;     /* the time of the maps is not known: they are enqueued with the step, or
                              in the stream of a channel's loop */
    report_memory memory;

    uint32_t worker_count;
    uint32_t stage_count;
    sli_stage_summary stages[REPORT_STAGES]; /* stages[i].name points to stage_names[i] */
    char stage_names[REPORT_STAGES][64];
    double wait_ns; /* time in which steps waited for data */

    uint32_t queue_count;
    const char *queue_names[REPORT_QUEUES];
    sli_ring_stats queues[REPORT_QUEUES];
    uint64_t produced;
    uint64_t consumed;

    const char *bottleneck;  /* the name of a stage, operation or host row, or "none" */
    double bottleneck_share; /* share of the run's time; for a worker stage, of the workers' busy
                                time */
    char bottleneck_why[400];

    const char *bottleneck_cause; /* "cpu", "blocked", "lock", "starved", "storage", "copy",
                                     "device", "host", "ranks", "handover", "none" */
    uint32_t advice_count;
    report_advice advice[REPORT_ADVICE]; /* (advice_count), the best first */
    report_pipeline pipeline;

    report_stage_times stage_times[REPORT_STAGES]; /* (stage_count) */
    uint32_t operation_count;
    report_operation operations[REPORT_OPERATIONS]; /* (operation_count), grouped by stage */
    report_host_times host_times;
    report_machine machine;
    uint32_t thread_count;
    report_thread *threads; /* (thread_count) */

    struct report_histograms *histograms; /* report_histogram.h; NULL: the run never began */

    run_series *series; /* NULL: the run, or the loop of a channel, never began */
    run_series *passes; /* likewise; and of a channel */

    uint64_t failed;
    uint32_t error_count;
    sli_error_sample *errors;
    sli_slow_samples *slowest; /* NULL: the run never began */
    double ns_per_tick;        /* of their times */

    report_waits waits;

    uint32_t place_count;
    sli_thread_place *places; /* (place_count) threads of workers, readahead, copies and the device,
                                 and the caller's thread */
    uint32_t buffer_count;
    sli_buffer_place buffers[SLI_QUEUE_BUFFERS]; /* (buffer_count) of the batches */
    step_threads step;
    sli_cpus cpus;          /* that the process may use */
    bool bound;             /* its affinity excludes CPUs of the cpuset */
    char policy[128];       /* of memory: "default", "bind 0" */
    uint32_t machine_cores; /* of the whole machine */
    uint32_t shared_cores;  /* of this rank's, those that other ranks use, too */
    uint32_t sharing_ranks; /* such ranks */
    bool undivided;         /* how the ranks of this machine divide its cores is not known */
    uint32_t core_count;    /* cores of this rank */
    uint32_t spare_cores;   /* cores of this rank that no worker is pinned to */

    char cpu[128];
    const char *kernels;
    uint32_t cores_allowed;
    double quota;
    uint32_t nodes;
    char device_name[32]; /* "" if the run never began */
    sli_device_facts device_facts;
    bool has_kernels; /* the device runs GetNext as kernels, which also convert */
    bool has_link;    /* `link`, read after the end of the run, is valid */
    sli_pci_link link;
};

/*
 * Samples per second that a stage would sustain if its threads did nothing else, i.e. the rate
 * while they are busy in the stage; 0 if they were never busy (stage_rates.c).
 */
double report_sustained(const sluice_report *report, const sli_stage_summary *stage);

/* True if workers run this stage once per sample. False for batch, copy, get_next, device_maps and
 * step. */
bool report_is_worker_stage(const sli_stage_summary *stage);

/* The stage called `name`; NULL if the report has no such stage, since it processed no samples. */
const sli_stage_summary *report_find_stage(const sluice_report *report, const char *name);

/* Total busy time of the workers in ns, over all workers and their stages. */
double report_workers_ns(const sluice_report *report);

/* Fraction of the run's time in which the device ran steps and device maps. */
double report_step_share(const sluice_report *report);

/* The seconds that steps waited for data, of wait_s that get_next waited in all_s. A loop that
 * publishes the times of its steps, step_s in all, may run them while another of its threads waits
 * in get_next: that is no wait for data. */
double report_data_wait(double wait_s, double all_s, double step_s, bool publishes);

/* Mean rate of the run in samples per second. */
double report_rate(const sluice_report *report);

/* Sets the stage that limits the run, its cause, and the advice (report_verdict.c). */
void report_find_bottleneck(sluice_report *report);

#endif
