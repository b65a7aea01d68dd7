/* SPDX-License-Identifier: Apache-2.0 */
#include "webdataset_skipped.h"

#include <stdio.h>
#include <string.h>

#include "format_int.h"
#include "log_int.h"
#include "status_int.h"

void skipped_count(skipped_items *items, uint64_t count, const char *shard, const char *name,
                   size_t length)
{
    if (items->count == 0 && count > 0) {
        snprintf(items->first, sizeof(items->first), "%.120s%s%.*s", web_base_of(shard),
                 length > 0 ? "/" : "", (int)(length < 256 ? length : 256), name);
    }
    items->count += count;
}

void skipped_count_shard(webdataset_skipped *skipped, const shard_index *index, const char *shard)
{
    skipped_count(&skipped->imageless, index->imageless, shard, index->first_imageless,
                  strlen(index->first_imageless));
    skipped_count(&skipped->passed_over, index->passed_over, shard, "", 0);
    skipped_count(&skipped->has_more, index->has_more, shard, "", 0);
    skipped_count(&skipped->lacks_end, index->lacks_end, shard, "", 0);
    skipped_count(&skipped->remade, index->is_remade, shard, "", 0);
    skipped_count(&skipped->unkept, index->is_unkept, shard, "", 0);
}

void skipped_warn_of(const skipped_items *items, const web_args *args, const char *what)
{
    if (items->count > 0) {
        sli_log(SLUICE_LOG_WARN, "webdataset %.200s: %llu %s, first %s", args->shards,
                (unsigned long long)items->count, what, items->first);
    }
}

static const char *seen_or_none(const char *seen)
{
    return seen[0] != '\0' ? seen : "none";
}

void skipped_warn(const webdataset_skipped *skipped, const web_args *args, const char *seen)
{
    char what[400];

    snprintf(what, sizeof(what),
             "samples without an image are skipped (image=%.100s; fields seen: %.200s)",
             args->image, seen_or_none(seen));
    skipped_warn_of(&skipped->imageless, args, what);
    skipped_warn_of(&skipped->unlabelled, args,
                    "samples without a label are skipped; label=none reads them");
    skipped_warn_of(&skipped->passed_over, args, "links, special and sparse members are skipped");
    skipped_warn_of(
        &skipped->has_more, args,
        "shards have bytes after the archive's end, which are not read (several archives in one "
        "file?)");
    skipped_warn_of(
        &skipped->lacks_end, args,
        "shards end without the zeros that end an archive (truncated between two members?)");
    skipped_warn_of(
        &skipped->remade, args,
        "indexes are rebuilt: they were corrupt, or not of these versions of the shards");
    skipped_warn_of(
        &skipped->unkept, args,
        "indexes cannot be written to the folder that index= names, and are rebuilt each time");
}

/* Adds a field to the text unless it is one of the image or the label. Returns the new length. */
static size_t add_member(const char *field, const web_args *args, size_t length, char *text,
                         size_t size)
{
    if (sli_word_rank(field, args->image) != UINT32_MAX ||
        sli_word_rank(field, args->label) != UINT32_MAX || length >= size) {
        return length;
    }
    return length + (size_t)snprintf(text + length, size - length, "%s%s",
                                     length > 0 ? "," : "members ", field);
}

void skipped_members(const char *seen, const web_args *args, char *text, size_t size)
{
    char field[SHARD_SEEN_SIZE];
    size_t length = 0;

    text[0] = '\0';
    while (*seen != '\0') {
        const size_t one = strcspn(seen, ",");

        snprintf(field, sizeof(field), "%.*s", (int)one, seen);
        length = add_member(field, args, length, text, size);
        seen += one + (seen[one] == ',');
    }
    if (length > 0 && length < size) {
        snprintf(text + length, size - length, " (fields= reads any members)");
    }
}

sluice_status skipped_all(const webdataset_skipped *skipped, const web_args *args, size_t shards,
                          const char *seen)
{
    if (skipped->unlabelled.count > 0) {
        return sli_fail(SLUICE_E_INVALID,
                        "no valid data in the dataset: webdataset %.200s: none of %llu images has "
                        "a label, a member KEY.%.40s directly before or after it; fields seen: "
                        "%s. label=FIELD names another, label=none reads images alone, and tar "
                        "--sort=name puts the members of a sample together",
                        args->shards, (unsigned long long)skipped->unlabelled.count, args->label,
                        seen_or_none(seen));
    }
    return sli_fail(
        SLUICE_E_INVALID,
        "no valid data in the dataset: webdataset %.200s: no image among %llu samples "
        "in %zu shards; an image must be a member KEY.FIELD with a field of %.100s; fields seen: "
        "%s. image=FIELD,FIELD names others",
        args->shards, (unsigned long long)skipped->imageless.count, shards, args->image,
        seen_or_none(seen));
}
