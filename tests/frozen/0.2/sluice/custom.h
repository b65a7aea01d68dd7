/* SPDX-License-Identifier: Apache-2.0 */
/** @file
 * Your own code in a pipeline: functions that workers call, and the sample that they are handed.
 *
 * A source of your own declares its columns and reads any sample by its number:
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
 * Order, batches, resume, decoding, geometry, the error policy and the report are those of any
 * other source.
 */
#ifndef SLUICE_CUSTOM_H
#define SLUICE_CUSTOM_H

#include <sluice/dataset.h>

SLUICE_BEGIN_DECLS

/* ---- columns --------------------------------------------------------------------------------- */

/** What transforms do to a column. */
typedef enum sluice_column_role {
    SLUICE_ROLE_PLAIN = 0, /**< nothing: its bytes go into the batch */
    SLUICE_ROLE_IMAGE = 1, /**< all of them work on it; u8 (height, width, 1 to 4 channels), or
                                SLUICE_ENCODED; at most one column */
    SLUICE_ROLE_MASK = 2,  /**< a map of class numbers: follows crops, resizes and flips of the
                                image, declared before it, by nearest neighbour; u8 (height,
                                width) of the image, or SLUICE_ENCODED where the image is */
    SLUICE_ROLE_BOXES = 3  /**< follows them, too: f32 (most, 4), x0 y0 x1 y1 in pixels of the
                                image, with 0 <= x0 < x1 and 0 <= y0 < y1; always ragged */
} sluice_column_role;

/**
 * A column that your code declares. Entries of an array are column_size bytes apart, so the struct
 * may grow at its end.
 */
typedef struct sluice_column_spec {
    const char *name;                /**< letters, digits and _, no digit first; at most 31 */
    sluice_dtype dtype;              /**< SLUICE_ENCODED: the bytes of a JPEG, PNG, PPM or PGM
                                          file, of images and masks */
    uint32_t rank;                   /**< dimensions used of shape; 0 is a scalar; of
                                          SLUICE_ENCODED 0 */
    uint64_t shape[SLUICE_MAX_RANK]; /**< of one sample; height and width of an image and its masks
                                          are 0 where they vary, of masks also where the image is
                                          encoded; of a ragged column shape[0] is the maximum */
    sluice_column_role role;         /**< what transforms do to it */
    uint32_t ragged;                 /**< not 0: shape[0] varies from sample to sample up to the
                                          declared one; the batch has a column NAME_length (i32),
                                          and rows behind the length are zero */
    const char *boxes;               /**< NULL, or a column of boxes declared before it: row i
                                          belongs to box i and is dropped with it; ragged, with the
                                          length of the boxes */
} sluice_column_spec;

/* ---- samples --------------------------------------------------------------------------------- */

/** One sample on its way, lent to a callback until it returns. */
typedef struct sluice_sample sluice_sample;

/** A column of a sample, row-major in host memory. This struct never grows. */
typedef struct sluice_sample_view {
    const void *data;                /**< the first element; lent until the callback returns */
    sluice_dtype dtype;              /**< of its elements */
    uint32_t rank;                   /**< dimensions used of shape */
    uint64_t shape[SLUICE_MAX_RANK]; /**< of this sample; of a ragged column the actual length */
    size_t bytes;                    /**< of the whole array */
} sluice_sample_view;

/** Returns the sample's number in the source. Threads: the one that was called back. */
SLUICE_API uint64_t sluice_sample_number(const sluice_sample *sample);

/** Returns what begin() gave for this worker, or NULL. Threads: the one that was called back. */
SLUICE_API void *sluice_sample_worker(const sluice_sample *sample);

/**
 * Returns the n-th (below 2^25) 64 random bits of this sample, a function of the run's seed, the
 * pass, the sample, the stage and n: the same for any number of workers, and after a resume.
 *
 * Threads: the one that was called back.
 */
SLUICE_API uint64_t sluice_sample_random(const sluice_sample *sample, uint32_t n);

/**
 * Returns an input of the callback. A source has none.
 *
 * Returns: E_INVALID a NULL, or a column that is no input; the error lists the inputs.
 *
 * Threads: the one that was called back.
 */
SLUICE_API_CHECKED sluice_status sluice_sample_get(const sluice_sample *sample, const char *column,
                                                   sluice_sample_view *view_out);

