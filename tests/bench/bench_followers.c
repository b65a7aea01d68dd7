/* SPDX-License-Identifier: Apache-2.0 */
/*
 * bench_followers: what a mask and boxes cost beside an image. One thread loads photographs of a
 * list through random_resized_crop, alone, with a mask, and with a mask and boxes; the masks are
 * PNG files with a palette, of regions, made in a temporary folder. Prints the CPU time of a
 * sample, and that of reading and decoding a whole mask alone: medians of rounds in which all take
 * turns.
 *
 *     bench_followers FOLDER [FILES [ROUNDS]]     FOLDER of CLASS/FILE.JPEG
 */
#include <dirent.h>
#include <png.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "dataset_state.h"
#include "image_decoder.h"
#include "sample_loader.h"

enum { MOST_FILES = 2000, MOST_ROUNDS = 99, REGIONS = 12, KINDS = 4 };

static char folder[] = "/tmp/bench_followers_XXXXXX";
static char paths[MOST_FILES][300];
static uint32_t file_count;

static void check(sluice_status st)
{
    if (st != SLUICE_OK) {
        fprintf(stderr, "bench_followers: %s\n", sluice_last_error());
        exit(2);
    }
}

static const char *in_folder(const char *name)
{
    static char path[400];

    snprintf(path, sizeof(path), "%s/%s", folder, name);
    return path;
}

/* ---- files ----------------------------------------------------------------------------------- */

/* The bytes of a file, to be freed. */
static uint8_t *load(const char *path, size_t *size_out)
{
    FILE *file = fopen(path, "rb");
    uint8_t *bytes = NULL;
    long size = 0;

    if (file != NULL && fseek(file, 0, SEEK_END) == 0) {
        size = ftell(file);
        rewind(file);
        bytes = size > 0 ? malloc((size_t)size) : NULL;
    }
    if (bytes == NULL || fread(bytes, 1, (size_t)size, file) != (size_t)size) {
        perror(path);
        exit(2);
    }
    fclose(file);
    *size_out = (size_t)size;
    return bytes;
}

/* Writes a mask of regions: of each pixel the number of the nearest of some points. */
static void write_mask(uint32_t number, uint32_t width, uint32_t height)
{
    png_image image = {.version = PNG_IMAGE_VERSION, .width = width, .height = height};
    uint8_t colours[256 * 3];
    uint8_t *pixels = malloc((size_t)width * height);
    char name[40];

    for (uint32_t i = 0; i < sizeof(colours); i++) {
        colours[i] = (uint8_t)(i * 37);
    }
    for (uint32_t i = 0; pixels != NULL && i < width * height; i++) {
        uint64_t least = UINT64_MAX;

        for (uint32_t k = 0; k < REGIONS; k++) {
            const int64_t dx = (int64_t)(i % width) - (number * 71 + k * 7919) % width;
            const int64_t dy = (int64_t)(i / width) - (number * 53 + k * 6131) % height;
            const uint64_t distance = (uint64_t)(dx * dx + dy * dy);

            if (distance < least) {
                least = distance;
                pixels[i] = (uint8_t)k;
            }
        }
    }
    image.format = PNG_FORMAT_RGB_COLORMAP;
    image.colormap_entries = 256;
    snprintf(name, sizeof(name), "%u.png", number);
    if (pixels == NULL ||
        png_image_write_to_file(&image, in_folder(name), 0, pixels, 0, colours) == 0) {
        fprintf(stderr, "bench_followers: cannot write %s\n", in_folder(name));
        exit(2);
    }
    free(pixels);
}

/* Takes the photographs of the folder's folders that are good, and writes their masks and lists. */
static void write_files(const char *photographs, uint32_t most)
{
    static const char *const heads[KINDS - 1] = {"image", "image\tmask:mask",
                                                 "image\tmask:mask\tboxes:boxes[8]"};
    FILE *lists[KINDS - 1];
    struct dirent **classes;
    image_decoder *decoder;
    const int count = scandir(photographs, &classes, NULL, alphasort);

    check(image_decoder_create(&decoder));
    for (int i = 0; i < KINDS - 1; i++) {
        char name[20];

        snprintf(name, sizeof(name), "%d.tsv", i);
        lists[i] = fopen(in_folder(name), "w");
        if (lists[i] == NULL) {
            perror(in_folder(name));
            exit(2);
        }
        fprintf(lists[i], "%s\n", heads[i]);
    }
    for (int c = 0; c < count && file_count < most; c++) {
        char of_class[200];
        struct dirent **files;
        int n;

        snprintf(of_class, sizeof(of_class), "%s/%s", photographs, classes[c]->d_name);
        n = classes[c]->d_name[0] == '.' ? 0 : scandir(of_class, &files, NULL, alphasort);
        for (int f = 0; f < n && file_count < most; f++) {
            char *path = paths[file_count];
            uint32_t width;
            uint32_t height;
            uint8_t *bytes;
            size_t size;

            if (files[f]->d_name[0] == '.') {
                continue;
            }
            snprintf(path, sizeof(paths[0]), "%s/%.90s", of_class, files[f]->d_name);
            bytes = load(path, &size);
            if (image_decoder_open(decoder, bytes, size, UINT64_C(100000000), false, &width,
                                   &height) == SLUICE_OK) {
                write_mask(file_count, width, height);
                fprintf(lists[0], "%s\n", path);
                fprintf(lists[1], "%s\t%u.png\n", path, file_count);
                fprintf(lists[2], "%s\t%u.png\t0,0,%u,%u;1,1,%u,%u;0.5,0.5,%u,%u\n", path,
                        file_count, width, height, width / 2 + 2, height / 2 + 2, width / 4 + 1,
                        height / 4 + 1);
                file_count++;
            }
            free(bytes);
        }
    }
    for (int i = 0; i < KINDS - 1; i++) {
        fclose(lists[i]);
    }
    image_decoder_destroy(decoder);
}

