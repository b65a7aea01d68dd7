/* SPDX-License-Identifier: Apache-2.0 */
/** @file
 * User code in a pipeline: callbacks that workers call, and the sample that is passed to them.
 *
 * A user-defined source declares its columns and reads any sample by its number:
 *
 *     static sluice_status read_sample(sluice_sample *sample, uint64_t index, void *user)
 *     {
 *         void *room;
 *         sluice_status st = sluice_sample_room(sample, "label", NULL, &room);
 *
 *         if (st == SLUICE_OK) {
 *             *(int32_t *)room = label_of(user, index);
 *         }
 *         return st;
 *     }
 *
 * Order, batches, resume, decoding, geometry, the error policy and the report work as for any other
 * source. A source whose samples cannot be read by their numbers, such as a generator, a socket or
 * a log, is a stream: it sets next() in place of read().
 */
#ifndef SLUICE_CUSTOM_H
#define SLUICE_CUSTOM_H

#include <string.h>

#include <sluice/column_spec.h>
#include <sluice/dataset.h>

SLUICE_BEGIN_DECLS

/* ---- samples --------------------------------------------------------------------------------- */

/** One sample while it is processed. A callback may use it until it returns. */
typedef struct sluice_sample sluice_sample;

/** A column of a sample, row-major in host memory. This struct never grows. */
typedef struct sluice_sample_view {
    const void *data;                /**< the first element; valid until the callback returns */
    sluice_dtype dtype;              /**< type of its elements */
    uint32_t rank;                   /**< number of dimensions used in shape */
    uint64_t shape[SLUICE_MAX_RANK]; /**< shape of this sample, with the actual length if ragged */
    size_t bytes;                    /**< bytes of the whole array */
} sluice_sample_view;

/** Returns the sample's number in the source. Threads: the one that runs the callback. */
SLUICE_API uint64_t sluice_sample_number(const sluice_sample *sample);

/**
 * Returns the state that begin() has made for this worker, or NULL. In next(): the state that
 * open_pass() has made for this pass, or NULL.
 *
 * Threads: the one that runs the callback.
 */
SLUICE_API void *sluice_sample_worker(const sluice_sample *sample);

/**
 * Returns a file descriptor that becomes readable when the run ends. A next() that blocks polls it
 * together with its own descriptor, and returns SLUICE_CLOSED once it is readable. In other
 * callbacks the result is -1. The run owns the descriptor: do not read or close it.
 *
 * Threads: the one that runs the callback.
 */
SLUICE_API int sluice_sample_stop_fd(const sluice_sample *sample);

/**
 * Returns 64 random bits: the n-th ones of this sample, n below 2^25. They are a function of the
 * run's seed, the pass, the sample, the stage and n. So they do not depend on the number of
 * workers, nor on whether a run was resumed.
 *
 * Threads: the one that runs the callback.
 */
SLUICE_API uint64_t sluice_sample_random(const sluice_sample *sample, uint32_t n);

/**
 * Returns an input of the callback. A source has no inputs.
 *
 * Returns: E_INVALID a NULL, or a column that is not an input; the message lists the inputs.
 *
 * Threads: the one that runs the callback.
 */
SLUICE_API_CHECKED sluice_status sluice_sample_get(const sluice_sample *sample, const char *column,
                                                   sluice_sample_view *view_out);

/**
 * Returns the memory into which the callback writes a column. In every call a callback must provide
 * every declared column, by sluice_sample_room() or sluice_sample_lend(). If it provides a column
 * several times, the last one counts.
 *
 * @param shape     shape of this sample, with the declared number of dimensions; NULL: the declared
 *                  shape. It may differ from the declared shape in the first dimension of a ragged
 *                  column, which may be smaller, and in height and width if those vary. For
 *                  SLUICE_ENCODED: {bytes}
 * @param room_out  aligned for the type of the column, and valid until the callback returns. Its
 *                  contents are undefined, so write all bytes; rows after a ragged length are
 *                  zeroed by the library. Builds with assertions, and SLUICE_GUARDS=on in the
 *                  environment, detect writes outside it, which end the run
 *
 * Returns: E_INVALID a NULL, an unknown column, a shape that does not match the declared one;
 *          E_CORRUPT a ragged length above the declared maximum; E_NO_MEMORY. The message has the
 *          source or stage, and the column.
 *
 * Threads: the one that runs the callback.
 */
