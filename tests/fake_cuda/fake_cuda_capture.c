/* SPDX-License-Identifier: Apache-2.0 */
/* The fake's captures: streams whose work becomes nodes of a graph, and what is forbidden then. */
#include <stdlib.h>
#include <string.h>

#include "fake_cuda_work.h"

struct fake_capture {
    fake_capture *next; /* of all that are under way */
    uint64_t id;
    cudaGraph_t graph;
    bool own_graph; /* made for the capture */
    cudaStream_t origin;
    enum cudaStreamCaptureMode mode;
    pthread_t thread;
    bool spoilt;
};

static fake_capture *captures;
static uint64_t last_id;
static _Thread_local enum cudaStreamCaptureMode thread_mode = cudaStreamCaptureModeGlobal;

/* What cannot be kept as a node, and must not be done beside a capture. */
static const char *const unsafe[] = {
    "cudaMalloc",     "cudaFree",       "cudaHostRegister",    "cudaHostUnregister",
    "cudaMallocHost", "cudaHostAlloc",  "cudaFreeHost",        "cudaMemcpy",
    "cudaMemset",     "cudaEventQuery", "cudaEventSynchronize"};

void fake_captures_start(void)
{
    thread_mode = cudaStreamCaptureModeGlobal;
}

static bool is_unsafe(const char *call)
{
    for (size_t i = 0; i < sizeof(unsafe) / sizeof(unsafe[0]); i++) {
        if (strcmp(call, unsafe[i]) == 0) {
            return true;
        }
    }
    return false;
}

cudaError_t fake_capture_refuses_legacy(bool spoils)
{
    cudaError_t error = cudaSuccess;

    for (cudaStream_t stream = fake_streams; stream != NULL; stream = stream->next) {
        if (stream->blocking && stream->capture != NULL && stream->context == fake_cuda_current()) {
            stream->capture->spoilt = stream->capture->spoilt || spoils;
            error = cudaErrorStreamCaptureImplicit;
        }
    }
    return error;
}

static bool uses_legacy(const char *call)
{
    return strcmp(call, "cudaMemcpy") == 0 || strcmp(call, "cudaMemset") == 0;
}

cudaError_t fake_capture_refuses(const char *call)
{
    const bool all = strcmp(call, "cudaDeviceSynchronize") == 0; /* whatever the modes are */
    const cudaError_t implicit =
        uses_legacy(call) ? fake_capture_refuses_legacy(true) : cudaSuccess;
    bool refused = false;

    if (implicit != cudaSuccess) {
        return implicit;
    }
    if (!all && !is_unsafe(call)) {
        return cudaSuccess;
    }
    for (fake_capture *c = captures; c != NULL; c = c->next) {
        const bool own = pthread_equal(c->thread, pthread_self()) != 0;
        const bool strict = own ? c->mode != cudaStreamCaptureModeRelaxed
                                : c->mode == cudaStreamCaptureModeGlobal &&
                                      thread_mode == cudaStreamCaptureModeGlobal;

        if (all ? c->origin->context == fake_cuda_current()
                : strict && thread_mode != cudaStreamCaptureModeRelaxed) {
            c->spoilt = true;
            refused = true;
        }
    }
    return refused ? cudaErrorStreamCaptureUnsupported : cudaSuccess;
}

cudaError_t fake_capture_spoil(cudaStream_t stream, cudaError_t error)
{
    stream->capture->spoilt = true;
    return error;
}

static fake_capture *capture_of(uint64_t id)
{
    fake_capture *c = captures;

    while (c != NULL && c->id != id) {
        c = c->next;
    }
    return c;
}

/* ---- beginning ------------------------------------------------------------------------------- */

static cudaError_t begin(cudaStream_t stream, cudaGraph_t graph, const cudaGraphNode_t *needs,
                         size_t count, enum cudaStreamCaptureMode mode)
{
    fake_capture *c;

    if (stream->capture != NULL) {
        return cudaErrorIllegalState;
    }
    c = calloc(1, sizeof(*c));
    if (c == NULL) {
        fake_forbidden("the machine has no memory for the fake");
        return cudaErrorMemoryAllocation;
    }
    c->id = ++last_id;
    c->own_graph = graph == NULL;
    c->graph = graph != NULL ? graph : fake_graph_new(NULL, false);
    c->graph->captures++;
    c->origin = stream;
    c->mode = mode;
    c->thread = pthread_self();
    c->next = captures;
    captures = c;
    stream->capture = c;
    fake_nodes_clear(&stream->ends);
    for (size_t i = 0; i < count; i++) {
        fake_nodes_add(&stream->ends, needs[i]);
    }
    fake_live.captures++;
    return cudaSuccess;
}

