/* SPDX-License-Identifier: Apache-2.0 */
#include "stream_kit.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <sluice/version.h>

#include "shard_kit.h"
#include "tar_writer.h"
#include "testing.h"

bool can_decompress(void)
{
    return can_gunzip() && tar_writer_check() == SLUICE_OK; /* libarchive, which that needs, too */
}

bool can_gunzip(void)
{
    return strstr(sluice_build_options(), "zlib on") != NULL;
}

void add_images(tar_maker *tar, int first, int count)
{
    for (int i = first; i < first + count; i++) {
        uint8_t image[11 + 12] = "P6 2 2 255\n";
        char name[40];
        char label[20];

        memset(image + 11, i + 1, 12);
        snprintf(name, sizeof(name), "%03d.ppm", i);
        tar_add(tar, name, '0', image, sizeof(image));
        snprintf(name, sizeof(name), "%03d.cls", i);
        snprintf(label, sizeof(label), "%d", i);
        tar_add_text(tar, name, label);
    }
}

void make_image_shard(const char *path, int first, int count)
{
    tar_maker tar = {0};

    add_images(&tar, first, count);
    tar_write(&tar, path);
}

sluice_dataset *stream_dataset(const char *what, const char *path, const char *batch)
{
    char text[1000];

    snprintf(text, sizeof(text), "webdataset %s | decode | center_crop 2 | batch %s", what, batch);
    return web_dataset(text, path);
}

void make_two(const char *folder, int count)
{
    make_image_shard(t_path(folder, "a.tar"), 0, count / 2);
    make_image_shard(t_path(folder, "b.tar"), count / 2, count - count / 2);
}

tape tape_by_index(const char *stages, const char *folder, const char *batch,
                   const run_options *options)
{
    char what[200];
    sluice_dataset *dataset;
    run_options own = *options;
    sluice_dataset_info info = {.struct_size = sizeof(info)};
    tape t;

    snprintf(what, sizeof(what), "@ index=none%s", stages);
    dataset = stream_dataset(what, folder, batch);
    own.workers = 1;
    T_OK(sluice_dataset_inspect(dataset, &info));
    if (options->passes > 0) {
        const uint64_t world = options->settings.world > 0 ? options->settings.world : 1;
        const uint64_t a_batch = 4 * world;
        const bool drops = strlen(batch) > 1;

        own.batches = options->passes *
                      (drops ? info.samples / a_batch : (info.samples + a_batch - 1) / a_batch);
    }
    t = record(dataset, &own);
    sluice_dataset_destroy(dataset);
    return t;
}

void check_stream(const char *what, const char *stages, const char *folder, const char *batch,
                  const run_options *options)
{
    char all[300];
    sluice_dataset *dataset;
    tape want = tape_by_index(stages, folder, batch, options);
    tape got;

    snprintf(all, sizeof(all), "%s%s", what, stages);
    dataset = stream_dataset(all, folder, batch);
    got = record(dataset, options);
    check_equal_tapes(&got, &want, all);
    free(got.bytes);
    free(want.bytes);
    sluice_dataset_destroy(dataset);
}

static void write_all(void *arg)
{
    const fifo_writer *writer = arg;
    const int fd = open(writer->path, O_WRONLY | O_CLOEXEC);
    size_t done = 0;

    while (fd >= 0 && done < writer->size) {
        ssize_t more = write(fd, writer->bytes + done, writer->size - done);

        if (more < 0 && errno != EINTR) {
            break; /* nobody reads on */
        }
        done += more > 0 ? (size_t)more : 0;
    }
    close(fd);
}

void fifo_write(fifo_writer *writer, const char *path, const void *bytes, size_t size)
{
    snprintf(writer->path, sizeof(writer->path), "%s", path);
    writer->bytes = bytes;
    writer->size = size;
    T_EQ(mkfifo(path, 0600), 0);
    T_OK(sli_thread_start(&writer->thread, "test/fifo", NULL, write_all, writer));
}

void fifo_join(fifo_writer *writer)
{
    sli_thread_join(&writer->thread);
    T_EQ(unlink(writer->path), 0);
}
