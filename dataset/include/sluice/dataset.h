/* SPDX-License-Identifier: Apache-2.0 */
/** @file
 * Datasets: the source of samples, their order, transforms and batches.
 *
 * A dataset is a list of stages: a source, then stages of order (shuffle, split, take, ...) and
 * transforms in any sequence, then batch. It is built from a text,
 *
 *     image_folder train | shuffle | decode | random_resized_crop 224 | to_chw | batch 64
 *
 * or by calls, which have the names of the stages and build the same dataset; transforms.h has
 * those that process pixels. A dataset is a description: until it is used it starts no thread and
 * reads no samples. Files are opened at the first use, except by npy, mnist, image_list and
 * webdataset with fields: their files determine the columns, so they are opened when the source is
 * added. Several runs can use a dataset, one after another or at once.
 *
 * Errors of building are sticky: after a call has failed, every later call on that dataset returns
 * the same error. So a program may add all stages and check only the last status. No stage can be
 * added once the dataset was used, by a run or by a call that opens it: E_INVALID, which is not
 * sticky.
 *
 * Threads: one dataset is built by one thread; once built, any threads may use it.
 */
#ifndef SLUICE_DATASET_H
#define SLUICE_DATASET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <sluice/status.h>
#include <sluice/tensor.h>

SLUICE_BEGIN_DECLS

/** A description of samples, their order and their batches. */
typedef struct sluice_dataset sluice_dataset;

/** Value of `seed`: the seed of the run. */
#define SLUICE_SEED_OF_RUN UINT64_MAX

/** Value of `rank` and `world` of sluice_dataset_shard(): those of the run. */
#define SLUICE_OF_RUN UINT32_MAX

/** What happens to a sample that cannot be read or decoded. */
typedef enum sluice_on_error {
    SLUICE_ON_ERROR_FAIL = 0,    /**< the run ends with the error, after all earlier batches */
    SLUICE_ON_ERROR_REPLACE = 1, /**< another sample, drawn at random, replaces it; in a batch of a
                                      stream, the next good sample of the batch, cyclically */
    SLUICE_ON_ERROR_ZERO = 2     /**< its row is zeros with label 0. The batch has a column `mask`
                                      (u8; `valid` if that name is used), which is 0 for such rows
                                      and 1 for others */
} sluice_on_error;

/**
 * Builds a dataset from a text, `source {| stage}`:
 *
 * - A stage is its name and its arguments, positional ones first, then `key=value`; commas separate
 *   the items of a list.
 * - Single or double quotes allow blanks. A `#` at the start of a word begins a comment, which ends
 *   with the line.
 * - `${NAME}` is replaced by the value of NAME in the environment; `${NAME:-DEFAULT}` by DEFAULT if
 *   NAME is unset or empty. A value is never parsed as text: blanks, quotes, `|` and `#` in it are
 *   part of the word. A default is plain text without braces and dollar signs, and may be empty.
 *
 * @param dataset_out  owned by the caller: freed by sluice_dataset_destroy()
 *
 * Returns: E_INVALID with the text, a caret under the error, what was expected there, and the
 *          nearest valid name; E_NO_MEMORY.
 * Threads: any; the environment must not change meanwhile.
 */
SLUICE_API_CHECKED sluice_status sluice_dataset_parse(const char *text,
                                                      sluice_dataset **dataset_out);

/**
 * Builds a dataset from a text with arguments: the value of `${NAME}` is that of the argument NAME,
 * or else comes from the environment. Arguments need no quoting, even if they have blanks or
 * quotes:
 *
 *     sluice_dataset_parse_args("image_folder ${DIR} | decode | resize ${SIZE:-224}",
 *                               (const char *[]){"DIR"}, (const char *[]){path}, 1, &dataset)
 *
 * @param names        (count) letters, digits and _, at most 127; NULL if count is 0
 * @param values       (count) any bytes; NULL if count is 0
 * @param count        at most 256
 * @param dataset_out  owned by the caller: freed by sluice_dataset_destroy()
 *
 * Returns: as sluice_dataset_parse(); E_INVALID also for a NULL, and for an argument that is
 *          repeated or that the text does not use; the message has its name.
 * Threads: any; the environment must not change meanwhile.
 */
