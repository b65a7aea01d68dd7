/* SPDX-License-Identifier: Apache-2.0 */
/* Stubs that replace tar_writer.c in builds without libarchive. */
#include "status_int.h"
#include "tar_writer.h"

sluice_status tar_writer_check(void)
{
    return sli_fail(
        SLUICE_E_UNSUPPORTED,
        "this build cannot write archives: install libarchive with its headers and build again");
}

sluice_status tar_writer_open(int fd, const char *path, tar_writer **writer_out)
{
    (void)fd;
    (void)path;
    (void)writer_out;
    return tar_writer_check();
}

sluice_status tar_writer_add(tar_writer *writer, const char *name, const void *head,
                             size_t head_size, const void *bytes, size_t size)
{
    (void)writer;
    (void)name;
    (void)head;
    (void)head_size;
    (void)bytes;
    (void)size;
    return tar_writer_check();
}

sluice_status tar_writer_finish(tar_writer *writer, uint64_t *bytes_out)
{
    (void)writer;
    (void)bytes_out;
    return tar_writer_check();
}

void tar_writer_close(tar_writer *writer)
{
    (void)writer;
}
