/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Captures a step in a blocking stream. The reason: work on the default stream is not captured.
 * While a non-blocking stream is captured, CUDA runs such work immediately. A step that forgets its
 * stream, or a cuBLAS handle without one, would run once, be missing from the graph, and train
 * nothing from then on. While a blocking stream is captured, CUDA refuses work on the default
 * stream with cudaErrorStreamCaptureImplicit and invalidates the capture. The blocking stream is
 * used only for capture: nothing runs in it, so no sink waits for the default stream.
 *
 * The price: while a step is captured, CUDA refuses the default stream to every thread of the
 * process. Such a call fails with an error, whereas a partially captured step would fail silently.
 */
#include "step_capture.h"

#include <pthread.h>

#include "callback_int.h"
#include "cuda_error_int.h"
#include "log_int.h"
#include "status_int.h"

enum { FILLED_BYTES = 16384 };

/* Result of a capture. */
typedef struct capture_result {
    sluice_status answer; /* status that the step returned */
    uint64_t failures;    /* sli_fail_count() before the step's call */
    cudaError_t during;   /* CUDA's last error after the step; meaningful if step and library share
                             one runtime */
    cudaError_t at_end;
    cudaGraph_t graph; /* NULL after an error */
} capture_result;

sluice_status step_capture_open(const cuda_device *device, const sluice_model *model,
                                const sluice_step *view, step_capture *capture_out)
{
    cudaError_t error;

    *capture_out = (step_capture){.device = device,
                                  .step = model->step,
                                  .user = model->user,
                                  .view = *view,
                                  .plain = view->stream};
    error = cudaStreamCreateWithFlags(&capture_out->blocking, cudaStreamDefault);
    if (error != cudaSuccess) {
        return sli_cuda_fail(error, "the stream that the step is captured in");
    }
    capture_out->view.stream = capture_out->blocking;
    return SLUICE_OK;
}

void step_capture_close(step_capture *capture)
{
    if (capture->blocking != NULL) {
        sli_cuda_warn(cudaStreamDestroy(capture->blocking), "cudaStreamDestroy");
        capture->blocking = NULL;
    }
}

/* Fills the stack memory that the frames of the step and its callees will occupy. ASan is disabled
 * because it would leave gaps around the array. */
__attribute__((noinline, no_sanitize("address"))) static void fill_stack(uint8_t fill)
{
    volatile uint8_t area[FILLED_BYTES];

    for (size_t i = 0; i < sizeof(area); i++) {
        area[i] = fill;
    }
}

/* Mutex held while this library captures a step. */
static pthread_mutex_t capturing = PTHREAD_MUTEX_INITIALIZER;

cudaError_t step_capture_synchronize(void)
{
    cudaError_t error;

    pthread_mutex_lock(&capturing);
    error = cudaDeviceSynchronize();
    pthread_mutex_unlock(&capturing);
    return error;
}

/* Calls the step; the capture has begun. */
static void call_step(const step_capture *c, sluice_step *view, uint8_t fill,
                      capture_result *result)
{
    cuda_entry outer;
    const sluice_status st = sli_cuda_begin_user(c->device, &outer);

    result->answer = st;
    if (st == SLUICE_OK) {
        fill_stack(fill);
        result->answer = c->step(view, c->user);
        sli_cuda_end_user(c->device, &outer);
    }
    result->during = cudaPeekAtLastError();
}

static sluice_status capture_in(const step_capture *c, cudaStream_t stream, uint8_t fill,
                                capture_result *result_out)
{
    sluice_step view = c->view;
    cudaError_t error;

    *result_out = (capture_result){.failures = sli_fail_count()};
    view.stream = stream;
    (void)cudaGetLastError();
    pthread_mutex_lock(&capturing);
    /* Mode thread-local: calls of other threads meanwhile, such as the copier's, do not affect the
     * capture. */
    error = cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal);
    if (error == cudaSuccess) {
        call_step(c, &view, fill, result_out);
        result_out->at_end = cudaStreamEndCapture(stream, &result_out->graph);
        (void)cudaGetLastError();
    }
    pthread_mutex_unlock(&capturing);
    return error == cudaSuccess ? SLUICE_OK : sli_cuda_fail(error, "cudaStreamBeginCapture");
}

