/* SPDX-License-Identifier: Apache-2.0 */
#include "webdataset_args.h"

#include <string.h>

#include "shard_index.h"
#include "status_int.h"

const file_list_kind web_list_kind = {"webdataset", ".tar", true};

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

sluice_status web_check_sample(uint32_t flags, uint64_t size, bool labelled, const char *shard)
{
    if ((flags & SHARD_DUPLICATE) != 0) {
        return sli_fail(SLUICE_E_CORRUPT,
                        "its image or its label is in the shard %s twice, and nothing says which "
                        "one is meant",
                        shard);
    }
    if (labelled && (flags & SHARD_HAS_LABEL) == 0) {
        return sli_fail(
            SLUICE_E_CORRUPT,
            "its label in the shard %s must be a whole number of 32 bits, such as 7, in "
            "digits; label=FIELD names another field, label=none reads images alone",
            shard);
    }
    if (size > WEB_MOST_BYTES) {
        return sli_fail(SLUICE_E_IO, "its image has %llu bytes, and must have at most %llu",
                        (unsigned long long)size, (unsigned long long)WEB_MOST_BYTES);
    }
    return SLUICE_OK;
}

/*
 * True if the text is a valid list of fields or, with `one`, a valid field. A field is the part of
 * a member's name after its first dot.
 */
static bool is_field_list(const char *list, bool one)
{
    do {
        size_t length = strcspn(list, ",");

        if (length == 0 || list[0] == '.' || memchr(list, '/', length) != NULL ||
            (one && list[length] == ',')) {
            return false;
        }
        list += length;
    } while (*list++ == ',');
    return true;
}

sluice_status web_args_check(void *opaque)
{
    const web_args *args = opaque;

    if (!is_field_list(args->image, false)) {
        return sli_fail(SLUICE_E_INVALID,
                        "webdataset: image=%.100s must be fields such as jpg,png, without dots",
                        args->image);
    }
    if (!is_field_list(args->label, true)) {
        return sli_fail(SLUICE_E_INVALID,
                        "webdataset: label=%.100s must be one field such as cls, without dots, or "
                        "none",
                        args->label);
    }
    if (args->fields[0] != '\0' && (strcmp(args->image, shard_default_fields.image) != 0 ||
                                    strcmp(args->label, shard_default_fields.label) != 0 ||
                                    strcmp(args->index, "auto") != 0)) {
        return sli_fail(SLUICE_E_INVALID,
                        "webdataset: fields= names all columns; leave image=, label= and index= "
                        "out");
    }
    if (args->classes[0] != '\0' && args->fields[0] == '\0') {
        return sli_fail(SLUICE_E_INVALID,
                        "webdataset: classes= is for a column of kind class in fields=, such as "
                        "label:class=json.kind");
    }
    if (args->shards[0] == '\0' || args->index[0] == '\0') {
        return sli_fail(SLUICE_E_INVALID, "webdataset: %s is empty",
                        args->shards[0] == '\0' ? "shards" : "index");
    }
    return SLUICE_OK;
}
