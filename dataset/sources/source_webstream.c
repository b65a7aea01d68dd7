/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Source `webdataset` as a stream: pipes, compressed shards, or plain shards with access=stream. A
 * pass reads each shard from its first byte to its last; only the current sample is in memory.
 */
#include <stdio.h>
#include <string.h>

#include "alloc_int.h"
#include "byte_feed.h"
#include "compression.h"
#include "page_cache.h"
#include "shard_walk.h"
#include "status_int.h"
#include "stream_files.h"
#include "web_packs.h"
#include "webdataset_args.h"
#include "webdataset_skipped.h"

typedef struct web_stream {
    stream_files files;
    const web_args *args;               /* arguments of the stage */
    char left_out[2 * SHARD_SEEN_SIZE]; /* members that are in no column, once a pass has ended */
} web_stream;

typedef struct web_pass {
    web_stream *stream;
    int stop_fd;
    stream_turn turn;
    size_t shard; /* position of the current or next shard in the order */
    bool is_open;
    byte_feed *feed;
    shard_fields fields;
    shard_walk walk;
    shard_index index;  /* holds the sample once it is complete, else empty */
    image_buffer image; /* image of that sample, or of the incomplete one */
    uint64_t given;
    webdataset_skipped skipped;
    char seen[SHARD_SEEN_SIZE]; /* fields of the shards read so far */
} web_pass;

/* ---- the source ---------------------------------------------------------------------------- */

sluice_status web_is_stream(const web_args *args, bool *is_stream_out)
{
    file_list list = {0};
    bool found = args->access == 1;
    sluice_status st = found ? SLUICE_OK : file_list_make(args->shards, &web_list_kind, &list);

    for (size_t i = 0; st == SLUICE_OK && i < list.count && !found; i++) {
        found = byte_feed_is_once(list.paths[i]) || compression_has_suffix(list.paths[i]);
    }
    file_list_free(&list);
    *is_stream_out = found;
    return st;
}

static void stream_close(void *source)
{
    web_stream *stream = source;

    stream_files_close(&stream->files);
    sli_free(stream);
}

static sluice_status stream_open(const void *opaque, void **source_out)
{
    const web_args *args = opaque;
    web_stream *stream = sli_calloc(1, sizeof(*stream));
    web_packs packs = {.marks.shard = NULL};
    sluice_status st;

    if (stream == NULL) {
        return sli_fail(SLUICE_E_NO_MEMORY, "webdataset %s", args->shards);
    }
    stream->args = args;
    st = stream_files_open(args->shards, &web_list_kind, &stream->files);
    if (st == SLUICE_OK) {
        st = web_packs_add_all(&packs, &stream->files.list);
    }
    if (st != SLUICE_OK) {
        stream_close(stream);
        return st;
    }
    web_packs_warn(&packs, args);
    *source_out = stream;
    return SLUICE_OK;
}

static uint64_t stream_memory(const void *source)
{
    const web_stream *stream = source;

    return sizeof(*stream) + stream_files_memory(&stream->files);
}

static uint64_t stream_largest(const void *source)
{
    return ((const web_stream *)source)->args->max_sample;
}

static bool stream_once(const void *source)
{
    return ((const web_stream *)source)->files.once;
}

/* ---- a pass -------------------------------------------------------------------------------- */

/*
 * Reads the image of the current sample. An image that is too large is not read; stream_read()
 * reports it.
 */
static sluice_status keep_image(void *arg, const tar_member *member)
{
    web_pass *pass = arg;
    sluice_status st;

    if (member->size > pass->stream->args->max_sample) {
        return SLUICE_OK;
    }
    st = image_buffer_reserve(&pass->image, (size_t)member->size);
    return st == SLUICE_OK
               ? tar_read(&pass->walk.tar, member->offset, pass->image.data, (size_t)member->size)
               : st;
}

static void close_shard(web_pass *pass)
{
    if (pass->is_open) {
        shard_walk_end(&pass->walk);
        shard_index_free(&pass->index);
        byte_feed_close(pass->feed);
    }
    pass->is_open = false;
    pass->feed = NULL;
}

static const char *path_of(const web_pass *pass)
{
    return stream_files_path(&pass->stream->files, &pass->turn, pass->shard);
}

static sluice_status open_shard(web_pass *pass)
{
    const char *path = path_of(pass);
    sluice_status st = byte_feed_open(path, pass->stream->args->cache == PAGE_CACHE_DROP,
                                      pass->stop_fd, &pass->feed);

    if (st != SLUICE_OK) {
        return st;
    }
    memset(&pass->walk, 0, sizeof(pass->walk));
    pass->walk.fields = &pass->fields;
    pass->walk.index = &pass->index;
    pass->walk.keep_image = keep_image;
    pass->walk.arg = pass;
    tar_begin_feed(&pass->walk.tar, pass->feed, byte_feed_title(path));
    pass->is_open = true;
    return SLUICE_OK;
}

/* Closes the current shard at its end, and counts what was skipped in it. */
static void leave_shard(web_pass *pass)
{
    shard_seen_merge(pass->seen, pass->index.seen);
    skipped_count_shard(&pass->skipped, &pass->index, path_of(pass));
    close_shard(pass);
    pass->shard++;
}