/* What CUDA's own frames leave on the stack is not the same in two calls. */
__attribute__((noinline)) static void scribble(void)
{
    static uint8_t value;
    volatile uint8_t frame[4096];

    value++;
    for (size_t i = 0; i < sizeof(frame); i++) {
        frame[i] = value;
    }
}

cudaError_t cudaStreamBeginCapture(cudaStream_t stream, enum cudaStreamCaptureMode mode)
{
    cudaError_t error = fake_call();
    cudaError_t entered;

    pthread_mutex_lock(&fake_lock);
    entered = fake_enter_stream(__func__, &stream);
    error = error != cudaSuccess ? error : entered;
    error = error != cudaSuccess ? error : begin(stream, NULL, NULL, 0, mode);
    scribble();
    pthread_mutex_unlock(&fake_lock);
    return fake_answer(error);
}

cudaError_t cudaStreamBeginCaptureToGraph(cudaStream_t stream, cudaGraph_t graph,
                                          const cudaGraphNode_t *needs,
                                          const cudaGraphEdgeData *edges, size_t count,
                                          enum cudaStreamCaptureMode mode)
{
    cudaError_t error = fake_call();
    cudaError_t entered;

    pthread_mutex_lock(&fake_lock);
    entered = fake_enter_stream(__func__, &stream);
    error = error != cudaSuccess ? error : entered;
    if (error == cudaSuccess && !fake_conditionals()) {
        error = cudaErrorNotSupported;
    }
    if (error == cudaSuccess && (graph == NULL || edges != NULL || (needs == NULL && count > 0))) {
        error = cudaErrorInvalidValue;
    }
    for (size_t i = 0; i < count && error == cudaSuccess; i++) {
        error = needs[i]->graph == graph ? cudaSuccess : cudaErrorInvalidValue;
    }
    error = error != cudaSuccess ? error : begin(stream, graph, needs, count, mode);
    pthread_mutex_unlock(&fake_lock);
    return fake_answer(error);
}

/* ---- nodes ----------------------------------------------------------------------------------- */

static enum cudaGraphNodeType type_of(const fake_work *work)
{
    static const enum cudaGraphNodeType types[] = {
        [FAKE_NOTHING] = cudaGraphNodeTypeEmpty,
        [FAKE_COPY] = cudaGraphNodeTypeMemcpy,
        [FAKE_SET] = cudaGraphNodeTypeMemset,
        [FAKE_KERNEL] = cudaGraphNodeTypeKernel,
        [FAKE_HOST] = cudaGraphNodeTypeHost,
        [FAKE_RECORD] = cudaGraphNodeTypeEventRecord,
        [FAKE_WAIT] = cudaGraphNodeTypeWaitEvent,
        [FAKE_ALLOC] = cudaGraphNodeTypeMemAlloc,
        [FAKE_FREE] = cudaGraphNodeTypeMemFree,
        [FAKE_WORD] = (enum cudaGraphNodeType)CU_GRAPH_NODE_TYPE_BATCH_MEM_OP};

    return types[work->kind];
}

cudaError_t fake_capture_add(cudaStream_t stream, fake_work *work, cudaGraph_t inner)
{
    fake_capture *c = stream->capture;
    cudaGraphNode_t node;

    if (c->spoilt) {
        fake_work_free(work);
        if (inner != NULL) {
            fake_graph_free(inner);
        }
        return cudaErrorStreamCaptureInvalidated;
    }
    node = fake_graph_add(c->graph, inner != NULL ? cudaGraphNodeTypeGraph : type_of(work), work,
                          stream->ends.at, stream->ends.count);
    node->capture = c->id;
    node->inner = inner;
    if (inner != NULL) {
        inner->parent = c->graph;
    }
    fake_nodes_clear(&stream->ends);
    fake_nodes_add(&stream->ends, node);
    return cudaSuccess;
}

