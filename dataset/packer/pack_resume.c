/* SPDX-License-Identifier: Apache-2.0 */
#include "pack_resume.h"

#include "fault_int.h"
#include "pack_shard.h"

typedef struct examination {
    const pack_resume *resume;
    uint64_t next; /* expected position of the next line */
    bool is_kept;
    sluice_status status; /* error of read_again() */
} examination;

static void examine_line(void *arg, const pack_line *line)
{
    examination *e = arg;
    const pack_resume *resume = e->resume;
    sluice_status st;

    e->is_kept = e->is_kept && line->position == e->next;
    e->next++;
    if (!e->is_kept || e->status != SLUICE_OK || line->fate != SLUICE_PACK_LEFT_FAULT) {
        return;
    }
    st = resume->read_again(resume->arg, line->position);
    if (st == SLUICE_OK) {
        e->is_kept = false;
    } else if (st != SLUICE_E_IO || !resume->leave_out_unreadable ||
               sli_fault_of_last(st) != SLI_FAULT_STORAGE) {
        e->status = st;
    }
}

sluice_status pack_resume_keeps(const pack_resume *resume, uint32_t number, uint64_t first,
                                bool *keeps_out)
{
    examination e = {resume, first, true, SLUICE_OK};
    uint64_t tar_bytes = 0;
    uint64_t next = 0;
    sluice_status st = pack_shard_read(resume->folder, number, examine_line, &e, &tar_bytes, &next);

    *keeps_out = e.is_kept && next != 0 && next == e.next;
    st = st == SLUICE_OK ? e.status : st;
    return st == SLUICE_OK && *keeps_out ? pack_shard_has_index(resume->folder, number, keeps_out)
                                         : st;
}
