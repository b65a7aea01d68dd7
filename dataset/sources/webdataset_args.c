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
