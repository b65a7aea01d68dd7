/* SPDX-License-Identifier: Apache-2.0 */
/* The source that reads a path: for a path in place of a pipeline, and for messages about one in
 * the wrong place. */
#ifndef SLUICE_PATH_STAGE_H
#define SLUICE_PATH_STAGE_H

#include <stdbool.h>
#include <stddef.h>

/*
 * Returns the name of the source that reads a file or folder, by the names of the files; NULL: the
 * path does not exist, or no source reads it.
 */
const char *path_stage(const char *path);

/* Returns the arguments that a source of path_stage() must have besides the path, with values as an
 * example, such as " seq=1024"; "": the path is all. */
const char *path_stage_more(const char *stage);

/* True for a folder that exists. */
bool path_is_folder(const char *path);

/*
 * Writes "; `STAGE PATH` reads it", or "" if path_stage() finds none, or finds `failed`, the source
 * whose error this is. Returns `text`.
 */
const char *path_stage_hint(const char *path, const char *failed, char *text, size_t size);

#endif
