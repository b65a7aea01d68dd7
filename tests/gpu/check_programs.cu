/* SPDX-License-Identifier: Apache-2.0 */
/* Checks that are other programs: NVIDIA's sanitizers over this one, and examples. */
#include "gpu_checks.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum { LINE = 300 };

/* What compute-sanitizer says of a GPU that it has no way to, as in some virtual machines. */
static const char refused[] = "Device not supported";

/* Runs a command; `last` is the last line it writes, without its end, or the one that says that the
 * GPU is refused. Returns its exit code. */
static int run_command(const char *command, char last[LINE])
{
    FILE *output = popen(command, "r");
    char line[LINE];
    int code;

    last[0] = '\0';
    while (output != NULL && fgets(line, sizeof(line), output) != NULL) {
        line[strcspn(line, "\n")] = '\0';
        if (strstr(last, refused) == NULL) {
            snprintf(last, LINE, "%s", line);
        }
    }
    code = output != NULL ? pclose(output) : -1;
    return WIFEXITED(code) ? WEXITSTATUS(code) : -1;
}

/* A program of this folder, with its arguments, under compute-sanitizer. */
static gpu_verdict sanitize(const char *tool, const char *program, const char *arguments,
                            char *text)
{
    char folder[400];
    char command[700];
    char last[LINE];
    int code;

    if (system("command -v compute-sanitizer >/dev/null") != 0) {
        return gpu_say(text, GPU_SKIP,
                       "compute-sanitizer is not in PATH: it is in the toolkit's package "
                       "cuda-sanitizer");
    }
    gpu_own_folder(folder, sizeof(folder));
    snprintf(command, sizeof(command),
             "compute-sanitizer --tool %s --error-exitcode 9 '%s/%s' %s 2>&1", tool, folder,
             program, arguments);
    code = run_command(command, last);
    if (strstr(last, refused) != NULL) {
        return gpu_say(text, GPU_SKIP, "compute-sanitizer: %s", last);
    }
    NEED(code == 0, "%s ends with %d: %s", tool, code, last);
    return gpu_say(text, GPU_PASS, "%s %s without an error", program, arguments);
}

gpu_verdict check_memcheck(char *text)
{
    return sanitize("memcheck", "sluice_gpu_check", "--only sinks_of_one", text);
}

gpu_verdict check_racecheck(char *text)
{
    return sanitize("racecheck", "sluice_gpu_check", "--only sinks_of_one", text);
}

gpu_verdict check_synccheck(char *text)
{
    return sanitize("synccheck", "sluice_gpu_check", "--only sinks_of_one", text);
}

/* Windows read single bytes, words and units, at every offset. */
gpu_verdict check_kernel_bits_memcheck(char *text)
{
    return sanitize("memcheck", "sluice_gather_bits", "-s getnext_windows", text);
}

/* Every gather kernel over the cases of the unit tests, against the C bodies. */
gpu_verdict check_kernel_bits(char *text)
{
    char folder[400];
    char command[500];
    char last[LINE];
    int code;

    gpu_own_folder(folder, sizeof(folder));
    snprintf(command, sizeof(command), "'%s/sluice_gather_bits' 2>&1", folder);
    code = run_command(command, last);
    NEED(code == 0, "sluice_gather_bits ends with %d: %s", code, last);
    return gpu_say(text, GPU_PASS, "suites of all gather kernels: %s", last);
}

/* Two processes train on the GPU at the same time, each as if it were alone. */
gpu_verdict check_two_processes(char *text)
{
    char folder[400];
    char command[1000];
    char last[LINE];
    int code;

    gpu_own_folder(folder, sizeof(folder));
    snprintf(command, sizeof(command),
             "{ '%s/sluice_gpu_check' --only loop & p=$!; '%s/sluice_gpu_check' --only loop; a=$?; "
             "wait $p; b=$?; [ $a = 0 ] && [ $b = 0 ]; } 2>&1",
             folder, folder);
    code = run_command(command, last);
    NEED(code == 0, "one of two processes fails: %s", last);
    return gpu_say(text, GPU_PASS, "both: %s", last);
}

/* These checks have the library in them; a program of a user's has it beside its own CUDA runtime,
 * two of which are then in one process. */
gpu_verdict check_shared_library(char *text)
{
    char folder[400];
    char command[500];
    char last[LINE];
    int code;

    gpu_own_folder(folder, sizeof(folder));
    snprintf(command, sizeof(command), "%s/own_kernels", folder);
    if (access(command, X_OK) != 0) {
        return gpu_say(text, GPU_SKIP, "the example own_kernels was not built");
    }
    snprintf(command, sizeof(command), "'%s/own_kernels' 2>&1", folder);
    code = run_command(command, last);
    NEED(code == 0, "own_kernels ends with %d: %s", code, last);
    return gpu_say(text, GPU_PASS, "own_kernels, linked with libsluice.so: %s", last);
}

/* A user's kernel in a device map, compared with the stage affine after the stage device. */
gpu_verdict check_device_warp(char *text)
{
    char folder[400];
    char command[500];
    char last[LINE];
    int code;

    gpu_own_folder(folder, sizeof(folder));
    snprintf(command, sizeof(command), "%s/device_warp", folder);
    if (access(command, X_OK) != 0) {
        return gpu_say(text, GPU_SKIP, "the example device_warp was not built");
    }
    snprintf(command, sizeof(command), "'%s/device_warp' cuda:0 2>&1", folder);
    code = run_command(command, last);
    NEED(code == 0, "device_warp ends with %d: %s", code, last);
    return gpu_say(text, GPU_PASS, "device_warp: %s", last);
}

/* One rank: NCCL's collective in a captured step. */
gpu_verdict check_train_nccl(char *text)
{
    char folder[400];
    char command[1500];
    char last[LINE];
    int code;

    gpu_own_folder(folder, sizeof(folder));
    snprintf(command, sizeof(command), "%s/train_nccl", folder);
    if (access(command, X_OK) != 0) {
        return gpu_say(text, GPU_SKIP, "the example train_nccl was not built: no NCCL");
    }
    snprintf(command, sizeof(command),
             "{ d=$(mktemp -d) && cd '%s' && ./sluice synth $d/p --classes 4 --per-class 40 "
             "--size 32 >/dev/null && ./train_nccl $d/p/train $d/run 100; c=$?; rm -rf $d; "
             "exit $c; } 2>&1",
             folder);
    code = run_command(command, last);
    NEED(code == 0, "train_nccl ends with %d: %s", code, last);
    return gpu_say(text, GPU_PASS, "train_nccl on one rank: %s", last);
}
