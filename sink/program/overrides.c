/* SPDX-License-Identifier: Apache-2.0 */
#include "overrides.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "log_int.h"
#include "placement_int.h"
#include "rank_cores_int.h"
#include "status_int.h"

enum { MOST_SLOTS = 1024 };

const char *overrides_value(const char *name)
{
    const char *value = getenv(name);

    return value != NULL && value[0] != '\0' ? value : NULL;
}

sluice_status overrides_refuse(const char *name, const char *value, const char *wanted)
{
    return sli_fail(SLUICE_E_INVALID,
                    "environment: %s is \"%.200s\", and must be %s; correct it, or unset it", name,
                    value, wanted);
}

extern char **environ; /* POSIX declares it nowhere */

/* All that the library reads. */
static const char *const known[] = {
    "SLUICE_CORES",  "SLUICE_CPU",           "SLUICE_EXCHANGE_MS", "SLUICE_GUARDS",
    "SLUICE_JOB",    "SLUICE_LOCAL",         "SLUICE_LOG",         "SLUICE_MEMORY",
    "SLUICE_MODE",   "SLUICE_MODULE_DIR",    "SLUICE_PLUGINS",     "SLUICE_READAHEAD",
    "SLUICE_REPORT", "SLUICE_REPORT_SERIES", "SLUICE_SLOTS",       "SLUICE_WORKERS",
};

static bool is_known(const char *name, size_t length)
{
    for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++) {
        if (strlen(known[i]) == length && strncmp(known[i], name, length) == 0) {
            return true;
        }
    }
    return false;
}

/* Warns of variables that a user may think to be read. */
static void warn_of_unknown(void)
{
    for (char **variable = environ; *variable != NULL; variable++) {
        const char *name = *variable;
        const size_t length = strcspn(name, "=");

        if (strncmp(name, "SLUICE_", 7) == 0 && name[length] == '=' && name[length + 1] != '\0' &&
            !is_known(name, length)) {
            sli_log(SLUICE_LOG_WARN,
                    "environment: %.*s has no effect: Sluice has no such variable; the reference "
                    "lists them (docs/guide/reference.md)",
                    (int)(length < 100 ? length : 100), name);
        }
    }
}

/* ---- numbers --------------------------------------------------------------------------------- */

/* Parses digits, optionally followed by one letter of `units`: the first letter multiplies the
 * number by 1024, the second by 1024^2, and so on. */
static bool read_number(const char *text, const char *units, uint64_t *number_out)
{
    const size_t digits = strspn(text, "0123456789");
    const char *unit = text[digits] != '\0' ? strchr(units, text[digits]) : NULL;
    const int shift = unit != NULL ? 10 * (int)(unit - units + 1) : 0;
    unsigned long long number;

    if (digits == 0 || text[digits + (unit != NULL)] != '\0') {
        return false;
    }
    errno = 0;
    number = strtoull(text, NULL, 10);
    *number_out = (uint64_t)number << shift;
    return errno == 0 && *number_out >> shift == number;
}

/* An environment variable for a numeric setting; a setting of 0 selects the library's default. */
typedef struct number_override {
    const char *name;
    const char *setting; /* name of the field in the config */
    const char *units;
    const char *wanted;
    uint64_t most;
} number_override;

static const number_override of_workers = {"SLUICE_WORKERS", "workers", "",
                                           "a number from 0 to 1024 (0: by cores and quota)",
                                           SLI_MAX_WORKERS};
static const number_override of_slots = {
    "SLUICE_SLOTS", "slots", "", "0 (by workers, device and memory), or 2 to 1024", MOST_SLOTS};
static const number_override of_memory = {
    "SLUICE_MEMORY", "memory_bytes", "KMG",
    "a number of bytes, such as 512M (K, M, G; 0: a quarter of what the process may use)",
    UINT64_MAX};

static void add_used(char *used, const char *name, const char *value)
{
    const size_t length = strlen(used);

    snprintf(used + length, OVERRIDES_USED_SIZE - length, "%s%s=%.40s", length > 0 ? " " : "", name,
             value);
}

