/* SPDX-License-Identifier: Apache-2.0 */
#define _XOPEN_SOURCE 700 /* mkdtemp(), realpath() */
#include "classify.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <sluice/sluice.h>

#include "picture_stages.h"
#include "saved_net.h"

enum { MOST_ANSWERS = 3 };

/* ---- one picture as a dataset -------------------------------------------------------------- */

/*
 * image_folder reads DIR/CLASS/FILE, so the picture is linked into a folder of its own. The link's
 * name ends in .jpg for every format: decoders are chosen by magic numbers.
 */
typedef struct linked_picture {
    char dir[PATH_MAX];
    char class_dir[PATH_MAX + 16];
    char link[PATH_MAX + 32];
} linked_picture;

static void unlink_picture(const linked_picture *p)
{
    unlink(p->link);
    rmdir(p->class_dir);
    rmdir(p->dir);
}

static sluice_status make_link(const char *target, linked_picture *p)
{
    const char *temporary = getenv("TMPDIR");

    if (temporary == NULL || temporary[0] == '\0') {
        temporary = "/tmp";
    }
    if (snprintf(p->dir, sizeof(p->dir), "%s/sluice-XXXXXX", temporary) >= (int)sizeof(p->dir) ||
        mkdtemp(p->dir) == NULL) {
        return sluice_fail(SLUICE_E_IO, "cannot make a folder in %s: %s; set TMPDIR", temporary,
                           strerror(errno));
    }
    snprintf(p->class_dir, sizeof(p->class_dir), "%s/picture", p->dir);
    snprintf(p->link, sizeof(p->link), "%s/0.jpg", p->class_dir);
    if (mkdir(p->class_dir, 0700) != 0 || symlink(target, p->link) != 0) {
        const int reason = errno;

        unlink_picture(p);
        return sluice_fail(SLUICE_E_IO, "cannot make %s: %s", p->link, strerror(reason));
    }
    return SLUICE_OK;
}

static sluice_status link_picture(const char *picture, linked_picture *p)
{
    char target[PATH_MAX];
    struct stat info;

    if (realpath(picture, target) == NULL || stat(target, &info) != 0) {
        return sluice_fail(SLUICE_E_IO, "cannot open it: %s", strerror(errno));
    }
    if (!S_ISREG(info.st_mode)) {
        return sluice_fail(SLUICE_E_INVALID, "not a file; name the pictures themselves");
    }
    return make_link(target, p);
}

/* The last error without the path of the link, which precedes the reason. */
static const char *reason(void)
{
    const char *error = sluice_last_error();
    const char *place = strstr(error, "picture/0.jpg: ");

    return place != NULL ? place + strlen("picture/0.jpg: ") : error;
}

/*
 * Computes the pixels of a picture as the network receives them: image is (3, size, size) float32.
 */
static sluice_status read_pixels(const char *picture, uint32_t size, float *image)
{
    const picture_form form = {.size = size, .batch = 1};
    void *const columns[] = {image, NULL};
    linked_picture linked;
    sluice_dataset *set = NULL;
    sluice_status st = link_picture(picture, &linked);

    if (st != SLUICE_OK) {
        return st;
    }
    st = sluice_dataset_parsef(&set, "image_folder %s", linked.dir);
    if (st == SLUICE_OK) {
        picture_stages_add(set, &form, false);
        st = sluice_dataset_get(set, 0, 0, 0, columns, NULL); /* returns the error of a failed
                                                                 stage, too */
    }
    sluice_dataset_destroy(set);
    unlink_picture(&linked);
    return st;
}

/* ---- answers ------------------------------------------------------------------------------- */

/* Prints the classes with the largest probabilities. Overwrites these probabilities. */
static void print_answers(const char *picture, const class_names *classes, float *probabilities)
{
    print_name(stdout, picture);
    for (uint32_t n = 0; n < MOST_ANSWERS && n < classes->count; n++) {
        uint32_t best = 0;

        for (uint32_t i = 1; i < classes->count; i++) {
            best = probabilities[i] > probabilities[best] ? i : best;
        }
        fputs(n == 0 ? ": " : ", ", stdout);
        print_name(stdout, classes->names[best]);
        printf(" %.1f %%", 100.0 * (double)probabilities[best]);
        probabilities[best] = -1.0f;
    }
    putchar('\n');
}

bool classify(const char *checkpoints, char *const *pictures, int count)
{
    convnet *net = NULL;
    class_names classes = {.count = 0};
    uint32_t size = 0;
    float *floats = NULL;
    bool is_fine = true;

    if (saved_net_open(checkpoints, &net, &size, &classes) == SLUICE_OK) {
        floats = malloc((3 * (size_t)size * size + classes.count) * sizeof(*floats));
    }
    if (floats == NULL) {
        fprintf(stderr, "%s\n", net == NULL ? sluice_last_error() : "no memory for a picture");
        is_fine = false;
    }
    for (int i = 0; floats != NULL && i < count; i++) {
        float *const probabilities = floats + 3 * (size_t)size * size;

        if (read_pixels(pictures[i], size, floats) == SLUICE_OK) {
            convnet_classify(net, floats, probabilities);
            print_answers(pictures[i], &classes, probabilities);
        } else {
            print_name(stderr, pictures[i]);
            fprintf(stderr, ": %s\n", reason());
            is_fine = false;
        }
    }
    free(floats);
    class_names_free(&classes);
    convnet_destroy(net);
    return is_fine;
}
