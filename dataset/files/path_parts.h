/* SPDX-License-Identifier: Apache-2.0 */
/* The components of a path that a file of a set gives. */
#ifndef SLUICE_PATH_PARTS_H
#define SLUICE_PATH_PARTS_H

#include <stdbool.h>
#include <string.h>

/* True if a path has the component "..". */
static inline bool path_leads_up(const char *path)
{
    for (const char *at = path; (at = strstr(at, "..")) != NULL; at += 2) {
        if ((at == path || at[-1] == '/') && (at[2] == '/' || at[2] == '\0')) {
            return true;
        }
    }
    return false;
}

#endif
