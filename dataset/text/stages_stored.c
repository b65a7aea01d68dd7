/* SPDX-License-Identifier: Apache-2.0 */
#include "stages_stored.h"

#include <string.h>

#include "plan_int.h"
#include "stages_allowed_int.h"
#include "text_int.h"

/* Between two stages of a text. */
static const char BETWEEN[] = " | ";

/* True if the text has a stage decode that has these words among its arguments, or with `lacks`
 * one that has not. */
static bool has_decode(const char *stages, const char *words, bool lacks)
{
    static const char name[] = "decode ";

    while (stages != NULL) {
        const char *end = strstr(stages, BETWEEN);

        if (strncmp(stages, name, sizeof(name) - 1) == 0) {
            const char *found = strstr(stages, words);

            if ((found != NULL && (end == NULL || found < end)) != lacks) {
                return true;
            }
        }
        stages = end != NULL ? end + sizeof(BETWEEN) - 1 : NULL;
    }
    return false;
}

bool stages_lack_orient(const char *stages)
{
    return has_decode(stages, " orient=", true);
}

bool sli_stages_keep_stored(const char *kept, const char *mine)
{
    /* Equal texts may be shortened ones (channel_identity.h), of which the argument was cut off. */
    return strcmp(kept, mine) != 0 && stages_lack_orient(kept) &&
           has_decode(mine, " orient=true", false);
}

sluice_status sli_stages_as_stored(const char *stages, char **text_out)
{
    static const char decode[] = "decode ";
    static const char words[] = " orient=true";
    sli_text text = {0};

    while (stages != NULL) {
        const char *next = strstr(stages, BETWEEN);
        const char *end = next != NULL ? next + sizeof(BETWEEN) - 1 : stages + strlen(stages);
        const char *found =
            strncmp(stages, decode, sizeof(decode) - 1) == 0 ? strstr(stages, words) : NULL;

        if (found != NULL && found < end) {
            sli_text_add(&text, "%.*s", (int)(found - stages), stages);
            stages = found + sizeof(words) - 1;
        }
        sli_text_add(&text, "%.*s", (int)(end - stages), stages);
        stages = next != NULL ? end : NULL;
    }
    return sli_text_take(&text, text_out);
}
