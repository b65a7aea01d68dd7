/* SPDX-License-Identifier: Apache-2.0 */
#include "stream_kit.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "shard_kit.h"
#include "testing.h"

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
