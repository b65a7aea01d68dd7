/* SPDX-License-Identifier: Apache-2.0 */
#include "cpu_quota_int.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

enum { LINE_SIZE = 4096, PATH_SIZE = 1024 };

/*
 * Lower bound of values that mean "no limit": cgroup v1 reports the largest multiple of the page
 * size, which is above any real memory size.
 */
#define MEMORY_UNLIMITED (UINT64_C(1) << 60)

/* A mounted cgroup hierarchy, and the process's group in it. */
typedef struct hierarchy {
    const char *controller; /* "cpu", "memory"; NULL for cgroup v2, which has a single hierarchy */
    char mount[PATH_SIZE];  /* mount point */
    char top[PATH_SIZE];    /* the group at the mount point */
    char group[PATH_SIZE];  /* the process's own group */
} hierarchy;

static FILE *open_below(const char *root, const char *path)
{
    char full[4 * PATH_SIZE];
    const int length = snprintf(full, sizeof(full), "%s%s", root, path);

    return length > 0 && (size_t)length < sizeof(full) ? fopen(full, "re") : NULL;
}

/* True if a list "a,b,c" contains this word. */
static bool list_has(const char *list, const char *word)
{
    const size_t length = strlen(word);

    for (const char *at = list; at != NULL; at = strchr(at, ',')) {
        at += *at == ',' ? 1 : 0;
        if (strncmp(at, word, length) == 0 && (at[length] == ',' || at[length] == '\0')) {
            return true;
        }
    }
    return false;
}

/* Decodes octal escapes of the mount table, such as \040 for a space, in place. */
static void unescape_path(char *text)
{
    char *to = text;

    for (const char *from = text; *from != '\0'; to++) {
        if (from[0] == '\\' && from[1] >= '0' && from[1] <= '3' && from[2] >= '0' &&
            from[2] <= '7' && from[3] >= '0' && from[3] <= '7') {
            *to = (char)((from[1] - '0') * 64 + (from[2] - '0') * 8 + (from[3] - '0'));
            from += 4;
        } else {
            *to = *from++;
        }
    }
    *to = '\0';
}

/*
 * Parses a line of /proc/self/mountinfo: "ID PARENT DEV TOP MOUNT OPTIONS [FIELDS] - TYPE SOURCE
 * OPTIONS".
 */
static bool read_mount(const char *line, hierarchy *tree)
{
    const char *rest = strstr(line, " - ");
    char top[PATH_SIZE];
    char mount[PATH_SIZE];
    char type[64];
    char options[PATH_SIZE] = "";

    if (rest == NULL || sscanf(line, "%*s %*s %*s %1023s %1023s", top, mount) != 2 ||
        sscanf(rest, " - %63s %*s %1023s", type, options) < 1) {
        return false;
    }
    if (tree->controller == NULL && strcmp(type, "cgroup2") != 0) {
        return false;
    }
    if (tree->controller != NULL &&
        (strcmp(type, "cgroup") != 0 || !list_has(options, tree->controller))) {
        return false;
    }
    unescape_path(top);
    unescape_path(mount);
    snprintf(tree->top, sizeof(tree->top), "%s", top);
    snprintf(tree->mount, sizeof(tree->mount), "%s", mount);
    return true;
}

/* Parses a line of /proc/self/cgroup: "ID:CONTROLLERS:PATH", without controllers in cgroup v2. */
static bool read_group(char *line, hierarchy *tree)
{
    char *controllers = strchr(line, ':');
    char *path;

    if (controllers == NULL) {
        return false;
    }
    controllers++;
    path = strchr(controllers, ':');
    if (path == NULL) {
        return false;
    }
    *path++ = '\0';
    if (tree->controller == NULL ? *controllers != '\0'
                                 : !list_has(controllers, tree->controller)) {
        return false;
    }
    path[strcspn(path, "\n")] = '\0';
    snprintf(tree->group, sizeof(tree->group), "%s", path);
    return true;
}

static bool find_hierarchy(const char *root, hierarchy *tree)
{
    char line[LINE_SIZE];
    bool found = false;
    FILE *file = open_below(root, "/proc/self/mountinfo");

    while (file != NULL && !found && fgets(line, sizeof(line), file) != NULL) {
        found = read_mount(line, tree);
    }
    if (file != NULL) {
        fclose(file);
    }
    if (!found) {
        return false;
    }
    found = false;
    file = open_below(root, "/proc/self/cgroup");
    while (file != NULL && !found && fgets(line, sizeof(line), file) != NULL) {
        found = read_group(line, tree);
    }
    if (file != NULL) {
        fclose(file);
    }
    return found;
}

/*
 * The process's group relative to the mount point; "" if the mount shows another part of the
 * hierarchy, as in a container without its own cgroup namespace.
 */
