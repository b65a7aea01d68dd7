/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The unit that speeds are told in: the CPU time of decoding JPEGs whole, to RGB, by libjpeg-turbo
 * alone, from memory, on one core. Files it cannot decode are left out and counted.
 *
 *     bench_decode FOLDER [ROUNDS]      prints "N files, N left out, MS cpu_ms_per_1000"
 */
#include <errno.h>
#include <ftw.h>
#include <setjmp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <jpeglib.h>

typedef struct file {
    unsigned char *bytes;
    unsigned long size;
} file;

typedef struct error_trap {
    struct jpeg_error_mgr base; /* first: libjpeg hands it back */
    jmp_buf to;
} error_trap;

static file *files;
static size_t file_count;
static size_t file_capacity;
static unsigned char *pixels;
static size_t pixel_capacity;

static int load(const char *path, const struct stat *info, int type, struct FTW *where)
{
    const size_t length = strlen(path);
    FILE *in;
    file f;

    (void)where;
    if (type != FTW_F || info->st_size == 0 || length < 4 ||
        (strcmp(path + length - 4, ".jpg") != 0 && strcmp(path + length - 4, "JPEG") != 0)) {
        return 0;
    }
    if (file_count == file_capacity) {
        file *grown;

        file_capacity = file_capacity > 0 ? 2 * file_capacity : 1024;
        grown = realloc(files, file_capacity * sizeof(*files));
        if (grown == NULL) {
            return ENOMEM;
        }
        files = grown;
    }
    f.size = (unsigned long)info->st_size;
    f.bytes = malloc(f.size);
    in = fopen(path, "rb");
    if (f.bytes == NULL || in == NULL || fread(f.bytes, 1, f.size, in) != f.size) {
        perror(path);
        free(f.bytes);
        if (in != NULL) {
            fclose(in);
        }
        return EIO;
    }
    fclose(in);
    files[file_count++] = f;
    return 0;
}

static void on_error(j_common_ptr codec)
{
    longjmp(((error_trap *)(void *)codec->err)->to, 1);
}

static void on_message(j_common_ptr codec, int level)
{
    (void)codec;
    (void)level;
}

/* 1, or 0 for a file that is left out. */
static int decode(const file *f)
{
    struct jpeg_decompress_struct codec;
    error_trap trap;
    volatile int done = 0; /* over the longjmp */

    codec.err = jpeg_std_error(&trap.base);
    trap.base.error_exit = on_error;
    trap.base.emit_message = on_message;
    if (setjmp(trap.to) == 0) {
        jpeg_create_decompress(&codec);
        jpeg_mem_src(&codec, f->bytes, f->size);
        jpeg_read_header(&codec, TRUE);
        codec.out_color_space = JCS_RGB;
        jpeg_start_decompress(&codec);
        if ((size_t)codec.output_width * codec.output_height * 3 > pixel_capacity) {
            pixel_capacity = (size_t)codec.output_width * codec.output_height * 3;
            free(pixels);
            pixels = malloc(pixel_capacity);
        }
        while (pixels != NULL && codec.output_scanline < codec.output_height) {
            JSAMPROW row = pixels + (size_t)codec.output_scanline * codec.output_width * 3;

            jpeg_read_scanlines(&codec, &row, 1);
        }
        jpeg_finish_decompress(&codec);
        done = pixels != NULL;
    }
    jpeg_destroy_decompress(&codec);
    return done;
}

static double cpu_seconds(void)
{
    struct timespec now;

    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
    return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

int main(int argc, char **argv)
{
    const int rounds = argc > 2 ? atoi(argv[2]) : 1;
    size_t decoded = 0;
    double start;

    if (argc < 2 || argc > 3 || rounds < 1) {
        fprintf(stderr, "usage: bench_decode FOLDER [ROUNDS]\n");
        return 2;
    }
    if (nftw(argv[1], load, 16, 0) != 0 || file_count == 0) {
        fprintf(stderr, "no JPEGs to read in %s\n", argv[1]);
        return 1;
    }
    start = cpu_seconds();
    for (int round = 0; round < rounds; round++) {
        for (size_t i = 0; i < file_count; i++) {
            decoded += (size_t)decode(&files[i]);
        }
    }
    if (decoded == 0) {
        fprintf(stderr, "none of the %zu files can be decoded to RGB\n", file_count);
        return 1;
    }
    printf("%zu files, %zu left out, %.3f cpu_ms_per_1000\n", file_count,
           file_count - decoded / (size_t)rounds, (cpu_seconds() - start) * 1e6 / (double)decoded);
    for (size_t i = 0; i < file_count; i++) {
        free(files[i].bytes);
    }
    free(files);
    free(pixels);
    return 0;
}