SLUICE_API_CHECKED sluice_status sluice_dataset_parse_args(const char *text,
                                                           const char *const *names,
                                                           const char *const *values, size_t count,
                                                           sluice_dataset **dataset_out);

/**
 * Builds a dataset from a text in a file, in the grammar of sluice_dataset_parse(): stages may be
 * on several lines, with comments between them. Paths in it are relative to the working directory.
 *
 * @param path         a regular file of at most 1 MiB
 * @param dataset_out  owned by the caller: freed by sluice_dataset_destroy()
 *
 * Returns: as sluice_dataset_parse(), with FILE:LINE:COLUMN before the text of the error, the
 *          column in characters from 1; E_IO the file cannot be opened or read; E_INVALID also for
 *          a file that is larger, not regular, or has a zero byte.
 * Threads: any; the environment must not change meanwhile.
 */
SLUICE_API_CHECKED sluice_status sluice_dataset_parse_file(const char *path,
                                                           sluice_dataset **dataset_out);

/**
 * Like sluice_dataset_parse_file(), with the arguments of sluice_dataset_parse_args().
 *
 * Returns: as these two functions.
 * Threads: any; the environment must not change meanwhile.
 */
SLUICE_API_CHECKED sluice_status sluice_dataset_parse_file_args(const char *path,
                                                                const char *const *names,
                                                                const char *const *values,
                                                                size_t count,
                                                                sluice_dataset **dataset_out);

/**
 * Adds one or more stages as text, `stage {| stage}`, in the grammar of sluice_dataset_parse(): all
 * arguments of all stages are available that way, including those that the stage's own function
 * does not have.
 *
 *     sluice_dataset_add(dataset, "resize 256 filter=area | center_crop 224")
 *
 * Returns: as sluice_dataset_parse(); E_INVALID also for a source: the dataset has one already. The
 *          error is sticky.
 * Threads: the one that builds the dataset; the environment must not change meanwhile.
 */
SLUICE_API_CHECKED sluice_status sluice_dataset_add(sluice_dataset *dataset, const char *text);

/**
 * Builds a dataset from a text with values, in the grammar of sluice_dataset_parse():
 *
 *     sluice_dataset_parsef(&dataset, "image_folder %s | decode | resize %u", path, size)
 *
 * The conversions are those of printf: `%d`, `%u`, `%ld`, `%lu`, `%lld`, `%llu` and `%zu` for
 * integers; `%g` for a double, written with all the digits it needs and in no locale; `%s` for a
 * text; `%%` is a percent sign. They have no flags, widths or precisions.
 *
 * A text stands for a whole argument of a stage, or for what follows the `=` of one. It is never
 * parsed: blanks, quotes, `|`, `#` and `${NAME}` in it are part of the argument.
 *
 * @param dataset_out  owned by the caller: freed by sluice_dataset_destroy()
 *
 * Returns: as sluice_dataset_parse(), errors with the values in the text; E_INVALID also for
 *          another conversion, a conversion in quotes or in a comment, a text that is NULL or only
 *          a part of an argument, a number that is not finite.
 * Threads: any; the environment must not change meanwhile.
 */
SLUICE_API_CHECKED sluice_status sluice_dataset_parsef(sluice_dataset **dataset_out,
                                                       const char *format, ...) SLUICE_PRINTF(2, 3);

/**
 * Adds one or more stages as a text with values, as sluice_dataset_parsef() has them:
 *
 *     sluice_dataset_addf(dataset, "random_resized_crop %u | batch %u", size, rows)
 *
 * Returns: as sluice_dataset_add() and sluice_dataset_parsef(). The error is sticky.
 * Threads: the one that builds the dataset; the environment must not change meanwhile.
 */
