/* SPDX-License-Identifier: Apache-2.0 */
/* Classification of pictures by a saved network. */
#ifndef CLASSIFY_H
#define CLASSIFY_H

#include <stdbool.h>

/* Classifies pictures with the network of the newest checkpoint in the folder. Prints one line per
 * picture with its most likely classes. Returns false after printing an error: of the network, or
 * one line on stderr for each picture that cannot be read.
 */
bool classify(const char *checkpoints, char *const *pictures, int count);

#endif