/**
 * Returns where to write a column. Every call of the callback gives every declared column, by
 * sluice_sample_room() or sluice_sample_lend(); if it gives one several times, the last one counts.
 *
 * @param shape     of this sample, as many dimensions as declared; NULL: the declared shape. It may
 *                  differ from that in the first dimension of a ragged column, up to the declared
 *                  one, and in height and width where those vary. Of SLUICE_ENCODED: {bytes}
 * @param room_out  aligned for the type of the column. Its old contents are undefined: write all
 *                  bytes; rows behind a ragged length are zeroed by the library. Valid until the
 *                  callback returns. Builds with assertions, and SLUICE_GUARDS=on in the
 *                  environment, find writes beyond it, which end the run
 *
 * Returns: E_INVALID a NULL, an unknown column, a shape that is not the declared one; E_CORRUPT a
 *          ragged length beyond the declared maximum; E_NO_MEMORY. The error names source or
 *          stage, and the column.
 *
 * Threads: the one that was called back.
 */
SLUICE_API_CHECKED sluice_status sluice_sample_room(sluice_sample *sample, const char *column,
                                                    const uint64_t *shape, void **room_out);

/**
 * Gives a column as the caller's bytes, which are copied after the callback has returned, or
 * decoded where they are.
 *
 * @param shape  as in sluice_sample_room(); of SLUICE_ENCODED NULL, or {size}
 * @param bytes  row-major; they must neither change nor be freed before the next call of the
 *               callback on this worker, or end()
 * @param size   bytes of that shape; checked
 *
 * Returns: as sluice_sample_room(); E_INVALID also if size is not the number of bytes of that
 * shape.
 *
 * Threads: the one that was called back.
 */
SLUICE_API_CHECKED sluice_status sluice_sample_lend(sluice_sample *sample, const char *column,
                                                    const uint64_t *shape, const void *bytes,
                                                    size_t size);

/* ---- sources --------------------------------------------------------------------------------- */

/** A source of your own, initialized by sluice_source_init(). */
typedef struct sluice_source {
    size_t struct_size;                /**< bytes; set by sluice_source_init() */
    const char *name;                  /**< in errors and reports: 1 to 63 bytes; copied */
    uint32_t version;                  /**< of what read makes: raise it when samples change, so
                                            that a resumed run is told */
    uint32_t column_count;             /**< entries in columns, at least 1 */
    size_t column_size;                /**< bytes of an entry; set by sluice_source_init(); 0: as
                                            in the first version of the struct */
    const sluice_column_spec *columns; /**< copied; with the NAME_length of ragged ones at most
                                            SLUICE_MAX_COLUMNS */
    uint64_t count;                    /**< samples, at least 1 */

    /**
     * Reads a sample: gives every column by sluice_sample_room() or sluice_sample_lend(). It must
     * give the same for the same index and the same random bits (sluice_sample_random()). Workers
     * call it, several at once.
     *
     * Returns: OK or a positive status: read. A negative status is a bad sample, to which the error
     *          policy applies, with the text of sluice_fail(); E_NO_MEMORY ends the run.
     */
    sluice_status (*read)(sluice_sample *sample, uint64_t index, void *user);

    /**
     * Optional: writes the sample's name, zero-terminated, of at most size - 1 bytes: for messages,
     * for `split`, and to detect other data at a resume. Any thread, several at once. Where it is
     * missing or fails, the name is NAME/INDEX.
     */
    sluice_status (*name_of)(uint64_t index, char *text, size_t size, void *user);

    /**
     * Optional: makes the state of a worker, for sluice_sample_worker(). Called on the worker's
     * thread before its first sample; also for a sample that is read outside of a run, by
     * sluice_dataset_get() and to find the size of images. A negative status ends the run.
     */
    sluice_status (*begin)(void *user, void **worker_out);

    /** Optional: frees a worker's state, on its thread. Called after each begin() that was OK. */
    void (*end)(void *worker, void *user);

    /** Optional: called when the dataset is destroyed; not where sluice_dataset_source() failed. */
    void (*close)(void *user);

    void *user; /**< handed to all of them; borrowed until close() */
} sluice_source;

/** Sets every field to its default, zero, in a struct of `size` bytes. Threads: any. */
SLUICE_API void sluice_source_init_size(sluice_source *source, size_t size);

/**
 * sluice_source_init_size() with the size of the caller's struct, and column_size with that of the
 * caller's sluice_column_spec.
 *
 * Threads: any.
 */
static inline void sluice_source_init(sluice_source *source)
{
    sluice_source_init_size(source, sizeof(*source));
    source->column_size = sizeof(sluice_column_spec);
}

