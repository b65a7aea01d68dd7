/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The interface of a format that samples are written in. A format writes files of samples, one
 * after another; the packer does all else: the order of samples, workers, names and sizes of files,
 * atomic files, lists and resuming. A format is one constant struct, with a line
 * in sample_writers.c.
 */
#ifndef SLUICE_SAMPLE_WRITER_H
#define SLUICE_SAMPLE_WRITER_H

#include "kept_columns.h"
#include "text_int.h"

/* A file that is being written. */
typedef struct sample_file {
    int fd;           /* open for reading and writing */
    const char *path; /* of the temporary file, for messages */
    const char *name; /* the path that it will have */
    const kept_columns *kept;
    uint64_t shard_bytes; /* limit on its bytes, unless it has a single sample */
} sample_file;

typedef struct sample_writer {
    const char *format; /* its name, such as "webdataset"; also the source that reads it */
    const char *end;    /* of the names of its files, such as ".tar" */
    uint64_t overhead;  /* bytes at the end of a file */
    bool is_nameless;   /* files of images have no names in it, so that readers open only usual ones
                         */
    bool is_single;     /* all samples are in one file, whatever its size */
    bool lists_files;   /* the file lists others that have the samples; a name and a tab begin each
                           of its lines */

    /* Optional. E_UNSUPPORTED: this build lacks a library that the format needs. */
    sluice_status (*check_build)(void);

    /* Returns why the format cannot keep column i; NULL: it can. */
    const char *(*find_obstacle)(const kept_columns *kept, uint32_t i);

    /* Writes the argument fields= with which the source of this name reads the columns. */
    void (*print_fields)(const kept_columns *kept, sli_text *text);

    /* Begins a file. The struct outlives the writer; the caller closes *writer_out, also after an
     * error. Returns E_IO or E_NO_MEMORY. */
    sluice_status (*open)(const sample_file *file, void **writer_out);

    /* Finds the bytes that a sample takes in a file, besides the overhead. Callable from any
     * thread. E_NO_MEMORY. */
    sluice_status (*measure)(const kept_columns *kept, const kept_value *values,
                             uint64_t *bytes_out);

    /* Adds a sample; `key` is its position in digits. E_UNSUPPORTED: the format cannot have a
     * value; the message names the column. Also returns E_IO and E_NO_MEMORY. */
    sluice_status (*add)(void *writer, const char *key, const kept_value *values);

    /* Ends the file, which the caller syncs. Returns E_IO or E_NO_MEMORY. */
    sluice_status (*finish)(void *writer, uint64_t *bytes_out);

    /* Of the format of packs: writes the index of a finished file, beside it. */
    sluice_status (*write_index)(const sample_file *file);
    const char *index_end; /* of the name of a file beside it, after its own; NULL: there is none */

    /* Frees a writer, finished or not. Accepts NULL. */
    void (*close)(void *writer);
} sample_writer;

extern const sample_writer web_writer;
extern const sample_writer tfrecord_writer;
extern const sample_writer mindrecord_samples_writer;
extern const sample_writer npy_samples_writer;

/* Finds a format by its name; NULL: there is none. */
const sample_writer *sample_writer_find(const char *format);

/* E_UNSUPPORTED: the format, or this build, cannot keep a column. The message names the column, and
 * says what to do. */
sluice_status sample_writer_check(const sample_writer *writer, const kept_columns *kept);

/* Writes the names of all formats, with commas. */
void sample_writer_names(char *text, size_t size);

#endif
