/* SPDX-License-Identifier: Apache-2.0 */
#include "web_packs.h"

#include <string.h>

sluice_status web_packs_add(web_packs *packs, const char *path, bool *is_packed_out)
{
    const sluice_status st = pack_marks_of(&packs->marks, path);

    *is_packed_out =
        st == SLUICE_OK && pack_marks_has(&packs->marks, path) && !packs->marks.is_converted;
    return st;
}

sluice_status web_packs_add_all(web_packs *packs, const file_list *list)
{
    sluice_status st = SLUICE_OK;

    for (size_t i = 0; st == SLUICE_OK && i < list->count; i++) {
        bool is_packed = false;

        if (strcmp(list->paths[i], "-") != 0) {
            st = web_packs_add(packs, list->paths[i], &is_packed);
        }
        skipped_count(&packs->unchecked, is_packed, list->paths[i], "", 0);
    }
    return st;
}

void web_packs_warn(const web_packs *packs, const web_args *args)
{
    skipped_warn_of(
        &packs->unchecked, args,
        "shards of packs are read without their checksums, which only the index of a pack "
        "has: fields=, access=stream, index=, image= and label= do not read it");
}
