/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Files of the binary versions of CIFAR-10 and CIFAR-100 (Krizhevsky 2009). A file is a sequence of
 * records. A record is one or two labels of one byte each, then 1024 bytes each of red, green and
 * blue, row-major.
 */
#ifndef SLUICE_CIFAR_FILES_H
#define SLUICE_CIFAR_FILES_H

#include "source.h"
#include "stage.h"

enum { CIFAR_SIDE = 32, CIFAR_PLANE = CIFAR_SIDE * CIFAR_SIDE, CIFAR_MAX_FILES = 5 };

/* Describes one of the two CIFAR datasets. */
typedef struct cifar_kind {
    const char *source;  /* name of the source, for messages */
    const char *dataset; /* name of the dataset, for messages */
    const char *folder;  /* folder in the dataset's archive */
    uint32_t label_bytes;
} cifar_kind;

/* The open files of a CIFAR dataset; the struct of a CIFAR source begins with it. */
typedef struct cifar_files {
    const cifar_kind *kind;
    uint32_t file_count;
    int fds[CIFAR_MAX_FILES];
    uint64_t records[CIFAR_MAX_FILES];
    char names[CIFAR_MAX_FILES][32];
    uint64_t count;
} cifar_files;

/*
 * Opens dir/NAME or, if that does not exist, dir/FOLDER/NAME, and appends its records. On failure
 * the files opened before stay open. E_IO: a file cannot be opened or read; E_CORRUPT: it is not a
 * sequence of records.
 */
sluice_status cifar_files_add(cifar_files *files, const char *dir, const char *name);
void cifar_files_close(cifar_files *files);

/* The operations count and name, for a source whose struct begins with cifar_files. */
uint64_t cifar_files_count(const void *source);
void cifar_files_name(const void *source, uint64_t index, char *text, size_t size);

/*
 * Reads a record into io. data_out receives the image; *labels_out points to the labels, until the
 * next read. E_IO: reading failed; E_CORRUPT: the file is truncated; E_NO_MEMORY: out of memory.
 */
sluice_status cifar_files_read(const cifar_files *files, uint64_t index, sample_io *io,
                               const uint8_t **labels_out, sample_data *data_out);

/* Reads the labels of a record only. Errors are those of cifar_files_read(). */
sluice_status cifar_files_read_labels(const cifar_files *files, uint64_t index, sample_io *io,
                                      uint8_t labels_out[2]);

/* E_CORRUPT: the label is not below `classes`. */
sluice_status cifar_check_label(uint32_t label, uint32_t classes);

/* The column of the images. */
extern const sluice_column cifar_image;

#endif
