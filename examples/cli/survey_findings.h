/* SPDX-License-Identifier: Apache-2.0 */
/* What a survey finds across samples: equal images, classes of different sizes. */
#ifndef SLUICE_SURVEY_FINDINGS_H
#define SLUICE_SURVEY_FINDINGS_H

#include "data_survey.h"

/* A hash of bytes, by which equal images are found. Never 0. */
uint64_t finding_hash(const void *bytes, size_t size);

/* Finds the images that equal an earlier one, by survey->hashes. E_NO_MEMORY. */
sluice_status finding_duplicates(data_survey *survey);

/* Prints the name of a sample as text or, with `json`, as JSON. */
void survey_print_name(const data_survey *s, uint64_t sample, bool json);

/* Prints how many times as many samples the largest of `count` classes has as the smallest, if it
 * is at least twice. */
void finding_print_skew(const data_survey *s, uint32_t count);

/* Prints the counts of sluice_findings and the images that equal an earlier one: as text, or as
 * members of a JSON object. */
void finding_print(const data_survey *s);
void finding_json(const data_survey *s);

#endif