SLUICE_API_CHECKED sluice_status sluice_dataset_addf(sluice_dataset *dataset, const char *format,
                                                     ...) SLUICE_PRINTF(2, 3);

/** The type of a value in a pipeline text. */
typedef enum sluice_value_type {
    SLUICE_VALUE_INT = 0,  /**< in `number` */
    SLUICE_VALUE_UINT = 1, /**< in `count` */
    SLUICE_VALUE_REAL = 2, /**< in `real` */
    SLUICE_VALUE_TEXT = 3  /**< in `text` */
} sluice_value_type;

/** A value in a pipeline text: the field of its type is read. No later version changes it. */
typedef struct sluice_value {
    sluice_value_type type; /**< which field is read */
    int64_t number;         /**< an integer */
    uint64_t count;         /**< an integer that is not negative */
    double real;            /**< a finite number */
    const char *text;       /**< a text, copied and not parsed; not NULL */
} sluice_value;

/**
 * Builds a dataset from a text in which each `{}` stands for the next value, for languages without
 * variadic functions of C:
 *
 *     sluice_dataset_parse_values("image_folder {} | decode | resize {}", values, 2, &dataset)
 *
 * @param values       (count); NULL if count is 0
 * @param dataset_out  owned by the caller: freed by sluice_dataset_destroy()
 *
 * Returns: as sluice_dataset_parsef(); E_INVALID also for another number of `{}` than of values.
 * Threads: any; the environment must not change meanwhile.
 */
SLUICE_API_CHECKED sluice_status sluice_dataset_parse_values(const char *text,
                                                             const sluice_value *values,
                                                             size_t count,
                                                             sluice_dataset **dataset_out);

/**
 * Adds one or more stages as a text with values, as sluice_dataset_parse_values() has them.
 *
 * @param values  (count); NULL if count is 0
 *
 * Returns: as sluice_dataset_add() and sluice_dataset_parse_values(). The error is sticky.
 * Threads: the one that builds the dataset; the environment must not change meanwhile.
 */
SLUICE_API_CHECKED sluice_status sluice_dataset_add_values(sluice_dataset *dataset,
                                                           const char *text,
                                                           const sluice_value *values,
                                                           size_t count);

/**
 * Frees a dataset. Accepts NULL.
 *
 * Threads: any, once no other call and no run uses the dataset.
 */
SLUICE_API void sluice_dataset_destroy(sluice_dataset *dataset);

/**
 * Writes the dataset as a text with all defaults, from which sluice_dataset_parse() builds an equal
 * dataset.
 *
 * @param text_out  owned by the caller: freed by sluice_string_free()
 *
 * Returns: E_NO_MEMORY; the sticky error of building.
 * Threads: any, once the dataset is built.
 */
SLUICE_API_CHECKED sluice_status sluice_dataset_describe(sluice_dataset *dataset, char **text_out);

/**
 * Describes how the dataset will run on a host device, and why: which stages are fused, where
 * conversions run, how batches are assembled. Opens the source.
 *
 * @param text_out  owned by the caller: freed by sluice_string_free()
 *
 * Returns: E_NO_MEMORY; the sticky error of building; errors of opening the source.
 * Threads: any, once the dataset is built.
 */
SLUICE_API_CHECKED sluice_status sluice_dataset_explain(sluice_dataset *dataset, char **text_out);

/** The size of a pass. */
typedef struct sluice_dataset_info {
    size_t struct_size;      /**< bytes; set by sluice_dataset_info_init() */
    uint64_t source_samples; /**< samples of the source, before split, take, ... */
    uint64_t samples;        /**< samples in a pass, over all ranks */
    uint64_t batches;        /**< batches in a pass, for a single rank (world 1) */
    uint32_t batch_size;     /**< rows of a batch */
    uint32_t column_count;   /**< number of entries in columns */
    sluice_column columns[SLUICE_MAX_COLUMNS]; /**< columns of a sample, as steps get them */
} sluice_dataset_info;

