/* SPDX-License-Identifier: Apache-2.0 */
#include "cgroup_tree.h"

#include <stdbool.h>
#include <string.h>
#include <sys/stat.h>

enum { LINE_SIZE = 4096 };

/* A mounted cgroup hierarchy, and the process's group in it. */
typedef struct hierarchy {
    const char *controller;  /* of cgroup v1: "cpu", "memory"; NULL: this is cgroup v2 */
    char mount[CGROUP_PATH]; /* mount point */
    char top[CGROUP_PATH];   /* the group at the mount point */
    char group[CGROUP_PATH]; /* the process's own group */
} hierarchy;

FILE *cgroup_open(const char *root, const char *path)
{
    char full[4 * CGROUP_PATH];
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
    char top[CGROUP_PATH];
    char mount[CGROUP_PATH];
    char type[64];
    char options[CGROUP_PATH] = "";

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
    FILE *file = cgroup_open(root, "/proc/self/mountinfo");

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
    file = cgroup_open(root, "/proc/self/cgroup");
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

void cgroup_each_group(const char *root, const char *controller, cgroup_visit visit, void *user)
{
    hierarchy tree = {.controller = controller};
    char folder[2 * CGROUP_PATH];
    size_t mount_length;

    if (!find_hierarchy(root, &tree)) {
        return;
    }
    mount_length = strlen(tree.mount);
    snprintf(folder, sizeof(folder), "%s%s", tree.mount, group_below_mount(&tree));
    visit(folder, folder + mount_length, user);
    while (strlen(folder) > mount_length) {
        *strrchr(folder, '/') = '\0';
        visit(folder, folder + mount_length, user);
    }
}

uint64_t cgroup_inode(const char *root, const char *folder)
{
    char full[4 * CGROUP_PATH];
    struct stat facts;

    snprintf(full, sizeof(full), "%s%s", root, folder);
    return stat(full, &facts) == 0 ? (uint64_t)facts.st_ino : 0;
}
