/* SPDX-License-Identifier: Apache-2.0 */
/* The data that the pipelines of the grammar read: small files in formats without compression, so
 * that their pixels do not depend on a library. */
#ifndef SLUICE_PIPELINE_DATA_H
#define SLUICE_PIPELINE_DATA_H

/* Writes the files into an existing folder: folder/, list.tsv, shard.tar, ... Ends the program with
 * a message on failure. */
void make_pipeline_data(const char *folder);

#endif
