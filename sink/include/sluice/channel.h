/* SPDX-License-Identifier: Apache-2.0 */
/** @file
 * The channel, for training loops of your own: the batches of a dataset on a device, one by one,
 * prepared ahead by worker threads. sluice_train() is the same channel with a loop around it.
 *
 * open, start, get_next until it does not return OK, close:
 *
 *     while ((st = sluice_channel_get_next(channel, NULL, SLUICE_FOREVER, &batch)) == SLUICE_OK) {
 *         ... batch->inputs, batch->valid_rows ...
 *     }
 */
#ifndef SLUICE_CHANNEL_H
#define SLUICE_CHANNEL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <sluice/dataset.h>
#include <sluice/device.h>
#include <sluice/report.h>

SLUICE_BEGIN_DECLS

/** A channel: the batches of a dataset on a device. */
typedef struct sluice_channel sluice_channel;

/** Value of timeout_ms: no limit. */
#define SLUICE_FOREVER INT64_C(-1)

/**
 * The position of a loop in its data, to be saved as a whole, or field by field, with the state of
 * the loop. Filled in by sluice_channel_position_get(), resumed by config.position.
 */
typedef struct sluice_channel_position {
    size_t struct_size; /**< bytes; set by sluice_channel_position_init() */
    uint64_t batch;     /**< number of the next batch */
    uint64_t pass;      /**< of the dataset, from 0 */
    uint64_t samples;   /**< of that pass before it, over all ranks; padding counts as samples */
    uint64_t seed;      /**< config.seed */
} sluice_channel_position;

/** Sets every field to zero, but struct_size, in a struct of `size` bytes. Threads: any. */
SLUICE_API void sluice_channel_position_init_size(sluice_channel_position *position, size_t size);

/** sluice_channel_position_init_size() with the size of the caller's struct. Threads: any. */
static inline void sluice_channel_position_init(sluice_channel_position *position)
{
    sluice_channel_position_init_size(position, sizeof(*position));
}

/**
 * Settings of a channel, initialized by sluice_channel_config_init(). Fields that have a name of
 * sluice_train_config have its meaning.
 */
typedef struct sluice_channel_config {
    size_t struct_size;       /**< bytes; set by sluice_channel_config_init() */
    uint64_t first_batch;     /**< batches of the training done already: continues there, as a
                                   resumed run would; for loops see position */
    uint64_t batches;         /**< number of batches, then END_OF_DATA; 0: no limit */
    uint64_t seed;            /**< of order and random transforms */
    uint32_t rank;            /**< of this process among world, when that is set */
    uint32_t world;           /**< processes that share each pass; 0: from the launcher */
    uint32_t workers;         /**< threads that decode; 0: as many as cores and quota allow */
    uint32_t slots;           /**< batches made ahead, those held included: held + 1 to 1024 (from
                                   held + 2 on where batches are lent from their slots); 0: as
                                   sluice_train_config.slots, and more where `held` needs them */
    uint64_t memory_bytes;    /**< upper bound for staging, slots and the samples of a stream;
                                   0 is a quarter of what the process may use, for staging and
                                   slots */
    sluice_on_error on_error; /**< fail */
    bool end_of_pass;         /**< get_next returns END_OF_PASS once after each pass */
    const sluice_column *inputs; /**< what the loop expects, of one sample; NULL: unchecked. Used by
                                      sluice_channel_open() alone */
    uint32_t input_count;        /**< entries in inputs */
    uint32_t held;               /**< batches that the loop holds at once, 1 to 1022; 0 is 1. From 2
                                      on each is released by sluice_channel_release(). Where batches
                                      are not lent from their slots, as on `cuda:N`, each of them
                                      has a set of tensors of its own, which counts in memory */
    const sluice_channel_position *position; /**< where a loop was: goes on there, with the same
                                      bits where seed, dataset, batch size and world are the same.
                                      first_batch is 0 then. NULL: at first_batch. Used by
                                      sluice_channel_open() alone */
} sluice_channel_config;

/** Sets every field to its default, zero, in a struct of `size` bytes. Threads: any. */
SLUICE_API void sluice_channel_config_init_size(sluice_channel_config *config, size_t size);