/**
 * A dataset of a source of your own, whose samples are read by their numbers.
 *
 * @param source       copied
 * @param dataset_out  owned by the caller: freed by sluice_dataset_destroy()
 *
 * Returns: E_INVALID a NULL, no name, no samples, columns that contradict each other, which the
 *          error names; E_UNSUPPORTED a second image, or an image that is not u8; E_NO_MEMORY.
 *
 * In sluice_dataset_describe() it is `source`, with name and version, which sluice_dataset_parse()
 * does not read.
 *
 * Threads: any. The callbacks are called by workers while a run uses the dataset, and by the
 *          threads of calls that read samples or names.
 */
SLUICE_API_CHECKED sluice_status sluice_dataset_source(const sluice_source *source,
                                                       sluice_dataset **dataset_out);

/* ---- maps ------------------------------------------------------------------------------------ */

/** A function of your own between the stages of a dataset, initialized by sluice_map_init(). */
typedef struct sluice_map {
    size_t struct_size; /**< bytes; set by sluice_map_init() */
    const char *name;   /**< in errors and reports: 1 to 63 bytes; copied */
    uint32_t version;   /**< of what map makes: raise it when that changes, so that a resumed run is
                             told */
    uint32_t serial;    /**< not 0: calls are serialized, in no fixed order, on any worker */
    uint32_t input_count;      /**< entries in inputs */
    uint32_t output_count;     /**< entries in outputs, at least 1 */
    const char *const *inputs; /**< names of the columns that it reads; copied */
    size_t column_size;        /**< bytes of an entry of outputs; set by sluice_map_init(); 0: as in
                                    the first version of the struct */
    /**
     * The columns that it writes; copied. One that has the name of a column takes its place, the
     * others come behind. An output of the role image is what later stages convert: u8 (height,
     * width, channels), where height and width 0 mean those of the image so far.
     */
    const sluice_column_spec *outputs;

    /**
     * Reads inputs by sluice_sample_get(), and gives every output by sluice_sample_room() or
     * sluice_sample_lend(). It must give the same for the same sample, inputs and random bits.
     * Workers call it, several at once unless `serial` is set.
     *
     * Returns: OK or a positive status: done. A negative status is a bad sample, to which the error
     *          policy applies, with the text of sluice_fail(); E_NO_MEMORY ends the run.
     */
    sluice_status (*map)(sluice_sample *sample, void *user);

    /**
     * Optional: makes the state of a worker, for sluice_sample_worker(). Called on the worker's
     * thread before its first sample, and by sluice_dataset_get(). A negative status ends the run.
     */
    sluice_status (*begin)(void *user, void **worker_out);

    /** Optional: frees a worker's state, on its thread. Called after each begin() that was OK. */
    void (*end)(void *worker, void *user);

    /** Optional: called when the dataset is destroyed; not where sluice_dataset_map() failed. */
    void (*close)(void *user);

    void *user; /**< handed to all of them; borrowed until close() */
} sluice_map;

/** Sets every field to its default, zero, in a struct of `size` bytes. Threads: any. */
SLUICE_API void sluice_map_init_size(sluice_map *map, size_t size);

/**
 * sluice_map_init_size() with the size of the caller's struct, and column_size with that of the
 * caller's sluice_column_spec.
 *
 * Threads: any.
 */
static inline void sluice_map_init(sluice_map *map)
{
    sluice_map_init_size(map, sizeof(*map));
    map->column_size = sizeof(sluice_column_spec);
}

/**
 * Adds a map, after decode, crops and resizes. Conversions (flip, normalize, to_dtype, to_chw)
 * before a map that reads or writes the image run on the workers; those after it may run on the
 * device. An image that a map writes is u8 (height, width, channels), so normalize, to_dtype and
 * to_chw come after such a map; a flip may come before or after. The report has a row with the
 * map's name for the time in it.
 *
 * @param map  copied
 *
 * Returns: E_INVALID a NULL, no name, an input that is no column, columns that contradict each
 *          other, more than 8 maps; E_UNSUPPORTED a second image, an encoded output; the sticky
 *          error of building; E_NO_MEMORY. The error names the map.
 *
 * In sluice_dataset_describe() it is `map`, with name and version, which sluice_dataset_parse()
 * does not read.
 *
 * Threads: the one that builds the dataset. The callbacks are called by workers while a run uses
 *          the dataset, and by the caller of sluice_dataset_get().
 */
SLUICE_API_CHECKED sluice_status sluice_dataset_map(sluice_dataset *dataset, const sluice_map *map);

SLUICE_END_DECLS

#endif
