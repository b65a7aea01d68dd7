/* SPDX-License-Identifier: Apache-2.0 */
/* Decides which finished shards a resumed pack keeps. */
#ifndef SLUICE_PACK_RESUME_H
#define SLUICE_PACK_RESUME_H

#include "pack_folder.h"
#include "pack_lines.h"

typedef struct pack_resume {
    const pack_folder *folder;
    bool leave_out_unreadable;

    /*
     * Retries reading the sample at a position, which was left out because of a machine fault. OK:
     * the sample can be packed now. E_IO, E_NO_MEMORY: the fault persists.
     */
    sluice_status (*read_again)(void *arg, uint64_t position);
    void *arg;
} pack_resume;

/*
 * Determines whether to keep shard `number`. It is kept if it is finished, begins with position
 * `first`, has its index, and none of its left-out samples can be read now. Returns the errors of
 * read_again(), except E_IO if leave_out_unreadable is set; E_IO if the list cannot be read; or
 * E_NO_MEMORY.
 */
sluice_status pack_resume_keeps(const pack_resume *resume, uint32_t number, uint64_t first,
                                bool *keeps_out);

#endif
