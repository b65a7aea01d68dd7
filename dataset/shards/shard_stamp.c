/* SPDX-License-Identifier: Apache-2.0 */
/* How an index is bound to its shard: by the file's stamp. */
#include <sys/stat.h>

#include "rng_int.h"
#include "shard_index.h"

static uint64_t in_ns(struct timespec time)
{
    return (uint64_t)time.tv_sec * 1000000000 + (uint64_t)time.tv_nsec;
}

uint64_t shard_stamp(const struct stat *info)
{
    uint64_t stamp = sli_mix_in((uint64_t)info->st_size, in_ns(info->st_mtim));

    stamp = sli_mix_in(stamp, in_ns(info->st_ctim));
    return sli_mix_in(stamp, (uint64_t)info->st_ino);
}
