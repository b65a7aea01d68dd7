/* SPDX-License-Identifier: Apache-2.0 */
/*
 * bench_verdict: how often a report names what limits a training, and whether its first advice
 * gains what it promises. Small trainings on host:0 get a cost at a random place, of a random kind
 * and size; bench_verdict --help has the options. A case:
 *
 * - The training runs without the cost. If a thread waits for a CPU for more than 10 % of the time,
 *   other processes disturb it: the case is repeated once, then skipped.
 * - The training runs with the cost. If it is not slower by 30 %, the case does not count. Else the
 *   verdict is right if it has the row and the cause of the cost (injection_is()).
 * - The program follows the first advice, if it can, and the training runs alternately before and
 *   after the change, three times each. The gain is the ratio of the medians of their rates. It is
 *   inside if it lies in the interval that the advice promised, relative to the rate of the run
 *   whose report it is.
 * - The training runs without the cost again, which other processes must not disturb, either.
 *
 * How the advice is followed: `workers` and `fewer_workers` set the number; `hooks` take half of
 * their time; `checkpoint` and `validation` are done half as often; `code` of the row that has the
 * cost removes it; `cache` caches the decoded images; `batch` sets the size; `binding` ends the
 * processes beside the training. The others are not followed.
 *
 * --seed S --runs N has the cases of the seeds S to S + N - 1, so that one can be repeated alone.
 * Checkpoints are written below TMPDIR: TMPDIR=/dev/shm if other processes use the disk.
 */
#include <getopt.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "injected_run.h"

enum { PAIRS = 3 };

static const double LEAST_EFFECT = 1.3;
static const double LOUD_QUEUE = 0.1;
static const double SLOWER = 0.95;

typedef enum case_outcome {
    COUNTED,
    TOO_LOUD, /* other processes disturb it */
    TOO_SMALL /* the cost does not matter */
} case_outcome;

/* Of a change. */
typedef enum case_gain {
    NOT_FOLLOWED,
    NOT_PROMISED, /* no interval */
    INSIDE,
    OUTSIDE
} case_gain;

typedef struct verdict_case {
    uint64_t seed;
    injection in;
    case_outcome outcome;
    double runqueue;    /* of the runs without the cost; -1: unknown */
    run_result without; /* the first of them */
    run_result with;    /* the run whose verdict counts */
    bool is_right;
    case_gain promise;
    double low; /* of the gain; 0: no interval */
    double high;
    double gain; /* 0: the advice was not followed */
} verdict_case;

typedef struct totals {
    uint32_t counted;
    uint32_t loud;
    uint32_t small;
    uint32_t right;
    uint32_t followed;
    uint32_t promised;
    uint32_t inside;
    uint32_t slower;
} totals;

typedef struct options {
    uint32_t runs;
    uint64_t seed;
    double seconds;
    double require_right; /* percent; -1: nothing is required */
    double require_inside;
    FILE *csv;
} options;

/* ---- a case ---------------------------------------------------------------------------------- */

/* Changes the training as the advice says. False: it does not apply to the cost, or a program
 * cannot do it. */
static bool follow(const run_result *with, injection *in)
{
    const char *change = with->advice.change;
    const injection_place place = in->form->place;

    if (strstr(change, "workers") != NULL) {
        in->workers = with->advice.workers;
        return in->workers > 0;
    }
    if (strcmp(change, "batch") == 0) {
        return sscanf(with->advice.text, "batches of %u", &in->batch) == 1;
    }
    if (strcmp(change, "hooks") == 0 && place == IN_HOOK) {
        in->cost_us /= 2;
        return true;
    }
    if ((strcmp(change, "checkpoint") == 0 && place == IN_CHECKPOINT) ||
        (strcmp(change, "validation") == 0 && place == IN_VALIDATION)) {
        in->period *= 2;
        return true;
    }
    if (strcmp(change, "cache") == 0 && place == IN_DECODE) {
        in->is_cached = true;
        return true;
    }
    in->is_there = false;
    return (strcmp(change, "binding") == 0 && in->form->kind == BY_NEIGHBOURS) ||
           (strcmp(change, "code") == 0 && in->form->kind != BY_NEIGHBOURS &&
            strcmp(with->stage, in->form->stage) == 0);
}

