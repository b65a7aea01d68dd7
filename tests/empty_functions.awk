# SPDX-License-Identifier: Apache-2.0
# empty_functions.awk: reads public headers, writes a C file in which each function is defined, without a
# body to speak of: its types are those of the interface alone.

BEGIN {
    print "#include <sluice/sluice.h>"
}

/^SLUICE_API/ {
    text = $0
    while (text !~ /;[ \t]*$/ && (getline more) > 0) {
        text = text " " more
    }
    sub(/^SLUICE_API(_CHECKED)? /, "", text)
    sub(/ *SLUICE_PRINTF\([^)]*\)/, "", text)
    gsub(/[ \t]+/, " ", text)
    sub(/; ?$/, text ~ /^void [^*]/ ? " {}" : " { return 0; }", text)
    print text
}
