/* SPDX-License-Identifier: Apache-2.0 */
/* Samples as records of TFRecord files, each a tf.train.Example with a feature for each column. */
#include <errno.h>
#include <unistd.h>

#include "alloc_int.h"
#include "descriptor_int.h"
#include "example_writer.h"
#include "kept_records.h"
#include "status_int.h"
#include "write_failure.h"

/* Size of the write buffer. */
enum { BUFFER = 1 << 20 };

typedef struct tfrecord_file {
    const sample_file *file;
    record_names names;
    record_bytes bytes; /* not written yet */
    uint64_t written;
} tfrecord_file;

static void close_file(void *opaque)
{
    tfrecord_file *writer = opaque;

    if (writer != NULL) {
        record_bytes_free(&writer->bytes);
        sli_free(writer);
    }
}

static sluice_status open_file(const sample_file *file, void **writer_out)
{
    tfrecord_file *writer = sli_calloc(1, sizeof(*writer));

    if (writer == NULL) {
        return sli_fail(SLUICE_E_NO_MEMORY, "a writer of TFRecord files");
    }
    writer->file = file;
    kept_records_names(file->kept, &writer->names);
    *writer_out = writer;
    return SLUICE_OK;
}

static sluice_status append(const kept_columns *kept, const record_names *names,
                            const kept_value *values, record_bytes *bytes)
{
    record_value of_record[SLUICE_MAX_COLUMNS];

    kept_records_values(kept, values, of_record);
    return tfrecord_append(names, of_record, bytes);
}

static sluice_status measure_sample(const kept_columns *kept, const kept_value *values,
                                    uint64_t *bytes_out)
{
    record_names names;
    record_bytes bytes = {NULL, 0, 0};
    sluice_status st;

    kept_records_names(kept, &names);
    st = append(kept, &names, values, &bytes);
    *bytes_out = bytes.size;
    record_bytes_free(&bytes);
    return st;
}

static sluice_status flush(tfrecord_file *writer)
{
    if (sli_write(writer->file->fd, writer->bytes.data, writer->bytes.size) != 0) {
        return file_write_failed(writer->file->path, errno);
    }
    writer->written += writer->bytes.size;
    writer->bytes.size = 0;
    return SLUICE_OK;
}

static sluice_status add_sample(void *opaque, const char *key, const kept_value *values)
{
    tfrecord_file *writer = opaque;
    const sluice_status st = append(writer->file->kept, &writer->names, values, &writer->bytes);

    (void)key; /* records have their position only */
    return st == SLUICE_OK && writer->bytes.size >= BUFFER ? flush(writer) : st;
}

static sluice_status finish_file(void *opaque, uint64_t *bytes_out)
{
    tfrecord_file *writer = opaque;
    const sluice_status st = flush(writer);

    *bytes_out = writer->written;
    return st;
}

const sample_writer tfrecord_writer = {
    .format = "tfrecord",
    .end = ".tfrecord",
    .is_nameless = true,
    .find_obstacle = kept_records_obstacle,
    .print_fields = kept_records_print,
    .open = open_file,
    .measure = measure_sample,
    .add = add_sample,
    .finish = finish_file,
    .close = close_file,
};
