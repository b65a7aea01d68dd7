/* SPDX-License-Identifier: Apache-2.0 */
#include "pack_files.h"

#include <stdio.h>
#include <string.h>

#include "alloc_int.h"
#include "log_int.h"
#include "pack_fields.h"
#include "pack_marks.h"
#include "status_int.h"

/* Refuses files written from a corrupt stream, and warns of those of an incomplete pack. */
static sluice_status check_marks(const file_list *list)
{
    const char *source = list->kind->source;
    const char *first = NULL;
    pack_marks marks = {.shard = NULL};
    size_t unfinished = 0;

    for (size_t i = 0; i < list->count; i++) {
        const char *path = list->paths[i];
        sluice_status st;

        if (strcmp(path, "-") == 0) {
            continue;
        }
        st = pack_marks_of(&marks, path);
        if (st != SLUICE_OK) {
            return st;
        }
        if (marks.is_corrupt) {
            return sli_fail(SLUICE_E_CORRUPT, "%s: %.*s" PACK_CORRUPT ": " PACK_CORRUPT_WHY, source,
                            (int)pack_folder_length(path), path);
        }
        if (pack_marks_has(&marks, path) && !marks.is_complete) {
            first = first != NULL ? first : path;
            unfinished++;
        }
    }
    if (unfinished > 0) {
        sli_log(SLUICE_LOG_WARN,
                "%s: %zu files are of a pack or conversion that is not complete (" PACK_OPTIONS
                " without " PACK_SUMMARY
                "), the first %.400s: samples are missing; run the same `sluice pack` or `sluice "
                "convert` again, which adds them",
                source, unfinished, first);
    }
    return SLUICE_OK;
}

/* True if a list has a path. The search begins at *from, which becomes the place after it: files of
 * a folder follow one another in order. */
static bool has_path(const file_list *list, const char *path, size_t *from)
{
    for (size_t i = 0; i < list->count; i++) {
        const size_t at = (*from + i) % list->count;

        if (strcmp(list->paths[at], path) == 0) {
            *from = at + 1;
            return true;
        }
    }
    return false;
}

/* Fails unless the list has all files that the pack.json of a folder counts, and not another one
 * after them. */
static sluice_status check_names(const file_list *list, const char *folder, uint64_t files)
{
    const size_t size = strlen(folder) + PACK_SHARD_NAME_SIZE + 1;
    char *path = sli_calloc(size, 1);
    size_t from = 0;
    sluice_status st = path != NULL ? SLUICE_OK : sli_fail(SLUICE_E_NO_MEMORY, "a path");

    for (uint64_t i = 0; i <= files && i < PACK_SHARD_MOST && st == SLUICE_OK; i++) {
        char name[PACK_SHARD_NAME_SIZE];
        bool has;

        pack_shard_name((uint32_t)i, list->kind->extension, name);
        snprintf(path, size, "%s/%s", folder, name);
        has = has_path(list, path, &from);
        if (i == files && has) {
            st = sli_fail(SLUICE_E_CORRUPT,
                          "%s: the file %.400s is of another pack: by " PACK_SUMMARY
                          " its folder must have %llu files; remove the others",
                          list->kind->source, path, (unsigned long long)files);
        } else if (i < files && !has) {
            st = sli_fail(SLUICE_E_CORRUPT,
                          "%s: the file %.400s is missing: by " PACK_SUMMARY
                          " its folder must have %llu files; copy it again, or run the same "
                          "`sluice pack` or `sluice convert` again; a list of files reads some of "
                          "them",
                          list->kind->source, path, (unsigned long long)files);
        }
    }
    sli_free(path);
    return st;
}

/* Checks a folder, and adds what it has to the totals. */
static sluice_status check_folder(const file_list *list, const char *folder, pack_totals *totals)
{
    pack_counts counts;
    bool is_known = false;
    sluice_status st = pack_counts_read(folder, list->kind->source, &counts, &is_known);

    if (st != SLUICE_OK || !is_known) {
        return st;
    }
    st = check_names(list, folder, counts.shards);
    totals->files += counts.shards;
    totals->samples += counts.written;
    return st;
}

sluice_status pack_files_check(const file_list *list, pack_totals *totals_out)
{
    pack_totals totals = {0, 0};
    sluice_status st = check_marks(list);

    for (size_t i = 0; i < list->folder_count && st == SLUICE_OK; i++) {
        st = check_folder(list, list->folders[i], &totals);
    }
    if (st == SLUICE_OK) {
        *totals_out = totals;
    }
    return st;
}

sluice_status pack_files_check_samples(const file_list *list, const pack_totals *totals,
                                       uint64_t samples, const char *files)
{
    if (list->count != totals->files || samples == totals->samples) {
        return SLUICE_OK;
    }
    return sli_fail(SLUICE_E_CORRUPT,
                    "%s %.400s: the %zu files have %llu samples, and by " PACK_SUMMARY
                    " they must have %llu: a file is truncated, or of another pack; copy the "
                    "folder again",
                    list->kind->source, files, list->count, (unsigned long long)samples,
                    (unsigned long long)totals->samples);
}