/** Sets every field to zero, and struct_size. Threads: any. */
static inline void sluice_dataset_info_init(sluice_dataset_info *info)
{
    memset(info, 0, sizeof(*info));
    info->struct_size = sizeof(*info);
}

/**
 * Opens the source and fills in the size of a pass.
 *
 * Returns: E_INVALID no stage `batch`, or columns that cannot be batched; the sticky error of
 *          building; errors of opening the source, such as E_IO and E_CORRUPT.
 * Threads: any, once the dataset is built.
 */
SLUICE_API_CHECKED sluice_status sluice_dataset_inspect(sluice_dataset *dataset,
                                                        sluice_dataset_info *info);

/**
 * Computes one sample as it would be in a row of a batch, on the calling thread and without a run:
 * for inference, inspection and tests. Opens the dataset if it is not open. Use a run for many
 * samples: each call creates the state of a worker, and calls filters for all samples from the
 * beginning of the pass on.
 *
 * @param seed        seed of the run
 * @param pass        from 0
 * @param index       position in the pass, from 0, in the order of a run of one rank
 * @param columns     (column_count of sluice_dataset_inspect()) memory for the bytes of each
 *                    column; an entry may be NULL: that column is not copied. NULL: no column is
 *                    copied
 * @param sample_out  the sample's index in the source; may be NULL
 *
 * Returns: E_INVALID an index past the end of the pass, no stage `batch`; the sticky error of
 *          building; errors of the source and the decoder, with the stage and the sample;
 *          E_UNSUPPORTED a stream, pack, bucket or a map of batches; E_NO_MEMORY.
 * Threads: any, once the dataset is built.
 */
SLUICE_API_CHECKED sluice_status sluice_dataset_get(sluice_dataset *dataset, uint64_t seed,
                                                    uint64_t pass, uint64_t index,
                                                    void *const *columns, uint64_t *sample_out);

/**
 * Returns the name of a sample in the source, by its index. The index is an entry of `samples` in a
 * step's record (sluice_step_record) or in a batch, or sample_out of sluice_dataset_get(). Opens
 * the dataset if it is not open. The names by source:
 *
 *     image_folder  CLASS/FILE, the file's path in the folder of the source
 *     image_list    the path of the image, as in the list
 *     coco          the file_name of the image
 *     webdataset    SHARD/MEMBER, the file name of the archive and the member name of the image
 *     cifar10       FILE:RECORD, counted from 0; also cifar100
 *     mnist         FILE:INDEX, FILE with the images, without a suffix such as .gz
 *     synthetic     synthetic/INDEX
 *     concat, mix   PART/NAME, the number of the part, from 1, and the name in it
 *     zip           the name in the first part with an image, else in the first part
 *
 * @param name_out  owned by the caller: freed by sluice_string_free()
 *
 * Returns: E_INVALID dataset or name_out is NULL, sample is not below source_samples of
 *          sluice_dataset_info; E_UNSUPPORTED the source is a stream, which stores no names; errors
 *          of opening the source; the sticky error of building; E_NO_MEMORY.
 * Threads: any, once the dataset is built.
 */
SLUICE_API_CHECKED sluice_status sluice_dataset_sample_name(sluice_dataset *dataset,
                                                            uint64_t sample, char **name_out);

/**
 * Returns the name of a class, by its label: the folder's name for image_folder, "airplane" to
 * "truck" for cifar10, "apple" to "worm" for cifar100 (the names of its fine or coarse labels), the
 * name of the category for coco. Opens the dataset if it is not open. The smallest label that is
 * refused is the number of classes.
 *
 * @param label     a value of the column `label`, or of `classes` of coco
 * @param name_out  owned by the caller: freed by sluice_string_free()
 *
 * Returns: E_INVALID dataset or name_out is NULL, no class has this label; E_UNSUPPORTED the source
 *          has no class names; errors of opening the source; the sticky error of building;
 *          E_NO_MEMORY.
 * Threads: any, once the dataset is built.
 */
