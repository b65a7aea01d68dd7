/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Source `tfrecord` as a stream: compressed files and pipes. A pass reads each file from its first
 * byte to its last; only the current record is in memory.
 */
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "alloc_int.h"
#include "byte_feed.h"
#include "bytes_int.h"
#include "compression.h"
#include "record_source.h"
#include "status_int.h"
#include "stream_files.h"
#include "tfrecord_format.h"
#include "tfrecord_stream.h"
#include "webdataset_args.h"

typedef struct tf_stream {
    stream_files files;
    record_fields fields;
    uint64_t most; /* bytes of a record */
    bool drops;
} tf_stream;

typedef struct tf_pass {
    tf_stream *stream;
    int stop_fd;
    stream_turn turn;
    size_t file;     /* position of the current or next file in the order */
    byte_feed *feed; /* of the current file; NULL: none is open */
    uint64_t at;     /* offset in its decompressed bytes */
    uint64_t record; /* number of the next record of the file */
    uint64_t given;
} tf_pass;

/* ---- the source ---------------------------------------------------------------------------- */

/* True if a regular file is compressed. One that cannot be read is an error when it is opened. */
static bool is_compressed(const char *path)
{
    uint8_t head[TFRECORD_HEAD] = {0};
    const int fd = sli_openat(AT_FDCWD, path, O_RDONLY | O_CLOEXEC | O_NONBLOCK, 0, NULL);
    const ssize_t got = fd >= 0 ? sli_pread(fd, head, sizeof(head), 0) : 0;

    if (fd >= 0) {
        close(fd);
    }
    return got == (ssize_t)sizeof(head) && !tfrecord_head_is_good(head) &&
           compression_of(head, sizeof(head)) != COMPRESSION_NONE;
}

sluice_status tfrecord_is_stream(const record_args *args, bool *is_stream_out)
{
    file_list list = {0};
    sluice_status st = file_list_make(args->files, &record_tfrecord.files, &list);

    *is_stream_out = false;
    for (size_t i = 0; st == SLUICE_OK && i < list.count && !*is_stream_out; i++) {
        *is_stream_out = byte_feed_is_once(list.paths[i]) || is_compressed(list.paths[i]);
    }
    file_list_free(&list);
    return st;
}

static void stream_close(void *source)
{
    tf_stream *stream = source;

    list_columns_free(&stream->fields.columns);
    stream_files_close(&stream->files);
    sli_free(stream);
}

static sluice_status stream_open(const void *opaque, void **source_out)
{
    const record_args *args = opaque;
    tf_stream *stream;
    sluice_status st;

    if (args->fields[0] == '\0') {
        return sli_fail(SLUICE_E_INVALID,
                        "tfrecord %.200s: a compressed file or a pipe needs fields=, such as "
                        "fields=image:image/encoded@image,label:image/class/label@i32",
                        args->files);
    }
    stream = sli_calloc(1, sizeof(*stream));
    if (stream == NULL) {
        return sli_fail(SLUICE_E_NO_MEMORY, "tfrecord %.200s", args->files);
    }
    stream->drops = args->cache == PAGE_CACHE_DROP;
    stream->most = args->max_sample;
    st = record_fields_parse(args->fields, "tfrecord", &stream->fields);
    if (st == SLUICE_OK) {
        st = stream_files_open(args->files, &record_tfrecord.files, &stream->files);
    }
    if (st != SLUICE_OK) {
        stream_close(stream);
        return st;
    }
    *source_out = stream;
    return SLUICE_OK;
}

static uint64_t stream_memory(const void *source)
{
    const tf_stream *stream = source;

    return sizeof(*stream) + stream_files_memory(&stream->files);
}

static uint64_t stream_largest(const void *source)
{
    return ((const tf_stream *)source)->most;
}

static bool stream_once(const void *source)
{
    return ((const tf_stream *)source)->files.once;
}

/* ---- a pass -------------------------------------------------------------------------------- */