static void remove_files(void)
{
    for (uint32_t i = 0; i < file_count + KINDS; i++) {
        char name[40];

        snprintf(name, sizeof(name), i < file_count ? "%u.png" : "%u.tsv",
                 i < file_count ? i : i - file_count);
        (void)unlink(in_folder(name));
    }
    (void)rmdir(folder);
}

/* ---- what takes turns ------------------------------------------------------------------------ */

static double cpu_us(void)
{
    struct timespec now;

    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return (double)now.tv_sec * 1e6 + (double)now.tv_nsec / 1e3;
}

typedef struct entry {
    sluice_dataset *dataset;
    sli_plan *plan;
    sample_loader loader;
    sample_row row;
    uint8_t *memory;
    uint8_t flags;
} entry;

static void open_entry(entry *e, int number)
{
    static sli_counters counters[PLAN_PROFILED];
    const sli_run_settings settings = {.seed = 7, .world = 1};
    sli_layout layout;
    char text[500];

    snprintf(text, sizeof(text),
             "image_list %s/%d.tsv | decode | random_resized_crop 224 | random_horizontal_flip | "
             "batch 1",
             folder, number);
    check(sluice_dataset_parse(text, &e->dataset));
    check(sli_plan_open(e->dataset, &settings, &e->plan));
    check(sample_loader_init(&e->loader, e->plan));
    for (int i = 0; i < PLAN_PROFILED; i++) {
        e->loader.report.counters[i] = &counters[i];
    }
    check(sli_layout_make(e->plan->wire, e->plan->column_count, 1, &layout));
    e->memory = aligned_alloc(64, (layout.slot_bytes + 63) / 64 * 64);
    for (uint32_t i = 0; e->memory != NULL && i < e->plan->column_count; i++) {
        e->row.columns[i] = e->memory + layout.offsets[i];
    }
    e->row.flags = &e->flags;
}

/* The CPU time of a sample, over all files. */
static double run_entry(entry *e, uint64_t pass)
{
    const double start = cpu_us();

    for (uint32_t i = 0; i < file_count; i++) {
        check(sample_load(&e->loader, i, pass, &e->row));
    }
    return (cpu_us() - start) / file_count;
}

/* Reads and decodes whole masks. */
static double run_masks(image_decoder *decoder)
{
    const double start = cpu_us();

    for (uint32_t i = 0; i < file_count; i++) {
        image_box all = {0, 0, 0, 0};
        image_view pixels;
        char name[40];
        size_t size;
        uint8_t *bytes;

        snprintf(name, sizeof(name), "%u.png", i);
        bytes = load(in_folder(name), &size);
        check(image_decoder_open(decoder, bytes, size, UINT64_C(100000000), true, &all.width,
                                 &all.height));
        check(image_decoder_request_indices(decoder));
        check(image_decoder_region(decoder, &all, &pixels));
        free(bytes);
    }
    return (cpu_us() - start) / file_count;
}

static int by_value(const void *a, const void *b)
{
    const double x = *(const double *)a;
    const double y = *(const double *)b;

    return x < y ? -1 : x > y;
}

int main(int argc, char **argv)
{
    static entry entries[KINDS - 1];
    static double times[KINDS][MOST_ROUNDS];
    static double medians[KINDS];
    const int files = argc > 2 ? atoi(argv[2]) : 100;
    const int rounds = argc > 3 ? atoi(argv[3]) : 9;
    image_decoder *decoder;

    if (argc < 2 || files < 1 || files > MOST_FILES || rounds < 1 || rounds > MOST_ROUNDS) {
        fprintf(stderr, "usage: bench_followers FOLDER [FILES [ROUNDS]]\n");
        return 2;
    }
    if (mkdtemp(folder) == NULL) {
        perror(folder);
        return 2;
    }
    atexit(remove_files);
    write_files(argv[1], (uint32_t)files);
    check(image_decoder_create(&decoder));
    for (int i = 0; i < KINDS - 1; i++) {
        open_entry(&entries[i], i);
    }
    for (int round = 0; round < rounds; round++) {
        for (int i = 0; i < KINDS; i++) {
            times[i][round] =
                i < KINDS - 1 ? run_entry(&entries[i], (uint64_t)round) : run_masks(decoder);
        }
    }
    for (int i = 0; i < KINDS; i++) {
        qsort(times[i], (size_t)rounds, sizeof(double), by_value);
        medians[i] = times[i][rounds / 2];
    }
    printf("%u photographs, us of CPU a sample: image %.0f, with mask %.0f, with mask and boxes "
           "%.0f; a mask read and decoded %.0f\n",
           file_count, medians[0], medians[1], medians[2], medians[3]);
    printf("beyond the mask's decode: %.1f %% of the image alone\n",
           (medians[2] - medians[0] - medians[3]) / medians[0] * 100);
    for (int i = 0; i < KINDS - 1; i++) {
        sample_loader_fini(&entries[i].loader);
        sli_plan_close(entries[i].plan);
        sluice_dataset_destroy(entries[i].dataset);
        free(entries[i].memory);
    }
    image_decoder_destroy(decoder);
    return 0;
}
