/* SPDX-License-Identifier: Apache-2.0 */
/** @file
 * The channel alone, for loops of one's own: a dataset's batches on a device, one by one, made
 * ahead by worker threads. sluice_train() is the same channel with a loop around it.
 *
 * open, start, get_next until it does not say OK, close:
 *
 *     while ((st = sluice_channel_get_next(channel, NULL, SLUICE_FOREVER, &batch)) == SLUICE_OK) {
 *         ... batch->inputs, batch->valid_rows ...
 *     }
 */
#ifndef SLUICE_CHANNEL_H
#define SLUICE_CHANNEL_H

#include <stddef.h>
#include <stdint.h>

#include <sluice/dataset.h>
#include <sluice/device.h>

SLUICE_BEGIN_DECLS

/** A dataset's way to a device. */
typedef struct sluice_channel sluice_channel;

/** For timeout_ms: never gives up. */
#define SLUICE_FOREVER INT64_C(-1)

/**
 * Settings of a channel. Made by sluice_channel_config_init(); zero takes the default given beside
 * it. What has a name of sluice_train_config means the same.
 */
typedef struct sluice_channel_config {
    size_t struct_size;       /**< bytes; set by sluice_channel_config_init() */
    uint64_t first_batch;     /**< batches of the training done already: goes on there, as a resumed
                                   run would */
    uint64_t batches;         /**< to be made, then END_OF_DATA; 0: without end */
    uint64_t seed;            /**< of order and random transforms */
    uint32_t rank;            /**< of this process among world, when that is set */
    uint32_t world;           /**< processes that share each pass; 0: what the launcher says */
    uint32_t workers;         /**< threads that decode; 0: as many as cores and quota allow */
    uint32_t slots;           /**< batches made ahead, the lent one included, 2 to 1024 (from 3 on
                                   where the batch is lent from its slot); 0 is 4, fewer when
                                   memory_bytes wants it */
    uint64_t memory_bytes;    /**< upper bound for staging and slots; 0 is a quarter of what the
                                   process may use */
    sluice_on_error on_error; /**< fail */
} sluice_channel_config;

/** Sets every field to its default: zero. */
static inline void sluice_channel_config_init(sluice_channel_config *config)
{
    const sluice_channel_config zero = {sizeof(sluice_channel_config), 0, 0, 0, 0, 0, 0, 0, 0,
                                        SLUICE_ON_ERROR_FAIL};

    *config = zero;
}

/**
 * Makes all that the channel needs, and no thread: files are listed, memory is taken, shapes are
 * known. No sample is decoded yet. The environment's SLUICE_WORKERS, SLUICE_SLOTS and SLUICE_MEMORY
 * come before config, as in sluice_train().
 *
 * @param device       borrowed until close
 * @param dataset      borrowed until close; several channels may share it
 * @param config       copied
 * @param channel_out  owned by the caller: goes back by sluice_channel_close()
 *
 * Returns: E_INVALID settings, no stage `batch`, columns that cannot be batched; the error kept
 *          from building the dataset; E_IO, E_CORRUPT of opening the source; E_NO_MEMORY;
 *          E_UNSUPPORTED the device is none that a channel serves.
 * Threads: any. Channels do not touch each other.
 */
SLUICE_API_CHECKED sluice_status sluice_channel_open(sluice_device *device, sluice_dataset *dataset,
                                                     const sluice_channel_config *config,
                                                     sluice_channel **channel_out);

/** What a channel will give, and what it takes. */
typedef struct sluice_channel_info {
    size_t struct_size;     /**< bytes; set by the caller to sizeof */
    uint64_t samples;       /**< in a pass, over all ranks */
    uint64_t batches;       /**< in a pass, of this rank */
    uint32_t batch_size;    /**< rows of a batch */
    uint32_t workers;       /**< threads that decode */
    uint32_t slots;         /**< batches made ahead */
    uint32_t column_count;  /**< entries of columns */
    uint64_t staging_bytes; /**< host memory of batches on their way to the device */
    uint64_t slot_bytes;    /**< device memory of batches */
    sluice_column columns[SLUICE_MAX_COLUMNS]; /**< of one sample, as get_next gives them: inputs in
                                                    this order */
} sluice_channel_info;

/** Tells what a channel will give. Returns: E_INVALID struct_size is not set. Threads: any. */
SLUICE_API_CHECKED sluice_status sluice_channel_inspect(const sluice_channel *channel,
                                                        sluice_channel_info *info);

/**
 * Starts the workers, which fill the slots and then wait for get_next: to be called early, while
 * the model is still being set up.
 *
 * Returns: E_INVALID it has been called before, also when it failed; E_NO_MEMORY, after which
 *          nothing but close is left; CLOSED after stop.
 * Threads: any.
 */
SLUICE_API_CHECKED sluice_status sluice_channel_start(sluice_channel *channel);

/** A batch, lent until the next get_next, or close. */
typedef struct sluice_batch {
    size_t struct_size;          /**< bytes, for what later versions add at the end */
    uint64_t number;             /**< of the whole training, from 0 */
    uint64_t pass;               /**< of the dataset, from 0 */
    const sluice_tensor *inputs; /**< in the dataset's column order, in memory of the device; see
                                      sluice_batch_input() */
    uint32_t input_count;        /**< columns of the dataset */
    uint32_t rows;               /**< of each input: the batch size */
    uint32_t valid_rows;         /**< rows [0, valid_rows) hold samples, the rest is zero: it pads
                                      the last batch of a pass */
    const uint64_t *samples;     /**< (rows) indices in the source, in host memory; UINT64_MAX where
                                      no sample stands */
} sluice_batch;

