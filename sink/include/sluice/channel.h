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
#include <string.h>

#include <sluice/dataset.h>
#include <sluice/device.h>
#include <sluice/model.h>
#include <sluice/report.h>

SLUICE_BEGIN_DECLS

/** A channel: the batches of a dataset on a device. */
typedef struct sluice_channel sluice_channel;

/** Value of timeout_ms: no limit. */
#define SLUICE_FOREVER INT64_C(-1)

/** Size of the identity in a position, in bytes. */
#define SLUICE_POSITION_IDENTITY 3072

/**
 * The position of a loop in its data, to be saved as a whole, or field by field, with the state of
 * the loop. Filled in by sluice_channel_position_get(), resumed by config.position.
 */
typedef struct sluice_channel_position {
    size_t struct_size; /**< bytes; set by sluice_channel_position_init() */
    uint64_t batch;     /**< number of the next batch */
    uint64_t pass;      /**< of the dataset, from 0 */
    uint64_t samples;   /**< samples before it in its pass, on all ranks, including padding */
    uint64_t seed;      /**< config.seed */
    char identity[SLUICE_POSITION_IDENTITY]; /**< a text that identifies samples, pipeline and
                                                  device maps, with a checksum; "": unknown */
} sluice_channel_position;

/** Sets every field to zero, and struct_size. Threads: any. */
static inline void sluice_channel_position_init(sluice_channel_position *position)
{
    memset(position, 0, sizeof(*position));
    position->struct_size = sizeof(*position);
}

/**
 * Settings of a channel, initialized by sluice_channel_config_init(). Fields that have a name of
 * sluice_train_config have its meaning.
 */
typedef struct sluice_channel_config {
    size_t struct_size;       /**< bytes; set by sluice_channel_config_init() */
    uint64_t first_batch;     /**< number of the first batch, as in a resumed run; a loop that saves
                                   its position uses `position`. Passes of unknown length are read
                                   from the first one on to count them */
    uint64_t batches;         /**< number of batches, then END_OF_DATA; 0: no limit */
    uint64_t seed;            /**< of order and random transforms */
    uint32_t rank;            /**< rank of this process, if world is set */
    uint32_t world;           /**< number of processes that share each pass; 0: from the launcher */
    uint32_t workers;         /**< worker threads; 0: as many as cores and quota allow */
    uint32_t slots;           /**< batches in the queue, held ones included: held + 1 to 1024 (held
                                   + 2 to 1024 where batches are lent from their slots); 0: as
                                   sluice_train_config.slots, but enough for `held` */
    uint64_t memory_bytes;    /**< upper bound on the memory of staging, slots, outputs of device
                                   maps and samples of a stream. 0: staging and slots get at most a
                                   quarter of the memory that the process may use */
    sluice_on_error on_error; /**< fail */
    bool end_of_pass;         /**< get_next returns END_OF_PASS once after each pass */
    const sluice_column *inputs; /**< the expected columns of one sample; NULL: unchecked. Read only
                                      by sluice_channel_open() */
    uint32_t input_count;        /**< entries in inputs */
    uint32_t held; /**< batches that the loop may hold at once, 1 to 1022; 0 is 1. If 2
                        or more, each is released by sluice_channel_release(). Where
                        batches are not lent from their slots, as on `cuda:N`, there
                        are this many sets of tensors, which count in memory */
    const sluice_channel_position *position;     /**< resumes a loop at its saved position, with the
                                          same bits if seed, dataset, batch size and world are the
                                          same; first_batch must be 0. If seed, samples, pipeline or
                                          device maps differ, as far as they give other batches,
                                          E_INVALID; without an identity that is not checked, with a
                                          warning. NULL: begins at first_batch. Read only by
                                          sluice_channel_open() */
    const sluice_device_map *const *device_maps; /**< (device_map_count) pointers: functions that
                                      sluice_channel_get_next() calls for each batch, in this order;
                                      their outputs, a set for each held batch, count in memory.
                                      Copied by sluice_channel_open() */
    uint64_t device_map_count;                   /**< entries of device_maps, at most 16 */
    int64_t stall_warning_ms; /**< if a call waits for a batch for this time, a warning that names
                                   the stages and functions that run is logged. 0 is 30 000 */
    const char *allow; /**< arguments that may differ from those of the loop that saved `position`,
                            STAGE.ARGUMENT separated by commas, such as "letterbox.size"; NULL:
                            none. E_INVALID: the pipeline has no such argument, it decides which
                            samples a pass has, or its value is never compared. Read only by
                            sluice_channel_open() */
} sluice_channel_config;