static const char *path_of(const tf_pass *pass)
{
    return stream_files_path(&pass->stream->files, &pass->turn, pass->file);
}

/* Adds file and offset to the text of an error. */
static sluice_status place_error(const tf_pass *pass, sluice_status status)
{
    return sli_fail_quoting(status,
                            "tfrecord: record %llu of %.400s, at byte %llu of its data: %.500s",
                            (unsigned long long)pass->record, byte_feed_title(path_of(pass)),
                            (unsigned long long)pass->at, sluice_last_error());
}

static sluice_status open_file(tf_pass *pass)
{
    pass->at = 0;
    pass->record = 0;
    return byte_feed_open(path_of(pass), pass->stream->drops, pass->stop_fd, &pass->feed);
}

/* Closes the current file after its last record. */
static sluice_status leave_file(tf_pass *pass)
{
    const sluice_status st = byte_feed_finish(pass->feed);

    byte_feed_close(pass->feed);
    pass->feed = NULL;
    pass->file++;
    return st;
}

/* Reads the rest of a record behind its head. */
static sluice_status read_rest(tf_pass *pass, const uint8_t *head, stream_item *item)
{
    const uint64_t length = sli_get_u64(head);
    uint64_t rest = 0;
    size_t got = 0;
    sluice_status st;

    if (length > UINT64_MAX - TFRECORD_HEAD - TFRECORD_TAIL) {
        return sli_fail(SLUICE_E_CORRUPT, "it has %llu bytes, beyond the end of the data",
                        (unsigned long long)length);
    }
    item->size = length + TFRECORD_HEAD + TFRECORD_TAIL;
    item->held = item->size > pass->stream->most ? 0 : (size_t)item->size;
    if (item->held == 0) { /* stream_read() reports it */
        st = byte_feed_skip(pass->feed, length + TFRECORD_TAIL, &rest);
    } else {
        st = image_buffer_reserve(&item->bytes, item->held);
        if (st == SLUICE_OK) {
            memcpy(item->bytes.data, head, TFRECORD_HEAD);
            st = byte_feed_read(pass->feed, item->bytes.data + TFRECORD_HEAD,
                                (size_t)length + TFRECORD_TAIL, &got);
        }
        rest = got;
    }
    return st != SLUICE_OK || rest == length + TFRECORD_TAIL
               ? st
               : sli_fail(SLUICE_E_CORRUPT, "it has %llu bytes, beyond the end of the data",
                          (unsigned long long)length);
}

/* Reads a record of the current file. END_OF_DATA: the file has ended. */
static sluice_status read_record(tf_pass *pass, stream_item *item)
{
    uint8_t head[TFRECORD_HEAD];
    size_t got = 0;
    sluice_status st = byte_feed_read(pass->feed, head, sizeof(head), &got);

    if (st != SLUICE_OK || got == 0) {
        return st != SLUICE_OK ? st : SLUICE_END_OF_DATA;
    }
    if (got < sizeof(head)) {
        return sli_fail(SLUICE_E_CORRUPT, "the data end within its head: they are truncated");
    }
    if (!tfrecord_head_is_good(head)) {
        return sli_fail(SLUICE_E_CORRUPT,
                        "the checksum of its length is wrong, so no later record can be found");
    }
    st = read_rest(pass, head, item);
    if (st == SLUICE_OK) {
        const char *path = byte_feed_title(path_of(pass));

        snprintf(item->name, sizeof(item->name), "%.900s:%llu", web_base_of(path),
                 (unsigned long long)pass->record++);
        item->origin = path;
        pass->at += item->size;
    }
    return st;
}

