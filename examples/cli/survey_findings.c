/* SPDX-License-Identifier: Apache-2.0 */
#include "survey_findings.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

static uint64_t mixed(uint64_t hash, uint64_t word)
{
    hash = (hash ^ word) * UINT64_C(0x9E3779B97F4A7C15);
    return hash ^ hash >> 29;
}

uint64_t finding_hash(const void *bytes, size_t size)
{
    const uint8_t *at = bytes;
    uint64_t hash = mixed(UINT64_C(0x243F6A8885A308D3), size);

    for (; size >= sizeof(uint64_t); size -= sizeof(uint64_t), at += sizeof(uint64_t)) {
        uint64_t word;

        memcpy(&word, at, sizeof(word));
        hash = mixed(hash, word);
    }
    for (; size > 0; size--) {
        hash = mixed(hash, *at++);
    }
    hash = mixed(hash, hash >> 32);
    return hash != 0 ? hash : 1;
}

/* ---- duplicates ------------------------------------------------------------------------------ */

typedef struct hashed {
    uint64_t hash;
    uint64_t look;
} hashed;

static int by_hash(const void *left, const void *right)
{
    const hashed *a = left;
    const hashed *b = right;

    return a->hash != b->hash ? (a->hash > b->hash) - (a->hash < b->hash)
                              : (a->look > b->look) - (a->look < b->look);
}

static int by_copy(const void *left, const void *right)
{
    const survey_pair *a = left;
    const survey_pair *b = right;

    return (a->copy > b->copy) - (a->copy < b->copy);
}

/* Keeps the SURVEY_NAMED pairs whose copies come first. */
static void keep_pair(data_survey *survey, uint64_t first, uint64_t copy)
{
    survey_pair *pairs = survey->pairs;

    survey->duplicates++;
    if (survey->pair_count < SURVEY_NAMED) {
        pairs[survey->pair_count++] = (survey_pair){first, copy};
    } else if (copy < pairs[SURVEY_NAMED - 1].copy) {
        pairs[SURVEY_NAMED - 1] = (survey_pair){first, copy};
    } else {
        return;
    }
    qsort(pairs, survey->pair_count, sizeof(*pairs), by_copy);
}

sluice_status finding_duplicates(data_survey *survey)
{
    const uint64_t count = survey->image >= 0 ? survey->looked : 0;
    hashed *sorted = malloc(((size_t)count + 1) * sizeof(*sorted));
    uint64_t first = 0;

    if (sorted == NULL) {
        return sluice_fail(SLUICE_E_NO_MEMORY, "inspect: out of memory");
    }
    for (uint64_t i = 0; i < count; i++) {
        sorted[i] = (hashed){survey->hashes[i], i};
    }
    qsort(sorted, (size_t)count, sizeof(*sorted), by_hash);
    for (uint64_t i = 1; i < count; i++) {
        if (sorted[i].hash == 0 || sorted[i].hash != sorted[first].hash) {
            first = i;
        } else {
            keep_pair(survey, survey_sample(survey, sorted[first].look),
                      survey_sample(survey, sorted[i].look));
        }
    }
    free(sorted);
    return SLUICE_OK;
}

/* ---- output --------------------------------------------------------------------------------- */

void survey_print_name(const data_survey *s, uint64_t sample, bool json)
{
    char *name = NULL;
    const char *text =
        sluice_dataset_sample_name(s->dataset, sample, &name) == SLUICE_OK ? name : "";

    if (json) {
        cli_json_string(text);
    } else {
        cli_print_name(text);
    }
    sluice_string_free(name);
}

void finding_print_skew(const data_survey *s, uint32_t count)
{
    uint64_t least = UINT64_MAX;
    uint64_t most = 0;

    for (uint32_t i = 0; i < count; i++) {
        const uint64_t n = s->all.classes[i];

        least = n > 0 && n < least ? n : least;
        most = n > most ? n : most;
    }
    if (most > 0 && most >= 2 * least) {
        printf("  the largest class has %.1f times the samples of the smallest, %" PRIu64
               " and %" PRIu64 "\n",
               (double)most / (double)least, most, least);
    }
}

/* What a count of sluice_findings means, as text and as a key of JSON. */
typedef struct finding {
    const char *key;
    const char *text;
    uint64_t count;
} finding;

enum { FINDINGS = 4 };

static void list_findings(const data_survey *s, finding list[FINDINGS])
{
    const sluice_findings *found = &s->all.found;

    list[0] = (finding){"boxes_clipped", "boxes reach beyond their image, and are clipped to it",
                        found->boxes_clipped};
    list[1] =
        (finding){"boxes_dropped", "boxes have no area, and are dropped", found->boxes_dropped};
    list[2] = (finding){"sizes_differ",
                        "images have another size than their annotations, and are bad samples",
                        found->sizes_differ};
    list[3] =
        (finding){"labels_stored",
                  "images have annotations that fit only the pixels as stored, and are turned "
                  "with them by the Exif orientation",
                  found->labels_stored};
}

static void print_found(const data_survey *s)
{
    finding list[FINDINGS];

    list_findings(s, list);
    for (int i = 0; i < FINDINGS; i++) {
        if (list[i].count > 0) {
            printf("%" PRIu64 " %s\n", list[i].count, list[i].text);
        }
    }
}

void finding_print(const data_survey *s)
{
    print_found(s);
    if (s->duplicates == 0) {
        return;
    }
    printf("%" PRIu64 " images have the bytes of an earlier one\n", s->duplicates);
    for (uint32_t i = 0; i < s->pair_count; i++) {
        printf("  %" PRIu64 " ", s->pairs[i].copy);
        survey_print_name(s, s->pairs[i].copy, false);
        printf(" as %" PRIu64 " ", s->pairs[i].first);
        survey_print_name(s, s->pairs[i].first, false);
        printf("\n");
    }
    if (s->duplicates > s->pair_count) {
        printf("  and %" PRIu64 " more\n", s->duplicates - s->pair_count);
    }
}

void finding_json(const data_survey *s)
{
    finding list[FINDINGS];

    list_findings(s, list);
    printf(",\"findings\":{");
    for (int i = 0; i < FINDINGS; i++) {
        printf("%s\"%s\":%" PRIu64, i > 0 ? "," : "", list[i].key, list[i].count);
    }
    printf("}");
    printf(",\"duplicates\":{\"count\":%" PRIu64 ",\"first\":[", s->duplicates);
    for (uint32_t i = 0; i < s->pair_count; i++) {
        printf("%s{\"sample\":%" PRIu64 ",\"name\":", i > 0 ? "," : "", s->pairs[i].copy);
        survey_print_name(s, s->pairs[i].copy, true);
        printf(",\"of\":%" PRIu64 "}", s->pairs[i].first);
    }
    printf("]}");
}