cudaError_t fake_capture_record(cudaStream_t stream, cudaEvent_t event)
{
    if (stream->capture->spoilt) {
        return cudaErrorStreamCaptureInvalidated;
    }
    event->capture = stream->capture->id;
    fake_nodes_clear(&event->ends);
    for (size_t i = 0; i < stream->ends.count; i++) {
        fake_nodes_add(&event->ends, stream->ends.at[i]);
    }
    return cudaSuccess;
}

cudaError_t fake_capture_wait(cudaStream_t stream, cudaEvent_t event)
{
    fake_capture *c = capture_of(event->capture);

    if (c == NULL) {
        /* Between what is captured and what runs there is no order; nor where the capture is over.
         */
        return stream->capture != NULL ? fake_capture_spoil(stream, cudaErrorStreamCaptureIsolation)
                                       : cudaErrorCapturedEvent;
    }
    if (c->spoilt || (stream->capture != NULL && stream->capture->spoilt)) {
        return cudaErrorStreamCaptureInvalidated;
    }
    if (stream->capture != NULL && stream->capture != c) {
        c->spoilt = true;
        return fake_capture_spoil(stream, cudaErrorStreamCaptureMerge);
    }
    if (stream->capture == NULL) {
        stream->capture = c;
        fake_nodes_clear(&stream->ends);
    }
    for (size_t i = 0; i < event->ends.count; i++) {
        fake_nodes_add(&stream->ends, event->ends.at[i]);
    }
    return cudaSuccess;
}

cudaError_t fake_captured_event(cudaEvent_t event)
{
    fake_capture *c = event->capture != 0 ? capture_of(event->capture) : NULL;

    if (c != NULL) {
        c->spoilt = true;
    }
    return event->capture != 0 ? cudaErrorCapturedEvent : cudaSuccess;
}

/* ---- ending ---------------------------------------------------------------------------------- */

/* Is something that was captured behind nothing that the first stream's end depends on? */
static bool is_unjoined(const fake_capture *c)
{
    const fake_nodes *nodes = &c->graph->nodes;
    bool *needed = calloc(nodes->count + 1, sizeof(*needed));
    bool unjoined = false;

    if (needed == NULL) {
        fake_forbidden("the machine has no memory for the fake");
        return true;
    }
    for (size_t i = 0; i < nodes->count; i++) {
        for (size_t k = 0; k < nodes->at[i]->needs.count; k++) {
            needed[nodes->at[i]->needs.at[k]->index] = true;
        }
    }
    for (size_t i = 0; i < c->origin->ends.count; i++) {
        needed[c->origin->ends.at[i]->index] = true;
    }
    for (size_t i = 0; i < nodes->count; i++) {
        unjoined = unjoined || (nodes->at[i]->capture == c->id && !needed[i]);
    }
    free(needed);
    return unjoined;
}

static void end(fake_capture *c)
{
    fake_capture **link = &captures;

    while (*link != c) {
        link = &(*link)->next;
    }
    *link = c->next;
    for (cudaStream_t stream = fake_streams; stream != NULL; stream = stream->next) {
        if (stream->capture == c) {
            stream->capture = NULL;
            fake_nodes_clear(&stream->ends);
        }
    }
    c->graph->captures--;
    fake_live.captures--;
}

/* What the call finds wrong; SUCCESS ends the capture, and so does whatever is wrong with that. */
static cudaError_t end_error(const fake_capture *c, cudaStream_t stream)
{
    if (c == NULL) {
        return cudaErrorIllegalState;
    }
    if (c->origin != stream) {
        return cudaErrorStreamCaptureUnmatched;
    }
    if (c->mode != cudaStreamCaptureModeRelaxed && !pthread_equal(c->thread, pthread_self())) {
        return cudaErrorStreamCaptureWrongThread;
    }
    return cudaSuccess;
}

cudaError_t cudaStreamEndCapture(cudaStream_t stream, cudaGraph_t *graph_out)
{
    cudaError_t error = fake_call();
    cudaError_t found;
    fake_capture *c;

    pthread_mutex_lock(&fake_lock);
    c = stream->capture;
    found = end_error(c, stream);
    if (found == cudaSuccess) {
        error = error == cudaSuccess && c->spoilt ? cudaErrorStreamCaptureInvalidated : error;
        error = error == cudaSuccess && is_unjoined(c) ? cudaErrorStreamCaptureUnjoined : error;
        error = error == cudaSuccess ? stream->context->broken : error;
        end(c);
        if (error != cudaSuccess && c->own_graph) {
            fake_graph_free(c->graph);
        }
        if (graph_out != NULL) {
            *graph_out = error == cudaSuccess ? c->graph : NULL;
        } else if (error == cudaSuccess && c->own_graph) {
            fake_forbidden("cudaStreamEndCapture: nobody takes the graph");
        }
        free(c);
    } else if (c != NULL) {
        c->spoilt = true;
    }
    error = error != cudaSuccess ? error : found;
    pthread_mutex_unlock(&fake_lock);
    return fake_answer(error);
}

