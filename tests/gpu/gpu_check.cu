/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Checks on a real GPU: what Sluice takes for granted of CUDA, that sluice_train() does on cuda:0
 * what it does on host:0, and a few rates.
 *
 *     sluice_gpu_check              all checks, each in a process of its own, below 8 minutes
 *     sluice_gpu_check NAME...      these, in this order
 *     sluice_gpu_check --first      17 that decide, then 11 figures, below 5 minutes
 *     sluice_gpu_check --list       all names; --list --first: those of --first
 *     sluice_gpu_check --only NAME  one, in this process and environment
 *
 * A line for each as soon as it ends, `PASS name: figure`, `FAIL name: why` or `SKIP name: why`,
 * and last `N passed, N failed, N skipped`. Exits with 0 if nothing failed, 1 if something did, 2
 * on other words, and 77 where there is no GPU.
 */
#include "gpu_checks.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static const gpu_check checks[] = {
    {"conditional_default_is_zero", "", 30, check_conditional_default},
    {"conditional_set_upstream", "", 30, check_conditional_upstream},
    {"conditional_begins_anew", "", 30, check_conditional_reassigned},
    {"fork_and_join_in_a_body", "", 30, check_fork_join},
    {"globaltimer_granularity", "", 30, check_globaltimer},
    {"mapped_words", "", 30, check_mapped_words},
    {"stream_memory_operations", "", 30, check_stream_memory_operations},
    {"convnet_step", "", 60, check_convnet_step},
    {"convnet_captured", "", 60, check_convnet_captured},
    {"loop", "", 60, check_loop},
    {"modes", "", 60, check_modes},
    {"conversions", "", 60, check_conversions},
    {"launches", "", 30, check_launches},
    {"launches_counted_by_cupti", "CUDA_MODULE_LOADING=EAGER", 40, check_launches_counted},
    {"sinks_of_one", "", 30, check_sinks_of_one},
    {"slots_wrap", "", 60, check_wrap},
    {"micro_batches", "", 30, check_micro_batches},
    {"unrolled", "", 60, check_unrolled},
    {"nan_ends_a_sink", "", 30, check_nan},
    {"starved", "", 60, check_starved},
    {"starved_and_patient", "", 60, check_patient},
    {"shared_library", "", 30, check_shared_library},
    {"device_warp", "", 30, check_device_warp},
    {"tool", "", 30, check_tool},
    {"train_nccl", "", 60, check_train_nccl},
    {"channel", "", 60, check_channel},
    {"channel_beside_a_capture", "", 30, check_capture_beside},
    {"channel_held_maps", "", 60, check_held_maps},
    {"capture_refusals", "", 30, check_capture_refusals},
    {"kernel_bits", "", 60, check_kernel_bits},
    {"two_processes", "", 60, check_two_processes},
    {"nvjpeg", "", 60, check_nvjpeg},
    {"stop_within_a_step", "", 40, check_stop},
    {"stop_while_starved", "", 40, check_stop_starved},
    {"trainer_sleeps", "", 30, check_trainer_sleeps},
    {"one_connection", "CUDA_DEVICE_MAX_CONNECTIONS=1", 60, check_loop},
    {"launch_blocking", "CUDA_LAUNCH_BLOCKING=1", 60, check_loop},
    {"one_connection_and_blocking", "CUDA_DEVICE_MAX_CONNECTIONS=1 CUDA_LAUNCH_BLOCKING=1", 60,
     check_loop},
    {"lazy_loading", "CUDA_MODULE_LOADING=LAZY", 60, check_late_kernel},
    {"ptx", "CUDA_FORCE_PTX_JIT=1", 60, check_ptx},
    {"loop_steps", "", 30, check_loop_steps},
    {"short_loop_steps", "", 30, check_short_loop_steps},
    {"graph_steps", "", 30, check_graph_steps},
    {"pull_steps", "", 30, check_pull_steps},
    {"large_batches", "", 30, check_large_batches},
    {"copies_with_words", "", 30, check_copies_with_words},
    {"loop_turn", "", 30, check_loop_turn},
    {"gather_rate", "", 40, check_gather_rate},
    {"step_gaps_beside_busy_cores", "", 40, check_step_gaps},
    {"batches_on_each_numa_node", "", 40, check_far_node},
    {"publish_order", "", 60, check_publish_order},
    {"content_brief", "", 25, check_content_brief},
    {"content_small", "", 80, check_content_small},
    {"content_medium", "", 60, check_content_medium},
    {"content_large", "", 60, check_content_large},
    {"memcheck", "", 90, check_memcheck},
    {"kernel_bits_memcheck", "", 120, check_kernel_bits_memcheck},
    {"racecheck", "", 60, check_racecheck},
    {"synccheck", "", 60, check_synccheck},
};

/* What a first run on a machine must tell, the most important first: 17 checks, 11 figures. */
static const char *const first[] = {
    "kernel_bits",
    "loop",
    "modes",
    "conversions",
    "publish_order",
    "content_brief",
    "launches",
    "starved",
    "starved_and_patient",
    "stream_memory_operations",
    "conditional_set_upstream",
    "one_connection_and_blocking",
    "channel",
    "channel_held_maps",
    "capture_refusals",
    "two_processes",
    "kernel_bits_memcheck",
    "loop_steps",
    "copies_with_words",
    "gather_rate",
    "short_loop_steps",
    "loop_turn",
    "graph_steps",
    "large_batches",
    "pull_steps",
    "step_gaps_beside_busy_cores",
    "trainer_sleeps",
    "nvjpeg",
};

