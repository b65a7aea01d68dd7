/* SPDX-License-Identifier: Apache-2.0 */
/** @file
 * Packing images for training: tar shards in WebDataset layout, with JPEG files of which a region
 * can be decoded without the rest.
 *
 * The reader of Sluice then decodes only the region of a crop; for every other reader they are
 * standard JPEG files with the same pixels. The folder has
 *
 *     shard-000000.tar         KEY.jpg (or .png, .ppm) and KEY.cls, the label in decimal digits
 *     shard-000000.tar.sluice  its index: offsets of the samples, with checksums
 *     shard-000000.tsv         one line per sample: key, field, label, outcome, bytes before and
 *                              after, its name in the source, and the reason
 *     classes.txt              one name of a class per line, the first is label 0
 *     pack.txt                 the options, with which a pack is continued
 *     pack.json                counts; written last, so a pack that has it is complete
 *
 * KEY is the sample's position in the dataset's order. The same dataset and options give the same
 * bytes, for any number of workers and wherever a pack was interrupted and continued.
 */
#ifndef SLUICE_PACK_H
#define SLUICE_PACK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <sluice/dataset.h>
#include <sluice/stop.h>

SLUICE_BEGIN_DECLS

/** X(name, number, word, text): outcomes of a sample. Numbers are never changed or reused. */
#define SLUICE_PACK_FATE_MAP(X)                                                                    \
    X(TRANSCODED, 0, "transcoded", "rewritten, same pixels")                                       \
    X(ENCODED, 1, "encoded", "encoded anew, lossy")                                                \
    X(RAW, 2, "raw", "stored as pixels")                                                           \
    X(KEPT_FORMAT, 3, "kept_format", "kept: is no JPEG file")                                      \
    X(KEPT_COMPONENTS, 4, "kept_components", "kept: has not 1 or 3 components")                    \
    X(KEPT_PRECISION, 5, "kept_precision", "kept: has not 8 bits a value")                         \
    X(KEPT_DAMAGED, 6, "kept_damaged", "kept: is damaged")                                         \
    X(KEPT_INCOMPLETE, 7, "kept_incomplete", "kept: scans are missing")                            \
    X(KEPT_RANGE, 8, "kept_range", "kept: baseline cannot code its coefficients")                  \
    X(KEPT_HEADER, 9, "kept_header", "kept: a copy cannot have its header")                        \
    X(KEPT_LARGE, 10, "kept_large", "kept: takes too much memory or time")                         \
    X(KEPT_GROWN, 11, "kept_grown", "kept: the copy would be far larger")                          \
    X(KEPT_DIFFERENT, 12, "kept_different", "kept: the copy has other pixels")                     \
    X(LEFT_UNREADABLE, 13, "left_unreadable", "left out: cannot be read")                          \
    X(LEFT_NO_IMAGE, 14, "left_no_image", "left out: is no image")                                 \
    X(LEFT_UNDECODABLE, 15, "left_undecodable", "left out: cannot be decoded")                     \
    X(LEFT_FAULT, 16, "left_fault", "left out: fault of the disk or file server")

/** The outcome of a sample. */
typedef enum sluice_pack_fate {
#define SLUICE_PACK_FATE_ENUM(name, number, word, text) SLUICE_PACK_##name = (number),
    SLUICE_PACK_FATE_MAP(SLUICE_PACK_FATE_ENUM)
#undef SLUICE_PACK_FATE_ENUM
} sluice_pack_fate;

/** Entries of sluice_pack_stats.fates: the outcomes, and room for more. */
#define SLUICE_PACK_FATES 24

/** Returns the word of an outcome, "kept_format"; "?" for an invalid value. Threads: any. */
SLUICE_API const char *sluice_pack_fate_name(sluice_pack_fate fate);

/** Returns the text of an outcome, "kept: is no JPEG file". Threads: any. */
SLUICE_API const char *sluice_pack_fate_text(sluice_pack_fate fate);

/** Statistics of a pack. */
typedef struct sluice_pack_stats {
    size_t struct_size; /**< bytes; set by sluice_pack_stats_init() */
    uint64_t samples;   /**< of the dataset; 0: a stream whose end is not known yet */
    uint64_t done;      /**< of them: written or left out, earlier runs included */
    uint64_t resumed;   /**< of these: by earlier runs */
    uint64_t written;   /**< samples in shards */
    uint64_t fates[SLUICE_PACK_FATES]; /**< samples of each outcome, of those done */
    uint64_t bytes_in;                 /**< of images in shards, as the source has them */
    uint64_t bytes_out;                /**< of the same, as the shards have them */
    uint64_t tar_bytes;                /**< of finished shards */
    uint32_t shards;                   /**< finished ones */
    bool complete;                     /**< all is done and synced to disk */
    double seconds;                    /**< of this run; 0: packing has not begun */
} sluice_pack_stats;

