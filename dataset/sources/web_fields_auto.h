/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fields=auto of webdataset: the columns of a pack, which its pack.json lists, or else those of the
 * members of the first sample.
 */
#ifndef SLUICE_WEB_FIELDS_AUTO_H
#define SLUICE_WEB_FIELDS_AUTO_H

#include "file_list.h"

#define WEB_FIELDS_AUTO "auto"

/*
 * Finds the fields of the shards in the list, as web_fields_parse() takes them, and logs what was
 * chosen, and by what. The caller frees the text by sli_free(). E_INVALID: the shards are of packs
 * with different columns, or the first sample has no member that can be a column. Also returns
 * E_IO, E_CORRUPT, E_UNSUPPORTED and E_NO_MEMORY.
 */
sluice_status web_fields_auto(const file_list *list, char **fields_out);

#endif
