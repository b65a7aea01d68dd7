/* SPDX-License-Identifier: Apache-2.0 */
/* The control groups of the process, as the mounted hierarchies of cgroup v1 and v2 show them. */
#ifndef SLUICE_CGROUP_TREE_H
#define SLUICE_CGROUP_TREE_H

#include <stdint.h>
#include <stdio.h>

enum { CGROUP_PATH = 1024 };

/* `folder` is the full path of a group; `group` is the part below the mount point, for reports. */
typedef void (*cgroup_visit)(const char *folder, const char *group, void *user);

/*
 * Visits the process's group and then its ancestors up to the mount point. controller names a
 * hierarchy of cgroup v1, "cpu" or "memory"; NULL is that of cgroup v2. root is put before every
 * path: "" for this machine, a folder in tests.
 */
void cgroup_each_group(const char *root, const char *controller, cgroup_visit visit, void *user);

/* Opens root + path; NULL if that fails. */
FILE *cgroup_open(const char *root, const char *path);

/* Returns the inode of the group's folder root + folder, 0 if unknown. Unlike the path it is the
 * same in all cgroup namespaces. */
uint64_t cgroup_inode(const char *root, const char *folder);

#endif