static void drop(capture_result *result)
{
    if (result->graph != NULL) {
        sli_cuda_warn(cudaGraphDestroy(result->graph), "cudaGraphDestroy");
        result->graph = NULL;
    }
}

/* Raises the error for a step whose call makes the capture fail. */
static sluice_status fail_capture(const capture_result *result)
{
    const cudaError_t error = result->during != cudaSuccess ? result->during : result->at_end;

    return sli_fail(SLUICE_E_UNSUPPORTED,
                    "the step makes a call that is not permitted during capture (%s: %s)",
                    cudaGetErrorName(error), cudaGetErrorString(error));
}

static sluice_status fail_default_stream(void)
{
    return sli_fail(SLUICE_E_INVALID,
                    "the step uses CUDA's default stream while it is captured "
                    "(cudaErrorStreamCaptureImplicit), where work is not captured: launch all of "
                    "it on s->stream, cuBLAS and cuDNN by their handles' streams; or another "
                    "thread of the program uses the default stream meanwhile");
}

static sluice_status fail_empty(void)
{
    return sli_fail(SLUICE_E_INVALID,
                    "the step enqueues nothing on its stream while it is captured (0 nodes): "
                    "launch on s->stream, for what goes to another stream runs once, and not in "
                    "the steps that follow");
}

/*
 * True if use of the default stream invalidated the capture. CUDA's error of the refused call is
 * lost if the step has its own copy of the runtime, has read the error, or has made further calls.
 * In this case captures again in a non-blocking stream: if that succeeds, the default stream was
 * the cause.
 */
static bool default_stream_was_used(const step_capture *c, const capture_result *first)
{
    capture_result again;
    bool possible;

    if (first->during == cudaErrorStreamCaptureImplicit) {
        return true;
    }
    if ((first->during != cudaSuccess && first->during != cudaErrorStreamCaptureInvalidated) ||
        first->at_end != cudaErrorStreamCaptureInvalidated ||
        capture_in(c, c->plain, STEP_FIRST_FILL, &again) != SLUICE_OK) {
        return false;
    }
    possible = again.at_end == cudaSuccess;
    drop(&again);
    return possible;
}

static sluice_status check_answer(const capture_result *result)
{
    const sluice_status st =
        sli_callback_status(result->answer, result->failures, "the step, while it was captured,");

    return st < 0 ? st : SLUICE_OK;
}

static sluice_status count_nodes(cudaGraph_t graph, size_t *count_out)
{
    const cudaError_t error = cudaGraphGetNodes(graph, NULL, count_out);

    return error == cudaSuccess ? SLUICE_OK : sli_cuda_fail(error, "cudaGraphGetNodes");
}

static sluice_status check_capture(const step_capture *c, const capture_result *result,
                                   bool *off_stream_out)
{
    size_t count = 0;
    sluice_status st;

    if (result->answer == SLUICE_STOPPED) {
        return sli_fail(SLUICE_E_UNSUPPORTED, "the step returned SLUICE_STOPPED during its "
                                              "capture: request the stop in a hook, such as "
                                              "step_end, or use mode direct");
    }
    if (result->at_end != cudaSuccess) {
        *off_stream_out = default_stream_was_used(c, result);
        return *off_stream_out ? fail_default_stream() : fail_capture(result);
    }
    st = check_answer(result);
    if (st == SLUICE_OK) {
        st = count_nodes(result->graph, &count);
    }
    *off_stream_out = st == SLUICE_OK && count == 0;
    return *off_stream_out ? fail_empty() : st;
}

sluice_status step_capture_run(const step_capture *capture, uint8_t fill, cudaGraph_t *graph_out,
                               bool *off_stream_out)
{
    capture_result result;
    sluice_status st = capture_in(capture, capture->blocking, fill, &result);

    *off_stream_out = false;
    if (st == SLUICE_OK) {
        st = check_capture(capture, &result, off_stream_out);
    }
    if (st != SLUICE_OK) {
        drop(&result);
        return st;
    }
    *graph_out = result.graph;
    return SLUICE_OK;
}
