/* SPDX-License-Identifier: Apache-2.0 */
#include "web_packs.h"

sluice_status web_packs_add(web_packs *packs, const char *path)
{
    sluice_status st = pack_marks_of(&packs->marks, path);

    if (st == SLUICE_OK) {
        packs->marks.shard = path;
    }
    return st;
}

bool web_packs_has_last(const web_packs *packs)
{
    return packs->marks.shard != NULL && pack_marks_has(&packs->marks, packs->marks.shard);
}

void web_packs_warn(const web_packs *packs, const web_args *args)
{
    skipped_warn_of(&packs->unchecked, args,
                    "shards of packs are read without their checksums, since index=, image= or "
                    "label= asks for another index than the pack's");
}
