/* SPDX-License-Identifier: Apache-2.0 */
#include "web_packs.h"

#include <string.h>

#include "status_int.h"

/* True if the shard that was added last is one of a pack or a conversion. */
static bool is_of_folder(const web_packs *packs)
{
    return packs->marks.shard != NULL && pack_marks_has(&packs->marks, packs->marks.shard);
}

sluice_status web_packs_add(web_packs *packs, const char *path)
{
    sluice_status st = pack_marks_of(&packs->marks, path);

    if (st != SLUICE_OK) {
        return st;
    }
    packs->marks.shard = path;
    if (packs->marks.is_corrupt) {
        return sli_fail(SLUICE_E_CORRUPT, "%.*s" PACK_CORRUPT ": " PACK_CORRUPT_WHY,
                        (int)(web_base_of(path) - path), path);
    }
    skipped_count(&packs->unfinished, is_of_folder(packs) && !packs->marks.is_complete, path, "",
                  0);
    return SLUICE_OK;
}

sluice_status web_packs_add_all(web_packs *packs, const file_list *list)
{
    sluice_status st = SLUICE_OK;

    for (size_t i = 0; st == SLUICE_OK && i < list->count; i++) {
        if (strcmp(list->paths[i], "-") != 0) {
            st = web_packs_add(packs, list->paths[i]);
            skipped_count(&packs->unchecked, web_packs_has_last(packs), list->paths[i], "", 0);
        }
    }
    return st;
}

bool web_packs_has_last(const web_packs *packs)
{
    return is_of_folder(packs) && !packs->marks.is_converted;
}

void web_packs_warn(const web_packs *packs, const web_args *args)
{
    skipped_warn_of(&packs->unfinished, args,
                    "shards are of a pack that is not complete (pack.txt without pack.json): "
                    "samples are missing, which the same `sluice pack` or `sluice convert` adds");
    skipped_warn_of(
        &packs->unchecked, args,
        "shards of packs are read without their checksums, which only the index of a pack "
        "has: fields=, access=stream, index=, image= and label= do not read it");
}
