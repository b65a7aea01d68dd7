/* SPDX-License-Identifier: Apache-2.0 */
/* Small data sets of sources, each written to an empty folder. */
#ifndef SLUICE_SOURCE_SETS_H
#define SLUICE_SOURCE_SETS_H

/* Samples of lists and of class folders. */
enum { SOURCE_SET_LINES = 7 };

/* list.tsv of image_list: boxes with what belongs to them, masks, further images and texts; points
 * and numbers of several types; boxes as fractions; numbers and texts without images. */
void write_box_list(const char *folder);
void write_number_list(const char *folder);
void write_fraction_list(const char *folder);
void write_table(const char *folder);

/* list.jsonl of image_list. */
void write_json_list(const char *folder);

void write_class_folders(const char *folder);

/* c.json of coco, with key points whose category names them, or not. */
void write_coco_set(const char *folder);
void write_unnamed_coco_set(const char *folder);

void write_yolo_set(const char *folder);
void write_voc_set(const char *folder);
void write_cifar10_set(const char *folder);
void write_cifar100_set(const char *folder);
void write_mnist_set(const char *folder);

/* Images, masks, vectors and r of up to 3 rows, for npy. */
void write_array_set(const char *folder);

/* t.bin of tokens. */
void write_token_set(const char *folder);

/* made/, the list of boxes in another format. */
void write_tar_set(const char *folder);
void write_tfrecord_set(const char *folder);
void write_mindrecord_set(const char *folder);

#endif