/** Sets every field to zero, but struct_size, in a struct of `size` bytes. Threads: any. */
SLUICE_API void sluice_pack_stats_init_size(sluice_pack_stats *stats, size_t size);

/** sluice_pack_stats_init_size() with the size of the caller's struct. Threads: any. */
static inline void sluice_pack_stats_init(sluice_pack_stats *stats)
{
    sluice_pack_stats_init_size(stats, sizeof(*stats));
}

/** A sample that was kept unchanged, or left out. */
typedef struct sluice_pack_problem {
    size_t struct_size;    /**< bytes; set by the library */
    uint64_t position;     /**< in the dataset's order; KEY is made from it */
    sluice_pack_fate fate; /**< its outcome */
    const char *name;      /**< in the source; all texts are valid during the call only */
    const char *why;       /**< the cause, an error text */
} sluice_pack_problem;

/** Settings of a pack, initialized by sluice_pack_config_init(). */
typedef struct sluice_pack_config {
    size_t struct_size;      /**< bytes; set by sluice_pack_config_init() */
    sluice_dataset *dataset; /**< a source and stages of order: shuffle, split, ...; borrowed */
    const char *folder;      /**< created if missing; its parent must exist. Borrowed */
    uint32_t interval; /**< about so many pixels between restart markers; 32, set by init; 0 none */
    uint32_t max_side; /**< a larger image is resized so that its longer side is this. 0: none */
    uint32_t quality;  /**< 1 to 100: all images are encoded again with it. 0: only those that
                            are resized, with 90 */
    uint32_t subsampling; /**< of chroma, 420 or 444: all images are encoded again. 0: 420 for those
                               that are encoded again for another reason */
    bool raw;             /**< pixels (u8, RGB, binary PPM) instead of JPEG: no decoding later */
    bool verify;          /**< decodes every result, and compares it with the source if the
                               pixels must be the same */
    bool leave_out_unreadable; /**< a file that the disk or the file server fails to read (EIO,
                                    ESTALE, ...) is left out with its reason; false: it ends the
                                    pack with E_IO */
    uint32_t workers;          /**< threads that transcode; 0: by cores and quota */
    uint64_t shard_bytes;  /**< most bytes of a shard, which has at least one sample. 0 is 2^30 */
    uint64_t memory_bytes; /**< of samples that wait to be written, without one per worker. 0 is
                                2^28 */
    uint64_t max_pixels; /**< an image with more, by its header, is not decoded. 0 is 100 000 000 */
    uint64_t seed;       /**< of shuffle stages without a seed of their own */
    sluice_stop *stop;   /**< NULL: no stop can be requested */

    /** Called after every sample, on the caller's thread; NULL: none. */
    void (*progress)(const sluice_pack_stats *stats, void *user);
    /** Called for each sample with a problem, in order, also of earlier runs; NULL: none. */
    void (*problem)(const sluice_pack_problem *problem, void *user);
    void *user; /**< handed to both; borrowed */
} sluice_pack_config;

/**
 * Sets every field to its default, zero, but interval, which is 32, in a struct of `size` bytes.
 *
 * Threads: any.
 */
SLUICE_API void sluice_pack_config_init_size(sluice_pack_config *config, size_t size);

/** sluice_pack_config_init_size() with the size of the caller's struct. Threads: any. */
static inline void sluice_pack_config_init(sluice_pack_config *config)
{
    sluice_pack_config_init_size(config, sizeof(*config));
}

