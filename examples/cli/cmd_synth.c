/* SPDX-License-Identifier: Apache-2.0 */
/* sluice synth: makes a small labelled JPEG dataset. */
#include <dirent.h>
#include <errno.h>
#include <inttypes.h>
#include <setjmp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include <jpeglib.h>

#include "cli.h"
#include "synth_picture.h"

typedef struct synth {
    const char *dir;
    uint64_t classes;
    uint64_t per_class;
    uint64_t size;
    uint64_t quality;
    uint64_t seed;
    uint8_t *pixels; /* (size, size, 3) */
    char *path;      /* path of the current file or folder */
    size_t path_size;
    uint64_t done;  /* pictures so far */
    uint64_t bytes; /* bytes of the files so far */
    int64_t start_ns;
    cli_progress progress;
} synth;

/* ---- options -------------------------------------------------------------------------------- */

static int parse(synth *s, int argc, char **argv)
{
    cli_option options[] = {
        {"classes", OPTION_COUNT, &s->classes, "N", NULL, false},
        {"per-class", OPTION_COUNT, &s->per_class, "N", NULL, false},
        {"size", OPTION_COUNT, &s->size, "N", NULL, false},
        {"quality", OPTION_COUNT, &s->quality, "N", NULL, false},
        {"seed", OPTION_COUNT, &s->seed, "N", NULL, false},
        {NULL, OPTION_FLAG, NULL, NULL, NULL, false},
    };
    int words;
    int code = cli_parse("synth", argc, argv, options, &s->dir, 1, &words);

    if (code != EXIT_DONE) {
        return code;
    }
    if (words == 0) {
        cli_error(
            "synth: the folder to make is missing; give one, such as `sluice synth pictures`");
        return EXIT_USAGE;
    }
    /* DIR/test gets a fifth of the pictures, which would be none with fewer than five per class. */
    return cli_in_range("synth", "classes", s->classes, 1, 1000) &&
                   cli_in_range("synth", "per-class", s->per_class, 5, 100000) &&
                   cli_in_range("synth", "size", s->size, 8, 4096) &&
                   cli_in_range("synth", "quality", s->quality, 1, 100)
               ? EXIT_DONE
               : EXIT_USAGE;
}

/* ---- folders -------------------------------------------------------------------------------- */

static bool make_folder(const char *path)
{
    if (mkdir(path, 0777) != 0) {
        cli_error("synth: cannot make the folder %s: %s", path, strerror(errno));
        return false;
    }
    return true;
}

/* Creates the folder; an existing one must be empty. */
static bool claim_folder(const char *path)
{
    const struct dirent *entry;
    bool is_empty = true;
    DIR *dir = opendir(path);

    if (dir == NULL && errno == ENOENT) {
        return make_folder(path);
    }
    if (dir == NULL) {
        cli_error("synth: cannot use %s: %s", path, strerror(errno));
        return false;
    }
    while ((entry = readdir(dir)) != NULL) {
        is_empty =
            is_empty && (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0);
    }
    closedir(dir);
    if (!is_empty) {
        cli_error("synth: %s is not empty; name another folder, or delete this one", path);
    }
    return is_empty;
}

/* ---- files ---------------------------------------------------------------------------------- */

typedef struct encoder_error {
    struct jpeg_error_mgr manager; /* first member: libjpeg passes its address to the handler */
    jmp_buf escape;
} encoder_error;

static void on_encoder_error(j_common_ptr jpeg)
{
    encoder_error *error = (encoder_error *)jpeg->err;

    jpeg->err->output_message(jpeg);
    longjmp(error->escape, 1);
}

/* Encodes s->pixels. The file's bytes are malloc'ed and freed by the caller, also on failure. */
static bool encode(const synth *s, unsigned char **file_out, unsigned long *length_out)
{
    struct jpeg_compress_struct jpeg;
    encoder_error error;

    jpeg.err = jpeg_std_error(&error.manager);
    error.manager.error_exit = on_encoder_error;
    if (setjmp(error.escape) != 0) {
        jpeg_destroy_compress(&jpeg);
        return false;
    }
    jpeg_create_compress(&jpeg);
    jpeg_mem_dest(&jpeg, file_out, length_out);
    jpeg.image_width = (JDIMENSION)s->size;
    jpeg.image_height = (JDIMENSION)s->size;
    jpeg.input_components = 3;
    jpeg.in_color_space = JCS_RGB;
    jpeg_set_defaults(&jpeg);
    jpeg_set_quality(&jpeg, (int)s->quality, TRUE);
    jpeg_start_compress(&jpeg, TRUE);
    while (jpeg.next_scanline < jpeg.image_height) {
        JSAMPROW row = s->pixels + jpeg.next_scanline * s->size * 3;

        jpeg_write_scanlines(&jpeg, &row, 1);
    }
    jpeg_finish_compress(&jpeg);
    jpeg_destroy_compress(&jpeg);
    return true;
}

