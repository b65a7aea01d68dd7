/* SPDX-License-Identifier: Apache-2.0 */
#include "pipeline_data.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "random_kit.h"

enum { CLASSES = 3, IMAGES = 12, LONGEST_PATH = 4096, BLOCK = 512 };

/* The size and the boxes of image i, which differ. */
static uint32_t width_of(uint32_t i)
{
    return 13 + 5 * (i % 4);
}

static uint32_t height_of(uint32_t i)
{
    return 17 + 3 * (i % 5);
}

static FILE *create(const char *folder, const char *name)
{
    char path[LONGEST_PATH];
    FILE *file;

    snprintf(path, sizeof(path), "%s/%s", folder, name);
    file = fopen(path, "wb");
    if (file == NULL) {
        fprintf(stderr, "cannot create %s\n", path);
        exit(2);
    }
    return file;
}

static void finish(FILE *file)
{
    if (fclose(file) != 0) {
        perror("pipeline data");
        exit(2);
    }
}

static void make_folder(const char *folder, const char *name)
{
    char path[LONGEST_PATH];

    snprintf(path, sizeof(path), "%s/%s", folder, name);
    if (mkdir(path, 0777) != 0) {
        perror(path);
        exit(2);
    }
}

/* A picture as a PPM or PGM file: gradients with some noise; a mask has the class numbers 0 to 4.
 */
typedef struct picture {
    uint32_t seed;
    uint32_t width;
    uint32_t height;
    uint32_t channels;
    int is_mask;
} picture;

static size_t draw(const picture *p, uint8_t *bytes)
{
    uint32_t random = p->seed * 977 + 1;
    size_t size = (size_t)sprintf((char *)bytes, "P%d\n%u %u\n255\n", p->channels == 3 ? 6 : 5,
                                  p->width, p->height);

    for (uint32_t y = 0; y < p->height; y++) {
        for (uint32_t x = 0; x < p->width; x++) {
            for (uint32_t c = 0; c < p->channels; c++) {
                const uint32_t slope = 7 * x + 5 * y + 60 * c + 31 * p->seed;

                bytes[size++] = p->is_mask ? (uint8_t)((x / 4 + y / 5 + p->seed) % 5)
                                           : (uint8_t)(slope + test_below(&random, 24));
            }
        }
    }
    return size;
}

static void write_picture(const char *folder, const char *name, const picture *p)
{
    static uint8_t bytes[1 << 16];
    const size_t size = draw(p, bytes);
    FILE *file = create(folder, name);

    (void)fwrite(bytes, 1, size, file);
    finish(file);
}

static picture image_of(uint32_t i)
{
    return (picture){i, width_of(i), height_of(i), 3, 0};
}

/* Class folders, with masks and a second image of each beside them. */
static void make_images(const char *folder)
{
    make_folder(folder, "folder");
    make_folder(folder, "more");
    for (uint32_t i = 0; i < IMAGES; i++) {
        picture p = image_of(i);
        char name[64];

        if (i < CLASSES) {
            snprintf(name, sizeof(name), "folder/%u", i);
            make_folder(folder, name);
        }
        snprintf(name, sizeof(name), "folder/%u/%02u.ppm", i % CLASSES, i);
        write_picture(folder, name, &p);
        p.seed += 50;
        snprintf(name, sizeof(name), "more/%02u.ppm", i);
        write_picture(folder, name, &p);
        p.channels = 1;
        p.is_mask = 1;
        snprintf(name, sizeof(name), "more/%02u.pgm", i);
        write_picture(folder, name, &p);
    }
}

/* Boxes of image i, "x0,y0,x1,y1;...", between 0 and 3 of them. */
static void put_boxes(FILE *file, uint32_t i)
{
    for (uint32_t k = 0; k < i % 4; k++) {
        fprintf(file, "%s%u,%u,%u.5,%u", k > 0 ? ";" : "", 1 + k, 2 + 2 * k, 6 + 3 * k, 9 + 2 * k);
    }
}