SLUICE_API_CHECKED sluice_status sluice_sample_room(sluice_sample *sample, const char *column,
                                                    const uint64_t *shape, void **room_out);

/**
 * Provides a column in memory of the caller. The bytes are copied after the callback has returned,
 * or decoded in place.
 *
 * @param shape  as in sluice_sample_room(); for SLUICE_ENCODED NULL, or {size}
 * @param bytes  row-major; they must neither change nor be freed before the next call of the
 *               callback on this worker, or end()
 * @param size   bytes of that shape; checked
 *
 * Returns: as sluice_sample_room(); E_INVALID also if size is not the number of bytes of that
 *          shape.
 *
 * Threads: the one that runs the callback.
 */
SLUICE_API_CHECKED sluice_status sluice_sample_lend(sluice_sample *sample, const char *column,
                                                    const uint64_t *shape, const void *bytes,
                                                    size_t size);

/**
 * Tells how a map has moved the image, so that boxes, masks, points and the stage geometry follow.
 * Call it in a map that writes the image before geometry (sluice_dataset_map()); the last call
 * counts. Without it the image counts as not moved, and another size is an error if something
 * follows it.
 *
 * @param matrix  (2, 3), row-major: the point (x, y) of the image that the map reads is at
 *                (m[0] x + m[1] y + m[2], m[3] x + m[4] y + m[5]) in the image that it writes.
 *                Pixel i of a line covers [i, i + 1), as for boxes. A matrix M for pixel indices,
 *                whose centres are integers, as cv::warpAffine() takes it, becomes this one by
 *                m[2] = M[2] + (1 - M[0] - M[1]) / 2, m[5] = M[5] + (1 - M[3] - M[4]) / 2. Parts of
 *                a mask that come from outside of the image become 0
 *
 * Returns: E_INVALID a NULL, a number that is not finite, a matrix without an inverse, or another
 *          callback than such a map. The message has the name of the map.
 *
 * Threads: the one that runs the callback.
 */
SLUICE_API_CHECKED sluice_status sluice_sample_warped(sluice_sample *sample,
                                                      const double matrix[6]);

/* ---- sources --------------------------------------------------------------------------------- */

/**
 * A user-defined source, initialized by sluice_source_init(). Its samples are read by their numbers
 * (count and read), or it is a stream (next).
 */
