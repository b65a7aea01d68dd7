/* SPDX-License-Identifier: Apache-2.0 */
/*
 * GetNext as kernels: the types that the kernels share with the host. Two kernels of one thread
 * (begin, next) wait and count; a grid (gather) copies the batch into the step's tensors:
 *
 *     begin -> while there is a batch: gather -> step -> next
 *
 * The kernels receive batches through the queue's ring (ring_int.h). Their bodies are in
 * getnext_control_int.h and queue/cuda/getnext_gather.h, written once for nvcc and for a C
 * compiler; queue/cuda/getnext.cu has the kernels themselves. The types here are passed to kernels
 * by value.
 */
#ifndef SLUICE_GETNEXT_INT_H
#define SLUICE_GETNEXT_INT_H

#include "conversion_int.h"
#include "layout_int.h"
#include "output_int.h"
#include "ring_int.h"
#include "row_program_int.h"

#ifdef __cplusplus
extern "C" {
#endif

/* State of a launch. All values except the first two make later launches no-ops. When the host
 * collects the outcome, YIELD is reset to DONE; the other values are permanent. */
typedef enum sli_getnext_end {
    SLI_GETNEXT_DONE = 0,    /* all its steps ran, or nothing has been launched yet */
    SLI_GETNEXT_GOES_ON,     /* in progress: a batch has arrived; gather it, run the step */
    SLI_GETNEXT_YIELD,       /* the next batch is late: the host waits and launches the rest */
    SLI_GETNEXT_STOPPED,     /* stop requested by the stop word */
    SLI_GETNEXT_END_OF_DATA, /* no batch follows */
    SLI_GETNEXT_FAILED,      /* the ring has an error marker; the queue holds the error text */
    SLI_GETNEXT_CORRUPT,     /* the batch number in the slot's header is not `seq` */
    SLI_GETNEXT_HALTED       /* ended by the code that runs the steps */
} sli_getnext_end;

/* Request of the host to its launches. In mapped host memory; changed only while no launch is in
 * flight. */
typedef struct sli_getnext_command {
    uint64_t steps;    /* number of steps of each later launch */
    uint64_t collects; /* how often the host has collected the outcome; a change resets a yield
                          and the counts */
    uint64_t spin_ns;  /* maximum wait for a batch before a yield */
} sli_getnext_command;

/* Outcome of a launch: written when it ends, read by the host once the stream is idle. In mapped
 * host memory. steps, waits, wait_ns and polls count since the host last collected the outcome. */
typedef struct sli_getnext_report {
    uint64_t end;   /* an sli_getnext_end */
    uint64_t steps; /* completed steps */
    uint64_t seq;   /* seq of the next batch */
    uint64_t micro; /* index of that batch in its step */
    uint64_t waits; /* batches that had not arrived at the first poll */
    uint64_t wait_ns;
    uint64_t polls; /* number of polls of the ring */
} sli_getnext_report;

/* Device memory of the kernels, initialized by sli_getnext_state_init(). */
typedef struct sli_getnext_state {
    uint64_t seq;   /* seq of the next batch or, during a gather, of the current one */
    uint64_t left;  /* steps of this launch that have not ended */
    uint64_t steps; /* steps completed since the host last collected the counters; the next three
                       count since then, too */
    uint64_t waits;
    uint64_t wait_ns;
    uint64_t polls;
    uint64_t collects;    /* command.collects at the last launch */
    uint64_t spin_ns;     /* copied at each launch, since a read of host memory takes a
                             microsecond */
    uint64_t polled_ns;   /* time of the last poll of the stop word */
    uint32_t end;         /* an sli_getnext_end */
    uint32_t micro;       /* index of batch `seq` in its step */
    uint64_t found_ns;    /* device clock in ns when the kernel found the batch */
    uint64_t gathered_ns; /* device clock in ns when the last block of its gather ended */
    uint64_t padding[4];
    uint32_t votes; /* blocks of a gather that have read all their input; alone in its cache line */
    uint32_t padding_of_votes[31];
} sli_getnext_state;

/* Argument of the one-thread kernels and of the gather. */
typedef struct sli_getnext {
    sli_ring ring;        /* ring.consumed is in mapped host memory, for the producer */
    const uint8_t *slots; /* (ring.slots, slot_bytes) */
    uint64_t slot_bytes;
    sli_getnext_state *state;
    const sli_getnext_command *command;
    sli_getnext_report *report;
    const uint64_t *stop; /* in mapped host memory; a nonzero value ends this and all later
                             launches */
    uint64_t conditional; /* cudaGraphConditionalHandle of the loop, if any */
    uint32_t has_conditional;
    uint32_t micro_batches; /* batches per step, at least 1 */
    uint32_t turn;          /* number of batches waited for together; 0 means 1. If above 1,
                               micro_batches is 1 */
    uint32_t padding;
} sli_getnext;

void sli_getnext_state_init(sli_getnext_state *state);

/* How a grid makes the tensors that are not copies; there is one kernel per path. */
typedef enum sli_gather_path {
    SLI_GATHER_COPY,       /* no column is converted */
    SLI_GATHER_ANY,        /* any conversion, pixel by pixel */
    SLI_GATHER_PLANES_F32, /* (H, W, 3) u8 to (3, H, W), one unit of pixels at a time */
    SLI_GATHER_PLANES_F16,
    SLI_GATHER_PLANES_BF16,
    SLI_GATHER_PACKED_F32, /* (H, W, 3) u8 to (H, W, 3), one unit of values at a time */
    SLI_GATHER_PACKED_F16,
    SLI_GATHER_PACKED_BF16,
    SLI_GATHER_WINDOWS, /* windows of plain columns, widened; no image is converted */
    SLI_GATHER_RAGGED,  /* some columns are ragged; no image is converted */
    SLI_GATHER_PROGRAM, /* row programs (row_program_int.h), then any conversion, pixel by pixel */
    SLI_GATHER_PROGRAM_PLANES_F32, /* the same, (H, W, 3) to (3, H, W), one unit of pixels at a time
                                    */
    SLI_GATHER_PROGRAM_PLANES_F16,
    SLI_GATHER_PROGRAM_PLANES_BF16,
    SLI_GATHER_PROGRAM_PACKED_F32, /* the same, (H, W, 3) to (H, W, 3), one unit of pixels at a
                                      time */
    SLI_GATHER_PROGRAM_PACKED_F16,
    SLI_GATHER_PROGRAM_PACKED_BF16,
    SLI_GATHER_MIX, /* as the paths PROGRAM, and rows may be mixed with other rows */
    SLI_GATHER_MIX_PLANES_F32,
    SLI_GATHER_MIX_PLANES_F16,
    SLI_GATHER_MIX_PLANES_BF16,
    SLI_GATHER_MIX_PACKED_F32,
    SLI_GATHER_MIX_PACKED_F16,
    SLI_GATHER_MIX_PACKED_BF16,
    SLI_GATHER_PATHS
} sli_gather_path;

/*
 * The number of values that a thread stores at once: 16 bytes, so that the stores of neighbouring
 * threads are adjacent and fill whole memory sectors. The width must be a multiple of it.
 */
SLI_DEVICE_FN uint32_t sli_gather_unit(sli_gather_path path)
{
    switch (path) {
    case SLI_GATHER_PLANES_F32:
    case SLI_GATHER_PACKED_F32:
    case SLI_GATHER_PROGRAM_PLANES_F32:
    case SLI_GATHER_PROGRAM_PACKED_F32:
    case SLI_GATHER_MIX_PLANES_F32:
    case SLI_GATHER_MIX_PACKED_F32:
        return 4;
    case SLI_GATHER_PLANES_F16:
    case SLI_GATHER_PLANES_BF16:
    case SLI_GATHER_PACKED_F16:
    case SLI_GATHER_PACKED_BF16:
    case SLI_GATHER_PROGRAM_PLANES_F16:
    case SLI_GATHER_PROGRAM_PLANES_BF16:
    case SLI_GATHER_PROGRAM_PACKED_F16:
    case SLI_GATHER_PROGRAM_PACKED_BF16:
    case SLI_GATHER_MIX_PLANES_F16:
    case SLI_GATHER_MIX_PLANES_BF16:
    case SLI_GATHER_MIX_PACKED_F16:
    case SLI_GATHER_MIX_PACKED_BF16:
        return 8;
    default:
        return 1;
    }
}

/* Bytes of the slot that are copied unchanged. */
typedef struct sli_gather_copy {
    uint64_t from; /* byte offset in the slot */
    uint64_t bytes;
    uint8_t *to;
} sli_gather_copy;

/* The converted column: (batch_size) images of the conversion's shapes. */
typedef struct sli_gather_image {
    uint64_t from; /* byte offset in the slot */
    uint64_t from_bytes;
    uint64_t to_bytes;
    uint64_t programs; /* for paths PROGRAM and MIX: byte offset in the slot of the (batch_size)
                          programs */
    uint8_t *to;
    uint32_t pixels; /* pixels of one image; pixels * channels is below 2^32 */
    uint32_t width;
    uint32_t channels;
    uint32_t from_dtype; /* a sluice_dtype, like to_dtype */
    uint32_t to_dtype;
    uint8_t from_chw;
    uint8_t to_chw;
    uint8_t flip;
    uint8_t affine;
    float scale[SLI_MAX_CHANNELS];
    float bias[SLI_MAX_CHANNELS];
} sli_gather_image;

/* A tensor (batch_size, count): from each row of a plain column, a window of elements, widened
 * (output_int.h). */
typedef struct sli_gather_window {
    uint64_t from;       /* slot offset in bytes of the window's first element in row 0 */
    uint64_t from_bytes; /* row stride in bytes */
    uint8_t *to;
    uint32_t count;      /* elements of the window in each row */
    uint32_t from_dtype; /* a sluice_dtype, like to_dtype */
    uint32_t to_dtype;
    uint8_t whole; /* each row of the tensor is 16-byte aligned and a multiple of 16 bytes */
    uint8_t group; /* size of the group of windows with the same column, count and types that begins
                      here; 0 for the other windows of the group */
    uint16_t padding;
} sli_gather_window;

/* The tensor of a ragged column (layout_int.h): the entries in the slot, then zeros. A thread
 * stores `unit` bytes at once. */
typedef struct sli_gather_ragged {
    uint64_t before;      /* entry_before of the layout */
    uint64_t entry_bytes; /* the same */
    uint8_t *to;
    uint32_t units; /* of a row of the tensor */
    uint32_t unit;  /* 1, 4 or 16 */
} sli_gather_ragged;

/* Gather plan: the copies and conversions that make the step's tensors from a slot. */
typedef struct sli_gather {
    sli_gather_image image;
    uint64_t row_flags; /* byte offset in the slot */
    uint32_t batch_size;
    uint32_t path; /* an sli_gather_path */
    uint32_t copy_count;
    uint32_t window_count;
    uint32_t ragged_count;
    uint32_t padding;
    uint64_t ragged_offset; /* byte offset in the slot of the first ragged column */
    sli_gather_copy copies[SLUICE_MAX_COLUMNS + 1]; /* the last one copies the batch header */
    sli_gather_window windows[SLUICE_MAX_COLUMNS];  /* for path WINDOWS */
    sli_gather_ragged ragged[SLUICE_MAX_COLUMNS];   /* for path RAGGED */
} sli_gather;

enum { SLI_GATHER_THREADS = 256 }; /* threads per block */

/*
 * Plans the gather of a layout. conversion, which must be prepared, applies to `column`; NULL: no
 * conversion; it is NULL if a column is ragged. programs: if not NONE, the last column has the
 * programs of its rows, and is not an output. outputs are the step's tensors, in column order;
 * header, in the same memory, is where the batch's header is written for the step. Returns
 * E_INVALID for an image of 2^32 values or more, and for rows of a ragged column of 2^32 units or
 * more.
 */
sluice_status sli_gather_plan(const sli_layout *layout, const sli_conversion *conversion,
                              uint32_t column, sli_row_programs programs,
                              const sluice_tensor *outputs, sli_batch_header *header,
                              sli_gather *gather_out);

/*
 * Plans the gather of checked outputs: outputs[i] describes tensors[i]. Returns E_INVALID for rows
 * of 2^32 elements or more.
 */
sluice_status sli_gather_plan_outputs(const sli_layout *layout, const sli_output *outputs,
                                      uint32_t count, const sluice_tensor *tensors,
                                      sli_batch_header *header, sli_gather *gather_out);

/* The number of blocks that have work. A smaller grid does the same work. */
uint32_t sli_gather_blocks(const sli_gather *gather);

/* A kernel and its arguments, in the form of cudaLaunchKernel() and of graph nodes. */
typedef struct sli_kernel_launch {
    const void *function;
    uint32_t blocks;
    uint32_t threads; /* threads per block */
    void *args[2];    /* pointers to the arguments, which are read at the launch */
} sli_kernel_launch;

/*
 * Describe launches of the kernels. Available only in builds with kernels (SLI_HAVE_KERNELS). The
 * descriptions point to the structs, which must outlive them. The gather has sli_gather_blocks()
 * blocks; the caller reduces them to what a device runs at once.
 */
void sli_getnext_begin_launch(sli_getnext *getnext, sli_kernel_launch *launch_out);
void sli_getnext_next_launch(sli_getnext *getnext, sli_kernel_launch *launch_out);
void sli_getnext_gather_launch(sli_getnext *getnext, sli_gather *gather,
                               sli_kernel_launch *launch_out);

#ifdef __cplusplus
}
#endif

#endif
