/* SPDX-License-Identifier: Apache-2.0 */
#include "web_source.h"

#include <stdio.h>
#include <string.h>

#include "log_int.h"
#include "status_int.h"

const uint64_t WEB_MOST_BYTES = UINT64_C(1) << 30;

const char *web_base_of(const char *path)
{
    const char *slash = strrchr(path, '/');

    return slash != NULL ? slash + 1 : path;
}

bool web_is_labelled(const web_args *args)
{
    return strcmp(args->label, "none") != 0;
}

void web_note(left_out *left, uint64_t count, const char *shard, const char *name, size_t length)
{
    if (left->count == 0 && count > 0) {
        snprintf(left->first, sizeof(left->first), "%.120s%s%.*s", web_base_of(shard),
                 length > 0 ? "/" : "", (int)(length < 256 ? length : 256), name);
    }
    left->count += count;
}

void web_note_shard(web_left_out *left, const shard_index *index, const char *shard)
{
    web_note(&left->imageless, index->imageless, shard, index->first_imageless,
             strlen(index->first_imageless));
    web_note(&left->passed_over, index->passed_over, shard, "", 0);
    web_note(&left->has_more, index->has_more, shard, "", 0);
    web_note(&left->lacks_end, index->lacks_end, shard, "", 0);
    web_note(&left->unkept, index->is_unkept, shard, "", 0);
}

static void warn(const left_out *left, const web_args *args, const char *what)
{
    if (left->count > 0) {
        sli_log(SLUICE_LOG_WARN, "webdataset %.200s: %llu %s, first %s", args->shards,
                (unsigned long long)left->count, what, left->first);
    }
}

void web_warn(const web_left_out *left, const web_args *args)
{
    warn(&left->imageless, args, "samples without an image left out");
    warn(&left->unlabelled, args, "samples without a label left out");
    warn(&left->passed_over, args, "links, special and sparse members passed over");
    warn(&left->has_more, args,
         "shards have bytes behind the archive's end, which are not read (several archives in one "
         "file?)");
    warn(&left->lacks_end, args,
         "shards end without the zeros that end an archive (cut off between two members?)");
    warn(&left->unkept, args,
         "indexes cannot be written to the folder that index= names, and are made anew each time");
}

sluice_status web_nothing(const web_left_out *left, const web_args *args, size_t shards,
                          const char *seen)
{
    if (left->unlabelled.count > 0) {
        return sli_fail(SLUICE_E_INVALID,
                        "no valid data in the dataset: webdataset %.200s: none of %llu images has "
                        "a label, a member KEY.%.40s directly before or behind it; fields seen: "
                        "%s. label=FIELD names another, label=none reads images alone, and tar "
                        "--sort=name puts the members of a sample together",
                        args->shards, (unsigned long long)left->unlabelled.count, args->label,
                        seen);
    }
    return sli_fail(SLUICE_E_INVALID,
                    "no valid data in the dataset: webdataset %.200s: no image among %llu samples "
                    "in %zu shards, want members KEY.FIELD with a field of %.100s; fields seen: "
                    "%s. image=FIELD,FIELD names others",
                    args->shards, (unsigned long long)left->imageless.count, shards, args->image,
                    seen);
}

sluice_status web_check_sample(uint32_t flags, uint64_t size, bool labelled, const char *shard)
{
    if ((flags & SHARD_DUPLICATE) != 0) {
        return sli_fail(SLUICE_E_CORRUPT,
                        "its image or its label is in the shard %s twice, and nothing says which "
                        "one is meant",
                        shard);
    }
    if (labelled && (flags & SHARD_HAS_LABEL) == 0) {
        return sli_fail(SLUICE_E_CORRUPT,
                        "its label in the shard %s is no whole number of 32 bits; label=FIELD "
                        "names another field, label=none reads images alone",
                        shard);
    }
    if (size > WEB_MOST_BYTES) {
        return sli_fail(SLUICE_E_IO, "%llu bytes are more than a sample's image may have (%llu)",
                        (unsigned long long)size, (unsigned long long)WEB_MOST_BYTES);
    }
    return SLUICE_OK;
}
