/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The interface of a source: the operations that it implements, and the data that it exchanges with
 * workers.
 */
#ifndef SLUICE_SOURCE_H
#define SLUICE_SOURCE_H

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <sluice/tensor.h>

#include "descriptor_int.h"
#include "image.h"

/* A sample that was read from a stream. */
typedef struct stream_item {
    image_buffer bytes;
    uint64_t number; /* number of the sample in its pass, in the order of the source */
    uint64_t size;   /* bytes of the encoded image */
    size_t held;     /* bytes of the image in `bytes`: size, or 0 if the image is too large for the
                        source */
    size_t charged;  /* bytes charged to the budget of large samples (stream_hold.h) */
    uint32_t flags;
    int32_t label;
    const char *origin; /* the shard or pipe that it was read from; borrowed from the source */
    char name[1024];
} stream_item;

/*
 * The part of a file that sample_io.bytes holds, for a source that reads several samples at once.
 */
typedef struct sample_ahead {
    const void *file; /* identifies the file; NULL: no valid contents */
    uint64_t begin;   /* range [begin, end) of the held bytes, as offsets in the file's data */
    uint64_t end;
    uint64_t next;    /* begin of the next sample, if samples are read consecutively */
    uint32_t samples; /* number of samples in the last read */
} sample_ahead;

/* The state of one worker for reading samples. */
typedef struct sample_io {
    image_buffer bytes; /* contents of a file */
    sample_ahead ahead; /* describes `bytes`, if the source reads several samples at once */
    stream_item item;   /* the current item of a stream, from which read() makes a sample */
    image_index index;  /* index of the image in `bytes` */
    uint64_t bytes_read;
    bool whole;                     /* read() must read all bytes of an image; it may not use
                                       image_rest */
    const sli_interrupt *interrupt; /* ends a wait for a file descriptor; NULL: no interrupt */
    sli_held_file *lent;            /* file whose descriptor read() has borrowed, until the next
                                       read(); NULL: none */
    uint64_t draws_key;             /* key and pass of the source's random numbers */
    uint64_t pass;
    void *stored; /* read() writes the stored array here (source_windows); NULL: it is not needed */
    bool ends_run; /* the last read failed with an error of the run, not of its sample */
    void *state;   /* the source's own state for this worker; NULL: none */
    void (*state_free)(void *state);
} sample_io;

/* Returns the descriptor that the last read() has borrowed. */
static inline void sample_io_give_back(sample_io *io)
{
    if (io->lent != NULL) {
        sli_held_file_give_back(io->lent);
        io->lent = NULL;
    }
}

/* Frees the source's state for this worker. Call it on the worker's thread. */
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

/*
 * A stored array of which columns of the source are windows, of equal or wider elements: a source
 * that has one writes either these columns or the array.
 */
typedef struct source_windows {
    sluice_column stored;                 /* one dimension */
    uint64_t offsets[SLUICE_MAX_COLUMNS]; /* by column: its first element in the array;
                                             SOURCE_NO_WINDOW: the column is none of them */
    uint32_t offload; /* where the columns are made: a value of offload_target (stage.h) */
} source_windows;

#define SOURCE_NO_WINDOW UINT64_MAX

/* The result of reading a sample. Borrowed from sample_io or the source until the next read. */
typedef struct sample_data {
    const uint8_t *bytes; /* the encoded image; NULL: the image is raw, in `image` */
    size_t size;
    int64_t modified_ns; /* modification time of the file */
    image_index *index;  /* index for the decoder, which may build it; NULL: the source stores no
                            indexes */
    image_rest rest;     /* location of the rest, if `bytes` are only the first bytes of the encoded
                            image */
    image_view image;
    bool from_pack; /* encoded by `sluice pack`, so an index would gain nothing */
} sample_data;

/* The location of a sample's bytes: in an open file, or in a file that is opened by its path. */
typedef struct sample_location {
    int fd;              /* open file; -1: use `held` or the path */
    sli_held_file *held; /* may lend a descriptor; NULL, or if it lends none: use the path */
    int folder_fd;       /* folder to which a relative path belongs; or AT_FDCWD */
    const char *path;    /* borrowed from the source, or points to `name` */
    uint64_t offset;
    uint64_t size; /* 0: up to the end of the file */
    bool in_parts; /* only parts of it will be read, and which ones depends on its first bytes */
    char name[2 * NAME_MAX + 8];
} sample_location;

