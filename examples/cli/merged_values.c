/* SPDX-License-Identifier: Apache-2.0 */
#include "merged_values.h"

#include <limits.h>
#include <math.h>

#include "report_reader.h"

static double weight_of(const rank_part *part, merge_rule rule)
{
    const json_t *stage = part->stage != NULL ? part->stage : part->run;
    const double seconds = report_number(part->run, "seconds");

    switch (rule) {
    case MERGE_BY_SAMPLES:
        return report_number(stage, "samples");
    case MERGE_BY_THREADS:
        return report_number(stage, "workers") * seconds;
    case MERGE_BY_BUSY:
        return report_number(stage, "workers") * seconds * report_number(stage, "busy_share");
    default:
        return 1;
    }
}

/* A mean of the known values; null if there is none. */
static json_t *mean_of(const rank_part *parts, size_t count, const merged_key *key)
{
    double sum = 0;
    double weights = 0;

    for (size_t i = 0; i < count; i++) {
        const double value = report_number(parts[i].object, key->key);
        const double weight = weight_of(&parts[i], key->rule);

        if (isfinite(value) && isfinite(weight)) {
            sum += weight * value;
            weights += weight;
        }
    }
    return weights > 0 && isfinite(sum / weights) ? json_real(sum / weights) : json_null();
}

/* Two numbers by a rule; integers stay integers while they fit. */
static json_t *combine(const json_t *a, const json_t *b, merge_rule rule)
{
    const double x = json_number_value(a);
    const double y = json_number_value(b);
    json_int_t sum;

    if (rule != MERGE_SUM) {
        return json_deep_copy((rule == MERGE_MAX) == (x >= y) ? a : b);
    }
    if (json_is_integer(a) && json_is_integer(b) &&
        !__builtin_add_overflow(json_integer_value(a), json_integer_value(b), &sum)) {
        return json_integer(sum);
    }
    return isfinite(x + y) ? json_real(x + y) : json_null();
}

static json_t *number_of(const rank_part *parts, size_t count, const merged_key *key)
{
    json_t *all = NULL;

    for (size_t i = 0; i < count; i++) {
        const json_t *value = json_object_get(parts[i].object, key->key);

        if (json_is_number(value)) {
            json_t *more = all != NULL ? combine(all, value, key->rule) : json_deep_copy(value);

            json_decref(all);
            all = more;
        }
    }
    return all != NULL ? all : json_null();
}

static json_t *same_of(const rank_part *parts, size_t count, const merged_key *key)
{
    const json_t *first = NULL;

    for (size_t i = 0; i < count; i++) {
        const json_t *value = json_object_get(parts[i].object, key->key);

        if (parts[i].object == NULL) {
            continue;
        }
        if (value == NULL || (first != NULL && !json_equal(first, value))) {
            return json_null();
        }
        first = value;
    }
    return first != NULL ? json_deep_copy(first) : json_null();
}

json_t *merged_value(const rank_part *parts, size_t count, const merged_key *key)
{
    switch (key->rule) {
    case MERGE_SUM:
    case MERGE_MAX:
    case MERGE_MIN:
        return number_of(parts, count, key);
    case MERGE_SAME:
        return same_of(parts, count, key);
    default:
        return mean_of(parts, count, key);
    }
}

/* True if a part has the key, perhaps with null. */
static bool any_has(const rank_part *parts, size_t count, const char *key)
{
    bool any = false;

    for (size_t i = 0; i < count && !any; i++) {
        any = json_object_get(parts[i].object, key) != NULL;
    }
    return any;
}

int merged_set(json_t *object, const rank_part *parts, size_t count, const merged_key *keys)
{
    int failed = 0;

    for (; keys->key != NULL; keys++) {
        if (any_has(parts, count, keys->key)) {
            failed |= json_object_set_new(object, keys->key, merged_value(parts, count, keys));
        }
    }
    return failed;
}
