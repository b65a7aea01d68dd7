/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the files in the folder of a shard mean for a pack of `sluice pack`:
 *
 * - pack.txt that begins with "sluice_pack ", or pack.json that begins as a summary does: the
 * folder is a pack, and shard-000000.tar, shard-000001.tar, ... in it are its shards. Other files
 * with these names have no meaning.
 * - pack.txt that begins with "sluice_convert ", or pack.json that begins as that of a conversion:
 * the same, but the shards have no index with checksums, so they are read as any shards.
 * - no pack.json in such a folder: the pack is not complete, since the summary is written last.
 * - pack.corrupt: samples of the pack may be wrong.
 */
#ifndef SLUICE_PACK_MARKS_H
#define SLUICE_PACK_MARKS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <sluice/status.h>

#define PACK_OPTIONS "pack.txt"
#define PACK_SUMMARY "pack.json"
#define PACK_CORRUPT "pack.corrupt"

/* How pack.txt begins: of a pack, and of a conversion. */
#define PACK_OPTIONS_OF_PACK       "sluice_pack "
#define PACK_OPTIONS_OF_CONVERSION "sluice_convert "

/* How pack.json begins. */
#define PACK_SUMMARY_OF_PACK       "{\"schema\":1,\"samples\":"
#define PACK_SUMMARY_OF_CONVERSION "{\"schema\":1,\"format\":"

/* The message about a pack with pack.corrupt. */
#define PACK_CORRUPT_WHY                                                                           \
    "the pack was written from a corrupt stream, so its samples may be wrong; delete the whole "   \
    "pack, and pack the repaired stream from its beginning"

/* Writes "shard-000007", followed by a suffix such as ".tar", to a buffer of PACK_SHARD_NAME_SIZE
 * bytes. */
enum { PACK_SHARD_NAME_SIZE = 40, PACK_SHARD_MOST = 1000000 };
void pack_shard_name(uint32_t number, const char *end, char *name);

/* The length of a path's part before its last slash, with the slash; 0: it has no slash. */
size_t pack_folder_length(const char *path);

/* Zero-initialise. */
typedef struct pack_marks {
    const char *shard; /* borrowed: a shard in the folder that was looked at; NULL: none yet */
    bool is_pack;      /* or a conversion */
    bool is_converted; /* a conversion */
    bool is_complete;
    bool is_corrupt;
} pack_marks;

/*
 * Looks at the folder of a shard, unless `marks` is of that folder. `shard` must outlive `marks`.
 * Returns E_IO if the folder cannot be read, or E_NO_MEMORY.
 */
sluice_status pack_marks_of(pack_marks *marks, const char *shard);

/* The same for a folder; marks_out->shard is NULL. A folder that does not exist has no marks. */
sluice_status pack_marks_read(const char *folder, pack_marks *marks_out);

/* True if `path` names a shard of a pack, or a file of a conversion in any format. `marks` must be
 * those of its folder. */
bool pack_marks_has(const pack_marks *marks, const char *path);

#endif