typedef struct sluice_source {
    size_t struct_size;                /**< bytes; set by sluice_source_init() */
    const char *name;                  /**< name in messages and reports: 1 to 63 bytes; copied */
    uint32_t version;                  /**< version of the samples that read() makes: increase it
                                            when they change, so that a resumed run detects the
                                            change */
    uint32_t column_count;             /**< number of entries in columns, at least 1 */
    size_t column_size;                /**< bytes of an entry; set by sluice_source_init(); 0: the
                                            size in the first version of the struct */
    const sluice_column_spec *columns; /**< copied; at most SLUICE_MAX_COLUMNS, including
                                            NAME_length of ragged columns */
    uint64_t count;                    /**< number of samples, at least 1; a stream: 0 */

    /**
     * Reads a sample: provides every column by sluice_sample_room() or sluice_sample_lend(). For
     * the same index and the same random bits (sluice_sample_random()) the result must be the same.
     * Several workers may call it at once.
     *
     * Returns: OK or a positive status: success. A negative status is a bad sample, with the text
     *          of sluice_fail(): the error policy applies. E_NO_MEMORY ends the run.
     */
    sluice_status (*read)(sluice_sample *sample, uint64_t index, void *user);

    /**
     * Optional: writes the sample's name, zero-terminated, of at most size - 1 bytes. It is used in
     * messages, for `split`, and to detect other data at a resume. Any thread, several at once.
     * Without this callback, or if it fails, the name is NAME/INDEX.
     */
    sluice_status (*name_of)(uint64_t index, char *text, size_t size, void *user);

    /**
     * Optional: makes the state of a worker, for sluice_sample_worker(). Called on the worker's
     * thread before its first sample. Also called for samples that are read outside of a run: by
     * sluice_dataset_get(), and to find the size of images. A negative status ends the run.
     */
    sluice_status (*begin)(void *user, void **worker_out);

    /** Optional: frees a worker's state, on its thread. Called after each successful begin(). */
    void (*end)(void *worker, void *user);

    /** Optional: called when the dataset is destroyed; not if sluice_dataset_source() failed. */
    void (*close)(void *user);

    void *user; /**< passed to all callbacks; borrowed until close() */

    /**
     * Makes the source a stream, without count and read(). Each call makes the next sample, and
     * provides every column by sluice_sample_room() or sluice_sample_lend(). Lent bytes are copied
     * before the next call. Any worker calls it, one thread at a time for each pass, in the order
     * of the samples, from sample 0 of the pass on; sluice_sample_number() counts them. Two passes
     * with the same number and the same random bits (sluice_sample_random()) must have the same
     * samples: each rank calls next() for all samples, and a resumed run calls it again for those
     * of the pass that were done. Workers wait for it, so it should be short: it provides a name,
     * an offset or compressed bytes, and a map computes the sample from them on several workers.
     *
     * Returns: END_OF_DATA the pass has no more samples; CLOSED sluice_sample_stop_fd() is
     *          readable; E_NO_MEMORY ends the run; another negative status is a bad sample, with
     *          the text of sluice_fail(): the error policy applies, and next() is called again.
     *          After 1000 errors in sequence the run ends. Any other status is success.
     */
    sluice_status (*next)(sluice_sample *sample, void *pass, void *user);

    /**
     * Optional, for a stream: begins a pass at its first sample. Several passes may be open at the
     * same time, since each run on the dataset has its own. `pass` is the number of the pass in the
     * run; *pass_out is the state of the pass, for next() and close_pass(). Without open_pass there
     * is only one pass, so the dataset can be used by one run, without config.check. A negative
     * status ends the run.
     */
    sluice_status (*open_pass)(uint64_t pass, void *user, void **pass_out);

    /** Optional, for a stream: ends a pass. Called after each successful open_pass(), once. */
    void (*close_pass)(void *pass, void *user);

    uint64_t max_sample; /**< for a stream: most bytes of the images of a sample that are
                              SLUICE_ENCODED or vary in size, together; 0: 64 MiB. It bounds memory;
                              a larger sample is a bad one */
} sluice_source;

/** Sets every field to zero, and struct_size and column_size. Threads: any. */
static inline void sluice_source_init(sluice_source *source)
{
    memset(source, 0, sizeof(*source));
    source->struct_size = sizeof(*source);
    source->column_size = sizeof(sluice_column_spec);
}

/**
 * Makes a dataset from a user-defined source.
 *
 * A stream has no known number of samples; it may be endless. A run then has a number of steps. An
 * epoch of a run may be a pass of the stream, which ends it. Of the stages of order, shuffle has a
 * buffer; shard, repeat, subset, weights and balance are refused, and so are functions that take
 * samples by their numbers. Error policy replace takes another sample of the same batch. A resumed
 * run calls next() for the samples of the pass that were done, and logs at level info how long that
 * took.
 *
 * @param source       copied
 * @param dataset_out  owned by the caller: freed by sluice_dataset_destroy()
 *
 * Returns: E_INVALID a NULL, no name, no samples, callbacks of both kinds of sources, or
 *          incompatible columns, which the message names;
 *          E_UNSUPPORTED an image that is not u8, or encoded after one that is not; E_NO_MEMORY.
 *
 * sluice_dataset_describe() writes it as `source`, with name and version, which
 * sluice_dataset_parse() refuses.
 *
 * Threads: any. Workers call the callbacks while a run uses the dataset; so do threads that read
 *          samples or names by other functions.
 */
SLUICE_API_CHECKED sluice_status sluice_dataset_source(const sluice_source *source,
                                                       sluice_dataset **dataset_out);

/* ---- maps ------------------------------------------------------------------------------------ */