static int compare(const void *a, const void *b)
{
    const double x = *(const double *)a;
    const double y = *(const double *)b;

    return (x > y) - (x < y);
}

static double median(double *numbers)
{
    qsort(numbers, PAIRS, sizeof(*numbers), compare);
    return numbers[PAIRS / 2];
}

/* Returns the rate after a change, relative to the rate before. The verdict's run is the first one
 * before it. */
static double measure_gain(const verdict_case *c, const injection *after, double seconds)
{
    double before_rates[PAIRS];
    double after_rates[PAIRS];
    run_result result;

    before_rates[0] = c->with.rate;
    for (int i = 0; i < 2 * PAIRS - 1; i++) { /* after, after, before, before, after */
        const bool is_after = i % 4 < 2;

        injected_run(is_after ? after : &c->in, seconds, &result);
        *(is_after ? &after_rates[(i + 1) / 2] : &before_rates[i / 2]) = result.rate;
    }
    return median(after_rates) / median(before_rates);
}

static void judge_gain(verdict_case *c, double seconds)
{
    const run_advice *advice = &c->with.advice;
    injection after = c->in;

    c->promise = NOT_FOLLOWED;
    if (!follow(&c->with, &after)) {
        return;
    }
    c->gain = measure_gain(c, &after, seconds);
    c->low = advice->rate_low / c->with.rate;
    c->high = advice->rate_high / c->with.rate;
    c->promise = c->high <= 0                              ? NOT_PROMISED
                 : c->gain >= c->low && c->gain <= c->high ? INSIDE
                                                           : OUTSIDE;
}

/* Runs the training without the cost. False: other processes disturb it. */
static bool is_calm(verdict_case *c, double seconds, run_result *result_out)
{
    const injection without = injection_without(&c->in);

    injected_run(&without, seconds, result_out);
    c->runqueue = result_out->runqueue > c->runqueue ? result_out->runqueue : c->runqueue;
    return c->runqueue <= LOUD_QUEUE;
}

static void try_case(verdict_case *c, double seconds)
{
    run_result last;

    c->runqueue = -1;
    c->outcome = TOO_LOUD;
    if (!is_calm(c, seconds, &c->without)) {
        return;
    }
    injected_run(&c->in, seconds, &c->with);
    if (c->without.rate < LEAST_EFFECT * c->with.rate) {
        c->outcome = TOO_SMALL;
        return;
    }
    c->is_right = injection_is(&c->in, c->with.stage, c->with.cause);
    judge_gain(c, seconds);
    if (is_calm(c, seconds, &last)) {
        c->outcome = COUNTED;
    }
}

static verdict_case run_case(uint64_t seed, uint32_t cores, double seconds)
{
    verdict_case c;

    for (int tries = 0; tries < 2; tries++) {
        memset(&c, 0, sizeof(c));
        c.seed = seed;
        c.in = injection_draw(seed, cores);
        try_case(&c, seconds);
        if (c.outcome != TOO_LOUD) {
            break;
        }
    }
    return c;
}

/* ---- the table ------------------------------------------------------------------------------- */

static void print_head(void)
{
    printf("%6s %-23s %9s %2s %6s  %-21s %-5s %-17s %12s %6s\n", "seed", "cost", "us", "w",
           "slower", "verdict", "", "first advice", "promised", "gain");
}

static void print_advice(const verdict_case *c)
{
    static const char *const results[] = {"not followed", "no promise", "inside", "OUTSIDE"};
    const run_advice *advice = &c->with.advice;
    char change[40];
    char interval[40] = "-";

    snprintf(change, sizeof(change), "%s", advice->change[0] != '\0' ? advice->change : "none");
    if (advice->workers > 0) {
        snprintf(change, sizeof(change), "%s %u", advice->change, advice->workers);
    }
    if (c->high > 0) {
        snprintf(interval, sizeof(interval), "%.2f to %.2f", c->low, c->high);
    }
    printf("%-17s %12s ", change, interval);
    if (c->gain > 0) {
        printf("%6.2f %s%s\n", c->gain, results[c->promise], c->gain < SLOWER ? ", SLOWER" : "");
    } else {
        printf("%6s %s\n", "-", results[c->promise]);
    }
}

