/* SPDX-License-Identifier: Apache-2.0 */
#include "kept_shard.h"

#include <fcntl.h>
#include <unistd.h>

#include "log_kit.h"
#include "testing.h"

static const char *said = "";

void make_shard(const char *path)
{
    tar_maker tar = {0};

    make_members(&tar);
    tar_write(&tar, path);
}

kept_shard make_kept_shard(void)
{
    kept_shard s;

    snprintf(s.folder, sizeof(s.folder), "%s", t_folder());
    snprintf(s.path, sizeof(s.path), "%s/s.tar", s.folder);
    snprintf(s.index, sizeof(s.index), "%s.sluice", s.path);
    make_shard(s.path);
    return s;
}

shard_index obtained_with_fields(const char *shard, const shard_fields *fields, const char *folder)
{
    shard_index index = {0};
    int fd = open(shard, O_RDONLY | O_CLOEXEC);

    T_TRUE(fd >= 0);
    sluice_log_set_level(SLUICE_LOG_INFO);
    kit_log_start(NULL, NULL);
    T_OK(shard_index_obtain(fd, shard, fields, folder, false, &index));
    said = kit_log_stop();
    sluice_log_set_level(SLUICE_LOG_WARN);
    close(fd);
    return index;
}

shard_index obtained_index(const char *shard, const char *folder)
{
    return obtained_with_fields(shard, &shard_default_fields, folder);
}

const char *obtained_log(void)
{
    return said;
}

unsigned obtained_warnings(void)
{
    return kit_log_count(SLUICE_LOG_WARN);
}
