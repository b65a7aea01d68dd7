/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What can be given to a stream, and what nodes of graphs do: both are pieces of work. Streams and
 * graphs keep their own copies. The fake's lock is held wherever nothing else is said.
 */
#ifndef SLUICE_FAKE_CUDA_WORK_H
#define SLUICE_FAKE_CUDA_WORK_H

#include "fake_cuda_state.h"

typedef enum fake_work_kind {
    FAKE_NOTHING,
    FAKE_COPY,
    FAKE_SET,
    FAKE_WORD,
    FAKE_KERNEL,
    FAKE_HOST,
    FAKE_RECORD,
    FAKE_WAIT,
    FAKE_ALLOC,
    FAKE_FREE,
    FAKE_GRAPH
} fake_work_kind;

/* A kernel with the values of its arguments. */
typedef struct fake_kernel_call {
    const fake_kernel *kernel;
    unsigned blocks;
    unsigned threads;
    void *args[FAKE_KERNEL_ARGS]; /* point behind this struct */
} fake_kernel_call;

/* Memory of cudaMallocAsync(). */
typedef struct fake_area {
    struct fake_area *next;
    unsigned char *address;
    size_t bytes;
    size_t holders; /* work that names it, and the allocation itself outside graphs */
    bool freed;
} fake_area;

/* Where bytes are, and what must not go away while they are used. */
typedef struct fake_place {
    unsigned char *at; /* NULL: nowhere */
    fake_block *block;
    fake_range *range;
    fake_area *area;
    bool device; /* on a device; else in host memory, page-locked where there is a range */
} fake_place;

typedef struct fake_work {
    fake_work_kind kind;
    void *to; /* COPY, SET and WORD, as the four below; as the caller gave them */
    const void *from;
    size_t bytes;
    int value;
    uint64_t word; /* WORD: stored at `to`, where a kernel may be polling */
    enum cudaMemcpyKind way;
    bool pinned;    /* the places are known */
    int64_t number; /* COPY: of those given to streams from the host to a device */
    fake_place to_place;
    fake_place from_place;
    cudaEvent_t event; /* RECORD and WAIT */
    uint64_t record;   /* which of the event's records */
    fake_kernel_call *kernel;
    cudaHostFn_t call; /* HOST */
    void *arg;
    fake_area *area;      /* ALLOC and FREE */
    cudaGraphExec_t exec; /* GRAPH */
    uint64_t launch;      /* which of its launches */
    uint64_t *tickets;    /* (exec's event nodes) the records that they are or wait for */
} fake_work;

/* A set of nodes. */
typedef struct fake_nodes {
    cudaGraphNode_t *at;
    size_t count;
} fake_nodes;

void fake_nodes_add(fake_nodes *set, cudaGraphNode_t node);
void fake_nodes_clear(fake_nodes *set);

/* ---- streams and events ---------------------------------------------------------------------- */

typedef struct fake_worker fake_worker;
typedef struct fake_capture fake_capture;

struct CUstream_st {
    struct CUstream_st *next; /* of all */
    CUcontext context;
    uint64_t id;      /* of all that ever were */
    bool blocking;    /* ordered with the legacy default stream */
    bool is_default;  /* the legacy one, or a thread's */
    bool destroyed;   /* and kept for the work that it still has */
    CUgreenCtx green; /* NULL: of no green context */
    int priority;     /* 0, the lowest, to FAKE_HIGHEST */
    fake_worker *worker;
    uint64_t pending;
    fake_capture *capture; /* NULL: it captures nothing */
    fake_nodes ends;       /* what the next node that it captures depends on */
};

struct CUevent_st {
    CUcontext context;
    unsigned flags;
    uint64_t recorded;
    uint64_t done;
    uint64_t waits; /* of streams, under way */
    bool destroyed; /* and kept for these */
    int64_t done_ns;
    uint64_t capture; /* the one that it was last recorded in; 0: in none */
    fake_nodes ends;  /* what who waits for it depends on, in that capture */
};

extern cudaStream_t fake_streams;

/* A stream no longer waits for the event; a stream has come to its record. */
void fake_event_unwait(cudaEvent_t event);
void fake_event_record(const fake_work *work);

/* Puts the stream itself in place of NULL, cudaStreamLegacy and cudaStreamPerThread. The context is
 * the calling thread's. */
void fake_resolve(const char *call, cudaStream_t *stream);
bool fake_is_legacy(cudaStream_t stream); /* one that is resolved */

/* Orders work that is given next: that in the legacy stream behind all of blocking streams, and
 * theirs behind its own. */
void fake_order_legacy(cudaStream_t stream);
void fake_wait_legacy(CUcontext context); /* in the caller */
void fake_defaults_start(void);
bool fake_users_calls(void);

/* A stream that is not counted, ordered or found by anyone yet. */
cudaStream_t fake_stream_new(CUcontext context, bool blocking, int priority);

/* Orders what `stream` is given next behind what `first` has. */
void fake_order_behind(cudaStream_t stream, cudaStream_t first);

int64_t fake_now_ns(void);

/*
 * Gives a stream its work: runs it later, or keeps it as a node where the stream captures. error is
 * what is wrong so far; answers it, or what else is. Whatever comes of it, the work is taken.
 */
cudaError_t fake_give(const char *call, cudaStream_t stream, fake_work *work, cudaError_t error);

/* The stream, resolved: its capture's and its context's error. */
cudaError_t fake_enter_stream(const char *call, cudaStream_t *stream);

/* Puts work in that is to run. */
void fake_submit(cudaStream_t stream, fake_work *work);