SLUICE_API_CHECKED sluice_status sluice_dataset_class_name(sluice_dataset *dataset, int32_t label,
                                                           char **name_out);

/**
 * Lists all stages with their arguments, defaults, types and shapes, as text.
 *
 * @param name      name of one stage; NULL: all stages
 * @param text_out  owned by the caller: freed by sluice_string_free()
 *
 * Returns: E_INVALID no such stage, with the nearest name; E_NO_MEMORY.
 * Threads: any.
 */
SLUICE_API_CHECKED sluice_status sluice_stage_help(const char *name, char **text_out);

/** @name Sources
 * Each of these functions makes a new dataset, owned by the caller. Columns are `image` and `label`
 * (i32; from 0, unless the labels are in the files).
 * Returns: E_INVALID invalid arguments; E_NO_MEMORY. Files are opened later, at the first use,
 *          unless the function says otherwise.
 * @{
 */

/** Optional arguments of sluice_dataset_image_folder(), initialized by
 * sluice_image_folder_config_init(). All texts are copied. */
typedef struct sluice_image_folder_config {
    size_t struct_size;     /**< bytes; set by sluice_image_folder_config_init() */
    const char *extensions; /**< of image files, ignoring case; NULL: those of all formats */
    /**
     * A folder for indexes of JPEG files without restart markers; created if missing. In the first
     * pass each file is read in full, and an index of about 3 % of its size is written. Later
     * passes and runs decode only the region of the crop. Files whose bytes have changed are
     * indexed again. Several processes may share the folder. NULL: no indexes.
     */
    const char *index;
    /**
     * "keep": files remain in the page cache for later passes. "drop": each file is dropped from
     * the page cache after it was read, for datasets larger than memory. NULL: "keep".
     */
    const char *cache;
} sluice_image_folder_config;

/** Sets every field to its default, zero, in a struct of `size` bytes. Threads: any. */
SLUICE_API void sluice_image_folder_config_init_size(sluice_image_folder_config *config,
                                                     size_t size);

/** sluice_image_folder_config_init_size() with the size of the caller's struct. Threads: any. */
static inline void sluice_image_folder_config_init(sluice_image_folder_config *config)
{
    sluice_image_folder_config_init_size(config, sizeof(*config));
}

/**
 * Images in one folder per class: dir/CLASS/FILE. The label of a class is the position of its name
 * among all classes, sorted by bytes. Links are followed. A folder whose name looks like an image
 * is ignored with a warning.
 *
 * @param config  NULL: all defaults
 *
 * Threads: any.
 */
SLUICE_API_CHECKED sluice_status sluice_dataset_image_folder(
    const char *dir, const sluice_image_folder_config *config, sluice_dataset **dataset_out);

/** Optional arguments of sluice_dataset_webdataset(), initialized by
 * sluice_webdataset_config_init(). All texts are copied. */
typedef struct sluice_webdataset_config {
    size_t struct_size;  /**< bytes; set by sluice_webdataset_config_init() */
    const char *image;   /**< fields that are images, in order of preference, ignoring case; NULL:
                              "jpg,jpeg,png,ppm" */
    const char *label;   /**< field with the label, a whole number in ASCII; "none": there is no
                              column `label`; NULL: "cls" */
    const char *index;   /**< where indexes are stored: next to each shard or in
                              ${XDG_CACHE_HOME:-~/.cache}/sluice ("auto"), in a folder, or nowhere
                              ("none"); NULL: "auto". Only "auto" reads the index of a pack, which
                              has the checksums of its images */
    const char *cache;   /**< "keep" or "drop", as in sluice_image_folder_config; NULL: "keep" */
    const char *access;  /**< "stream": read sequentially. "auto": only pipes and compressed shards
                              are; NULL: "auto" */
    uint64_t max_sample; /**< bytes of the largest image in a shard that is read sequentially, at
                              most 2^30; 0: 2^28 */
    const char *fields;  /**< list of members that become columns, instead of image and label; see
                              sluice_dataset_webdataset(). NULL: image and label */
} sluice_webdataset_config;

