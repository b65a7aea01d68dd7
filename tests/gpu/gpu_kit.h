/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the programs for a GPU share: verdicts, clocks, steps, and a run with what came of it. It is
 * C++ for nvcc, without C++'s library.
 */
#ifndef GPU_KIT_H
#define GPU_KIT_H

#include <stdint.h>

#include <cuda_runtime.h>
#include <sluice/sluice.h>

/* ---- checks ---------------------------------------------------------------------------------- */

enum gpu_verdict { GPU_PASS, GPU_FAIL, GPU_SKIP };

enum { GPU_TEXT = 600 }; /* bytes of a figure, or of a reason */

typedef gpu_verdict gpu_check_fn(char *text);

struct gpu_check {
    const char *name;
    const char *environment; /* "NAME=VALUE ...", or "" */
    int seconds;             /* that it may take */
    gpu_check_fn *run;
};

/* Writes the text and returns the verdict. */
gpu_verdict gpu_say(char *text, gpu_verdict verdict, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* The folder that this program lies in. */
void gpu_own_folder(char *path, size_t size);

/* Ends a check that has `text` with what CUDA, or Sluice, says. */
#define NEED_CUDA(call)                                                                            \
    do {                                                                                           \
        const cudaError_t need_error = (call);                                                     \
        if (need_error != cudaSuccess) {                                                           \
            return gpu_say(text, GPU_FAIL, "%s: %s", #call, cudaGetErrorString(need_error));       \
        }                                                                                          \
    } while (0)

/* Ends a check where a condition does not hold; the rest is a format and its values. */
#define NEED(condition, ...)                                                                       \
    do {                                                                                           \
        if (!(condition)) {                                                                        \
            return gpu_say(text, GPU_FAIL, __VA_ARGS__);                                           \
        }                                                                                          \
    } while (0)

/* ---- CUDA ------------------------------------------------------------------------------------ */

double gpu_now(void);                                     /* seconds */
cudaError_t gpu_ticks_of(double us, uint64_t *ticks_out); /* of the multiprocessors' clock */

/* Copies to the device, and waits: other streams do not wait for what cudaMemcpy() has begun. */
cudaError_t gpu_upload(void *to, const void *from, size_t bytes);

/* A call of the driver, found as the library finds it: nothing links with libcuda. */
cudaError_t gpu_driver_call(const char *name, void *call_out);

/* A condition that is `first` at the beginning of each launch of the graph. */
cudaError_t gpu_condition(cudaGraph_t graph, unsigned int first,
                          cudaGraphConditionalHandle *handle_out);

/*
 * Adds a WHILE node behind all that is in the graph, and begins to capture its body on the stream;
 * ended by cudaStreamEndCapture(stream, NULL).
 */
cudaError_t gpu_begin_while(cudaGraph_t graph, cudaGraphConditionalHandle handle,
                            cudaStream_t stream);

/* ---- runs ------------------------------------------------------------------------------------ */

/* Device memory of gpu_busy_step(): it computes nothing for so long. */
struct gpu_busy {
    uint64_t ticks;
    volatile uint64_t *done; /* NULL, or a word in mapped host memory that counts steps */
};

/* Device memory of gpu_content_step(). */
struct gpu_content {
    unsigned long long wrong; /* 8-byte words and labels that are not what they must be */
    unsigned long long rows;  /* that were looked at */
};

/* What a step returns that has just launched a kernel. */
sluice_status gpu_launched(void);

/* One on the device that takes so many microseconds; done as above. */
cudaError_t gpu_make_busy(double us, volatile uint64_t *done, gpu_busy **busy_out);

/* A kernel that takes a while. user: the address of a gpu_busy on the device; NULL: takes none. */
sluice_status gpu_busy_step(const sluice_step *s, void *user);
void gpu_launch_busy(const gpu_busy *busy, cudaStream_t stream);

/* Writes a number made of labels, valid_rows, step, epoch, rate and key; on host:N, too. */
sluice_status gpu_probe_step(const sluice_step *s, void *user);

/* Its output is no number in step 30. Not for host:N. */
sluice_status gpu_nan_step(const sluice_step *s, void *user);

/*
 * Looks at every byte of a batch of GPU_CONTENT_PIPELINE: user is a gpu_content on the device. Not
 * one word can be of another sample, batch or pass without being counted.
 */
sluice_status gpu_content_step(const sluice_step *s, void *user);
#define GPU_CONTENT_PIPELINE "synthetic 100000 shape=%s classes=2147483647 | batch %u"

/* A run: what is zero takes the library's default. */
struct gpu_run {
    const char *device;
    const char *pipeline;
    sluice_mode mode;
    uint64_t steps; /* 0: until seconds are over */
    double seconds;
    int64_t sink_size;
    uint32_t slots;
    uint32_t workers;
    uint32_t micro_batches;
    bool digest;
    sluice_step_fn step;
    void *user;
    const sluice_device_map *map; /* before each step; NULL: none */
    sluice_stop *stop;
    void (*sink_ended)(void *user); /* on the trainer's thread, after each sink; NULL: none */
    void *sink_user;

    /* what came of it */
    sluice_status status;
    char error[400];
    sluice_report_stats stats;
    uint64_t outputs;    /* a hash of all outputs, in order */
    uint64_t misplaced;  /* steps told out of order */
    uint64_t sinks;      /* or steps, where each is one */
    double sink_seconds; /* between the hooks around each but the first: of the clock, */
    double cpu_seconds;  /* and of the trainer's thread */
    double ended;        /* gpu_now() when training came back, the device still open */
    double sink_began, cpu_began;
};

/* Runs it; never fails by itself: look at status. */
void gpu_train(gpu_run *run);

#endif
