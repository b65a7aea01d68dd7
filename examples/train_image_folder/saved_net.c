/* SPDX-License-Identifier: Apache-2.0 */
#include "saved_net.h"

#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static FILE *open_file(const char *folder, const char *name, const char *how)
{
    char path[PATH_MAX];
    FILE *file = NULL;

    if (snprintf(path, sizeof(path), "%s/%s", folder, name) < (int)sizeof(path)) {
        file = fopen(path, how);
    }
    return file;
}

static sluice_status failed(const char *what, const char *folder, const char *name)
{
    return sluice_fail(SLUICE_E_IO, "cannot %s %s/%s: %s", what, folder, name, strerror(errno));
}

static sluice_status write_classes(const char *folder, uint32_t size, const class_names *classes)
{
    FILE *file = open_file(folder, "classes.txt", "wb");
    bool is_written;

    if (file == NULL) {
        return failed("write", folder, "classes.txt");
    }
    is_written = fprintf(file, "size %u\n", size) > 0 && class_names_write(classes, file);
    return fclose(file) == 0 && is_written ? SLUICE_OK : failed("write", folder, "classes.txt");
}

/* The network is one block of floats: the weights, followed by the momentum. */
sluice_status saved_net_write(const char *folder, convnet *net, uint32_t size,
                              const class_names *classes)
{
    size_t count;
    const float *weights = convnet_weights(net, &count);
    FILE *file = open_file(folder, "net", "wb");
    bool is_written;

    if (file == NULL) {
        return failed("write", folder, "net");
    }
    is_written = fwrite(weights, sizeof(float), 2 * count, file) == 2 * count;
    if (fclose(file) != 0 || !is_written) {
        return failed("write", folder, "net");
    }
    return write_classes(folder, size, classes);
}

sluice_status saved_net_read(const char *folder, convnet *net)
{
    size_t count;
    float *weights = convnet_weights(net, &count);
    FILE *file = open_file(folder, "net", "rb");
    bool is_read;

    if (file == NULL) {
        return failed("read", folder, "net");
    }
    is_read = fread(weights, sizeof(float), 2 * count, file) == 2 * count && fgetc(file) == EOF;
    fclose(file);
    return is_read
               ? SLUICE_OK
               : sluice_fail(SLUICE_E_CORRUPT,
                             "%s/net is not a network of this size and number of classes", folder);
}

static bool is_complete(const char *dir, const char *name)
{
    char path[PATH_MAX];

    return strncmp(name, "step-", 5) == 0 &&
           snprintf(path, sizeof(path), "%s/%s/DONE", dir, name) < (int)sizeof(path) &&
           access(path, F_OK) == 0;
}

/*
 * Finds the folder of the newest checkpoint: its name has the step, with a fixed number of digits.
 */
static sluice_status find_newest(const char *dir, char folder[PATH_MAX])
{
    char newest[NAME_MAX + 1] = "";
    const struct dirent *entry;
    DIR *listing = opendir(dir);

    if (listing == NULL) {
        return sluice_fail(SLUICE_E_IO, "cannot open %s: %s; name the folder of --checkpoints", dir,
                           strerror(errno));
    }
    while ((entry = readdir(listing)) != NULL) {
        if (is_complete(dir, entry->d_name) && strcmp(entry->d_name, newest) > 0) {
            snprintf(newest, sizeof(newest), "%s", entry->d_name);
        }
    }
    closedir(listing);
    if (newest[0] == '\0' || snprintf(folder, PATH_MAX, "%s/%s", dir, newest) >= PATH_MAX) {
        return sluice_fail(SLUICE_E_INVALID,
                           "no checkpoint in %s; train with --checkpoints %s first", dir, dir);
    }
    return SLUICE_OK;
}

static sluice_status read_classes(const char *folder, uint32_t *size_out, class_names *classes_out)
{
    FILE *file = open_file(folder, "classes.txt", "rb");
    bool is_read;

    if (file == NULL) {
        return sluice_fail(SLUICE_E_INVALID,
                           "cannot read %s/classes.txt: %s; an older train_image_folder did not "
                           "write it: train on, with more --epochs",
                           folder, strerror(errno));
    }
    is_read = fscanf(file, "size %u", size_out) == 1 && fgetc(file) == '\n' &&
              class_names_load(classes_out, file);
    fclose(file);
    return is_read ? SLUICE_OK
                   : sluice_fail(SLUICE_E_CORRUPT, "%s/classes.txt does not list classes", folder);
}

sluice_status saved_net_open(const char *dir, convnet **net_out, uint32_t *size_out,
                             class_names *classes_out)
{
    char folder[PATH_MAX];
    convnet_config config = {.batch = 1};
    sluice_status st = find_newest(dir, folder);
    convnet *net;

    if (st == SLUICE_OK) {
        st = read_classes(folder, size_out, classes_out);
    }
    if (st != SLUICE_OK) {
        return st;
    }
    config.width = config.height = *size_out;
    config.classes = classes_out->count;
    net = convnet_create(&config);
    st = net != NULL ? saved_net_read(folder, net)
                     : sluice_fail(SLUICE_E_NO_MEMORY,
                                   "no network of %u classes for pictures of "
                                   "%u x %u",
                                   config.classes, *size_out, *size_out);
    if (st != SLUICE_OK) {
        convnet_destroy(net);
        class_names_free(classes_out);
        return st;
    }
    *net_out = net;
    return SLUICE_OK;
}