/** Sets every field to its default, zero, in a struct of `size` bytes. Threads: any. */
SLUICE_API void sluice_webdataset_config_init_size(sluice_webdataset_config *config, size_t size);

/** sluice_webdataset_config_init_size() with the size of the caller's struct. Threads: any. */
static inline void sluice_webdataset_config_init(sluice_webdataset_config *config)
{
    sluice_webdataset_config_init_size(config, sizeof(*config));
}

/**
 * Tar archives in WebDataset layout, read in any order. Consecutive members with equal names up to
 * the first dot are one sample; the rest of the name is the field. Samples without an image or a
 * label are ignored with a warning.
 *
 * With config.fields the listed members become the columns. It is a comma-separated list of
 * NAME:FIELD; the extension of FIELD determines the column's type:
 *
 *     NAME:jpg       jpg, jpeg, png, ppm, pgm, pnm: an image; the first one
 *                    is the image, each other one a further image
 *     NAME:png@mask  an image of class numbers, which follows the geometry of the image
 *     NAME:cls       an integer, i32
 *     NAME:npy       a NumPy array; type and shape are those of the first sample's array
 *     NAME:txt[N]    any other extension: up to N bytes, u8 (N); NAME_length, i32, is their number
 *
 * This call then opens the shards, which must be regular files, and reads their headers. It returns
 * E_IO, E_CORRUPT or E_UNSUPPORTED if that fails. config.image, label and index must not be set.
 * Samples that lack one of the fields are ignored with a warning.
 *
 * A pack of sluice_pack() whose index is missing or corrupt, or that is marked by pack.corrupt, is
 * E_CORRUPT when it is opened. A pack that is not complete is read, with a warning.
 *
 * @param shards  comma-separated files, folders (all *.tar in them) and patterns with {000..123}
 *                and wildcards; "-": standard input
 * @param config  NULL: all defaults
 *
 * Threads: any.
 */
SLUICE_API_CHECKED sluice_status sluice_dataset_webdataset(const char *shards,
                                                           const sluice_webdataset_config *config,
                                                           sluice_dataset **dataset_out);

/**
 * Samples from a list: a text file with one record per line. Fields are separated by tabs, or by
 * commas if the file's name ends in .csv; a field may be in double quotes. The first line declares
 * the columns: `image` (a path), `label` (i32), and NAME:KIND, where KIND is one of
 *
 *     image        the path of a further image, of the same size as the first one. Every stage
 *                  applies to it, too, with the same random draws
 *     mask         the path of an image of class numbers: PNG with a palette or in gray, or PGM,
 *                  of the same size as the image. Every crop, resize and flip of the image applies
 *                  to it, too, by nearest neighbour. u8 (height, width)
 *     boxes[N]     at most N boxes, x0,y0,x1,y1;... in pixels of the image. They are clipped to
 *                  it, and dropped without an area, both with a warning; then they follow the
 *                  image: moved, clipped, dropped. f32 (N, 4), and NAME_length i32
 *     coco[N]      boxes as in COCO: x,y,width,height in pixels
 *     voc[N]       boxes as in PASCAL VOC: x0,y0,x1,y1, pixel indices from 1, x1 and y1 inclusive
 *     darknet[N]   boxes as in darknet and YOLO: x,y of the centre, width, height, as fractions of
 *                  the image's size
 *     points[N]    at most N points, x,y;... in pixels of the image, from -1e6 to 1e6. They follow
 *                  the image and keep their order and number: points outside the image are
 *                  neither clipped nor dropped. f32 (N, 2), and NAME_length i32
 *     T            one number: u8, i8, u16, i32, u32, i64 or f32
 *     T[N]         at most N comma-separated numbers, and NAME_length i32
 *     T[N]@BOXES   one number for each box or point of the column BOXES, dropped with its box or
 *                  exchanged with its point
 *     text[N]      at most N bytes, u8, and NAME_length i32
 *
 * Without such a line the fields are image, or image and label. Unused elements are zero. This call
 * reads the list, and warns of bad records: a field that is not of its kind, too many elements, a
 * box that is wholly outside its image or not finite. They are bad samples of a run.
 *
 * @param file  the list, at most 4 GiB
 * @param root  folder to which relative paths belong; NULL: the folder of the list
 *
 * Returns: E_CORRUPT quotes without an end, or only bad records, with FILE:LINE:COLUMN; E_INVALID
 * an invalid header, or no record; E_IO, E_UNSUPPORTED the list cannot be read; E_NO_MEMORY.
 *          Missing or corrupt images, and masks and further images of another size are bad samples.
 *
 * Threads: any.
 */
