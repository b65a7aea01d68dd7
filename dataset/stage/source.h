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
#include "image_formats.h"
#include "text_int.h"

/* A sample that was read from a stream. */
typedef struct stream_item {
    image_buffer bytes; /* the encoded image, the columns of a stream of user code, or the text of
                           an error */
    uint64_t number;    /* sample number within its pass, in the source's order */
    uint64_t size;      /* size of the encoded image */
    size_t held;    /* bytes of the image in `bytes`: `size`, or 0 if the image is too large for the
                       source */
    size_t charged; /* bytes charged to the budget of large samples (stream_hold.h) */
    uint32_t flags;
    int32_t label;
    int32_t status;     /* a sluice_status; an error: the sample is bad, as read() then reports */
    const char *origin; /* the shard or pipe that it was read from; borrowed from the source */
    char name[1024];    /* "": source_item_name() makes the name */
} stream_item;

/* How a pass of a stream begins. */
typedef struct stream_start {
    uint64_t pass;       /* number of the pass in the run */
    uint64_t draws_key;  /* key of the source's random draws */
    int stop_fd;         /* becomes readable when the run ends */
    const uint64_t *key; /* permutes the order of the files, if the source supports it; NULL: no */
} stream_start;

/*
 * The part of a file that sample_io.bytes holds, for a source that reads several samples at once.
 */
typedef struct sample_ahead {
    const void *file; /* identifies the file; NULL: `bytes` has no valid contents */
    uint64_t begin;   /* bytes [begin, end) of the file's data are held */
    uint64_t end;
    uint64_t next; /* offset at which the next sample begins, if samples are read consecutively */
    uint32_t samples; /* number of samples in the last read */
} sample_ahead;

/* The changes of boxes that are counted already of the sample that was read last (box_tally.h). */
typedef struct told_boxes {
    uint64_t sample;
    uint64_t pass;
    uint32_t changes; /* bit for each column of boxes and change */
} told_boxes;

/* Rows of declared_source.c, and which sample and columns they are. */
typedef struct declared_rows {
    image_buffer bytes;
    uint64_t index;
    uint64_t pass;
    uint32_t columns; /* bit i: column i */
} declared_rows;

/* The state of one worker for reading samples. */
typedef struct sample_io {
    image_buffer bytes; /* contents of a file */
    sample_ahead ahead; /* describes `bytes`, if the source reads several samples at once */
    stream_item item;   /* the current item of a stream, from which read() makes a sample */
    image_index index;  /* index of the image in `bytes` */
    uint64_t bytes_read;
    bool whole; /* read() must read all bytes of an image, and may not use image_rest */
    const sli_interrupt *interrupt; /* ends a wait for a file descriptor; NULL: no interrupt */
    sli_held_file *lent; /* file whose descriptor read() has borrowed until the next read(); NULL:
                            no descriptor is borrowed */
    uint64_t draws_key;  /* key and pass of the source's random draws */
    uint64_t pass;
    void *stored;  /* destination of the stored array (source_windows); NULL: not needed */
    bool ends_run; /* the last read failed with an error that ends the run, not an error of its
                      sample */
    bool drew;     /* set by a read() that has drawn random numbers */
    declared_rows declared;
    uint32_t image_width; /* size of the sample's image, for masks that are drawn in it; 0: not
                             known */
    uint32_t image_height;
    told_boxes told;
    void *state; /* the source's own state for this worker; NULL: no state */
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
    image_buffer_free(&io->declared.bytes);
    image_buffer_free(&io->item.bytes);
    image_buffer_free(&io->index.bytes);
}

/*
 * A stored array of which columns of the source are windows; the columns' elements may be wider. A
 * source that has such an array writes either these columns or the array.
 */
typedef struct source_windows {
    sluice_column stored;                 /* type and length of the array; it has one dimension */
    uint64_t offsets[SLUICE_MAX_COLUMNS]; /* indexed by column: its first element in the array;
                                             SOURCE_NO_WINDOW: the column is not a window */
    uint32_t offload; /* where the columns are computed: a value of offload_target (stage.h) */
} source_windows;

#define SOURCE_NO_WINDOW UINT64_MAX

/* The result of reading a sample; borrowed from sample_io or the source until the next read. */
typedef struct sample_data {
    const uint8_t *bytes; /* the encoded image; NULL: the image is raw, in `image` */
    size_t size;
    image_index *index; /* for the decoder, which may build it; NULL: no indexes are stored */
    image_rest rest; /* location of the remaining bytes, if `bytes` are only the first bytes of the
                        encoded image */
    image_view image;
    bool from_pack; /* the image was encoded by `sluice pack`, so an index would gain nothing */
    image_formats named;   /* of which the image's file has an extension: image_formats_of_file() */
    uint32_t listed_width; /* size of the image that the annotations are for; 0: not known */
    uint32_t listed_height;
} sample_data;

/* The location of a sample's bytes: in an open file, or in a file that is opened by its path. */
typedef struct sample_location {
    int fd;              /* open file descriptor; -1: use `held` or the path */
    sli_held_file *held; /* may lend a descriptor; NULL, or if it lends none: use the path */
    int folder_fd;       /* folder that a relative path refers to, or AT_FDCWD */
    const char *path;    /* borrowed from the source, or points to `name` */
    uint64_t offset;
    uint64_t size; /* 0: up to the end of the file */
    bool in_parts; /* only parts of the file will be read, and its first bytes determine which */
    bool keeps;    /* the bytes stay in the page cache, although the source drops other samples' */
    char name[2 * NAME_MAX + 8];
} sample_location;

/*
 * A source's own order of samples, for one rank. It replaces the order by stages. A pass has the
 * same number of positions on every rank.
 */