static void put_classes(FILE *file, uint32_t i)
{
    for (uint32_t k = 0; k < i % 4; k++) {
        fprintf(file, "%s%u", k > 0 ? "," : "", (i + k) % 7);
    }
}

/* Lists of images with more and more beside them; the last image of list.tsv cannot be read. */
static void make_lists(const char *folder)
{
    FILE *plain = create(folder, "plain.csv");
    FILE *boxes = create(folder, "boxes.tsv");
    FILE *pairs = create(folder, "pairs.tsv");
    FILE *list = create(folder, "list.tsv");

    fprintf(plain, "image,label\n");
    fprintf(boxes, "image\tbox:boxes[4]\tkind:i32[4]@box\n");
    fprintf(pairs, "image\tsecond:image\tmask:mask\tlabel\n");
    fprintf(list, "image\tlabel\tmask:mask\tbox:boxes[4]\tkind:u8[4]@box\tdots:points[3]\n");
    for (uint32_t i = 0; i < IMAGES; i++) {
        char path[64];

        snprintf(path, sizeof(path), "folder/%u/%02u.ppm", i % CLASSES, i);
        fprintf(plain, "%s,%u\n", path, i % 5);
        fprintf(boxes, "%s\t", path);
        put_boxes(boxes, i);
        fprintf(boxes, "\t");
        put_classes(boxes, i);
        fprintf(boxes, "\n");
        fprintf(pairs, "%s\tmore/%02u.ppm\tmore/%02u.pgm\t%u\n", path, i, i, i % 5);
        fprintf(list, "%s\t%u\tmore/%02u.pgm\t", i + 1 < IMAGES ? path : "folder/none.ppm", i % 5,
                i);
        put_boxes(list, i);
        fprintf(list, "\t");
        put_classes(list, i);
        fprintf(list, "\t%u,%u.25;3,%u\n", i, i, 2 * i);
    }
    finish(plain);
    finish(boxes);
    finish(pairs);
    finish(list);
}

static void make_coco(const char *folder)
{
    FILE *file = create(folder, "coco.json");
    uint32_t id = 0;

    fprintf(file, "{\"images\":[");
    for (uint32_t i = 0; i < IMAGES; i++) {
        fprintf(file, "%s{\"id\":%u,\"file_name\":\"%u/%02u.ppm\",\"width\":%u,\"height\":%u}",
                i > 0 ? "," : "", 100 - i, i % CLASSES, i, width_of(i), height_of(i));
    }
    fprintf(file, "],\"categories\":[{\"id\":3,\"name\":\"a\"},{\"id\":9,\"name\":\"b\"}],"
                  "\"annotations\":[");
    for (uint32_t i = 0; i < IMAGES; i++) {
        for (uint32_t k = 0; k < i % 4; k++) {
            fprintf(file,
                    "%s{\"id\":%u,\"image_id\":%u,\"category_id\":%u,\"iscrowd\":%u,"
                    "\"bbox\":[%u.5,%u,%u,%u]}",
                    id > 0 ? "," : "", id, 100 - i, k == 1 ? 9U : 3U, (uint32_t)(i == 7 && k == 0),
                    k, 1 + k, 5 + k, 4 + 2 * k);
            id++;
        }
    }
    fprintf(file, "]}\n");
    finish(file);
}

static void put_member(FILE *file, const char *name, const void *bytes, size_t size)
{
    char header[BLOCK] = {0};
    unsigned sum = 0;

    memcpy(header, name, strlen(name));
    memcpy(header + 100, "0000644", 7);
    memcpy(header + 108, "0000000", 7);
    memcpy(header + 116, "0000000", 7);
    snprintf(header + 124, 12, "%011zo", size);
    snprintf(header + 136, 12, "%011o", 0U);
    memset(header + 148, ' ', 8);
    header[156] = '0';
    memcpy(header + 257, "ustar\00000", 8);
    for (int i = 0; i < BLOCK; i++) {
        sum += (unsigned char)header[i];
    }
    snprintf(header + 148, 7, "%06o", sum);
    (void)fwrite(header, 1, BLOCK, file);
    (void)fwrite(bytes, 1, size, file);
    for (size_t at = size; at % BLOCK != 0; at++) {
        fputc(0, file);
    }
}

