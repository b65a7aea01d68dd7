/* SPDX-License-Identifier: Apache-2.0 */
#include "decompressor_ops.h"

#include "status_int.h"

sluice_status decompressor_fail(const raw_feed *raw, compression format, bool ended,
                                const char *library)
{
    const char *reason = library != NULL ? library : "no reason given";

    if (ended) {
        return sli_fail(
            SLUICE_E_CORRUPT,
            "cannot decompress %s: its %s data end too early, after %llu bytes; the file "
            "is truncated or corrupt (%.200s)",
            raw->path, compression_name(format), (unsigned long long)raw->at, reason);
    }
    return sli_fail_with(SLUICE_E_CORRUPT, DECOMPRESSOR_CORRUPT,
                         "cannot decompress %s: its %s data are corrupt, before byte %llu (%.200s)",
                         raw->path, compression_name(format), (unsigned long long)raw->at, reason);
}