SLUICE_API_CHECKED sluice_status sluice_dataset_image_list(const char *file, const char *root,
                                                           sluice_dataset **dataset_out);

/**
 * Makes a dataset of the images directly in a folder, without subfolders, and of their masks in
 * another one: the text `image_list IMAGES masks=MASKS`. The columns are `image` and `mask`, as in
 * a list. The mask of an image is the file whose name without its extension is the same. Samples
 * are sorted by name. Files other than jpg, jpeg, png, ppm, pgm and pnm are ignored.
 *
 * @param images, masks  folders; masks NULL: no column `mask`
 * @param dataset_out    owned by the caller: freed by sluice_dataset_destroy()
 *
 * Returns: E_INVALID no images, an image without a mask, a mask without an image, or two files of
 *          one name: the message names the first one; E_IO; E_NO_MEMORY.
 *
 * Threads: any.
 */
SLUICE_API_CHECKED sluice_status sluice_dataset_image_masks(const char *images, const char *masks,
                                                            sluice_dataset **dataset_out);

/**
 * CIFAR-10 in its binary form: data_batch_1.bin to data_batch_5.bin and test_batch.bin, in dir or
 * in dir/cifar-10-batches-bin. Images are u8 (32, 32, 3).
 *
 * @param split  "train" or "test"
 *
 * Threads: any.
 */
SLUICE_API_CHECKED sluice_status sluice_dataset_cifar10(const char *dir, const char *split,
                                                        sluice_dataset **dataset_out);

/**
 * CIFAR-100 in its binary form: train.bin and test.bin, in dir or in dir/cifar-100-binary. Images
 * are u8 (32, 32, 3).
 *
 * @param split  "train" or "test"
 * @param label  "fine": the column label has one of 100 classes; "coarse": one of 20 superclasses;
 *               "both": like "fine", with the superclass in an additional column `coarse`, i32;
 *               NULL: "fine"
 *
 * Threads: any.
 */
SLUICE_API_CHECKED sluice_status sluice_dataset_cifar100(const char *dir, const char *split,
                                                         const char *label,
                                                         sluice_dataset **dataset_out);

/**
 * Images and labels in IDX files, the format of MNIST, Fashion-MNIST, KMNIST and EMNIST. Images are
 * u8 (height, width, 1), or with a fourth dimension (height, width, channels); a label is one byte.
 * Files may be compressed by gzip, zstd, xz or bzip2; then they are stored in memory, at most 4 GiB
 * each. This call opens the files.
 *
 * @param files  a folder: it, or its subfolder raw, has [PREFIX]train-images-idx3-ubyte and
 *               [PREFIX]train-labels-idx1-ubyte, or for the test part [PREFIX]t10k-... or
 *               [PREFIX]test-..., with or without a suffix such as .gz. Or the files themselves,
 *               "IMAGES,LABELS", or "IMAGES", which gives no column `label`
 * @param split  for a folder: "train" or "test"; NULL: "train"
 *
 * Returns: E_CORRUPT a file that is not an IDX file, or whose length contradicts its header;
 *          E_UNSUPPORTED elements that are not bytes, or dimensions that are not those of images or
 *          labels; E_INVALID a folder without such files or with files of several prefixes, or
 *          different numbers of images and labels; E_IO; E_NO_MEMORY. The message has the file.
 *
 * Threads: any.
 */
