/* SPDX-License-Identifier: Apache-2.0 */
/** @file
 * Datasets: the source of samples, their order, transforms and batches.
 *
 * A dataset is a list of stages: a source, then stages of order (shuffle, split, take, ...) and
 * transforms in any sequence, then batch. It is built from a text:
 *
 *     image_folder train | shuffle | decode | random_resized_crop 224 | to_chw | batch 64
 *
 * sluice_stage_help() describes the stages. Functions add what a text cannot name: memory
 * (arrays.h), user functions (custom.h) and other datasets (sampling.h). A dataset is a
 * description: until it is used it starts no thread and reads no samples. Files are opened at the
 * first use, except by npy, mnist, image_list and webdataset with fields: their files determine the
 * columns, so they are opened when the source is added. Several runs can use a dataset, one after
 * another or at the same time.
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
 * Builds a dataset from the path of data, in place of a text. The name of a file selects its
 * source, and what is in a folder that of the folder: `npy x.npy`, `coco x.json`, `yolo DIR`; a
 * folder of which nothing else is known is an `image_folder`. Arguments of the source have their
 * defaults; of a pack with columns besides image and label, and of shards of `sluice convert`, all
 * columns are read (fields=auto).
 *
 * @param path         a file or folder
 * @param dataset_out  owned by the caller: freed by sluice_dataset_destroy()
 *
 * Returns: E_IO there is no such path; E_INVALID a NULL, a file that no source reads by its name,
 *          or a source that needs further arguments; E_NO_MEMORY.
 * Threads: any.
 */
SLUICE_API_CHECKED sluice_status sluice_dataset_parse_path(const char *path,
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

/**
 * Describes what is drawn for one sample: the size of its image, each crop, resize, flip and warp
 * in pixels, and the parameters of each colour stage that is applied. Loads the sample; filters and
 * stages of order are not asked. Of a mosaic the composed image is described. With several views
 * of an image each is described, after what comes before them.
 *
 * @param seed      seed of the run
 * @param pass      the pass whose random numbers are drawn, from 0
 * @param sample    index in the source
 * @param text_out  owned by the caller: freed by sluice_string_free()
 *
 * Returns: E_INVALID no such sample, no stage `batch`; the sticky error of building; errors of the
 *          source and the decoder, with the stage and the sample; E_UNSUPPORTED a stream, pack or
 *          bucket; E_NO_MEMORY.
 * Threads: any, once the dataset is built.
 */
SLUICE_API_CHECKED sluice_status sluice_dataset_explain_sample(sluice_dataset *dataset,
                                                               uint64_t seed, uint64_t pass,
                                                               uint64_t sample, char **text_out);

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
 *     tfrecord      the same; also other record files, those of lmdb with the folder of FILE
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

SLUICE_END_DECLS

#endif