static bool write_file(const char *path, const unsigned char *bytes, size_t length)
{
    FILE *file = fopen(path, "wbx");
    bool is_written = file != NULL && fwrite(bytes, 1, length, file) == length;
    int error = errno;

    if (file != NULL && fclose(file) != 0 && is_written) {
        error = errno;
        is_written = false;
    }
    if (!is_written) {
        cli_error("synth: cannot write %s: %s; %s", path, strerror(error),
                  error == ENOSPC ? "make room, delete the folder and try again"
                                  : "delete the folder and try again, or name another");
    }
    return is_written;
}

static bool make_picture(synth *s, uint32_t class_index, uint32_t index)
{
    unsigned char *file = NULL;
    unsigned long length = 0;
    bool is_made;

    synth_paint(s->seed, class_index, (uint32_t)s->classes, index, (uint32_t)s->size, s->pixels);
    is_made = encode(s, &file, &length) && write_file(s->path, file, length);
    free(file);
    s->bytes += length;
    s->done++;
    return is_made;
}

/* ---- the dataset ---------------------------------------------------------------------------- */

static void show_progress(synth *s)
{
    cli_progress_draw(&s->progress, s->done, s->done, s->classes * s->per_class,
                      (double)(cli_now_ns() - s->start_ns) / 1e9);
}

/* Makes pictures [first, end) of one class in DIR/part. */
static bool make_class(synth *s, const char *part, uint32_t class_index, uint64_t first,
                       uint64_t end)
{
    char name[SYNTH_NAME_SIZE];

    synth_class_name(class_index, (uint32_t)s->classes, name);
    snprintf(s->path, s->path_size, "%s/%s/%s", s->dir, part, name);
    if (!make_folder(s->path)) {
        return false;
    }
    for (uint64_t i = first; i < end && cli_signal() == 0; i++) {
        snprintf(s->path, s->path_size, "%s/%s/%s/%05" PRIu64 ".jpg", s->dir, part, name, i);
        if (!make_picture(s, class_index, (uint32_t)i)) {
            return false;
        }
        show_progress(s);
    }
    return true;
}

/* Makes DIR/part with its class folders. */
static bool make_part(synth *s, const char *part, uint64_t first, uint64_t end)
{
    snprintf(s->path, s->path_size, "%s/%s", s->dir, part);
    if (!make_folder(s->path)) {
        return false;
    }
    for (uint32_t i = 0; i < s->classes && cli_signal() == 0; i++) {
        if (!make_class(s, part, i, first, end)) {
            return false;
        }
    }
    return true;
}

static bool make_dataset(synth *s)
{
    const uint64_t train = s->per_class - s->per_class / 5;
    bool is_made = claim_folder(s->dir) && make_part(s, "train", 0, train) &&
                   make_part(s, "test", train, s->per_class);

    cli_progress_end(&s->progress);
    if (is_made && cli_signal() != 0) {
        cli_error("synth: stopped; %s holds %" PRIu64 " of %" PRIu64 " pictures, delete it", s->dir,
                  s->done, s->classes * s->per_class);
    } else if (is_made) {
        cli_print_name(s->dir);
        printf(": %" PRIu64 " classes, %" PRIu64 " pictures in train, %" PRIu64 " in test, %" PRIu64
               "x%" PRIu64 ", %.1f MB\n",
               s->classes, s->classes * train, s->classes * (s->per_class - train), s->size,
               s->size, (double)s->bytes / 1e6);
    }
    return is_made;
}

int cmd_synth(int argc, char **argv)
{
    synth s = {.classes = 10, .per_class = 500, .size = 64, .quality = 90, .seed = 1};
    sluice_stop *stop = NULL;
    bool is_made = false;
    int code = parse(&s, argc, argv);

    if (code != EXIT_DONE) {
        return code;
    }
    cli_progress_begin(&s.progress);
    s.start_ns = cli_now_ns();
    s.path_size = strlen(s.dir) + SYNTH_NAME_SIZE + 32;
    s.path = malloc(s.path_size);
    s.pixels = malloc(s.size * s.size * 3);
    if (s.path == NULL || s.pixels == NULL || sluice_stop_create(&stop) != SLUICE_OK) {
        cli_error("synth: no memory");
    } else {
        cli_catch_signals(stop); /* no call uses the token: loops poll cli_signal() */
        is_made = make_dataset(&s);
        cli_catch_signals(NULL);
    }
    sluice_stop_destroy(stop);
    free(s.pixels);
    free(s.path);
    return is_made ? cli_exit_code(SLUICE_OK) : EXIT_RUNTIME;
}
