/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The folder of a pack. It is locked by one packer at a time, and its files are created atomically.
 */
#ifndef SLUICE_PACK_FOLDER_H
#define SLUICE_PACK_FOLDER_H

#include <stdbool.h>
#include <stddef.h>

#include <sluice/status.h>

struct sample_writer;

typedef struct pack_folder {
    const char *path; /* borrowed */
    int fd;
    int lock_fd;
    const struct sample_writer *writer; /* the format of its shards */
    bool has_indexes;                   /* with checksums, beside the shards: it is a pack */
    bool is_conversion;                 /* of `sluice convert`, not `sluice pack` */
} pack_folder;

/* Words of messages. */
static inline const char *pack_folder_command(const pack_folder *folder)
{
    return folder->is_conversion ? "convert" : "pack";
}

static inline const char *pack_folder_noun(const pack_folder *folder)
{
    return folder->is_conversion ? "conversion" : "pack";
}

/* Suffix of a file that is still being written. */
#define PACK_PART ".part"

/*
 * Creates the folder if needed, and locks it; its shards are those of `writer`. E_BUSY: another
 * process is packing into it. Also returns E_IO.
 */
sluice_status pack_folder_open(pack_folder *folder, const char *path,
                               const struct sample_writer *writer);
void pack_folder_close(pack_folder *folder);

/*
 * True if another process is packing into this folder. The folder must not have been opened by
 * pack_folder_open().
 */
bool pack_folder_is_locked(const pack_folder *folder);

/*
 * Claims the folder for a pack with these options, one "NAME VALUE" per line. Lines that begin with
 * "source" may differ from those of the existing pack. E_INVALID: the folder has other files, or a
 * pack with other options; the message names them. Or its pack was marked as corrupt.
 */
sluice_status pack_folder_claim(const pack_folder *folder, const char *options);

/*
 * Marks the pack if the last error says that a compressed stream is corrupt, so that no run
 * continues it: a checksum after the data shows it, so finished shards may have wrong samples, and
 * the repaired stream has the same names. Returns `status`, or E_IO if it cannot be marked.
 */
sluice_status pack_folder_mark_corrupt(const pack_folder *folder, sluice_status status);

/*
 * Writes a file atomically: to a temporary file, which is synced and renamed. Returns E_IO on
 * failure.
 */
sluice_status pack_folder_write(const pack_folder *folder, const char *name, const char *text);

/* Renames NAME.part to NAME, and syncs the folder. Returns E_IO on failure. */
sluice_status pack_folder_publish(const pack_folder *folder, const char *name);

/* Removes a file and syncs the folder; a missing file is not an error. Returns E_IO on failure. */
sluice_status pack_folder_remove(const pack_folder *folder, const char *name);

/*
 * Reads a file; the caller frees the text by sli_free(). *text_out is NULL if the file does not
 * exist, and empty, which every reader takes as corrupt, if the file has a zero byte. Returns E_IO
 * on failure.
 */
sluice_status pack_folder_read(const pack_folder *folder, const char *name, char **text_out);

/*
 * Sets the last error from the errno value `error`, with the path of a file in the folder and, for
 * some errors, advice.
 */
sluice_status pack_folder_failed(const pack_folder *folder, const char *what, const char *name,
                                 int error);

#endif