/**
 * Packs a dataset into a folder, or continues a pack that was interrupted, after its last finished
 * shard. A complete pack is left as it is.
 *
 * JPEG files are transcoded without loss unless max_side, quality, subsampling or raw is set. Files
 * for which this is not certain, and images of other formats, are stored unchanged. Samples that
 * are no images are left out. Both are counted by reason.
 *
 * Faults of the machine are retried with back-off and never leave a sample out by themselves: file
 * descriptors that run out for up to 10 s; memory, EIO, ESTALE, ENOSPC and the like for 2 s. Then
 * the pack ends with an error, and continues when it is run again. With leave_out_unreadable a file
 * that cannot be read for EIO, ESTALE, ENOSPC and the like is LEFT_FAULT instead; each later run
 * reads it again, and packs its shard and those behind it anew once that succeeds.
 *
 * @param stats_out  also filled in after STOPPED and after errors once packing has begun; may be
 *                   NULL
 *
 * Returns: STOPPED on request; finished shards stay. E_INVALID an invalid argument, a folder
 *          with other files or a pack with other options, or nothing to pack;
 *          E_BUSY another process packs into the folder; E_IO a file cannot be read or written,
 *          with its name: finished shards stay. Also E_IO, with stats_out->complete: the pack is
 *          complete except for the samples that are LEFT_FAULT; E_UNSUPPORTED the library was built
 *          without libarchive, or a column `label` is not i32; E_NO_MEMORY; errors of opening
 *          the dataset.
 * Threads: any, one pack for a folder. Threads of its own have ended when it returns.
 */
SLUICE_API_CHECKED sluice_status sluice_pack(const sluice_pack_config *config,
                                             sluice_pack_stats *stats_out);

/** Statistics of a check. */
typedef struct sluice_verify_stats {
    size_t struct_size; /**< bytes; set by sluice_verify_stats_init() */
    uint64_t samples;   /**< that were found */
    uint64_t done;      /**< of them: checked so far, good or bad */
    uint64_t problems;  /**< samples that cannot be used, and files that are missing or corrupt */
    uint64_t checked;   /**< samples that were compared with a checksum */
    uint64_t bytes;     /**< of images that were decoded */
    uint32_t shards;    /**< archives; 0 of a folder of images */
    bool is_pack;       /**< the folder is a pack's */
    double seconds;     /**< of the check */
    uint64_t bad; /**< of done: that cannot be read or decoded, or differ from their checksum */
} sluice_verify_stats;

/** Sets every field to zero, but struct_size, in a struct of `size` bytes. Threads: any. */
SLUICE_API void sluice_verify_stats_init_size(sluice_verify_stats *stats, size_t size);

/** sluice_verify_stats_init_size() with the size of the caller's struct. Threads: any. */
static inline void sluice_verify_stats_init(sluice_verify_stats *stats)
{
    sluice_verify_stats_init_size(stats, sizeof(*stats));
}

/** Settings of a check, initialized by sluice_verify_config_init(). */
typedef struct sluice_verify_config {
    size_t struct_size; /**< bytes; set by sluice_verify_config_init() */
    const char *path;   /**< a pack, a folder of shards, a shard, or a folder of images; borrowed */
    uint32_t workers;   /**< threads that decode; 0: by cores and quota */
    uint64_t max_pixels; /**< an image with more, by its header, is a problem. 0 is 100 000 000 */
    sluice_stop *stop;   /**< NULL: no stop can be requested */

    /** Called after every sample, on the caller's thread; NULL: none. */
    void (*progress)(const sluice_verify_stats *stats, void *user);
    /** Called for each problem, in order, with the file or sample and the cause; NULL: none. */
    void (*problem)(const char *name, const char *why, void *user);
    void *user; /**< handed to both; borrowed */
} sluice_verify_config;

/** Sets every field to its default, zero, in a struct of `size` bytes. Threads: any. */
SLUICE_API void sluice_verify_config_init_size(sluice_verify_config *config, size_t size);

/** sluice_verify_config_init_size() with the size of the caller's struct. Threads: any. */
static inline void sluice_verify_config_init(sluice_verify_config *config)
{
    sluice_verify_config_init_size(config, sizeof(*config));
}

/**
 * Checks a pack, shards or images: decodes every image, compares it with its checksum if an index
 * has one, indexes with their archives, and a pack with its lists. Changes nothing.
 *
 * @param stats_out  also filled in after STOPPED and E_CORRUPT; may be NULL
 *
 * Returns: OK no problem was found; E_CORRUPT the text has the number of problems; STOPPED on
 *          request; E_INVALID an invalid argument, or no data to check; E_IO the path cannot be
 *          read; E_NO_MEMORY.
 * Threads: any. Threads of its own have ended when it returns.
 */
SLUICE_API_CHECKED sluice_status sluice_pack_verify(const sluice_verify_config *config,
                                                    sluice_verify_stats *stats_out);

SLUICE_END_DECLS

#endif