static const char *group_below_mount(const hierarchy *tree)
{
    const size_t length = strcmp(tree->top, "/") == 0 ? 0 : strlen(tree->top);
    const char *below = tree->group + length;

    if (strncmp(tree->group, tree->top, length) != 0 || (*below != '/' && *below != '\0') ||
        strstr(tree->group, "/..") != NULL || strcmp(below, "/") == 0) {
        return "";
    }
    return below;
}

/* Parses up to two numbers from a file of the group; false: "max", or any other text. */
static bool read_number(const char *root, const char *folder, const char *name, double *first_out,
                        double *second_out)
{
    char path[2 * PATH_SIZE + 64];
    char line[128];
    FILE *file;
    int count = 0;

    snprintf(path, sizeof(path), "%s/%s", folder, name);
    file = open_below(root, path);
    if (file == NULL) {
        return false;
    }
    if (fgets(line, sizeof(line), file) != NULL) {
        count = sscanf(line, "%lf %lf", first_out, second_out);
    }
    fclose(file);
    return count >= 1;
}

/* Returns the inode of a group's folder, 0 if unknown. Unlike the path it is the same in all cgroup
 * namespaces. */
static uint64_t inode_of(const char *root, const char *folder)
{
    char full[4 * PATH_SIZE];
    struct stat facts;

    snprintf(full, sizeof(full), "%s%s", root, folder);
    return stat(full, &facts) == 0 ? (uint64_t)facts.st_ino : 0;
}

/* Sets limits->cpus if this limit is lower. Returns true if it is. */
static bool limit_cpus(double quota, double period, const char *name, const char *group,
                       sli_cgroup_limits *limits)
{
    if (!(quota > 0) || !(period > 0)) {
        return false; /* cgroup v1 reports no limit as -1 */
    }
    if (limits->cpus > 0 && quota / period >= limits->cpus) {
        return false;
    }
    limits->cpus = quota / period;
    snprintf(limits->cpus_source, sizeof(limits->cpus_source), "%s of %.40s", name,
             *group != '\0' ? group : "/");
    return true;
}

/* Sets limits->memory_bytes if this limit is lower. Returns true if it is. */
static bool limit_memory(double bytes, sli_cgroup_limits *limits)
{
    if (!(bytes > 0 && bytes < (double)MEMORY_UNLIMITED) ||
        (limits->memory_bytes > 0 && (uint64_t)bytes >= limits->memory_bytes)) {
        return false;
    }
    limits->memory_bytes = (uint64_t)bytes;
    return true;
}

/* Reads the limits of one group. folder is its full path; group is the part below the mount point,
 * for the report. */
static void read_limits(const char *root, const char *folder, const char *group,
                        const char *controller, sli_cgroup_limits *limits)
{
    double first = 0;
    double second = 0;
    double unused = 0;
    bool of_cpus = false;
    bool of_memory = false;

    if (controller == NULL) {
        of_cpus = read_number(root, folder, "cpu.max", &first, &second) &&
                  limit_cpus(first, second, "cpu.max", group, limits);
        of_memory =
            read_number(root, folder, "memory.max", &first, &unused) && limit_memory(first, limits);
    } else if (strcmp(controller, "cpu") == 0) {
        of_cpus = read_number(root, folder, "cpu.cfs_quota_us", &first, &unused) &&
                  read_number(root, folder, "cpu.cfs_period_us", &second, &unused) &&
                  limit_cpus(first, second, "cpu.cfs_quota_us", group, limits);
    } else {
        of_memory = read_number(root, folder, "memory.limit_in_bytes", &first, &unused) &&
                    limit_memory(first, limits);
    }
    limits->cpus_group = of_cpus ? inode_of(root, folder) : limits->cpus_group;
    limits->memory_group = of_memory ? inode_of(root, folder) : limits->memory_group;
}

void sli_cgroup_limits_read(const char *root, sli_cgroup_limits *limits_out)
{
    static const char *const controllers[] = {NULL, "cpu", "memory"};

    memset(limits_out, 0, sizeof(*limits_out));
    for (size_t i = 0; i < sizeof(controllers) / sizeof(controllers[0]); i++) {
        hierarchy tree = {.controller = controllers[i]};
        char folder[2 * PATH_SIZE];
        size_t mount_length;

        if (!find_hierarchy(root, &tree)) {
            continue;
        }
        mount_length = strlen(tree.mount);
        snprintf(folder, sizeof(folder), "%s%s", tree.mount, group_below_mount(&tree));
        read_limits(root, folder, folder + mount_length, tree.controller, limits_out);
        while (strlen(folder) > mount_length) {
            *strrchr(folder, '/') = '\0';
            read_limits(root, folder, folder + mount_length, tree.controller, limits_out);
        }
    }
}