typedef struct source_order {
    uint64_t length; /* number of positions in a pass */
    uint64_t memory; /* bytes of memory that the order uses */

    /* Returns the sample at a position of a pass. Callable from any thread. */
    uint64_t (*at)(struct source_order *order, uint64_t pass, uint64_t position);

    /*
     * Returns the sample that some rank reads in a pass. `number` is below `length` times the
     * number of ranks.
     */
    uint64_t (*of_all)(const struct source_order *order, uint64_t number);
    void (*close)(struct source_order *order);
} source_order;

/* The parameters of a source's own order; each combination gives a different order. */
typedef struct source_order_bounds {
    uint32_t batch; /* rows of a rank's batch */
    uint32_t rank;
    uint32_t world;
} source_order_bounds;

typedef struct source_ops {
    /* Opens the source; args is its argument struct. */
    sluice_status (*open)(const void *args, void **source_out);
    void (*close)(void *source);
    uint64_t (*count)(const void *source);

    /*
     * Writes a sample's name, such as "cat/1.jpg", for messages and for split. Adding files does
     * not change the name.
     */
    void (*name)(const void *source, uint64_t index, char *text, size_t size);

    /*
     * Reads a sample. Columns other than the image are written to row[column] (NULL: the column is
     * not needed). Callable from any number of threads, each with its own io.
     */
    sluice_status (*read)(const void *source, uint64_t index, sample_io *io, void *const *row,
                          sample_data *data_out);

    /* Optional: writes the plain columns that read() writes, without reading the image. */
    sluice_status (*read_plain)(const void *source, uint64_t index, sample_io *io,
                                void *const *row);

    /*
     * Optional: describes the stored array of which columns are windows. False: the source has no
     * such array.
     */
    bool (*windows)(const void *source, source_windows *windows_out);

    /* For a source with masks or further images: reads the mask or image of one column. Uses the
     * same buffers of `io` as read(), so the previous image's bytes are overwritten. A mask may be
     * drawn, with the size io->image_width by io->image_height. */
    sluice_status (*read_other)(const void *source, uint64_t index, uint32_t column, sample_io *io,
                                sample_data *data_out);

    /*
     * Optional: returns the location of a sample's bytes, for readahead and for dropping them from
     * the page cache. It accesses no file. False: the sample has no such location. The result is
     * borrowed from the source.
     */
    bool (*locate)(const void *source, uint64_t index, sample_location *location_out);

    /* Optional: true if bytes should be dropped from the page cache once they were read. */
    bool (*drops)(const void *source);

    /*
     * Optional: stores the index of the sample that io read last. It is called after the sample was
     * decoded and its index was built, or found wrong. Returns whether an index was stored.
     */
    bool (*keep_index)(const void *source, uint64_t index, const sample_io *io,
                       const sample_data *data);

    /*
     * Optional: creates the order that the source's arguments select; *order_out is NULL if they
     * select no order. E_INVALID: the files are too short for these bounds. Also returns
     * E_NO_MEMORY.
     */
    sluice_status (*make_order)(const void *source, const source_order_bounds *bounds,
                                source_order **order_out);

    /* Returns the bytes of memory that the source uses, for reports. */
    uint64_t (*memory)(const void *source);

    /*
     * A stream has these five operations instead of count; its samples are read sequentially, pass
     * by pass. once(): true if there is only one pass. begin(): begins a pass. next(): reads the
     * next sample into the item, whose number is set; read() with the same io then returns the
     * sample. next() returns END_OF_DATA after the last sample, and CLOSED once stop_fd is
     * readable. A pass that has failed must still be ended. Only one thread at a time may call
     * next() and end() of a pass. largest(): upper bound on the bytes of a sample, as buffered and
     * returned by next().
     */
    bool (*once)(const void *source);
    sluice_status (*begin)(void *source, const stream_start *start, void **pass_out);
    sluice_status (*next)(void *pass, stream_item *item);
    void (*end)(void *pass);
    uint64_t (*largest)(const void *source);
    bool passes_vary;    /* the passes of the stream need not have equal numbers of samples */
    const char *instead; /* advice where samples are needed by their numbers, which it has not */

    /* Optional, both: return the number of classes, and write the name of a class. */
    uint32_t (*classes)(const void *source);
    void (*class_name)(const void *source, uint32_t label, char *text, size_t size);

    /* Optional: the files that a source of files has not read, such as "3 .webp", or the members of
     * shards; of a stream, once a pass has ended; "": none. */
    const char *(*left_out)(const void *source);

    /* Optional: adds the boxes that were clipped to their image so far, and those without an area
     * that were dropped. */
    void (*changed_boxes)(const void *source, uint64_t *clipped, uint64_t *dropped);

    /* Optional: the key points that a flip exchanges, and which column has them; NULL: no column
     * has key points. There are no pairs if the source does not know them. */
    const struct point_pairs *(*flip_pairs)(const void *source, uint32_t *column_out);

    /* Optional: a hash of what else determines the columns of samples, such as the names of classes
     * by which a list's labels are numbered; 0: nothing. It is part of the identity of a run. */
    uint64_t (*identity)(const void *source);

    /* Optional: appends what an argument that was left out stands for, if the files determine it,
     * such as the columns that a list declares; the identity of a run has that value. */
    void (*implied)(const void *source, const char *argument, sli_text *text);
} source_ops;

/* Returns the name of a stream's sample. */
static inline const char *source_item_name(const source_ops *ops, const void *source,
                                           stream_item *item)
{
    if (item->name[0] == '\0') {
        ops->name(source, item->number, item->name, sizeof(item->name));
    }
    return item->name;
}

#endif