/* Does work on a worker's thread. The lock is not held while bytes move or bodies run. */
void fake_do(CUcontext context, fake_work *work);

void fake_do_transfer(CUcontext context, fake_work *work);
void fake_do_kernel(CUcontext context, const fake_kernel_call *call);
void fake_do_graph(CUcontext context, fake_work *work);
void fake_do_memory(const fake_work *work);

/* Is it a copy from the host to a device, given to a stream? These can be held, slow and fail. */
bool fake_feeds(const fake_work *work);

fake_work fake_work_copy(const fake_work *work);
void fake_work_free(fake_work *work);

static inline bool fake_has_places(const fake_work *work)
{
    return work->kind == FAKE_COPY || work->kind == FAKE_SET || work->kind == FAKE_WORD;
}

/* The places of a COPY, SET or WORD; cudaErrorInvalidValue when there are none. They stay until
 * unpin. */
cudaError_t fake_pin(CUcontext context, fake_work *work);
void fake_unpin(fake_work *work);

fake_area *fake_area_of(const void *address, size_t bytes);
void fake_area_release(fake_area *area);

/* ---- kernels --------------------------------------------------------------------------------- */

/* The kernel at that address; NULL: there is none. */
const fake_kernel *fake_kernel_of(const void *function);

fake_kernel_call *fake_kernel_call_make(const fake_kernel *kernel, unsigned blocks,
                                        unsigned threads, void *const *args);

/* cudaErrorInvalidDeviceFunction or cudaErrorInvalidConfiguration; else a call is made. */
cudaError_t fake_kernel_call_new(const void *function, dim3 grid, dim3 block, void *const *args,
                                 fake_kernel_call **call_out);

/* The kernel is loaded from here on; forbidden while a sink runs that is guarded. */
void fake_load(const char *call, const fake_kernel *kernel);

/* ---- graphs ---------------------------------------------------------------------------------- */

/* The variable of a conditional node. */
typedef struct fake_handle {
    uint64_t id;
    unsigned value;
    unsigned at_launch;
    bool assigned; /* at each launch */
    bool used;
} fake_handle;

struct CUgraphNode_st {
    cudaGraph_t graph;
    enum cudaGraphNodeType type;
    fake_work work;
    cudaGraph_t inner; /* of a child graph or a conditional node */
    enum cudaGraphConditionalNodeType condition;
    uint64_t handle;
    fake_nodes needs;
    size_t index;
    size_t ticket;    /* of an event's node, in an exec */
    uint64_t capture; /* that recorded it */
};

struct CUgraph_st {
    fake_nodes nodes;
    fake_handle *handles;
    size_t handle_count;
    cudaGraph_t parent;     /* whose node this is the inside of */
    bool owned;             /* by a node or an exec */
    size_t captures;        /* into it, under way */
    size_t execs;           /* of it */
    cudaGraphNode_t *order; /* in an exec: all nodes, each behind what it needs */
};

cudaGraph_t fake_graph_new(cudaGraph_t parent, bool owned);
void fake_graph_free(cudaGraph_t graph);
cudaGraph_t fake_graph_clone(cudaGraph_t graph, cudaGraph_t parent);
bool fake_has_conditionals(cudaGraph_t graph);
bool fake_has_memory(cudaGraph_t graph); /* nodes that allocate or free */

/* A new node, which takes the work. */
cudaGraphNode_t fake_graph_add(cudaGraph_t graph, enum cudaGraphNodeType type, fake_work *work,
                               const cudaGraphNode_t *needs, size_t count);

/* The variable of that name in the graph and its insides; NULL: there is none. */
fake_handle *fake_handle_in(cudaGraph_t graph, uint64_t id);

void fake_exec_forget(cudaGraph_t graph); /* which is no more */

/* A clone of what a launch of the exec would run; NULL where it cannot be in a child graph. */
cudaGraph_t fake_exec_clone(cudaGraphExec_t exec);

/* The launch of an exec as work; fills in the tickets of its events. */
fake_work fake_launch_of(cudaGraphExec_t exec);

/* ---- captures -------------------------------------------------------------------------------- */

/* The work as a node behind what the stream has captured. inner: of a child graph. */
cudaError_t fake_capture_add(cudaStream_t stream, fake_work *work, cudaGraph_t inner);

/* Ends what can still come of the stream's capture; answers error. */
cudaError_t fake_capture_spoil(cudaStream_t stream, cudaError_t error);

/* Is the thread prevented from a call by a capture? Spoils it then. */
cudaError_t fake_capture_refuses(const char *call);

/*
 * The legacy default stream is ordered with each blocking stream of its context, so its use would
 * make it depend on what they capture: cudaErrorStreamCaptureImplicit, in whatever thread and mode.
 * Use spoils the captures, asking about captures does not.
 */
cudaError_t fake_capture_refuses_legacy(bool spoils);

/* An event that marks a place in a capture, and a stream that goes on behind it. */
cudaError_t fake_capture_record(cudaStream_t stream, cudaEvent_t event);
cudaError_t fake_capture_wait(cudaStream_t stream, cudaEvent_t event);

/* What who asks about an event is told: one that was captured has no state, and spoils. */
cudaError_t fake_captured_event(cudaEvent_t event);

/* ---- calls ----------------------------------------------------------------------------------- */

void fake_calls_start(void);
void fake_captures_start(void); /* of the calling thread */
void fake_kernels_start(void);
void fake_streams_start(void); /* the lock is not held */
void fake_execs_start(void);
bool fake_conditionals(void); /* does the driver know them? */
bool fake_loop_launches(void);
cudaError_t fake_no_code(void); /* what loading a kernel answers */
bool fake_body_first(void);

#endif