/** A user function between the stages of a dataset, initialized by sluice_map_init(). */
typedef struct sluice_map {
    size_t struct_size; /**< bytes; set by sluice_map_init() */
    const char *name;   /**< name in messages and reports: 1 to 63 bytes; copied */
    uint32_t version;   /**< version of the results of map(): increase it when they change, so that
                             a resumed run detects the change */
    uint32_t serial;    /**< not 0: calls are serialized, in no fixed order, on any worker */
    uint32_t input_count;      /**< number of entries in inputs */
    uint32_t output_count;     /**< number of entries in outputs, at least 1 */
    const char *const *inputs; /**< names of the columns that it reads; copied */
    size_t column_size;        /**< bytes of an entry of outputs; set by sluice_map_init(); 0: the
                                    size in the first version of the struct */
    /**
     * The columns that it writes; copied. An output with the name of an existing column replaces
     * it; the others are appended. An output with the role image is the image of later stages: u8
     * (height, width, channels). Height and width 0 mean the size of the image before the map;
     * before geometry, any size that sluice_sample_room() or sluice_sample_lend() is given.
     */
    const sluice_column_spec *outputs;

    /**
     * Reads inputs by sluice_sample_get(), and provides every output by sluice_sample_room() or
     * sluice_sample_lend(). For the same sample, inputs and random bits the result must be the
     * same. Several workers may call it at once, unless `serial` is set.
     *
     * Returns: OK or a positive status: success. A negative status is a bad sample, with the text
     *          of sluice_fail(): the error policy applies. E_NO_MEMORY ends the run.
     */
    sluice_status (*map)(sluice_sample *sample, void *user);

    /**
     * Optional: makes the state of a worker, for sluice_sample_worker(). Called on the worker's
     * thread before its first sample, and by sluice_dataset_get(). A negative status ends the run.
     */
    sluice_status (*begin)(void *user, void **worker_out);

    /** Optional: frees a worker's state, on its thread. Called after each successful begin(). */
    void (*end)(void *worker, void *user);

    /** Optional: called when the dataset is destroyed; not if sluice_dataset_map() failed. */
    void (*close)(void *user);

    void *user; /**< passed to all callbacks; borrowed until close() */
} sluice_map;

/** Sets every field to zero, and struct_size and column_size. Threads: any. */
static inline void sluice_map_init(sluice_map *map)
{
    memset(map, 0, sizeof(*map));
    map->struct_size = sizeof(*map);
    map->column_size = sizeof(sluice_column_spec);
}

/**
 * Adds a map. It works on the image before geometry if a crop, resize, padding, colour stage or
 * warp comes after it, or if images have no common size there: it reads each image in the size that
 * it has, and writes one of the declared size, of a size of its own, or none. There it reads the
 * first image, plain columns of the source, and what such maps before it have written; it writes
 * the first image, by its name, and plain columns. Masks, boxes and points follow if it calls
 * sluice_sample_warped(). If the image has been converted, or the map reads or writes others of
 * these columns, it must come after geometry.
 *
 * After geometry a map may read and write all columns, images by their names. Conversions (flip,
 * normalize, to_dtype, to_chw) before a map that reads or writes the image run on the workers;
 * those after it may run on the device. An image that a map writes is u8 (height, width, channels),
 * so normalize, to_dtype and to_chw come after such a map; a flip may come before or after. The
 * report has a row with the map's name and the time spent in it.
 *
 * @param map  copied
 *
 * Returns: E_INVALID a NULL, no name, an input that is not a column, incompatible columns, more
 *          than 8 maps; E_UNSUPPORTED an encoded output; the sticky error of
 *          building; E_NO_MEMORY. The message has the name of the map.
 *
 * sluice_dataset_describe() writes it as `map`, with name and version, which sluice_dataset_parse()
 * refuses.
 *
 * Threads: the one that builds the dataset. Workers call the callbacks while a run uses the
 *          dataset; so does the caller of sluice_dataset_get().
 */
SLUICE_API_CHECKED sluice_status sluice_dataset_map(sluice_dataset *dataset, const sluice_map *map);

/* ---- filters --------------------------------------------------------------------------------- */

/** A user function that keeps or drops samples, initialized by sluice_filter_init(). */
typedef struct sluice_filter {
    size_t struct_size;        /**< bytes; set by sluice_filter_init() */
    const char *name;          /**< name in messages and reports: 1 to 63 bytes; copied */
    uint32_t version;          /**< version of the choices of filter(): increase it when they
                                    change, so that a resumed run detects the change */
    uint32_t serial;           /**< not 0: calls are serialized, in no fixed order, on any worker */
    uint32_t input_count;      /**< number of entries in inputs */
    const char *const *inputs; /**< names of the columns that it reads; copied */

    /**
     * Reads inputs by sluice_sample_get() and sets *keep_out: 0 drops the sample, any other number
     * keeps it. For the same sample, inputs and random bits the choice must be the same, since a
     * resumed run and each rank repeat the calls. Several workers may call it at once, unless
     * `serial` is set.
     *
     * Returns: OK or a positive status: success. A negative status is a bad sample, with the text
     *          of sluice_fail(): it counts as kept, and the error policy applies. E_NO_MEMORY ends
     *          the run.
     */
    sluice_status (*filter)(sluice_sample *sample, uint32_t *keep_out, void *user);

    /**
     * Optional: makes the state of a worker, for sluice_sample_worker(). Called on the worker's
     * thread before its first sample. A negative status ends the run.
     */
    sluice_status (*begin)(void *user, void **worker_out);

    /** Optional: frees a worker's state, on its thread. Called after each successful begin(). */
    void (*end)(void *worker, void *user);

    /** Optional: called when the dataset is destroyed; not if sluice_dataset_filter() failed. */
    void (*close)(void *user);

    void *user; /**< passed to all callbacks; borrowed until close() */
} sluice_filter;

