# SPDX-License-Identifier: Apache-2.0
# public_docs.awk: reads public headers, prints each function whose comment does not state its
# threads in the one form that there is: "Threads: " begins the last line or lines of the comment,
# or stands in a comment of one line, once.

/^\/\*\*/ {
    lines = 0
    inside = 1
}

inside {
    comment[++lines] = $0
    if ($0 ~ /\*\//) {
        inside = 0
    }
    next
}

/^(SLUICE_API|static inline)/ {
    declaration = $0
    while (declaration !~ /\(/ && (getline more) > 0) {
        declaration = declaration " " more
    }
    match(declaration, /sluice_[a-z0-9_]+ *\(/)
    functions++
    found = last = 0
    for (i = 1; i <= lines; i++) {
        times = gsub(/Threads:/, "&", comment[i])
        found += times
        if (times == 1 && (lines == 1 || comment[i] ~ /^ \* Threads: [a-z]/)) {
            last = i
        }
    }
    for (i = last + 1; found == 1 && i < lines; i++) { # only what continues it
        if (comment[i] !~ /^ \*          [^ ]/) {
            found = last = 0
        }
    }
    if (found != 1 || last == 0) {
        print FILENAME ": " substr(declaration, RSTART, RLENGTH - 1)
    }
}

$0 != "" {
    lines = 0
}

END {
    print "functions " functions
}
