/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The opened shards of webdataset with fields= (web_fields.h). Opening reads the headers of all
 * shards, and stores the offset and size of each member, 16 bytes, in memory; it writes no index
 * file.
 */
#ifndef SLUICE_WEB_SET_H
#define SLUICE_WEB_SET_H

#include "pack_class_names.h"
#include "source.h"
#include "web_fields.h"
#include "web_fields_shard.h"
#include "webdataset_args.h"

typedef struct web_set {
    char *found; /* what fields=auto stands for; NULL: the argument names the fields */
    web_fields fields;
    sluice_column types[SLUICE_MAX_COLUMNS]; /* types[i]: dtype and shape of field i, an array */
    file_list list;
    fields_shard *shards;
    size_t shard_count;
    uint64_t count;
    fields_skipped skipped;
    pack_class_names class_names; /* of a pack, with fields=auto */
    bool drops;
} web_set;

/* Opens all shards, and determines types of arrays and numbers of classes. The caller closes the
 * set, also after an error. */
sluice_status web_set_open(web_set *set, const web_args *args);
void web_set_close(web_set *set);

/* The shard of a sample; *index becomes its number in the shard. */
fields_shard *web_set_shard(const web_set *set, uint64_t *index);
uint64_t web_set_memory(const web_set *set);

/* The number of classes of the column label, or without such a column of the first column of kind
 * class; 0: it has numbers, or there is none. Of a pack: the number in its file. */
uint32_t web_set_classes(const web_set *set);
const char *web_set_class(const web_set *set, uint32_t label);

/* A hash of the names of all columns of kind class, that of a list with these columns; 0: there are
 * none. */
uint64_t web_set_identity(const web_set *set);

/* Adds the member's field and its shard to the text of an error. */
sluice_status web_member_error(const fields_shard *shard, const web_field *field,
                               sluice_status status);

/* Reads a JSON member into io->item.bytes. E_CORRUPT: it is larger than JSON_OBJECT_MOST. */
sluice_status web_member_object(const fields_shard *shard, int fd, const member_place *place,
                                sample_io *io);

#endif
