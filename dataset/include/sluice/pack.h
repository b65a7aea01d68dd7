/* SPDX-License-Identifier: Apache-2.0 */
/** @file
 * Packs images for training: tar shards in WebDataset layout, with JPEG files of which a region can
 * be decoded without the rest.
 *
 * The reader of Sluice then decodes only the region of a crop; for every other reader they are
 * standard JPEG files with the same pixels. The folder has
 *
 *     shard-000000.tar         KEY.jpg (or .png, .ppm), KEY.cls, the label in decimal digits, and
 *                              KEY.NAME.EXTENSION for each other column: masks and further images
 *                              as the files that they are, texts as .txt, other i32 numbers as
 *                              .cls, arrays and all other numbers as .npy
 *     shard-000000.tar.sluice  its index: offsets of the samples, with checksums
 *     shard-000000.tsv         one line per sample: key, field, label, outcome, bytes before and
 *                              after, its name in the source, and the reason
 *     classes.txt              one class name per line; the first is label 0
 *     pack.txt                 the options; a pack can only be continued with the same ones
 *     pack.json                counts and columns; written last, so if it exists, the pack is
 *                              complete
 *     pack.corrupt             if it exists, the source was a corrupt stream; the pack is not read
 *
 * KEY is the sample's position in the dataset's order. The same dataset and options give the same
 * bytes, whatever the number of workers, and whether or not the pack was interrupted and continued.
 */
#ifndef SLUICE_PACK_H
#define SLUICE_PACK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <sluice/dataset.h>
#include <sluice/stop.h>

SLUICE_BEGIN_DECLS

/** X(name, number, word, text): outcomes of a sample. Numbers are never changed or reused. */
#define SLUICE_PACK_FATE_MAP(X)                                                                    \
    X(TRANSCODED, 0, "transcoded", "rewritten, same pixels")                                       \
    X(ENCODED, 1, "encoded", "encoded anew, lossy")                                                \
    X(RAW, 2, "raw", "stored as pixels")                                                           \
    X(KEPT_FORMAT, 3, "kept_format", "kept: is not a JPEG file")                                   \
    X(KEPT_COMPONENTS, 4, "kept_components", "kept: has not 1 or 3 components")                    \
    X(KEPT_PRECISION, 5, "kept_precision", "kept: has not 8 bits a value")                         \
    X(KEPT_CORRUPT, 6, "kept_corrupt", "kept: is corrupt")                                         \
    X(KEPT_INCOMPLETE, 7, "kept_incomplete", "kept: scans are missing")                            \
    X(KEPT_RANGE, 8, "kept_range", "kept: baseline cannot code its coefficients")                  \
    X(KEPT_HEADER, 9, "kept_header", "kept: a copy cannot have its header")                        \
    X(KEPT_LARGE, 10, "kept_large", "kept: takes too much memory or time")                         \
    X(KEPT_GROWN, 11, "kept_grown", "kept: the copy would be far larger")                          \
    X(KEPT_DIFFERENT, 12, "kept_different", "kept: the copy has other pixels")                     \
    X(LEFT_UNREADABLE, 13, "left_unreadable", "left out: cannot be read")                          \
    X(LEFT_NO_IMAGE, 14, "left_no_image", "left out: not an image that a pack takes")              \
    X(LEFT_UNDECODABLE, 15, "left_undecodable", "left out: cannot be decoded")                     \
    X(LEFT_FAULT, 16, "left_fault", "left out: fault of the disk or file server")                  \
    X(COPIED, 17, "copied", "stored unchanged")

/** The outcome of a sample. */
typedef enum sluice_pack_fate {
#define SLUICE_PACK_FATE_ENUM(name, number, word, text) SLUICE_PACK_##name = (number),
    SLUICE_PACK_FATE_MAP(SLUICE_PACK_FATE_ENUM)
#undef SLUICE_PACK_FATE_ENUM
} sluice_pack_fate;

/** The size of sluice_pack_stats.fates; more than the present outcomes need. */
#define SLUICE_PACK_FATES 24

/** Returns an outcome's word, such as "kept_format"; "?" for an invalid value. Threads: any. */
SLUICE_API const char *sluice_pack_fate_name(sluice_pack_fate fate);

/** Returns the text of an outcome, such as "kept: is not a JPEG file". Threads: any. */
SLUICE_API const char *sluice_pack_fate_text(sluice_pack_fate fate);

/** Statistics of a pack. */
typedef struct sluice_pack_stats {
    size_t struct_size; /**< bytes; set by sluice_pack_stats_init() */
    uint64_t samples;   /**< samples in the dataset; 0: a stream whose end is not known yet */
    uint64_t done;      /**< of these, samples written or left out, including earlier runs */
    uint64_t resumed;   /**< of these, samples of earlier runs */
    uint64_t written;   /**< samples in shards */
    uint64_t fates[SLUICE_PACK_FATES]; /**< number of done samples with each outcome */
    uint64_t bytes_in;                 /**< bytes of the images in shards, as in the source */
    uint64_t bytes_out;                /**< bytes of the same images, as in the shards */
    uint64_t tar_bytes;                /**< bytes of the archives of finished shards */
    uint32_t shards;                   /**< number of finished shards */
    bool complete;                     /**< everything is done and synced to disk */
    double seconds;                    /**< duration of this run; 0: packing has not begun */
} sluice_pack_stats;

