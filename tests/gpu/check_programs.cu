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

/* Runs a program of this folder by a command, in which %s stands for the folder. It passes if the
 * command ends with 0; says: what it has shown. without: why it may not have been built. */
static gpu_verdict run_program(const char *program, const char *without, const char *command,
                               const char *says, char *text)
{
    char folder[400];
    char path[500];
    char whole[1500];
    char last[LINE];
    int code;

    gpu_own_folder(folder, sizeof(folder));
    snprintf(path, sizeof(path), "%s/%s", folder, program);
    if (access(path, X_OK) != 0) {
        return gpu_say(text, GPU_SKIP, "%s was not built%s", program, without);
    }
    snprintf(whole, sizeof(whole), "cd '%s' && { %s; } 2>&1", folder, command);
    code = run_command(whole, last);
    if (strstr(last, refused) != NULL) {
        return gpu_say(text, GPU_SKIP, "compute-sanitizer: %s", last);
    }
    NEED(code == 0, "%s ends with %d: %s", program, code, last);
    return gpu_say(text, GPU_PASS, "%s: %s", says, last);
}

/* A program of this folder, with its arguments, under compute-sanitizer. */
static gpu_verdict sanitize(const char *tool, const char *program, const char *arguments,
                            char *text)
{
    char command[300];

    if (system("command -v compute-sanitizer >/dev/null") != 0) {
        return gpu_say(text, GPU_SKIP,
                       "compute-sanitizer is not in PATH: it is in the toolkit's package "
                       "cuda-sanitizer");
    }
    snprintf(command, sizeof(command), "compute-sanitizer --tool %s --error-exitcode 9 ./%s %s",
             tool, program, arguments);
    return run_program(program, "", command, arguments, text);
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
    return run_program("sluice_gather_bits", "", "./sluice_gather_bits",
                       "suites of all gather kernels", text);
}

/* Two processes train on the GPU at the same time, each as if it were alone. */
gpu_verdict check_two_processes(char *text)
{
    return run_program(
        "sluice_gpu_check", "",
        "./sluice_gpu_check --only loop & p=$!; ./sluice_gpu_check --only loop; a=$?; "
        "wait $p; b=$?; [ $a = 0 ] && [ $b = 0 ]",
        "both", text);
}

/* These checks have the library in them; a program of a user's has it beside its own CUDA runtime,
 * two of which are then in one process. */
gpu_verdict check_shared_library(char *text)
{
    return run_program("own_kernels", ": it is an example", "./own_kernels",
                       "own_kernels, linked with libsluice.so", text);
}

/* A user's kernel in a device map, compared with the stage affine after the stage device. */
gpu_verdict check_device_warp(char *text)
{
    return run_program("device_warp", ": it is an example", "./device_warp cuda:0", "device_warp",
                       text);
}

/* The tool: the digest of all batches is that of the host. */
gpu_verdict check_tool(char *text)
{
    return run_program(
        "sluice", "",
        "p='synthetic 512 shape=32,32,3 | random_crop 24 | random_horizontal_flip | shuffle | "
        "batch 32'; d() { ./sluice bench \"$p\" --epochs 3 --digest --json --device $1 $2 $3 "
        "2>&1 | sed -n 's/.*\"digest\":\"\\([^\"]*\\)\".*/\\1/p'; }; h=$(d host:0); for m in "
        "direct data "
        "graph loop; do c=$(d cuda:0 --mode $m); [ -n \"$h\" ] && [ \"$c\" = \"$h\" ] || { echo "
        "\"--mode $m: digest '$c', on host:0 '$h'\"; exit 1; }; done; echo $h",
        "sluice bench in 4 modes, digest", text);
}

/* One rank: NCCL's collective in a captured step. */
gpu_verdict check_train_nccl(char *text)
{
    return run_program("train_nccl", ": no NCCL",
                       "d=$(mktemp -d) && ./sluice synth $d/p --classes 4 --per-class 40 --size 32 "
                       ">/dev/null && ./train_nccl $d/p/train $d/run 100; c=$?; rm -rf $d; "
                       "(exit $c)",
                       "train_nccl on one rank", text);
}