/* ---- asking ---------------------------------------------------------------------------------- */

static enum cudaStreamCaptureStatus status_of(cudaStream_t stream)
{
    return stream->capture == NULL   ? cudaStreamCaptureStatusNone
           : stream->capture->spoilt ? cudaStreamCaptureStatusInvalidated
                                     : cudaStreamCaptureStatusActive;
}

/* The legacy default stream captures nothing; it cannot be asked while a blocking one does. */
static cudaError_t check_asked(const char *call, cudaStream_t *stream, cudaError_t error)
{
    fake_resolve(call, stream);
    return error == cudaSuccess && fake_is_legacy(*stream) ? fake_capture_refuses_legacy(false)
                                                           : error;
}

cudaError_t cudaStreamIsCapturing(cudaStream_t stream, enum cudaStreamCaptureStatus *status_out)
{
    cudaError_t error = fake_call();

    pthread_mutex_lock(&fake_lock);
    error = check_asked(__func__, &stream, error);
    if (error == cudaSuccess) {
        *status_out = status_of(stream);
    }
    pthread_mutex_unlock(&fake_lock);
    return fake_answer(error);
}

cudaError_t cudaStreamGetCaptureInfo(cudaStream_t stream, enum cudaStreamCaptureStatus *status_out,
                                     unsigned long long *id_out, cudaGraph_t *graph_out,
                                     const cudaGraphNode_t **needs_out,
                                     const cudaGraphEdgeData **edges_out, size_t *count_out)
{
    cudaError_t error = fake_call();

    pthread_mutex_lock(&fake_lock);
    error = check_asked(__func__, &stream, error);
    if (error == cudaSuccess) {
        *status_out = status_of(stream);
        if (*status_out == cudaStreamCaptureStatusActive) {
            if (id_out != NULL) {
                *id_out = stream->capture->id;
            }
            if (graph_out != NULL) {
                *graph_out = stream->capture->graph;
            }
            if (needs_out != NULL) {
                *needs_out = stream->ends.at;
            }
            if (edges_out != NULL) {
                *edges_out = NULL; /* no edge has data here */
            }
            if (count_out != NULL) {
                *count_out = stream->ends.count;
            }
        }
    }
    pthread_mutex_unlock(&fake_lock);
    return fake_answer(error);
}

cudaError_t cudaStreamUpdateCaptureDependencies(cudaStream_t stream, cudaGraphNode_t *needs,
                                                const cudaGraphEdgeData *edges, size_t count,
                                                unsigned int flags)
{
    cudaError_t error = fake_call();

    pthread_mutex_lock(&fake_lock);
    if (error == cudaSuccess && stream->capture == NULL) {
        error = cudaErrorIllegalState;
    }
    if (error == cudaSuccess && stream->capture->spoilt) {
        error = cudaErrorStreamCaptureInvalidated;
    }
    if (error == cudaSuccess && edges != NULL) {
        error = cudaErrorInvalidValue;
    }
    for (size_t i = 0; i < count && error == cudaSuccess; i++) {
        error = needs[i]->graph == stream->capture->graph ? error : cudaErrorInvalidValue;
    }
    if (error == cudaSuccess && flags == cudaStreamSetCaptureDependencies) {
        fake_nodes_clear(&stream->ends);
    }
    for (size_t i = 0; i < count && error == cudaSuccess; i++) {
        fake_nodes_add(&stream->ends, needs[i]);
    }
    pthread_mutex_unlock(&fake_lock);
    return fake_answer(error);
}

cudaError_t cudaThreadExchangeStreamCaptureMode(enum cudaStreamCaptureMode *mode)
{
    const cudaError_t error = fake_call();
    const enum cudaStreamCaptureMode before = thread_mode;

    if (error == cudaSuccess) {
        thread_mode = *mode;
        *mode = before;
    }
    return fake_answer(error);
}