/** Sets every field to zero, and struct_size. Threads: any. */
static inline void sluice_pack_stats_init(sluice_pack_stats *stats)
{
    memset(stats, 0, sizeof(*stats));
    stats->struct_size = sizeof(*stats);
}

/** A sample that was kept unchanged, or left out. */
typedef struct sluice_pack_problem {
    size_t struct_size;    /**< bytes; set by the library */
    uint64_t position;     /**< position in the dataset's order; KEY is made from it */
    sluice_pack_fate fate; /**< its outcome */
    const char *name;      /**< name in the source; all texts are valid only during the call */
    const char *why;       /**< the cause, as a message */
} sluice_pack_problem;

/** Chroma subsampling of images that are re-encoded. */
typedef enum sluice_pack_subsampling {
    SLUICE_PACK_SUBSAMPLING_AUTO = 0, /**< 4:2:0 for those that are re-encoded for another reason */
    SLUICE_PACK_SUBSAMPLING_420 = 420, /**< all images are re-encoded, chroma halved both ways */
    SLUICE_PACK_SUBSAMPLING_444 = 444  /**< all images are re-encoded, chroma not subsampled */
} sluice_pack_subsampling;

/** Value of `interval`: JPEG files without restart markers. */
#define SLUICE_PACK_NO_MARKERS UINT32_MAX

/** Settings of a pack, initialized by sluice_pack_config_init(). */
typedef struct sluice_pack_config {
    size_t struct_size;      /**< bytes; set by sluice_pack_config_init() */
    sluice_dataset *dataset; /**< a source and stages of order: shuffle, split, ...; borrowed */
    const char *folder;      /**< created if missing; its parent must exist. Borrowed */
    uint32_t interval;       /**< distance in pixels between restart markers, approximately; 0: 32;
                                  SLUICE_PACK_NO_MARKERS: none */
    uint32_t max_side; /**< larger images are resized so that the longer side is this; 0: none */
    uint32_t quality;  /**< 1 to 100: all images are re-encoded with this quality. 0: only those
                            that are resized, with 90 */
    sluice_pack_subsampling subsampling; /**< auto */
    bool raw;    /**< store pixels (u8, RGB, binary PPM) instead of JPEG: no decoding later */
    bool verify; /**< decode every result, and compare it with the source if the pixels
                      must be the same */
    bool leave_out_unreadable; /**< leave out a file that the disk or the file server cannot read
                                    (EIO, ESTALE, ...), with the reason; false: it ends the pack
                                    with E_IO */
    uint32_t workers;          /**< threads that transcode; 0: chosen by cores and CPU quota */
    uint64_t shard_bytes;  /**< largest size of a shard in bytes, unless it has a single sample; of
                                a MindRecord file: of its samples; must be 0 for npy. 0: 2^30 */
    uint64_t memory_bytes; /**< limit on the bytes of samples that wait to be written, not counting
                                one per worker; 0: 2^28 */
    uint64_t max_pixels; /**< images with more, according to the header, are not decoded; 0: 100 000
                              000 */
    uint64_t seed;       /**< seed of shuffle stages that have no seed of their own */
    sluice_stop *stop;   /**< NULL: no stop requests */

    /** Called after every sample, on the caller's thread; may be NULL. */
    void (*progress)(const sluice_pack_stats *stats, void *user);
    /** Called for each sample with a problem, in order, also of earlier runs; may be NULL. */
    void (*problem)(const sluice_pack_problem *problem, void *user);
    void *user;         /**< passed to both callbacks; borrowed */
    const char *drop;   /**< columns that are not packed, separated by commas; NAME_length goes with
                             its column. NULL: none. Borrowed */
    const char *format; /**< NULL: a pack; "webdataset": the same files with images as they are in
                             the source, of any format; "tfrecord": records of tf.train.Example in
                             shard-000000.tfrecord and so on; "mindrecord": datasets of MindSpore in
                             shard-000000.mindrecord and so on, with a .db each; "npy": an array
                             NAME.npy of each column, of sources without files of images. The
                             source of that name reads FOLDER. Borrowed */
} sluice_pack_config;

/** Sets every field to its default, zero, and struct_size. Threads: any. */
static inline void sluice_pack_config_init(sluice_pack_config *config)
{
    memset(config, 0, sizeof(*config));
    config->struct_size = sizeof(*config);
}

