/* SPDX-License-Identifier: Apache-2.0 */
/* The folder of a pack: locked by one packer at a time; files appear atomically. */
#ifndef SLUICE_PACK_FOLDER_H
#define SLUICE_PACK_FOLDER_H

#include <stdbool.h>
#include <stddef.h>

#include <sluice/status.h>

typedef struct pack_folder {
    const char *path; /* borrowed */
    int fd;
    int lock_fd;
} pack_folder;

/* Suffix of a file that is being written. */
#define PACK_PART ".part"

/* Creates the folder if needed, and locks it. E_BUSY: another process packs into it; E_IO. */
sluice_status pack_folder_open(pack_folder *folder, const char *path);
void pack_folder_close(pack_folder *folder);

/*
 * Does another process pack into this folder? For a folder that was not opened by
 * pack_folder_open().
 */
bool pack_folder_is_locked(const pack_folder *folder);

/*
 * Claims the folder for a pack with these options, one "NAME VALUE" per line; values of lines that
 * begin with "source" may differ. E_INVALID: it holds other files, or a pack with other options,
 * which the error names.
 */
sluice_status pack_folder_claim(const pack_folder *folder, const char *options);

/* Writes a file under a temporary name, syncs it and renames it. E_IO. */
sluice_status pack_folder_write(const pack_folder *folder, const char *name, const char *text);

/* Renames NAME.part to NAME, and syncs the folder. E_IO. */
sluice_status pack_folder_publish(const pack_folder *folder, const char *name);

/* Removes a file durably; a missing file is not an error. E_IO. */
sluice_status pack_folder_remove(const pack_folder *folder, const char *name);

/* Reads a file, freed by sli_free(); *text_out is NULL if it does not exist. E_IO. */
sluice_status pack_folder_read(const pack_folder *folder, const char *name, char **text_out);

/*
 * Sets the last error from errno value `error`, with the path of a file of the folder, and advice
 * where there is any.
 */
sluice_status pack_folder_failed(const pack_folder *folder, const char *what, const char *name,
                                 int error);

#endif