/** Sets every field to its default, zero, and struct_size. Threads: any. */
static inline void sluice_filter_init(sluice_filter *filter)
{
    memset(filter, 0, sizeof(*filter));
    filter->struct_size = sizeof(*filter);
}

/**
 * Adds a filter: batches hold the samples that it keeps, in the order of the stages before it.
 * Their number is not known beforehand: an epoch that is a pass ends when the pass does. Each rank
 * calls the filter for all samples, and takes every world-th kept sample. A resumed run repeats the
 * calls for the samples of the pass that were already done, and logs their duration at level info.
 * Error policy replace takes the next kept sample; if the source is a stream, the next good sample
 * of the batch, cyclically.
 *
 * A filter that reads only plain columns of the source may come before decode; it is called before
 * the image is decoded, wherever it is in the pipeline. Others are called like maps
 * (sluice_dataset_map()): one that reads the image before geometry gets it in its own size. Stages
 * that choose or order samples (shuffle, take, ...) must come before
 * all filters.
 *
 * @param filter  copied
 *
 * Returns: E_INVALID a NULL, no name, an input that is not a column, a source with an order of its
 *          own, more than 8 maps and filters; the sticky error of building; E_NO_MEMORY. The
 *          message has the name of the filter. A run fails with E_UNSUPPORTED with several ranks
 *          after a stage `shard`.
 *
 * sluice_dataset_describe() writes it as `filter`, with name and version, which
 * sluice_dataset_parse() refuses.
 *
 * Threads: the one that builds the dataset. Workers call the callbacks while a run uses the
 *          dataset.
 */
SLUICE_API_CHECKED sluice_status sluice_dataset_filter(sluice_dataset *dataset,
                                                       const sluice_filter *filter);

/* ---- maps of whole batches ------------------------------------------------------------------- */

/** A batch in host memory, complete and not published yet. A callback may use it until it returns.
 */
typedef struct sluice_host_batch sluice_host_batch;

/** A column of a batch: (rows, ...), row-major. This struct never grows. */
typedef struct sluice_host_column {
    void *data;                      /**< the first row; valid until the callback returns. Only
                                          columns in changes and outputs may be written */
    sluice_dtype dtype;              /**< type of its elements */
    uint32_t rank;                   /**< number of dimensions used in shape */
    uint64_t shape[SLUICE_MAX_RANK]; /**< shape of one row */
    size_t row_bytes;                /**< bytes of one row; rows follow each other without gaps */
} sluice_host_column;

/** Returns the number of rows, with padding. Threads: the one that runs the callback. */
SLUICE_API uint32_t sluice_host_batch_rows(const sluice_host_batch *batch);

/**
 * Returns the number of rows before the padding at the end of a pass.
 *
 * Threads: the one that runs the callback.
 */
SLUICE_API uint32_t sluice_host_batch_valid_rows(const sluice_host_batch *batch);

/**
 * Returns (rows) the number of each row's sample in the source; UINT64_MAX: the row has no sample,
 * since it is padding, or a bad sample under policy zero. Such rows are zero, with pack they are
 * padding: tokens have the value `pad`, and `document` is -1. After the callback the library writes
 * this padding again into the columns in changes, and zeros into those in outputs.
 *
 * Threads: the one that runs the callback.
 */
SLUICE_API const uint64_t *sluice_host_batch_samples(const sluice_host_batch *batch);

/**
 * Returns the state that begin() has made for this worker, or NULL.
 *
 * Threads: the one that runs the callback.
 */
