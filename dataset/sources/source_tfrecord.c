/* SPDX-License-Identifier: Apache-2.0 */
/* Source `tfrecord`: records of TensorFlow, in any order by an index of each file.
 * source_tfstream.c reads compressed ones in sequence. */
#include "record_source.h"
#include "tfrecord_format.h"
#include "tfrecord_stream.h"

static sluice_status tfrecord_open(const void *args, void **source_out)
{
    return record_source_open(&record_tfrecord, args, source_out);
}

static const source_ops tfrecord_ops = {.open = tfrecord_open, RECORD_SOURCE_OPS};

/* Compressed files and pipes are read in sequence. */
static sluice_status tfrecord_choose(const void *args, const source_ops **ops_out)
{
    bool is_stream = false;
    const sluice_status st = tfrecord_is_stream(args, &is_stream);

    if (st == SLUICE_OK) {
        *ops_out = is_stream ? &tfrecord_stream_ops : &tfrecord_ops;
    }
    return st;
}

static sluice_status tfrecord_infer(const void *args, stage_schema *schema)
{
    return record_source_infer("tfrecord", args, schema);
}

static const stage_param tfrecord_params[] = {
    RECORD_SOURCE_PARAMS("files, folders of *.tfrecord, patterns with {000..123} and wildcards",
                         "image:image/encoded@image,w:w@f32[2]"),
    PARAM_(record_args, max_sample, PARAM_BYTES, "256M", 1, 1073741824, NULL,
           "limit on the bytes of a record in a stream, for which memory is reserved"),
};

const stage_def stage_tfrecord = {
    .name = "tfrecord",
    .summary = "Samples in TFRecord files, each a tf.train.Example or SequenceExample.",
    .gives = "a column for each of fields=, and NAME_length of [N]",
    .details =
        "Samples are read in any order, by an index that is made in one scan. The checksum of "
        "each record is compared. Without fields= the first 100 records of the first file decide: "
        "one integer becomes i64, or i32 if it is named label, one float f32, k of them i64xk or "
        "f32xk, a varying number i64[N] or f32[N]; byte strings become image if they begin as the "
        "file of an image, text[N] if they are UTF-8, else bytes[N]. A column gets the last part "
        "of a feature's name, and the first image is `image`.\n"
        "If a record has a feature twice the last one counts, as in TensorFlow. Of a feature list "
        "of a SequenceExample the values are those of all steps, one after another.\n"
        "Files compressed by gzip, zlib, zstd, xz or bzip2, and pipes (- is standard input), are "
        "read in sequence; they need fields=.\n" RECORD_SOURCE_KINDS,
    .elsewhere = "TFRecordDataset TFRecordReader TFRecordPipeline",
    .kind = STAGE_SOURCE,
    STAGE_PARAMS(tfrecord_params),
    .args_size = sizeof(record_args),
    .infer = tfrecord_infer,
    .source = &(const source_stage_ops){.ops = &tfrecord_ops,
                                        .choose = tfrecord_choose,
                                        .schema = record_source_schema,
                                        .opens_early = record_source_opens_early},
};