/*
 * A source's own order of samples, for one rank. It replaces the order by stages. A pass has the
 * same number of positions on every rank.
 */
typedef struct source_order {
    uint64_t length; /* number of positions in a pass */
    uint64_t memory; /* bytes of memory that the order uses */

    /* Returns the sample at a position of a pass. Any thread. */
    uint64_t (*at)(struct source_order *order, uint64_t pass, uint64_t position);

    /* Returns a sample that any rank reads in a pass, by a number below length times the number of
     * ranks. */
    uint64_t (*of_all)(const struct source_order *order, uint64_t number);
    void (*close)(struct source_order *order);
} source_order;

/* The parameters of a source's own order: other values give another order. */
typedef struct source_order_bounds {
    uint32_t batch; /* rows of a batch on one rank */
    uint32_t rank;
    uint32_t world;
} source_order_bounds;

typedef struct source_ops {
    /* Opens the source; args is its argument struct. */
    sluice_status (*open)(const void *args, void **source_out);
    void (*close)(void *source);
    uint64_t (*count)(const void *source);

    /* Writes a sample's name, for messages and for split, such as "cat/1.jpg". It does not change
     * when files are added. */
    void (*name)(const void *source, uint64_t index, char *text, size_t size);

    /*
     * Reads a sample. Columns other than the image are written to row[column] (NULL: not needed).
     * Any number of threads, each with its own io.
     */
    sluice_status (*read)(const void *source, uint64_t index, sample_io *io, void *const *row,
                          sample_data *data_out);

    /* Optional: writes the plain columns that read() writes, without reading the image. */
    sluice_status (*read_plain)(const void *source, uint64_t index, sample_io *io,
                                void *const *row);

    /* Optional: describes the stored array of the columns' windows. False: it has none. */
    bool (*windows)(const void *source, source_windows *windows_out);

    /* For a source with masks or further images: reads the mask or image of one column. Uses the
     * same buffers of `io` as read(), so the previous image's bytes are overwritten. */
    sluice_status (*read_other)(const void *source, uint64_t index, uint32_t column, sample_io *io,
                                sample_data *data_out);

    /*
     * Optional: returns the location of a sample's bytes, for readahead and for dropping them from
     * the page cache. It accesses no file. False: there is no such location. Borrowed from the
     * source.
     */
    bool (*locate)(const void *source, uint64_t index, sample_location *location_out);

    /* Optional: should bytes be dropped from the page cache once they were read? */
    bool (*drops)(const void *source);

    /* Optional: called after the sample that io read last was decoded and its index was built, or
     * found wrong. Stores the index. Returns whether one was stored. */
    bool (*keep_index)(const void *source, uint64_t index, const sample_io *io,
                       const sample_data *data);

    /* Optional: makes the order that the source's arguments request; *order_out is NULL if they
     * request none. E_INVALID: the files are too short for these bounds; E_NO_MEMORY. */
    sluice_status (*make_order)(const void *source, const source_order_bounds *bounds,
                                source_order **order_out);

    /* Returns the bytes of memory that the source uses, for reports. */
    uint64_t (*memory)(const void *source);

    /*
     * A stream has these five instead of count; its samples come sequentially, pass by pass.
     * once(): is there only one pass? begin(): begins a pass. A key that is not NULL permutes the
     * order of the files, if the source supports it. next(): reads the next sample into the item,
     * except for its number; read() with the same io then returns it. END_OF_DATA after the last;
     * CLOSED once stop_fd is readable. A pass that has failed must be ended. Only one thread at a
     * time may call next() and end() of a pass. largest(): upper bound on the bytes of a sample, as
     * buffered and returned by next().
     */
    bool (*once)(const void *source);
    sluice_status (*begin)(void *source, int stop_fd, const uint64_t *key, void **pass_out);
    sluice_status (*next)(void *pass, stream_item *item);
    void (*end)(void *pass);
    uint64_t (*largest)(const void *source);

    /* Optional, both: the number of classes, and the name of each. */
    uint32_t (*classes)(const void *source);
    void (*class_name)(const void *source, uint32_t label, char *text, size_t size);
} source_ops;

#endif