SLUICE_API void *sluice_host_batch_worker(const sluice_host_batch *batch);

/**
 * Returns 64 random bits: the n-th ones of this batch, n below 2^25. They are a function of the
 * run's seed, the pass, the batch's position in it, the rank, the stage and n.
 *
 * Threads: the one that runs the callback.
 */
SLUICE_API uint64_t sluice_host_batch_random(const sluice_host_batch *batch, uint32_t n);

/**
 * Returns a column of the map's inputs, changes or outputs.
 *
 * Returns: E_INVALID a NULL, or another column; the message lists the columns of the map.
 *
 * Threads: the one that runs the callback.
 */
SLUICE_API_CHECKED sluice_status sluice_host_batch_column(const sluice_host_batch *batch,
                                                          const char *name,
                                                          sluice_host_column *column_out);

/** A user function on whole batches, initialized by sluice_map_batch_init(). */
typedef struct sluice_map_batch {
    size_t struct_size; /**< bytes; set by sluice_map_batch_init() */
    const char *name;   /**< name in messages and reports: 1 to 63 bytes; copied */
    uint32_t version;   /**< version of the results of map(): increase it when they change, so that
                             a resumed run detects the change */
    uint32_t serial;    /**< not 0: calls are serialized, in no fixed order, on any worker */
    uint32_t input_count;              /**< number of entries in inputs */
    uint32_t change_count;             /**< number of entries in changes */
    uint32_t output_count;             /**< number of entries in outputs */
    const char *const *inputs;         /**< names of the columns that it only reads; copied */
    const char *const *changes;        /**< names of the columns that it writes in place; copied */
    size_t column_size;                /**< bytes of an entry of outputs; set by
                                            sluice_map_batch_init(); 0: the size in the first
                                            version of the struct */
    const sluice_column_spec *outputs; /**< new columns: plain, not ragged, shape of one row; zero
                                            before the call; copied */

    /**
     * Changes a batch: finds its columns by sluice_host_batch_column(). For the same rows, samples
     * and random bits the result must be the same. Several workers may call it at once, for
     * different batches, unless `serial` is set.
     *
     * Returns: OK or a positive status: success. A negative status, with the text of sluice_fail(),
     *          ends the run under every error policy, since no sample can be replaced or zeroed.
     */
    sluice_status (*map)(sluice_host_batch *batch, void *user);

    /**
     * Optional: makes the state of a worker, for sluice_host_batch_worker(). Called on the worker's
     * thread before its first batch. A negative status ends the run.
     */
    sluice_status (*begin)(void *user, void **worker_out);

    /** Optional: frees a worker's state, on its thread. Called after each successful begin(). */
    void (*end)(void *worker, void *user);

    /** Optional: called when the dataset is destroyed; not if sluice_dataset_map_batch() failed. */
    void (*close)(void *user);

    void *user; /**< passed to all callbacks; borrowed until close() */
} sluice_map_batch;

/** Sets every field to zero, and struct_size and column_size. Threads: any. */
static inline void sluice_map_batch_init(sluice_map_batch *map)
{
    memset(map, 0, sizeof(*map));
    map->struct_size = sizeof(*map);
    map->column_size = sizeof(sluice_column_spec);
}

/**
 * Adds a function on whole batches, after `batch`: for operations that mix samples, such as mixup.
 * The worker that has written the last row of a batch calls it, before the batch is published, so
 * it runs on several batches at once. Workers run all conversions of an image that it lists. The
 * batch size is then part of the identity of a run. The report has a row with its name.
 *
 * @param map  copied
 *
 * Returns: E_INVALID a NULL, no name, no columns, a column that does not exist or, of outputs, that
 *          exists, more than 8 maps and filters, not after `batch`; the sticky error of building;
 *          E_NO_MEMORY. A run fails with E_INVALID if a conversion before the map has
 *          offload=device. sluice_dataset_get() is not supported.
 *
 * sluice_dataset_describe() writes the stage as `map_batch`, with name and version;
 * sluice_dataset_parse() refuses that text.
 *
 * Threads: the one that builds the dataset. Workers call the callbacks while a run uses the
 *          dataset.
 */
SLUICE_API_CHECKED sluice_status sluice_dataset_map_batch(sluice_dataset *dataset,
                                                          const sluice_map_batch *map);

SLUICE_END_DECLS

#endif