static void make_shard(const char *folder)
{
    static uint8_t bytes[1 << 16];
    static const char zeros[2 * BLOCK];
    FILE *file = create(folder, "shard.tar");

    for (uint32_t i = 0; i < IMAGES; i++) {
        const picture p = image_of(i + 20);
        char name[32];
        char text[16];

        snprintf(name, sizeof(name), "%03u.ppm", i);
        put_member(file, name, bytes, draw(&p, bytes));
        snprintf(name, sizeof(name), "%03u.cls", i);
        snprintf(text, sizeof(text), "%u", i % 5);
        put_member(file, name, text, strlen(text));
    }
    (void)fwrite(zeros, 1, sizeof(zeros), file);
    finish(file);
}

/* Files of CIFAR-10: a record is a label and 3 x 32 x 32 bytes. */
static void make_cifar(const char *folder)
{
    static const char *const names[] = {"data_batch_1.bin", "data_batch_2.bin", "data_batch_3.bin",
                                        "data_batch_4.bin", "data_batch_5.bin", "test_batch.bin"};
    uint32_t random = 5;

    for (uint32_t k = 0; k < sizeof(names) / sizeof(names[0]); k++) {
        FILE *file = create(folder, names[k]);

        for (uint32_t i = 0; i < 3; i++) {
            fputc((int)((k + i) % 10), file);
            for (uint32_t b = 0; b < 3 * 32 * 32; b++) {
                fputc((int)(uint8_t)(b / 8 + test_below(&random, 30)), file);
            }
        }
        finish(file);
    }
}

/* A list of numbers, and documents of 0 to 8 of them. */
static void make_numbers(const char *folder)
{
    FILE *file = create(folder, "numbers.csv");

    fprintf(file, "image,label,weight:u16,doc:u16[9]\n");
    for (uint32_t i = 0; i < IMAGES; i++) {
        fprintf(file, "folder/0/00.ppm,%u,%u,\"", i % 4, 1000 + 7 * i);
        for (uint32_t k = 0; k < i * 5 % 9; k++) {
            fprintf(file, "%s%u", k > 0 ? "," : "", 10 * i + k);
        }
        fprintf(file, "\"\n");
    }
    finish(file);
}

/* Files that stages of order read: two lists of samples, and weights. */
static void make_choices(const char *folder)
{
    FILE *subset = create(folder, "subset.txt");
    FILE *others = create(folder, "others.txt");
    FILE *weights = create(folder, "weights.txt");

    for (uint32_t i = 0; i < IMAGES; i++) {
        if (i != 3) {
            fprintf(subset, "%u\n", i * 5 % IMAGES);
        }
        fprintf(others, "%u\n", i * 7 % IMAGES);
        fprintf(weights, "%u.5\n", i % 4);
    }
    finish(subset);
    finish(others);
    finish(weights);
}

/* Tokens of 16 bits without a header, and an array of 16 rows (3) f32, each little-endian. */
static void make_arrays(const char *folder)
{
    static const char header[] =
        "{'descr': '<f4', 'fortran_order': False, 'shape': (16, 3), }         \n";
    FILE *tokens = create(folder, "tokens.u16");
    FILE *array = create(folder, "vector.npy");

    for (uint32_t i = 0; i < 200; i++) {
        fputc((int)(i * 7 % 251), tokens);
        fputc((int)(i % 3), tokens);
    }
    fprintf(array, "\x93NUMPY%c%c%c%c%s", 1, 0, (int)sizeof(header) - 1, 0, header);
    for (uint32_t i = 0; i < 16 * 3; i++) {
        const float value = (float)i / 4;

        (void)fwrite(&value, sizeof(value), 1, array);
    }
    finish(tokens);
    finish(array);
}

void make_pipeline_data(const char *folder)
{
    make_images(folder);
    make_lists(folder);
    make_coco(folder);
    make_shard(folder);
    make_cifar(folder);
    make_numbers(folder);
    make_choices(folder);
    make_arrays(folder);
}