enum {
    COUNT = sizeof(checks) / sizeof(checks[0]),
    FIRST = sizeof(first) / sizeof(first[0]),
    ALL_SECONDS = 470,
    FIRST_SECONDS = 285
};

static const char *const words[] = {"PASS", "FAIL", "SKIP"};

/* Returns NULL, or why there is nothing to check. */
static const char *no_gpu(void)
{
    sluice_device *device = NULL;
    const sluice_status st = sluice_device_open("cuda:0", &device);

    sluice_device_close(device);
    return st == SLUICE_E_NO_DEVICE ? sluice_last_error() : NULL;
}

/* The check of that name; NULL, and a message: there is none. */
static const gpu_check *find(const char *name)
{
    for (int i = 0; i < COUNT; i++) {
        if (strcmp(name, checks[i].name) == 0) {
            return &checks[i];
        }
    }
    fprintf(stderr, "no check is called %s; --list prints their names\n", name);
    return NULL;
}

static int run_here(const char *name)
{
    const gpu_check *check = find(name);
    char text[GPU_TEXT] = "";
    gpu_verdict verdict;

    if (check == NULL) {
        return 2;
    }
    verdict = check->run(text);
    printf("%s %s: %s\n", words[verdict], name, text);
    return verdict == GPU_FAIL;
}

/* Runs a check in a process of its own, for its environment, and because it may hang or crash. */
static gpu_verdict run_child(const gpu_check *check, int seconds)
{
    char command[700];
    char line[GPU_TEXT + 100];
    char self[400];
    const ssize_t length = readlink("/proc/self/exe", self, sizeof(self) - 1);
    gpu_verdict verdict = GPU_FAIL;
    bool told = false;
    FILE *output;
    int code;

    self[length < 0 ? 0 : length] = '\0';
    snprintf(command, sizeof(command), "%s timeout -k 5 %d '%s' --only %s", check->environment,
             seconds, self, check->name);
    fflush(stdout);
    output = popen(command, "r");
    while (output != NULL && fgets(line, sizeof(line), output) != NULL) {
        for (int i = GPU_PASS; i <= GPU_SKIP; i++) {
            if (strncmp(line, words[i], 4) == 0) {
                verdict = (gpu_verdict)i;
                told = true;
            }
        }
        fputs(line, stdout);
    }
    code = output != NULL ? pclose(output) : -1;
    if (!told) {
        printf("FAIL %s: %s, exit code %d\n", check->name,
               WIFEXITED(code) && WEXITSTATUS(code) == 124 ? "it hangs" : "it crashes",
               WIFEXITED(code) ? WEXITSTATUS(code) : -1);
    }
    return told ? verdict : GPU_FAIL;
}

/* Runs checks one after another, for so many seconds in all. */
static int run_list(const gpu_check *const *list, int count, int seconds)
{
    const double begin = gpu_now();
    const char *why = no_gpu();
    int counts[3] = {0, 0, 0};

    for (int i = 0; i < count; i++) {
        const int left = seconds - (int)(gpu_now() - begin);
        gpu_verdict verdict = GPU_SKIP;

        if (why != NULL) {
            printf("SKIP %s: %s\n", list[i]->name, why);
        } else if (left < 5) {
            printf("SKIP %s: no time is left of %d s\n", list[i]->name, seconds);
        } else {
            verdict = run_child(list[i], left < list[i]->seconds ? left : list[i]->seconds);
        }
        fflush(stdout);
        counts[verdict]++;
    }
    printf("%d passed, %d failed, %d skipped\n", counts[GPU_PASS], counts[GPU_FAIL],
           counts[GPU_SKIP]);
    return why != NULL ? 77 : counts[GPU_FAIL] > 0;
}

/* The checks of these names. */
static int run_names(const char *const *names, int count, int seconds)
{
    const gpu_check *list[COUNT];

    if (count > COUNT) {
        fprintf(stderr, "more names than the %d checks\n", (int)COUNT);
        return 2;
    }
    for (int i = 0; i < count; i++) {
        list[i] = find(names[i]);
        if (list[i] == NULL) {
            return 2;
        }
    }
    return run_list(list, count, seconds);
}

static int run_all(void)
{
    const gpu_check *list[COUNT];

    for (int i = 0; i < COUNT; i++) {
        list[i] = &checks[i];
    }
    return run_list(list, COUNT, ALL_SECONDS);
}

static int print_names(bool only_first)
{
    for (int i = 0; i < (only_first ? FIRST : COUNT); i++) {
        puts(only_first ? first[i] : checks[i].name);
    }
    return 0;
}

static bool is_word(int argc, char **argv, int place, const char *word)
{
    return argc > place && strcmp(argv[place], word) == 0;
}

int main(int argc, char **argv)
{
    if (argc == 1) {
        return run_all();
    }
    if (is_word(argc, argv, 1, "--list") &&
        (argc == 2 || (argc == 3 && is_word(argc, argv, 2, "--first")))) {
        return print_names(argc == 3);
    }
    if (argc == 2 && is_word(argc, argv, 1, "--first")) {
        return run_names(first, FIRST, FIRST_SECONDS);
    }
    if (argc == 3 && is_word(argc, argv, 1, "--only")) {
        return run_here(argv[2]);
    }
    if (argv[1][0] != '-') {
        return run_names(argv + 1, argc - 1, ALL_SECONDS);
    }
    fprintf(stderr,
            "usage: sluice_gpu_check [NAME... | --first | --list [--first] | --only NAME]\n");
    return 2;
}
