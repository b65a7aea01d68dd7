/* SPDX-License-Identifier: Apache-2.0 */
/* The folder of a pack: one packer at a time, files that are there as a whole or not at all. */
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

/* Behind the name of a file that is being written. */
#define PACK_PART ".part"

/* Makes the folder when it is missing, and locks it. E_BUSY another process packs into it; E_IO. */
sluice_status pack_folder_open(pack_folder *folder, const char *path);
void pack_folder_close(pack_folder *folder);

/*
 * Makes the folder that of a pack with these options, a line each, "NAME VALUE"; of lines that
 * begin with "source" it does not matter what they say. E_INVALID it holds something else, or a
 * pack with other options, and which.
 */
sluice_status pack_folder_claim(const pack_folder *folder, const char *options);

/* Writes a file under another name, syncs and renames it. E_IO. */
sluice_status pack_folder_write(const pack_folder *folder, const char *name, const char *text);

/* Gives the file NAME.part its name, and makes sure that it keeps it. E_IO. */
sluice_status pack_folder_publish(const pack_folder *folder, const char *name);

/* Removes a file, for good; none is fine. E_IO. */
sluice_status pack_folder_remove(const pack_folder *folder, const char *name);

/* Reads a file; *text_out is NULL when it is not there, else freed by sli_free(). E_IO. */
sluice_status pack_folder_read(const pack_folder *folder, const char *name, char **text_out);

/* The last error, errno's, with the path of a file of the folder, and what to do where we know. */
sluice_status pack_folder_failed(const pack_folder *folder, const char *what, const char *name,
                                 int error);

#endif