static void print_case(const verdict_case *c)
{
    char cost[64];
    char verdict[100];

    snprintf(cost, sizeof(cost), "%s %s", c->in.form->place_name, c->in.form->kind_name);
    printf("%6llu %-23s %9.0f %2u ", (unsigned long long)c->seed, cost, c->in.cost_us,
           c->in.workers);
    if (c->outcome == TOO_LOUD) {
        printf(" SKIPPED: without the cost a thread waits for a CPU %.0f %% of the time\n",
               100 * c->runqueue);
    } else if (c->outcome == TOO_SMALL) {
        printf("%6.2f  does not count: without the cost the rate is not 30 %% higher\n",
               c->without.rate / c->with.rate);
    } else {
        snprintf(verdict, sizeof(verdict), "%s/%s", c->with.stage, c->with.cause);
        printf("%6.2f  %-21s %-5s ", c->without.rate / c->with.rate, verdict,
               c->is_right ? "right" : "WRONG");
        print_advice(c);
    }
    if (c->outcome == COUNTED && !c->is_right) {
        printf("       is %s/%s; the report says: %s\n", c->in.form->stage, c->in.form->cause,
               c->with.why);
    }
    fflush(stdout);
}

static void add_case(const verdict_case *c, totals *sum)
{
    sum->loud += c->outcome == TOO_LOUD;
    sum->small += c->outcome == TOO_SMALL;
    if (c->outcome == COUNTED) {
        sum->counted++;
        sum->right += c->is_right;
        sum->followed += c->promise != NOT_FOLLOWED;
        sum->promised += c->promise == INSIDE || c->promise == OUTSIDE;
        sum->inside += c->promise == INSIDE;
        sum->slower += c->promise != NOT_FOLLOWED && c->gain < SLOWER;
    }
}

static void print_totals(const totals *sum, uint32_t runs)
{
    printf("%u of %u cases count: %u skipped because of other processes, %u too small\n",
           sum->counted, runs, sum->loud, sum->small);
    printf("verdicts: %u of %u right\n", sum->right, sum->counted);
    printf("advice: %u followed; %u of %u gains inside the interval; %u slower by more than 5 %%\n",
           sum->followed, sum->inside, sum->promised, sum->slower);
}

/* ---- the CSV file ---------------------------------------------------------------------------- */

static void write_head(FILE *csv)
{
    fprintf(csv, "seed,place,kind,cost_us,workers,batch,sink,step_us,period,side,kernel,neighbours,"
                 "outcome,runqueue,without_per_s,with_per_s,true_stage,true_cause,stage,cause,"
                 "right,why,change,advised_workers,text,low,high,gain,result\n");
}

static void write_text(FILE *csv, const char *text)
{
    fputs(",\"", csv);
    for (; *text != '\0'; text++) {
        fputs(*text == '"' ? "\"\"" : (const char[]){*text, '\0'}, csv);
    }
    fputc('"', csv);
}

static void write_case(FILE *csv, const verdict_case *c)
{
    static const char *const outcomes[] = {"counted", "loud", "small"};
    static const char *const results[] = {"not followed", "no promise", "inside", "outside"};
    const bool is_counted = c->outcome == COUNTED;
    const injection *in = &c->in;

    fprintf(csv, "%llu,%s,%s,%.1f,%u,%u,%u,%.1f,%u,%u,%u,%u", (unsigned long long)c->seed,
            in->form->place_name, in->form->kind_name, in->cost_us, in->workers, in->batch,
            in->sink, in->step_us * in->batch, in->period, in->side, in->kernel, in->neighbours);
    fprintf(csv, ",%s,%.3f,%.1f,%.1f,%s,%s,%s,%s,%s", outcomes[c->outcome], c->runqueue,
            c->without.rate, c->with.rate, in->form->stage, in->form->cause, c->with.stage,
            c->with.cause, is_counted ? c->is_right ? "right" : "wrong" : "");
    write_text(csv, c->with.why);
    fprintf(csv, ",%s,%u", c->with.advice.change, c->with.advice.workers);
    write_text(csv, c->with.advice.text);
    fprintf(csv, ",%.3f,%.3f,%.3f,%s\n", c->low, c->high, c->gain,
            is_counted ? results[c->promise] : "");
    fflush(csv);
}

/* ---- options --------------------------------------------------------------------------------- */