/** Sets every field to its default, zero, and struct_size. Threads: any. */
static inline void sluice_channel_config_init(sluice_channel_config *config)
{
    memset(config, 0, sizeof(*config));
    config->struct_size = sizeof(*config);
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
 * Returns: E_INVALID settings, a position that is not one of this dataset, whose text names the
 *          differences, no stage `batch`, columns that cannot be batched or differ from
 *          config.inputs; the first error of building the dataset; E_IO, E_CORRUPT opening the
 *          source; E_CORRUPT a corrupt identity of config.position; E_NO_MEMORY; E_UNSUPPORTED no
 *          channel on this kind of device.
 * Threads: any. Channels are independent.
 */
SLUICE_API_CHECKED sluice_status sluice_channel_open(sluice_device *device, sluice_dataset *dataset,
                                                     const sluice_channel_config *config,
                                                     sluice_channel **channel_out);

/** Batches and memory of a channel. */
typedef struct sluice_channel_info {
    size_t struct_size;                        /**< bytes; set by sluice_channel_info_init() */
    uint64_t samples;                          /**< in a pass, over all ranks */
    uint64_t batches;                          /**< in a pass, of this rank */
    uint32_t batch_size;                       /**< rows of a batch */
    uint32_t workers;                          /**< worker threads */
    uint32_t slots;                            /**< batches in the queue, held ones included */
    uint32_t column_count;                     /**< entries of columns */
    uint64_t staging_bytes;                    /**< host memory that batches are copied from */
    uint64_t slot_bytes;                       /**< device memory of all slots */
    sluice_column columns[SLUICE_MAX_COLUMNS]; /**< of one sample, in the order of a batch's
                                                  inputs */
    uint64_t device_map_bytes;                 /**< device memory of the outputs of device maps */
} sluice_channel_info;

/** Sets every field to zero, and struct_size. Threads: any. */
static inline void sluice_channel_info_init(sluice_channel_info *info)
{
    memset(info, 0, sizeof(*info));
    info->struct_size = sizeof(*info);
}

/** Fills in batches and memory. Returns: E_INVALID struct_size is not set. Threads: any. */
SLUICE_API_CHECKED sluice_status sluice_channel_inspect(const sluice_channel *channel,
                                                        sluice_channel_info *info);

/**
 * Starts the workers, which fill the slots ahead of get_next. Call it early, before the set-up of
 * the model, so that the first batches are ready.
 *
 * Returns: E_INVALID it has been called before, also if that call failed; E_NO_MEMORY, after which
 *          only close is allowed; CLOSED after stop.
 * Threads: any.
 */
SLUICE_API_CHECKED sluice_status sluice_channel_start(sluice_channel *channel);

/**
 * A batch, held until sluice_channel_release() or close; if config.held is 1, at most until the
 * next get_next.
 */
typedef struct sluice_batch {
    size_t struct_size;          /**< bytes; set by the library */
    uint64_t number;             /**< of the whole training, from 0 */
    uint64_t pass;               /**< of the dataset, from 0 */
    const sluice_tensor *inputs; /**< in the dataset's column order, new columns of device maps
                                      after them, in memory of the device; see
                                      sluice_batch_input() */
    uint32_t input_count;        /**< columns of the dataset, and those of device maps */
    uint32_t rows;               /**< of each input: the batch size */
    uint32_t valid_rows;         /**< rows [0, valid_rows) hold samples, the rest is zero: it pads
                                      the last batch of a pass */
    const uint64_t *samples;     /**< (rows) indices in the source, in host memory; UINT64_MAX for
                                      rows without a sample */
} sluice_batch;

/** Returns the input of that name, or NULL. Threads: any, while the batch is held. */
SLUICE_API const sluice_tensor *sluice_batch_input(const sluice_batch *batch, const char *name);

/**
 * Waits for the next batch and lends it. If config.held is 1, the previous batch is released first,
 * whatever the call returns; otherwise a batch is held until sluice_channel_release().
 *
 * Batches come in order, each once, with the same samples and bits as in sluice_train() with the
 * same settings. Tensors and their bytes are valid while the batch is held. On a host device their
 * addresses differ from batch to batch.
 *
 * On `cuda:N` the tensors are in device memory, in one of config.held sets of tensors; the
 * addresses cycle through the sets if batches are released in order, otherwise a batch gets the set
 * that was released first. The call waits on the host until the batch has arrived on the device,
 * enqueues the kernels that write the tensors in the caller's stream, and returns: work enqueued in
 * that stream afterwards sees the batch. The kernels are ordered after the readers of the previous
 * batch in the same set:
 *
 *   - released by sluice_channel_release(): after all work that was in the stream of that call;
 *   - released by this call (config.held is 1): by the stream itself, if it is that of the previous
 *     call, otherwise after all work that is in the previous call's stream now. The caller orders
 *     readers in other streams, by events.
 *
 * With stream NULL the kernels go into a stream of the library, and the call returns when they are
 * done: the tensors are ready for every stream. Readers of a batch that this call releases, in
 * streams that no call was given, must have finished.
 *
 * config.device_maps are called after GetNext, on the calling thread and, on `cuda:N`, with the
 * device's context current; they enqueue in the stream of the kernels. In their sluice_step, step
 * is the batch's number, epoch its pass, micro 0 of 1 and learning_rate 0; random_key is that of
 * sluice_train() for a step of this number. The outputs of a map are at the addresses of the
 * batch's set. An error of a map is returned, and again by each later call.
 *
 * @param stream      NULL on a host device; on `cuda:N` a cudaStream_t of that device that is not
 *                    being captured, or NULL, which does not mean CUDA's default stream (pass
 *                    cudaStreamLegacy for that). The stream must exist until the next call or
 *                    sluice_channel_close().
 *                    cudaStreamPerThread is a different stream in each thread: make all calls from
 *                    one thread, or release each batch before another thread fetches one.
 *                    E_UNSUPPORTED: a stream of a green context
 * @param timeout_ms  milliseconds to wait for the batch; SLUICE_FOREVER: no limit. 0 never waits
 * for a batch, and with a stream never blocks: for a loop that has other work if no batch is ready
 * @param batch_out   the channel's own; set only on OK
 *
 * Returns: TIMEOUT no batch yet, nothing is lent: call again; if timeout_ms is positive,
 *          sluice_last_error() names the stages and functions that run; END_OF_PASS with
 * config.end_of_pass, once after the last batch of each pass, then continues with the next pass;
 * END_OF_DATA after the last of config.batches; CLOSED after stop, even if batches were ready; the
 *          first error of the pipeline, which names the stage and the sample, after the batches
 *          before it. Later calls return each of the last three again. E_INVALID an argument, such
 *          as the stream, or start has not been called; with config.held of 2 or more: that many
 *          batches are held already (the call does not wait), or a batch is still held although
 *          config.slots - 1 later ones were fetched; held batches stay held. E_DEVICE the error of
 *          CUDA, also if work of the caller caused it.
 * Threads: one at a time, of this, sluice_channel_release() and sluice_channel_rewind(); safe
 *          at the same time as all others except close.
 */
SLUICE_API_CHECKED sluice_status sluice_channel_get_next(sluice_channel *channel, void *stream,
                                                         int64_t timeout_ms,
                                                         const sluice_batch **batch_out);

/**
 * Releases a batch: its tensors may be overwritten. Batches may be released in any order; their
 * slots are freed in the order of the batches, so a slot waits for the earlier ones.
 *
 * @param batch   held, from get_next; invalid after the call
 * @param stream  on `cuda:N` the next batch in this set of tensors is ordered after all work that
 * is in this stream now; NULL: all readers of the batch have finished. A stream as for get_next; it
 * may be destroyed after the call. NULL on a host device
 *
 * Returns: E_INVALID the batch is released already, or not of this channel (a stale pointer is
 *          detected until config.slots further batches were fetched), or the stream is invalid: the
 *          batch stays held. E_DEVICE the error of CUDA.
 * Threads: as sluice_channel_get_next().
 */
SLUICE_API_CHECKED sluice_status sluice_channel_release(sluice_channel *channel,
                                                        const sluice_batch *batch, void *stream);

/**
 * Gets the loop's position in the data: the position of the next batch that get_next will return.
 * Held batches count as fetched. Before the first batch it is where the channel begins. If
 * the channel began at config.first_batch and the length of a pass is unknown, pass and samples are
 * 0 then; a channel that resumes there counts the batches again, as config.first_batch does.
 *
 * Returns: E_INVALID position is NULL or its struct_size is not set.
 * Threads: as sluice_channel_get_next().
 */
SLUICE_API_CHECKED sluice_status sluice_channel_position_get(const sluice_channel *channel,
                                                             sluice_channel_position *position);

/**
 * Restarts the channel, for example for the next validation: the next batch is the first one again,
 * with the same samples in the same order and the same bits, followed by config.batches in all.
 * Threads, files and memory are kept. Allowed at any point: after END_OF_DATA, after END_OF_PASS,
 * in the middle of a pass, and while the channel is paused (it stays paused).
 *
 * Prefetched batches are discarded. The call waits until each worker has finished its current row;
 * on `cuda:N` also for the kernels of the batches fetched before. If only one pass is needed, set
 * config.batches to info.batches, so that workers prefetch no more. A stream is read from its
 * beginning.
 *
 * Returns: E_INVALID batches are held (with config.held 1 the last one is, until it is released or
 *          get_next returns none), or start has not been called: nothing has changed. The first
 *          error of the pipeline, also of batches that were not fetched; later calls of get_next
 *          and rewind return it again. CLOSED after stop. E_UNSUPPORTED the source is a pipe.
 *          E_DEVICE the error of CUDA.
 * Threads: as sluice_channel_get_next().
 */
SLUICE_API_CHECKED sluice_status sluice_channel_rewind(sluice_channel *channel);

/**
 * Pauses the workers: each finishes its current row, then nothing is read or decoded until
 * sluice_channel_resume(). Complete batches can still be fetched; for later ones get_next waits.
 * Samples and their order do not change. Does not wait for the workers.
 *
 * Returns: E_INVALID start has not been called. OK also if paused already, or at the end.
 * Threads: any.
 */
SLUICE_API_CHECKED sluice_status sluice_channel_pause(sluice_channel *channel);

/** Resumes the workers. Returns: as sluice_channel_pause(). Threads: any. */
SLUICE_API_CHECKED sluice_status sluice_channel_resume(sluice_channel *channel);

/** Statistics of a channel so far. */
typedef struct sluice_channel_stats {
    size_t struct_size;  /**< bytes; set by sluice_channel_stats_init() */
    uint64_t batches;    /**< batches that get_next returned */
    uint64_t samples;    /**< valid rows of these batches */
    uint64_t bytes_read; /**< from files, including prefetched batches */
    uint64_t ready;      /**< batches that get_next would return without a wait */
    uint64_t replaced;   /**< bad samples that were replaced by another one */
    uint64_t zeroed;     /**< rows of zeros in place of bad samples */
    double wait_seconds; /**< time that get_next has waited for data, of a call in progress at most
                              0.1 s less, without the replay of passes of unknown length */
} sluice_channel_stats;

/** Sets every field to zero, and struct_size. Threads: any. */
static inline void sluice_channel_stats_init(sluice_channel_stats *stats)
{
    memset(stats, 0, sizeof(*stats));
    stats->struct_size = sizeof(*stats);
}

/** Fills in the statistics. Returns: E_INVALID struct_size is not set. Threads: any. */
SLUICE_API_CHECKED sluice_status sluice_channel_stats_get(sluice_channel *channel,
                                                          sluice_channel_stats *stats);

/**
 * Publishes the time of one step of the loop for the reports of the channel: their row `step`, and
 * the steps' share of the time by which the bottleneck is decided. For loops whose steps are not
 * the time between two calls of sluice_channel_get_next(): they run on a GPU or in another thread.
 * Call it once for each step, when its time is known. Without a call the time between two calls of
 * sluice_channel_get_next() is a step; from the first call on, only published times count.
 *
 * @param seconds  of one step, without its wait for a batch. Steps run one after the other: their
 *                 sum is at most the time since sluice_channel_start()
 *
 * Returns: E_INVALID channel is NULL, seconds is not from 0 to 1e9, or start has not been called:
 *          nothing is counted.
 * Threads: any, at any time but during close.
 */
SLUICE_API_CHECKED sluice_status sluice_channel_step_time(sluice_channel *channel, double seconds);

/**
 * Creates a report of the channel so far, with the table, the bottleneck and the advice of a report
 * of sluice_train(). Each fetched batch counts as a step, whose time lasts from the return of
 * sluice_channel_get_next() to its next call, or is published by sluice_channel_step_time(). The
 * seconds are wall time since sluice_channel_start(), pauses included. Workers keep running during
 * the call.
 *
 * @param report_out  owned by the caller: freed by sluice_report_destroy(), also after close. Its
 *                    status is the error of the pipeline or the device that get_next returned,
 *                    otherwise CLOSED after stop, otherwise OK
 *
 * Returns: E_INVALID an argument is NULL, or start has not been called; E_NO_MEMORY.
 * Threads: any, at any time but during close.
 */
SLUICE_API_CHECKED sluice_status sluice_channel_report(sluice_channel *channel,
                                                       sluice_report **report_out);

/**
 * Stops the channel permanently: get_next returns CLOSED, also in a thread that waits in it, and
 * each worker ends after its current row, for which the call does not wait. Held batches stay valid
 * until they are released, or close. NULL is allowed.
 *
 * Threads: any.
 */
SLUICE_API void sluice_channel_stop(sluice_channel *channel);

/**
 * Stops the workers and frees the channel with all batches, held ones included. NULL is allowed.
 * On `cuda:N` it waits for its own kernels in the caller's streams, and for the work that was in a
 * stream when a batch was released in it; all other readers of tensors must have finished.
 *
 * Threads: any, once no other call uses the channel.
 */
SLUICE_API void sluice_channel_close(sluice_channel *channel);

SLUICE_END_DECLS

#endif