/** Returns the input of that name, or NULL. */
SLUICE_API const sluice_tensor *sluice_batch_input(const sluice_batch *batch, const char *name);

/**
 * Gives back the batch lent before, waits for the next one and lends it.
 *
 * Batches come in order, each once; a sample is where sluice_train() with the same settings would
 * have it, bit for bit. Tensors and their bytes are good until the next call, whatever that
 * returns. On a host device their addresses differ from batch to batch.
 *
 * On `cuda:N` they lie in device memory, at the same addresses for every batch. The call waits on
 * the host until the batch has arrived on the device, enqueues in the caller's stream the kernels
 * that bring it into the tensors, and returns: what is enqueued in that stream afterwards sees the
 * batch. What the stream held before the call still sees the one before, so a loop that stays in
 * one stream waits for nothing. A call with another stream than the one before orders these kernels
 * behind all that the stream of the call before then holds; readers of the batch in any further
 * stream are the caller's to order, by events. With stream NULL the kernels go into a stream of the
 * library's, and the call returns when they are done: the tensors are ready for every stream, and
 * whoever read the batch before in a stream that no call was given must be done with it.
 *
 * @param stream      NULL on a host device; on `cuda:N` a cudaStream_t of that device that is not
 *                    being captured, or NULL, which is not CUDA's default stream (that one is
 *                    cudaStreamLegacy). It must not be destroyed before the next call, or close.
 *                    cudaStreamPerThread is another stream in each thread: make all calls from one
 * @param timeout_ms  milliseconds for the batch to arrive; 0 returns at once, SLUICE_FOREVER never
 *                    gives up
 * @param batch_out   the channel's own; set only on OK
 *
 * Returns: TIMEOUT no batch yet: nothing is lent, ask again; END_OF_DATA after the last of
 *          config.batches; CLOSED after stop, also when batches were ready; the first error of the
 *          pipeline, which names the stage and the sample, once the batches before it are
 *          fetched: each of the three again from every later call. E_INVALID arguments, the stream
 *          among them, or start has not been called: the batch lent before stays. E_DEVICE what
 *          CUDA says, also of work of the caller's that has broken the device.
 * Threads: one at a time; safe beside all others but close.
 */
SLUICE_API_CHECKED sluice_status sluice_channel_get_next(sluice_channel *channel, void *stream,
                                                         int64_t timeout_ms,
                                                         const sluice_batch **batch_out);

/**
 * sluice_channel_get_next() with a timeout of 0: never waits for a batch, and with a stream for
 * nothing at all. For loops that have other work while none is there. Returns and threads: the same.
 */
SLUICE_API_CHECKED sluice_status sluice_channel_get_next_async(sluice_channel *channel,
                                                               void *stream,
                                                               const sluice_batch **batch_out);

/**
 * Lets the workers rest: each finishes the row it is at, then nothing is read or decoded until
 * sluice_channel_resume(). Batches that are complete can be fetched all the same; for the next one
 * get_next waits. What is made, and in what order, does not change. Does not wait for the workers.
 *
 * Returns: E_INVALID start has not been called. OK also when paused already, or at the end.
 * Threads: any.
 */
SLUICE_API_CHECKED sluice_status sluice_channel_pause(sluice_channel *channel);

/** Lets the workers go on. Returns and threads: as sluice_channel_pause(). */
SLUICE_API_CHECKED sluice_status sluice_channel_resume(sluice_channel *channel);

/** What went through a channel so far. */
typedef struct sluice_channel_stats {
    size_t struct_size;  /**< bytes; set by the caller to sizeof */
    uint64_t batches;    /**< that get_next gave */
    uint64_t samples;    /**< valid rows of those */
    uint64_t bytes_read; /**< from files, for batches to come, too */
    uint64_t ready;      /**< batches that get_next would give at once */
    uint64_t replaced;   /**< samples that another one stood in for */
    uint64_t zeroed;     /**< rows left zero for want of a readable sample */
    double wait_seconds; /**< that get_next has waited, a call under way excluded */
} sluice_channel_stats;

/** Copies the figures. Returns: E_INVALID struct_size is not set. Threads: any, at any time. */
SLUICE_API_CHECKED sluice_status sluice_channel_stats_get(sluice_channel *channel,
                                                          sluice_channel_stats *stats);

/**
 * Ends a channel's work for good: get_next answers CLOSED, also to a thread that waits in it, and
 * the workers end after the rows they are at, for which this does not wait. The lent batch stays
 * until get_next or close. NULL is fine. Threads: any.
 */
SLUICE_API void sluice_channel_stop(sluice_channel *channel);

/**
 * Stops the workers, wherever they are, and frees the channel with all that it lent. NULL is fine.
 * On `cuda:N` it waits for the kernels of its own that are in the caller's streams; who reads the
 * tensors behind them must be done. Threads: any, once nobody is in another call.
 */
SLUICE_API void sluice_channel_close(sluice_channel *channel);

SLUICE_END_DECLS

#endif