/**
 * Packs a dataset into a folder. An interrupted pack is continued after its last finished shard. A
 * complete pack is not changed. From a shard on that lacks its archive, list or index, or has a
 * corrupt index, a pack is packed again.
 *
 * All columns are packed but those in config.drop; the source `webdataset FOLDER fields=auto` reads
 * them back, bit for bit. Names of classes are those of `label`, and are not packed without it.
 *
 * JPEG files are transcoded without loss unless max_side, quality, subsampling or raw is set. A
 * file is stored unchanged if lossless transcoding is not certain, or if its format is not JPEG.
 * Images that the source has as pixels of one size are stored as pixels, .npy, unless one of these
 * is set. Samples that are not images are left out. Both are counted by reason.
 *
 * With config.format the dataset is converted: every image is stored as it is, and samples need no
 * image. interval, max_side, quality, subsampling, raw and verify must be 0 then.
 *
 * After faults of the machine, operations are retried with back-off: for up to 10 s if file
 * descriptors run out; for 2 s if memory is exhausted, or after EIO, ESTALE, ENOSPC and similar
 * errors. Then the pack ends with an error, and can be continued by another run. With
 * leave_out_unreadable a file that cannot be read because of EIO, ESTALE, ENOSPC or a similar error
 * has the outcome LEFT_FAULT instead. Each later run tries to read it again. Once that succeeds,
 * its shard and all later shards are packed again.
 *
 * @param stats_out  also set after STOPPED, and after errors once packing has begun; may be NULL
 *
 * Returns: STOPPED on request; finished shards remain. E_INVALID an invalid argument, a column in
 *          config.drop that does not exist or that another one needs, positions in images that
 *          max_side resizes, a folder with other files or a pack with other options, or nothing to
 *          pack; E_BUSY another process
 *          packs into the folder; E_IO a file, which is named, cannot be read or written; finished
 *          shards remain. Also E_IO, with stats_out->complete: the pack is complete except for
 *          LEFT_FAULT samples; E_UNSUPPORTED the library was built without libarchive, or the
 *          format cannot keep a column, or the value of one in a sample, which are named;
 *          E_NO_MEMORY; errors of opening the dataset.
 * Threads: any, one pack for a folder. All threads that it starts have ended when it returns.
 */
SLUICE_API_CHECKED sluice_status sluice_pack(const sluice_pack_config *config,
                                             sluice_pack_stats *stats_out);

/** Statistics of a check. */
typedef struct sluice_verify_stats {
    size_t struct_size; /**< bytes; set by sluice_verify_stats_init() */
    uint64_t samples;   /**< samples that were found */
    uint64_t done;      /**< samples checked so far, good or bad */
    uint64_t problems;  /**< samples that cannot be used, and files that are missing or corrupt */
    uint64_t checked;   /**< samples that were compared with a CRC */
    uint64_t bytes;     /**< bytes of the images that were decoded, and of other columns */
    uint32_t shards;    /**< number of archives; 0 for a folder of images */
    bool is_pack;       /**< the folder is a pack */
    double seconds;     /**< duration of the check */
    uint64_t bad; /**< of done, samples that cannot be read or decoded, or differ from their CRC */
} sluice_verify_stats;

/** Sets every field to zero, and struct_size. Threads: any. */
static inline void sluice_verify_stats_init(sluice_verify_stats *stats)
{
    memset(stats, 0, sizeof(*stats));
    stats->struct_size = sizeof(*stats);
}

/** Settings of a check, initialized by sluice_verify_config_init(). */
typedef struct sluice_verify_config {
    size_t struct_size; /**< bytes; set by sluice_verify_config_init() */
    const char *path;   /**< a pack, a folder of shards, a shard, another file or folder of data, as
                             sluice_dataset_parse_path() takes it, or the text of a pipeline with
                             arguments, of whose source all images, masks and records are checked;
                             borrowed */
    uint32_t workers;   /**< threads that decode; 0: chosen by cores and CPU quota */
    uint64_t max_pixels; /**< images with more, according to the header, are problems; 0: that of
                              the stage decode, by default 100 000 000 */
    sluice_stop *stop;   /**< NULL: no stop requests */

    /** Called after every sample, on the caller's thread; may be NULL. */
    void (*progress)(const sluice_verify_stats *stats, void *user);
    /** Called for each problem, in order, with the file or sample and the cause; may be NULL. */
    void (*problem)(const char *name, const char *why, void *user);
    void *user; /**< passed to both callbacks; borrowed */
} sluice_verify_config;

/** Sets every field to its default, zero, and struct_size. Threads: any. */
static inline void sluice_verify_config_init(sluice_verify_config *config)
{
    memset(config, 0, sizeof(*config));
    config->struct_size = sizeof(*config);
}

/**
 * Checks a pack, shards or images. It decodes every image, and compares it with its CRC if an index
 * has one. It also compares indexes with their archives, and a pack with its lists. No file is
 * changed.
 *
 * @param stats_out  also set after STOPPED and E_CORRUPT; may be NULL
 *
 * Returns: OK no problem was found; E_CORRUPT problems were found, the message has their number;
 *          STOPPED on request; E_INVALID an invalid argument, or no data to check; E_IO the path
 *          cannot be read; E_NO_MEMORY.
 * Threads: any. All threads that it starts have ended when it returns.
 */
SLUICE_API_CHECKED sluice_status sluice_pack_verify(const sluice_verify_config *config,
                                                    sluice_verify_stats *stats_out);

SLUICE_END_DECLS

#endif
