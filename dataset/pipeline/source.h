/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The interface of a source: the operations that it implements, and what a worker and a source hand
 * to each other.
 */
#ifndef SLUICE_SOURCE_H
#define SLUICE_SOURCE_H

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "descriptor_int.h"
#include "image.h"

/* A sample that was taken from a stream. */
typedef struct stream_item {
    image_buffer bytes;
    uint64_t number; /* in the order that the source gave them in, of the pass */
    uint64_t size;   /* of the image in bytes */
    size_t held;     /* size; 0 when that is more than the source takes */
    size_t charged;  /* to the budget of large samples (stream_hold.h) */
    uint32_t flags;
    int32_t label;
    const char *origin; /* the shard or pipe it was read from; the source's own */
    char name[1024];
} stream_item;

/* What sample_io.bytes holds of a file, for a source that reads several samples at once. */
typedef struct sample_ahead {
    const void *file; /* NULL: nothing */
    uint64_t begin;   /* the first byte held, and the one behind the last */
    uint64_t end;
    uint64_t next;    /* where the sample behind the last one begins */
    uint32_t samples; /* that were read at once */
} sample_ahead;

/* One worker's way to read samples. */
typedef struct sample_io {
    image_buffer bytes; /* a file's content */
    sample_ahead ahead; /* of it */
    stream_item item;   /* what read() makes a sample of, where the source is a stream */
    image_index index;  /* of the image in it */
    uint64_t bytes_read;
    bool whole;                     /* read() is to read all bytes of an image: no image_rest */
    const sli_interrupt *interrupt; /* ends a wait for a file descriptor; NULL: nothing does */
    sli_held_file *lent;            /* by read(), until the next one; NULL: none */
    uint64_t draws_key;             /* of random numbers of the source, and their pass */
    uint64_t pass;
    bool ends_run; /* the last read failed for the run, not for its sample */
    void *state;   /* of a source that keeps one for each worker; NULL: none */
    void (*state_free)(void *state);
} sample_io;

/* Gives back what the last read() has lent. */
static inline void sample_io_give_back(sample_io *io)
{
    if (io->lent != NULL) {
        sli_held_file_give_back(io->lent);
        io->lent = NULL;
    }
}

/* Frees what the source keeps for a worker, on the worker's thread. */
static inline void sample_io_end(sample_io *io)
{
    if (io->state != NULL) {
        io->state_free(io->state);
        io->state = NULL;
    }
}

static inline void sample_io_free(sample_io *io)
{
    sample_io_end(io);
    sample_io_give_back(io);
    image_buffer_free(&io->bytes);
    image_buffer_free(&io->item.bytes);
    image_buffer_free(&io->index.bytes);
}

/* What a source gives of a sample. Borrowed from sample_io or the source until the next read. */
typedef struct sample_data {
    const uint8_t *bytes; /* encoded; NULL when the image is raw */
    size_t size;
    int64_t modified_ns; /* when the file was changed */
    image_index *index;  /* for the decoder, which fills it; NULL: the source keeps none */
    image_rest rest;     /* of an encoded image of which bytes are but the first */
    image_view image;
    bool from_pack; /* encoded by `sluice pack`, which leaves nothing for an index to gain */
} sample_data;

/* Where a sample's bytes lie: in an open file, or in one that is opened by its path. */
typedef struct sample_location {
    int fd;              /* -1: held, or by path */
    sli_held_file *held; /* NULL, or it holds none at the moment: by path */
    int folder_fd;       /* where a relative path begins, AT_FDCWD */
    const char *path;    /* the source's own, or in name */
    uint64_t offset;
    uint64_t size; /* 0: all there is from offset on */
    bool in_parts; /* what of it is read is known only once it has begun */
    char name[2 * NAME_MAX + 8];
} sample_location;

/*
 * A source's own sample order, for one rank; it replaces the order that stages make. A pass has the
 * same number of positions on every rank.
 */
typedef struct source_order {
    uint64_t length; /* positions of a pass */
    uint64_t memory; /* bytes */

    /* The sample at a position of a pass. Any thread. */
    uint64_t (*at)(struct source_order *order, uint64_t pass, uint64_t position);

    /* A sample of all ranks' pass, by a number below length times their count. */
    uint64_t (*of_all)(const struct source_order *order, uint64_t number);
    void (*close)(struct source_order *order);
} source_order;

/* What an order of a source's own is bound to: another value makes another order. */
typedef struct source_order_bounds {
    uint32_t batch; /* rows of a batch */
    uint32_t rank;
    uint32_t world;
} source_order_bounds;

typedef struct source_ops {
    /* Opens files; args as parsed. */
    sluice_status (*open)(const void *args, void **source_out);
    void (*close)(void *source);
    uint64_t (*count)(const void *source);

    /* A sample's name for messages and for split: "cat/1.jpg", stable when files are added. */
    void (*name)(const void *source, uint64_t index, char *text, size_t size);

    /*
     * Reads a sample. Columns other than the image are written to row[column] (NULL: not wanted).
     * Any thread, several at once, each with its own io.
     */
    sluice_status (*read)(const void *source, uint64_t index, sample_io *io, void *const *row,
                          sample_data *data_out);

    /* Of a source with masks: reads the one of a column, into the same buffers as read(). */
    sluice_status (*read_mask)(const void *source, uint64_t index, uint32_t column, sample_io *io,
                               sample_data *data_out);

    /*
     * Optional: where the bytes of a sample lie, for readahead and dropping; it touches no file
     * itself. False: there are none. Borrowed from the source.
     */
    bool (*locate)(const void *source, uint64_t index, sample_location *location_out);

    /* Optional: are bytes that were read to be dropped from the page cache? */
    bool (*drops)(const void *source);

    /* Optional: the sample read last with io was decoded, and its index made or found wrong. Was
     * one kept? */
    bool (*keep_index)(const void *source, uint64_t index, const sample_io *io,
                       const sample_data *data);

    /* Optional: makes the order that the arguments ask for; *order_out is NULL when they ask for
     * none. E_INVALID: the files are too short for these bounds; E_NO_MEMORY. */
    sluice_status (*make_order)(const void *source, const source_order_bounds *bounds,
                                source_order **order_out);

    /* Bytes the source keeps in memory for itself, for reports. */
    uint64_t (*memory)(const void *source);

    /*
     * A stream has these five in place of count: its samples come in sequence, pass by pass.
     * once(): there is but one pass. begin() mixes the order of files by a key, not NULL, where it
     * can. next() puts the next sample into the item (but its number), of which read() of the same
     * io then makes one: END_OF_DATA after the last; CLOSED once stop_fd is readable; a pass that
     * has failed is ended. One thread at a time calls next() and end() of a pass. largest(): the
     * most bytes of a sample that next() gives, and holds besides.
     */
    bool (*once)(const void *source);
    sluice_status (*begin)(void *source, int stop_fd, const uint64_t *key, void **pass_out);
    sluice_status (*next)(void *pass, stream_item *item);
    void (*end)(void *pass);
    uint64_t (*largest)(const void *source);

    /* Optional, both: how many classes there are, and the name of one, for lists of them. */
    uint32_t (*classes)(const void *source);
    void (*class_name)(const void *source, uint32_t label, char *text, size_t size);
} source_ops;

#endif