/* *number is unchanged if the variable is not set. */
static sluice_status override_number(const number_override *o, uint64_t *number, char *used)
{
    const char *value = overrides_value(o->name);
    const uint64_t before = *number;
    uint64_t read;

    if (value == NULL) {
        return SLUICE_OK;
    }
    if (!read_number(value, o->units, &read) || read > o->most ||
        (o == &of_slots && read == 1)) { /* a queue needs at least two slots */
        return overrides_refuse(o->name, value, o->wanted);
    }
    *number = read;
    add_used(used, o->name, value);
    sli_log(SLUICE_LOG_WARN, "environment: %s=%s in place of %s %llu%s", o->name, value, o->setting,
            (unsigned long long)before, before == 0 ? " (auto)" : "");
    return SLUICE_OK;
}

static sluice_status override_cores(const char **cores, char *used)
{
    const char *value = overrides_value("SLUICE_CORES");
    sli_cores_setting setting;

    if (value == NULL) {
        return SLUICE_OK;
    }
    if (!sli_cores_parse(value, &setting)) {
        return overrides_refuse("SLUICE_CORES", value,
                                "auto, all or a list of CPUs such as 0-7,16");
    }
    sli_log(SLUICE_LOG_WARN, "environment: SLUICE_CORES=%s in place of cores %s", value,
            *cores != NULL && (*cores)[0] != '\0' ? *cores : "auto");
    add_used(used, "SLUICE_CORES", value);
    *cores = value;
    return SLUICE_OK;
}

sluice_status overrides_of_channel(uint32_t *workers, uint32_t *slots, uint64_t *memory_bytes,
                                   const char **cores, char used_out[OVERRIDES_USED_SIZE])
{
    uint64_t numbers[] = {*workers, *slots};
    sluice_status st;

    warn_of_unknown();
    used_out[0] = '\0';
    st = override_number(&of_workers, &numbers[0], used_out);
    if (st == SLUICE_OK) {
        st = override_number(&of_slots, &numbers[1], used_out);
    }
    if (st == SLUICE_OK) {
        st = override_number(&of_memory, memory_bytes, used_out);
    }
    if (st == SLUICE_OK) {
        st = override_cores(cores, used_out);
    }
    *workers = (uint32_t)numbers[0];
    *slots = (uint32_t)numbers[1];
    return st;
}

sluice_status overrides_explain(sluice_status st, const char *used)
{
    if (st != SLUICE_E_INVALID || used[0] == '\0') {
        return st;
    }
    return sli_fail_quoting(st, "%.800s (environment: %s)", sluice_last_error(), used);
}

/* ---- the mode -------------------------------------------------------------------------------- */

static bool read_mode(const char *text, sluice_mode *mode_out)
{
    for (int i = SLUICE_MODE_AUTO; i <= SLUICE_MODE_LOOP; i++) {
        if (strcmp(text, sluice_mode_name((sluice_mode)i)) == 0) {
            *mode_out = (sluice_mode)i;
            return true;
        }
    }
    return false;
}

/*
 * Without dataset_sink_mode the mode is always direct. The variable is then ignored, not refused: a
 * program may do runs of both kinds in the same environment.
 */
static sluice_status override_mode(sluice_train_config *config)
{
    const char *value = overrides_value("SLUICE_MODE");
    sluice_mode mode;

    if (value == NULL) {
        return SLUICE_OK;
    }
    if (!read_mode(value, &mode)) {
        return overrides_refuse("SLUICE_MODE", value, "one of auto, direct, data, graph, loop");
    }
    if (!config->dataset_sink_mode) {
        sli_log(SLUICE_LOG_WARN,
                "environment: SLUICE_MODE=%s is not used: dataset_sink_mode is off", value);
        return SLUICE_OK;
    }
    sli_log(SLUICE_LOG_WARN, "environment: SLUICE_MODE=%s in place of mode %s", value,
            sluice_mode_name(config->mode));
    config->mode = mode;
    return SLUICE_OK;
}

sluice_status overrides_of_run(sluice_train_config *config, char used_out[OVERRIDES_USED_SIZE])
{
    sluice_status st = overrides_of_channel(&config->workers, &config->slots, &config->memory_bytes,
                                            &config->cores, used_out);

    return st == SLUICE_OK ? override_mode(config) : st;
}