/* Reads until a sample is complete, or the pass ends. */
static sluice_status complete_sample(web_pass *pass)
{
    sluice_status st = SLUICE_OK;

    while (st == SLUICE_OK && pass->index.count == 0) {
        if (!pass->is_open && pass->shard == pass->stream->files.list.count) {
            return SLUICE_END_OF_DATA;
        }
        st = pass->is_open ? shard_walk_step(&pass->walk) : open_shard(pass);
        if (st == SLUICE_END_OF_DATA) {
            st = SLUICE_OK;
            if (pass->index.count == 0) {
                leave_shard(pass);
            }
        }
    }
    return st;
}

/* Moves the complete sample into the item. False: it has no label, so it is skipped. */
static bool take_complete(web_pass *pass, stream_item *item)
{
    const shard_sample *sample = &pass->index.samples[0];
    const char *name = shard_sample_name(&pass->index, 0);
    const char *path = path_of(pass);
    const image_buffer bytes = item->bytes;
    const bool labelled = web_is_labelled(pass->stream->args);
    const bool kept =
        !labelled || (sample->flags & (uint32_t)(SHARD_HAS_LABEL | SHARD_BAD_LABEL)) != 0;

    if (kept) {
        snprintf(item->name, sizeof(item->name), "%s/%s", web_base_of(path), name);
        item->origin = byte_feed_title(path);
        item->size = sample->size;
        item->held = sample->size > pass->stream->args->max_sample ? 0 : (size_t)sample->size;
        item->flags = sample->flags;
        item->label = sample->label;
        item->bytes = pass->image;
        pass->image = bytes;
    } else {
        skipped_count(&pass->skipped.unlabelled, 1, path, name, shard_key_length(name));
    }
    shard_walk_forget(&pass->walk);
    return kept;
}

static sluice_status pass_next(void *opaque, stream_item *item)
{
    web_pass *pass = opaque;
    bool given = false;
    sluice_status st = SLUICE_OK;

    while (st == SLUICE_OK && !given) {
        st = complete_sample(pass);
        given = st == SLUICE_OK && take_complete(pass, item);
    }
    pass->given += given;
    if (st == SLUICE_END_OF_DATA) {
        skipped_warn(&pass->skipped, pass->stream->args, pass->seen);
        skipped_members(pass->seen, pass->stream->args, pass->stream->left_out,
                        sizeof(pass->stream->left_out));
        if (pass->given == 0) {
            st = skipped_all(&pass->skipped, pass->stream->args, pass->stream->files.list.count,
                             pass->seen);
        }
    }
    return st;
}

static void pass_end(void *opaque)
{
    web_pass *pass = opaque;

    close_shard(pass);
    image_buffer_free(&pass->image);
    sli_free(pass);
}

static sluice_status pass_begin(void *source, const stream_start *start, void **pass_out)
{
    web_stream *stream = source;
    stream_turn turn;
    web_pass *pass;
    const sluice_status st = stream_files_begin(&stream->files, start, &turn);

    if (st != SLUICE_OK) {
        return st;
    }
    pass = sli_calloc(1, sizeof(*pass));
    if (pass == NULL) {
        return sli_fail(SLUICE_E_NO_MEMORY, "webdataset %.200s", stream->args->shards);
    }
    pass->stream = stream;
    pass->stop_fd = start->stop_fd;
    pass->turn = turn;
    pass->fields = (shard_fields){stream->args->image, web_is_labelled(stream->args)
                                                           ? stream->args->label
                                                           : shard_default_fields.label};
    *pass_out = pass;
    return SLUICE_OK;
}

static sluice_status check_size(const web_stream *stream, const stream_item *item)
{
    const uint64_t most = stream->args->max_sample;

    if (item->size <= most) {
        return SLUICE_OK;
    }
    return sli_fail(SLUICE_E_IO,
                    "the image has %llu bytes, and must have at most max_sample=%llu; raise "
                    "max_sample=, up to 1G, for the member %.200s of the shard %s",
                    (unsigned long long)item->size, (unsigned long long)most,
                    strchr(item->name, '/') + 1, item->origin);
}

/* Makes a sample of the item that pass_next() has filled. */
static sluice_status stream_read(const void *source, uint64_t index, sample_io *io,
                                 void *const *row, sample_data *data_out)
{
    const web_stream *stream = source;
    const stream_item *item = &io->item;
    const bool labelled = web_is_labelled(stream->args);
    sluice_status st = check_size(stream, item);

    (void)index;
    if (st == SLUICE_OK) {
        st = web_check_sample(item->flags, item->size, labelled, item->origin);
    }
    if (st != SLUICE_OK) {
        return st;
    }
    io->bytes_read += item->size;
    data_out->bytes = item->bytes.data;
    data_out->size = (size_t)item->size;
    data_out->named = image_formats_of_file(item->name);
    if (labelled && row[1] != NULL) {
        *(int32_t *)row[1] = item->label;
    }
    return SLUICE_OK;
}

static const char *stream_left_out(const void *source)
{
    return ((const web_stream *)source)->left_out;
}

const source_ops web_stream_ops = {
    .open = stream_open,
    .close = stream_close,
    .name = stream_sample_name,
    .read = stream_read,
    .memory = stream_memory,
    .once = stream_once,
    .begin = pass_begin,
    .next = pass_next,
    .end = pass_end,
    .largest = stream_largest,
    .left_out = stream_left_out,
    .instead = "give it plain files without access=stream",
};