/** sluice_channel_config_init_size() with the size of the caller's struct. Threads: any. */
static inline void sluice_channel_config_init(sluice_channel_config *config)
{
    sluice_channel_config_init_size(config, sizeof(*config));
}

/**
 * Opens a channel, without its threads: lists the files, allocates memory, determines the shapes.
 * No sample is decoded yet. The environment variables SLUICE_WORKERS, SLUICE_SLOTS and
 * SLUICE_MEMORY override config, as in sluice_train().
 *
 * @param device       borrowed until close
 * @param dataset      borrowed until close; several channels may share it
 * @param config       copied
 * @param channel_out  owned by the caller: freed by sluice_channel_close()
 *
 * Returns: E_INVALID settings, a position that is not one of this dataset, no stage `batch`,
 *          columns that cannot be batched or are not as in config.inputs; the error kept from
 *          building the dataset; E_IO, E_CORRUPT of opening the source; E_NO_MEMORY;
 *          E_UNSUPPORTED the device is none that a channel serves.
 * Threads: any. Channels are independent.
 */
SLUICE_API_CHECKED sluice_status sluice_channel_open(sluice_device *device, sluice_dataset *dataset,
                                                     const sluice_channel_config *config,
                                                     sluice_channel **channel_out);

/** Batches and memory of a channel. */
typedef struct sluice_channel_info {
    size_t struct_size;     /**< bytes; set by sluice_channel_info_init() */
    uint64_t samples;       /**< in a pass, over all ranks */
    uint64_t batches;       /**< in a pass, of this rank */
    uint32_t batch_size;    /**< rows of a batch */
    uint32_t workers;       /**< threads that decode */
    uint32_t slots;         /**< batches made ahead */
    uint32_t column_count;  /**< entries of columns */
    uint64_t staging_bytes; /**< host memory of batches on their way to the device */
    uint64_t slot_bytes;    /**< device memory of batches */
    sluice_column columns[SLUICE_MAX_COLUMNS]; /**< of one sample, as get_next returns them: inputs
                                                  in this order */
} sluice_channel_info;

/** Sets every field to zero, but struct_size, in a struct of `size` bytes. Threads: any. */
SLUICE_API void sluice_channel_info_init_size(sluice_channel_info *info, size_t size);

/** sluice_channel_info_init_size() with the size of the caller's struct. Threads: any. */
static inline void sluice_channel_info_init(sluice_channel_info *info)
{
    sluice_channel_info_init_size(info, sizeof(*info));
}

/** Fills in batches and memory. Returns: E_INVALID struct_size is not set. Threads: any. */
SLUICE_API_CHECKED sluice_status sluice_channel_inspect(const sluice_channel *channel,
                                                        sluice_channel_info *info);

/**
 * Starts the workers, which fill the slots and then wait for get_next. Call it early, while the
 * model is still being set up.
 *
 * Returns: E_INVALID it has been called before, also if that call failed; E_NO_MEMORY, after which
 *          only close is allowed; CLOSED after stop.
 * Threads: any.
 */
SLUICE_API_CHECKED sluice_status sluice_channel_start(sluice_channel *channel);

/**
 * A batch, held until sluice_channel_release(), or close; where config.held is 1 until the next
 * get_next, too.
 */