static void print_usage(FILE *file)
{
    fputs(
        "usage: bench_verdict [OPTION]...\n"
        "Puts random costs into small trainings, and compares what their reports say.\n"
        "  --runs N            cases (100)\n"
        "  --seed S            of the first case; each further one has the next seed (1)\n"
        "  --seconds S         of a run; below 1 a report judges nothing (1.2)\n"
        "  --csv FILE          a row for each case\n"
        "  --require-right P   exit with 1 if fewer than P % of the verdicts are right\n"
        "  --require-inside P  exit with 1 if fewer than P % of the gains are inside the interval\n"
        "  --help\n",
        file);
}

static void refuse(const char *what, const char *value)
{
    fprintf(stderr, "bench_verdict: %s%s\n", what, value);
    print_usage(stderr);
    exit(2);
}

static double number(const char *text, double least, double most)
{
    char *end = NULL;
    const double value = strtod(text, &end);

    if (end == text || *end != '\0' || !(value >= least && value <= most)) {
        refuse("not a number that can be used: ", text);
    }
    return value;
}

static options read_options(int argc, char **argv)
{
    static const struct option names[] = {{"runs", required_argument, NULL, 'r'},
                                          {"seed", required_argument, NULL, 's'},
                                          {"seconds", required_argument, NULL, 't'},
                                          {"csv", required_argument, NULL, 'c'},
                                          {"require-right", required_argument, NULL, 'v'},
                                          {"require-inside", required_argument, NULL, 'g'},
                                          {"help", no_argument, NULL, 'h'},
                                          {NULL, 0, NULL, 0}};
    options o = {.runs = 100, .seed = 1, .seconds = 1.2, .require_right = -1, .require_inside = -1};
    int option;

    while ((option = getopt_long(argc, argv, "", names, NULL)) != -1) {
        switch (option) {
        case 'r':
            o.runs = (uint32_t)number(optarg, 1, 1e6);
            break;
        case 's':
            o.seed = (uint64_t)number(optarg, 0, 1e15);
            break;
        case 't':
            o.seconds = number(optarg, 0.01, 1000);
            break;
        case 'c':
            o.csv = fopen(optarg, "w");
            if (o.csv == NULL) {
                refuse("cannot write ", optarg);
            }
            break;
        case 'v':
            o.require_right = number(optarg, 0, 100);
            break;
        case 'g':
            o.require_inside = number(optarg, 0, 100);
            break;
        case 'h':
            print_usage(stdout);
            exit(0);
        default:
            print_usage(stderr);
            exit(2);
        }
    }
    if (optind < argc) {
        refuse("no such argument: ", argv[optind]);
    }
    return o;
}

/* False: fewer than so many percent; none of none are too few, as nothing was judged. */
static bool has_enough(const char *what, uint32_t count, uint32_t all, double percent)
{
    const bool is_enough = percent < 0 || (all > 0 && 100.0 * count >= percent * all);

    if (!is_enough) {
        printf("%s: %u of %u are fewer than the required %.0f %%\n", what, count, all, percent);
    }
    return is_enough;
}

static uint32_t count_cores(void)
{
    cpu_set_t set;

    return sched_getaffinity(0, sizeof(set), &set) == 0 ? (uint32_t)CPU_COUNT(&set) : 1;
}

int main(int argc, char **argv)
{
    const options o = read_options(argc, argv);
    const uint32_t cores = count_cores();
    totals sum = {0};
    bool is_known = true;
    bool is_enough;

    printf("%u cases on %u cores, runs of %.1f s\n", o.runs, cores, o.seconds);
    print_head();
    if (o.csv != NULL) {
        write_head(o.csv);
    }
    for (uint32_t i = 0; i < o.runs; i++) {
        const verdict_case c = run_case(o.seed + i, cores, o.seconds);

        add_case(&c, &sum);
        print_case(&c);
        is_known = is_known && c.runqueue >= 0;
        if (o.csv != NULL) {
            write_case(o.csv, &c);
        }
    }
    print_totals(&sum, o.runs);
    if (!is_known) {
        printf(
            "the run queue is unknown here, so no case was skipped because of other processes\n");
    }
    if (o.csv != NULL && fclose(o.csv) != 0) {
        refuse("cannot write the CSV file", "");
    }
    is_enough = has_enough("verdicts", sum.right, sum.counted, o.require_right);
    is_enough = has_enough("gains", sum.inside, sum.promised, o.require_inside) && is_enough;
    return is_enough ? 0 : 1;
}
