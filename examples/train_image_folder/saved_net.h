/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The files of a network in a checkpoint: `net`, its weights and momentum; `classes.txt`, its
 * picture size and class names.
 */
#ifndef SAVED_NET_H
#define SAVED_NET_H

#include <stdint.h>

#include <sluice/status.h>

#include "class_names.h"
#include "convnet.h"

/* Writes both files into folder; size is the side of the pictures. Returns E_IO if that fails. */
sluice_status saved_net_write(const char *folder, convnet *net, uint32_t size,
                              const class_names *classes);

/* Reads `net` into a network of the same shape. Returns E_IO, or E_CORRUPT if the file has another
 * length. */
sluice_status saved_net_read(const char *folder, convnet *net);

/*
 * Loads the network of the newest complete checkpoint in dir. The caller frees the network and the
 * names.
 *
 * Returns: E_INVALID no checkpoint, or one without classes.txt; E_IO, E_CORRUPT of its files;
 *          E_NO_MEMORY. The text is in sluice_last_error().
 */
sluice_status saved_net_open(const char *dir, convnet **net_out, uint32_t *size_out,
                             class_names *classes_out);

#endif