SLUICE_API_CHECKED sluice_status sluice_dataset_mnist(const char *files, const char *split,
                                                      sluice_dataset **dataset_out);

/**
 * Generated samples, each a function of its index: for measurements without files.
 *
 * @param samples   number of samples
 * @param height    of an image, in pixels
 * @param width     of an image, in pixels
 * @param channels  1 to 4
 * @param classes   a label is the sample's index modulo classes
 *
 * Threads: any.
 */
SLUICE_API_CHECKED sluice_status sluice_dataset_synthetic(uint64_t samples, uint32_t height,
                                                          uint32_t width, uint32_t channels,
                                                          uint32_t classes,
                                                          sluice_dataset **dataset_out);
/** @} */

/** @name Order
 * Each of these functions adds one stage. Returns: E_INVALID invalid arguments, or a position where
 * the stage is not allowed (after batch); the sticky error of building; E_NO_MEMORY.
 * @{
 */

/**
 * Permutes the samples of each pass, differently in every pass; seed may be SLUICE_SEED_OF_RUN. A
 * stream, which is read sequentially, uses a shuffle buffer of `buffer` samples (0: 1000) and at
 * most 1 GB: each sample is drawn from it at random. If this is the first stage of order, the order
 * of the stream's files is also permuted.
 *
 * Threads: the one that builds the dataset.
 */
SLUICE_API_CHECKED sluice_status sluice_dataset_shuffle(sluice_dataset *dataset, uint64_t seed,
                                                        uint64_t buffer);

/**
 * Keeps every world-th sample, beginning with sample number `rank`; rank and world may be
 * SLUICE_OF_RUN.
 *
 * Threads: the one that builds the dataset.
 */
SLUICE_API_CHECKED sluice_status sluice_dataset_shard(sluice_dataset *dataset, uint32_t rank,
                                                      uint32_t world);

/**
 * Gives all samples to every rank: disables the stage shard that is otherwise added if there are
 * several ranks.
 *
 * Threads: the one that builds the dataset.
 */
SLUICE_API_CHECKED sluice_status sluice_dataset_shard_none(sluice_dataset *dataset);

/**
 * Keeps a part of the samples, selected by a hash of their names, so that samples remain in their
 * part when files are added. `train` is the first `fraction` of the range of the hash, and `test`
 * the last `fraction`. `val` is the `fraction` directly before the last `test`.
 *
 * @param part      "train", "val" or "test"
 * @param fraction  0 < fraction <= 1
 * @param seed      seed of the hash
 * @param test      for `val`: the fraction of the part `test`
 *
 * Threads: the one that builds the dataset.
 */
SLUICE_API_CHECKED sluice_status sluice_dataset_split(sluice_dataset *dataset, const char *part,
                                                      double fraction, uint64_t seed, double test);

/** Keeps the first n samples. Threads: the one that builds the dataset. */
SLUICE_API_CHECKED sluice_status sluice_dataset_take(sluice_dataset *dataset, uint64_t n);

/** Drops the first n samples. Threads: the one that builds the dataset. */
SLUICE_API_CHECKED sluice_status sluice_dataset_skip(sluice_dataset *dataset, uint64_t n);

/**
 * Joins n passes into one; each has its own order and random numbers.
 *
 * Threads: the one that builds the dataset.
 */
SLUICE_API_CHECKED sluice_status sluice_dataset_repeat(sluice_dataset *dataset, uint64_t n);

/**
 * Groups n samples of each rank into a batch. If the last batch of a pass is not full, it is padded
 * with zeros, and `valid_rows` is its number of samples; with drop_remainder it is dropped.
 *
 * Threads: the one that builds the dataset.
 */
SLUICE_API_CHECKED sluice_status sluice_dataset_batch(sluice_dataset *dataset, uint32_t n,
                                                      bool drop_remainder);
/** @} */

SLUICE_END_DECLS

#endif