typedef struct sluice_batch {
    size_t struct_size;          /**< bytes; set by the library */
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

/** Returns the input of that name, or NULL. Threads: any, while the batch is held. */
SLUICE_API const sluice_tensor *sluice_batch_input(const sluice_batch *batch, const char *name);

/**
 * Waits for the next batch and lends it. Where config.held is 1 the batch before is released first,
 * whatever the call returns; from 2 on a batch is held until sluice_channel_release().
 *
 * Batches come in order, each once; a sample is where sluice_train() with the same settings would
 * have it, bit for bit. Tensors and their bytes are good while the batch is held. On a host device
 * their addresses differ from batch to batch.
 *
 * On `cuda:N` they lie in device memory, in one of config.held sets of tensors; the addresses cycle
 * through the sets while batches are released in their order, else a batch has the set that was
 * released first. The call waits on the host until the batch has arrived on the device, enqueues in
 * the caller's stream the kernels that bring it into the tensors, and returns: what is enqueued in
 * that stream afterwards sees the batch. The kernels are ordered behind the readers of the batch
 * that had the set before:
 *
 *   - it was released by sluice_channel_release(): behind all that the stream of that call held;
 *   - it was released by this call (config.held is 1): a loop that stays in one stream waits for
 *     nothing, and a call with another stream than the one before is ordered behind all that the
 *     stream of the call before then holds. Readers in any further stream are the caller's to
 *     order, by events.
 *
 * With stream NULL the kernels go into a stream of the library's, and the call returns when they
 * are done: the tensors are ready for every stream, and whoever read a batch that this call
 * releases, in a stream that no call was given, must be done with it.
 *
 * @param stream      NULL on a host device; on `cuda:N` a cudaStream_t of that device that is not
 *                    being captured, or NULL, which is not CUDA's default stream (that one is
 *                    cudaStreamLegacy). It must not be destroyed before the next call, or close.
 *                    cudaStreamPerThread is another stream in each thread: make all calls from one
 * @param timeout_ms  milliseconds to wait for the batch to arrive; SLUICE_FOREVER: without a limit.
 *                    0 never waits for a batch, and with a stream for nothing at all: for a loop
 *                    that has other work while no batch is there
 * @param batch_out   the channel's own; set only on OK
 *
 * Returns: TIMEOUT no batch yet: nothing is lent, ask again; END_OF_PASS with config.end_of_pass,
 *          once after the last batch of each pass, then goes on with the next pass; END_OF_DATA
 *          after the last of config.batches; CLOSED after stop, also when batches were ready; the
 *          first error of the pipeline, which names the stage and the sample, once the batches
 *          before it are fetched: each of the three again from every later call. E_INVALID
 *          arguments, the stream among them, or start has not been called; config.held of 2 or
 *          more, and as many batches are held (never a wait), or one is held while
 *          config.slots - 1 others came after it: the batches held stay. E_DEVICE what CUDA says,
 *          also of work of the caller's that has broken the device.
 * Threads: one at a time, of this, sluice_channel_release() and sluice_channel_rewind(); safe
 *          beside all others but close.
 */
SLUICE_API_CHECKED sluice_status sluice_channel_get_next(sluice_channel *channel, void *stream,
                                                         int64_t timeout_ms,
                                                         const sluice_batch **batch_out);

/**
 * Releases a batch: its tensors may be written again. Batches may be released in any order; their
 * slots are freed in the order of the batches, so that a slot waits for those before it.
 *
 * @param batch   held, as get_next has set it; not to be used afterwards
 * @param stream  on `cuda:N` the next batch in this set of tensors comes behind all that this
 *                stream holds now; NULL: the batch has no readers any more. A stream as for
 *                get_next; it may be destroyed after the call. NULL on a host device
 *
 * Returns: E_INVALID the batch has been released, or is not one of this channel (a pointer is
 *          detected as stale until config.slots further batches have come); or the stream, as for
 *          get_next: the batch stays held. E_DEVICE what CUDA says.
 * Threads: as sluice_channel_get_next().
 */
SLUICE_API_CHECKED sluice_status sluice_channel_release(sluice_channel *channel,
                                                        const sluice_batch *batch, void *stream);

/**
 * Tells where the loop is: the next batch is the one that get_next has not fetched yet; batches
 * that are held count as fetched. Before the start it is where the channel begins.
 *
 * Returns: E_INVALID position is NULL or its struct_size is not set.
 * Threads: as sluice_channel_get_next().
 */
SLUICE_API_CHECKED sluice_status sluice_channel_position_get(const sluice_channel *channel,
                                                             sluice_channel_position *position);

/**
 * Begins anew: the next batch is the one that the channel was opened at, with the same samples in
 * the same order and the same bits, and config.batches are made again; with the same threads, files
 * and memory. For the next validation, say. At any point: after END_OF_DATA, after END_OF_PASS, in
 * the middle of a pass, in a channel that is paused (which stays so).
 *
 * What the workers have made ahead is passed over: they finish the rows they are at, for which this
 * waits; on `cuda:N` also for kernels that the batches fetched before need. Where a pass is all
 * that is wanted, config.batches = info.batches lets them make no more than that. A stream is read
 * from its beginning.
 *
 * Returns: E_INVALID batches are held (with config.held 1 the last one is, until a release, or a
 *          get_next that gives none), or start has not been called: nothing has changed. The error
 *          of the pipeline, met by workers ahead of get_next, too; each later call of get_next and
 *          of this answers it again. CLOSED after stop. E_UNSUPPORTED the source is read by a pipe.
 *          E_DEVICE what CUDA says.
 * Threads: as sluice_channel_get_next().
 */
SLUICE_API_CHECKED sluice_status sluice_channel_rewind(sluice_channel *channel);

/**
 * Lets the workers rest: each finishes the row it is at, then nothing is read or decoded until
 * sluice_channel_resume(). Batches that are complete can be fetched all the same; for the next one
 * get_next waits. What is made, and in what order, does not change. Does not wait for the workers.
 *
 * Returns: E_INVALID start has not been called. OK also when paused already, or at the end.
 * Threads: any.
 */
SLUICE_API_CHECKED sluice_status sluice_channel_pause(sluice_channel *channel);

/** Lets the workers go on. Returns: as sluice_channel_pause(). Threads: any. */
SLUICE_API_CHECKED sluice_status sluice_channel_resume(sluice_channel *channel);

/** Statistics of a channel so far. */
typedef struct sluice_channel_stats {
    size_t struct_size;  /**< bytes; set by sluice_channel_stats_init() */
    uint64_t batches;    /**< that get_next gave */
    uint64_t samples;    /**< valid rows of those */
    uint64_t bytes_read; /**< from files, for batches to come, too */
    uint64_t ready;      /**< batches that get_next would give at once */
    uint64_t replaced;   /**< samples that another one stood in for */
    uint64_t zeroed;     /**< rows left zero for want of a readable sample */
    double wait_seconds; /**< that get_next has waited, a call under way excluded */
} sluice_channel_stats;

/** Sets every field to zero, but struct_size, in a struct of `size` bytes. Threads: any. */
SLUICE_API void sluice_channel_stats_init_size(sluice_channel_stats *stats, size_t size);

/** sluice_channel_stats_init_size() with the size of the caller's struct. Threads: any. */
static inline void sluice_channel_stats_init(sluice_channel_stats *stats)
{
    sluice_channel_stats_init_size(stats, sizeof(*stats));
}

/** Fills in the statistics. Returns: E_INVALID struct_size is not set. Threads: any. */
SLUICE_API_CHECKED sluice_status sluice_channel_stats_get(sluice_channel *channel,
                                                          sluice_channel_stats *stats);

/**
 * Makes a report of the channel so far: the table and the verdict of sluice_train(), where a step
 * is what the loop does from one batch until the next call of sluice_channel_get_next(). Batches
 * that were fetched count as steps. Its seconds are those since sluice_channel_start(), also the
 * ones in which the channel is paused or the loop does not use it. Figures are read while the
 * workers go on.
 *
 * @param report_out  owned by the caller: freed by sluice_report_destroy(), also after close. Its
 *                    status is the error of the pipeline or the device that get_next has returned,
 *                    else CLOSED after stop, else OK
 *
 * Returns: E_INVALID an argument is NULL, or start has not been called; E_NO_MEMORY.
 * Threads: any, at any time but during close.
 */
SLUICE_API_CHECKED sluice_status sluice_channel_report(sluice_channel *channel,
                                                       sluice_report **report_out);

/**
 * Ends a channel's work for good: get_next answers CLOSED, also to a thread that waits in it, and
 * the workers end after the rows they are at, for which this does not wait. Batches that are held
 * stay until they are released, or close. NULL is fine.
 *
 * Threads: any.
 */
SLUICE_API void sluice_channel_stop(sluice_channel *channel);

/**
 * Stops the workers, wherever they are, and frees the channel with all batches, those that are held
 * among them. NULL is fine.
 * On `cuda:N` it waits for the kernels of its own that are in the caller's streams, and for what a
 * stream held when a batch was released in it; all other readers of tensors must be done.
 *
 * Threads: any, once no other call uses the channel.
 */
SLUICE_API void sluice_channel_close(sluice_channel *channel);

SLUICE_END_DECLS

#endif
