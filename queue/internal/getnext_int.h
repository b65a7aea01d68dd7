/* SPDX-License-Identifier: Apache-2.0 */
/*
 * GetNext on a device that launches by itself: what its kernels share with the host. Two kernels
 * of one thread wait and count, a grid gathers the batch into the step's tensors:
 *
 *     begin -> while it says so: gather -> step -> next
 *
 * The queue's ring is their way to the batches (ring_int.h). What they do is written once, in
 * getnext_control_int.h and queue/cuda/getnext_gather.h, for nvcc and for a C compiler; the kernels
 * around it are queue/cuda/getnext.cu. The types here are passed to kernels by value.
 */
#ifndef SLUICE_GETNEXT_INT_H
#define SLUICE_GETNEXT_INT_H

#include "conversion_int.h"
#include "layout_int.h"
#include "ring_int.h"

#ifdef __cplusplus
extern "C" {
#endif

/* How a launch stands. All but the first two stay until the host has collected them, or for ever.
 */
typedef enum sli_getnext_end {
    SLI_GETNEXT_DONE = 0,    /* its steps ran; or nothing was launched yet */
    SLI_GETNEXT_GOES_ON,     /* a batch is there: gather it, run the step */
    SLI_GETNEXT_YIELD,       /* the next batch is late: wait on the host, launch the rest */
    SLI_GETNEXT_STOPPED,     /* the stop word asked for it */
    SLI_GETNEXT_END_OF_DATA, /* no batch follows */
    SLI_GETNEXT_FAILED,      /* the ring holds an error, whose text the queue has */
    SLI_GETNEXT_CORRUPT,     /* the slot of `seq` says that it holds another batch */
    SLI_GETNEXT_HALTED       /* whoever runs the steps has ended it */
} sli_getnext_end;

/* What the host wants. Mapped host memory; changed only while no launch is under way. */
typedef struct sli_getnext_command {
    uint64_t steps;    /* of each launch from here on */
    uint64_t collects; /* how often the host has collected: a yield ends there, counts begin anew */
    uint64_t spin_ns;  /* how long to wait for a batch before yielding */
} sli_getnext_command;

/* What came of it: written by the launch that ends, read once its stream is idle. Mapped host
 * memory. All but seq and micro since the last collect. */
typedef struct sli_getnext_report {
    uint64_t end;   /* an sli_getnext_end */
    uint64_t steps; /* that ran */
    uint64_t seq;   /* of the next batch */
    uint64_t micro; /* which of its step's batches that is */
    uint64_t waits; /* batches that were not there at the first look */
    uint64_t wait_ns;
    uint64_t polls; /* looks at the ring */
} sli_getnext_report;

/* Device memory, of the kernels alone. sli_getnext_state_init() says what it begins with. */
typedef struct sli_getnext_state {
    uint64_t seq;   /* of the next batch; of the one that is gathered, while it is */
    uint64_t left;  /* steps of this launch that have not ended */
    uint64_t steps; /* that ran since the last collect, as the three below */
    uint64_t waits;
    uint64_t wait_ns;
    uint64_t polls;
    uint64_t collects;    /* the host's, when last seen */
    uint64_t spin_ns;     /* the launch's, read once: host memory is a microsecond away */
    uint64_t looked_ns;   /* when the stop word was last looked at */
    uint32_t end;         /* an sli_getnext_end */
    uint32_t micro;       /* batches of the current step that have ended */
    uint64_t found_ns;    /* when the batch was there, by the device's clock */
    uint64_t gathered_ns; /* when the last block of its gather was done */
    uint64_t padding[4];
    uint32_t votes; /* blocks of a gather that have read all they read; a line of its own */
    uint32_t padding_of_votes[31];
} sli_getnext_state;

/* What both one-thread kernels and the gather are given. */
typedef struct sli_getnext {
    sli_ring ring;        /* consumed is in mapped host memory, for the producer */
    const uint8_t *slots; /* (ring.slots, slot_bytes) */
    uint64_t slot_bytes;
    sli_getnext_state *state;
    const sli_getnext_command *command;
    sli_getnext_report *report;
    const uint64_t *stop; /* mapped host memory; not 0: end, and never go on */
    uint64_t conditional; /* the loop's cudaGraphConditionalHandle, where there is a loop */
    uint32_t has_conditional;
    uint32_t micro_batches; /* batches of a step, at least 1 */
    uint32_t turn; /* batches that are waited for together; 0 is 1. Steps are then of one batch */
    uint32_t padding;
} sli_getnext;

void sli_getnext_state_init(sli_getnext_state *state);

/* How a grid goes over the image column; each is a kernel of its own. */
typedef enum sli_gather_path {
    SLI_GATHER_COPY,       /* there is no column to convert */
    SLI_GATHER_ANY,        /* a pixel at a time: every conversion */
    SLI_GATHER_PLANES_F32, /* eight pixels at a time: (H, W, 3) u8 to (3, H, W), W % 8 == 0 */
    SLI_GATHER_PLANES_F16,
    SLI_GATHER_PLANES_BF16
} sli_gather_path;

/* Bytes of the slot that are wanted as they are. */
typedef struct sli_gather_copy {
    uint64_t from; /* offset in the slot */
    uint64_t bytes;
    uint8_t *to;
} sli_gather_copy;

/* The converted column: (batch_size) images of the conversion's shapes. */
typedef struct sli_gather_image {
    uint64_t from; /* offset in the slot */
    uint64_t from_bytes;
    uint64_t to_bytes;
    uint8_t *to;
    uint32_t pixels; /* of one image; times channels at most 2^32 - 1 */
    uint32_t width;
    uint32_t channels;
    uint32_t from_dtype; /* sluice_dtype, as the next */
    uint32_t to_dtype;
    uint8_t from_chw;
    uint8_t to_chw;
    uint8_t flip;
    uint8_t affine;
    float scale[SLI_MAX_CHANNELS];
    float bias[SLI_MAX_CHANNELS];
} sli_gather_image;

/* From a slot to the step's tensors. */
typedef struct sli_gather {
    sli_gather_image image;
    uint64_t row_flags; /* offset in the slot */
    uint32_t batch_size;
    uint32_t path; /* an sli_gather_path */
    uint32_t copy_count;
    uint32_t padding;
    sli_gather_copy copies[SLUICE_MAX_COLUMNS + 1]; /* the header's is the last */
} sli_gather;

enum { SLI_GATHER_THREADS = 256 }; /* of a block */

/*
 * Plans the gather of a layout. conversion, prepared, is what happens to that column; NULL: nothing
 * to any. outputs are the step's tensors, in the order of the columns; header, in the same memory,
 * is where the step finds its batch's. E_INVALID for an image of 2^32 values or more.
 */
sluice_status sli_gather_plan(const sli_layout *layout, const sli_conversion *conversion,
                              uint32_t column, const sluice_tensor *outputs,
                              sli_batch_header *header, sli_gather *gather_out);

/* Blocks that a device of that many multiprocessors is given: as many as there is work for. */
uint32_t sli_gather_blocks(const sli_gather *gather, uint32_t multiprocessors);

/* A kernel and its arguments, as cudaLaunchKernel() and the node of a graph take them. */
typedef struct sli_kernel_launch {
    const void *function;
    uint32_t blocks;
    uint32_t threads; /* of a block */
    void *args[2];    /* point at what the launch was described with, read when it is used */
} sli_kernel_launch;

/* Where the build has the kernels (SLI_HAVE_KERNELS). The structs outlive the description's use. */
void sli_getnext_begin_launch(sli_getnext *getnext, sli_kernel_launch *launch_out);
void sli_getnext_next_launch(sli_getnext *getnext, sli_kernel_launch *launch_out);
void sli_getnext_gather_launch(sli_getnext *getnext, sli_gather *gather, uint32_t multiprocessors,
                               sli_kernel_launch *launch_out);

#ifdef __cplusplus
}
#endif

#endif