static sluice_status pass_next(void *opaque, stream_item *item)
{
    tf_pass *pass = opaque;
    sluice_status st = SLUICE_END_OF_DATA;

    while (st == SLUICE_END_OF_DATA &&
           (pass->feed != NULL || pass->file < pass->stream->files.list.count)) {
        st = pass->feed == NULL ? open_file(pass) : SLUICE_OK;
        if (st == SLUICE_OK) {
            st = read_record(pass, item);
        }
        if (st == SLUICE_END_OF_DATA) {
            const sluice_status left = leave_file(pass);

            st = left == SLUICE_OK ? st : left;
        } else if (st < SLUICE_OK) {
            st = pass->feed != NULL ? place_error(pass, st) : st;
        }
    }
    pass->given += st == SLUICE_OK;
    return st == SLUICE_END_OF_DATA && pass->given == 0
               ? sli_fail(SLUICE_E_INVALID,
                          "no valid data in the dataset: tfrecord: there is no record in %zu files",
                          pass->stream->files.list.count)
               : st;
}

static void pass_end(void *opaque)
{
    tf_pass *pass = opaque;

    if (pass->feed != NULL) {
        byte_feed_close(pass->feed);
    }
    sli_free(pass);
}

static sluice_status pass_begin(void *source, const stream_start *start, void **pass_out)
{
    tf_stream *stream = source;
    stream_turn turn;
    tf_pass *pass;
    const sluice_status st = stream_files_begin(&stream->files, start, &turn);

    if (st != SLUICE_OK) {
        return st;
    }
    pass = sli_calloc(1, sizeof(*pass));
    if (pass == NULL) {
        return sli_fail(SLUICE_E_NO_MEMORY, "a pass of tfrecord");
    }
    pass->stream = stream;
    pass->stop_fd = start->stop_fd;
    pass->turn = turn;
    *pass_out = pass;
    return SLUICE_OK;
}

/* ---- samples ------------------------------------------------------------------------------- */

/* Finds the values of the record that pass_next() has read. */
static sluice_status parse_item(const tf_stream *stream, sample_io *io, record_reader **reader_out)
{
    const record_part part = {io->item.bytes.data, io->item.held};
    record_reader *reader = record_source_reader(io);

    if (reader == NULL) {
        return SLUICE_E_NO_MEMORY;
    }
    if (io->item.size > stream->most) {
        return sli_fail(SLUICE_E_IO,
                        "the record has %llu bytes, and must have at most max_sample=%llu; raise "
                        "max_sample=, up to 1G",
                        (unsigned long long)io->item.size, (unsigned long long)stream->most);
    }
    *reader_out = reader;
    return record_tfrecord.parse(NULL, &part, &stream->fields.names, &reader->scratch,
                                 reader->values);
}

static sluice_status stream_read(const void *source, uint64_t index, sample_io *io,
                                 void *const *row, sample_data *data_out)
{
    const record_fields *fields = &((const tf_stream *)source)->fields;
    const int image = fields->columns.schema.image;
    record_reader *reader = NULL;
    sluice_status st = parse_item(source, io, &reader);

    (void)index;
    if (st == SLUICE_OK) {
        io->bytes_read += io->item.size;
        st = record_fields_write(fields, reader->values, row);
    }
    return st == SLUICE_OK && image >= 0
               ? record_source_image(fields, (uint32_t)image, reader, data_out)
               : st;
}

static sluice_status stream_read_other(const void *source, uint64_t index, uint32_t column,
                                       sample_io *io, sample_data *data_out)
{
    record_reader *reader = NULL;
    const sluice_status st = parse_item(source, io, &reader);

    (void)index;
    return st == SLUICE_OK
               ? record_source_image(&((const tf_stream *)source)->fields, column, reader, data_out)
               : st;
}

const source_ops tfrecord_stream_ops = {
    .open = stream_open,
    .close = stream_close,
    .name = stream_sample_name,
    .read = stream_read,
    .read_other = stream_read_other,
    .memory = stream_memory,
    .once = stream_once,
    .begin = pass_begin,
    .next = pass_next,
    .end = pass_end,
    .largest = stream_largest,
    .instead = "give it files without compression",
};
