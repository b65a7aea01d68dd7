# SPDX-License-Identifier: Apache-2.0
# awk -f html_page.awk PAGE: what is wrong with a page of `sluice report`, a line each: elements that
# are not nested, attributes without quotes, characters that must be escaped, and anything that loads
# from another place. The last line is `elements N`. With -v json=N it prints the N-th embedded JSON
# instead, as it was before it was embedded.

function wrong(what) {
    if (json == "") {
        print "line " line ": " what
    }
}

# Attributes of an element: NAME="VALUE" ..., with blanks between.
function check_attributes(text,  value) {
    while (match(text, /^[ \n]+[A-Za-z-]+="[^"<]*"/)) {
        value = substr(text, RSTART, RLENGTH)
        text = substr(text, RLENGTH + 1)
        if (value ~ /^[ \n]+(src|href|xlink:href|action|srcset|data|poster)=/ || value ~ /^[ \n]+on[a-z]*=/) {
            wrong("an attribute that loads or runs: " value)
        }
        check_text(value)
    }
    if (text !~ /^[ \n]*$/) {
        wrong("attributes must be NAME=\"VALUE\": " text)
    }
}

# Text outside of tags: & begins an entity, and nothing names another place.
function check_text(text) {
    gsub(/&(lt|gt|amp|quot|#[0-9]+);/, "", text)
    if (text ~ /[<>&]/) {
        wrong("not escaped: " text)
    }
}

function check_tag(tag,  name) {
    if (tag ~ /^!DOCTYPE html$/) {
        return
    }
    if (tag ~ /^\//) {
        name = substr(tag, 2)
        if (depth == 0 || open[depth] != name) {
            wrong("</" name "> does not close <" open[depth] ">")
        }
        depth--
        return
    }
    if (!match(tag, /^[a-z][a-z0-9]*/)) {
        wrong("not a tag: <" tag ">")
        return
    }
    name = substr(tag, 1, RLENGTH)
    elements++
    if (name ~ /^(link|img|iframe|object|embed|base|audio|video|source|form|image|use)$/) {
        wrong("an element that loads: <" name ">")
    }
    if (name == "script" && tag !~ /^script type="application\/json"/) {
        wrong("a script that runs: <" tag ">")
    }
    if (tag ~ /\/$/) {
        tag = substr(tag, 1, length(tag) - 1)
    } else {
        open[++depth] = name
    }
    check_attributes(substr(tag, length(name) + 1))
}

# Skips the text of <style> or <script>, which only its own end tag ends.
function check_raw(name,  at, raw) {
    at = index(page, "</" name ">")
    raw = substr(page, 1, at - 1)
    page = substr(page, at)
    if (name == "style" && raw ~ /url\(|@import|:\/\/|</) {
        wrong("a style that loads")
    }
    if (name == "script" && ++scripts == json) {
        gsub(/\\u003c/, "<", raw)
        print raw
    }
    if (name == "script" && raw ~ /</) {
        wrong("< in the JSON")
    }
}

{
    page = page $0 "\n"
}

END {
    line = 1
    while ((at = index(page, "<")) > 0) {
        text = substr(page, 1, at - 1)
        line += gsub(/\n/, "\n", text)
        check_text(text)
        page = substr(page, at + 1)
        end = index(page, ">")
        if (end == 0) {
            wrong("a tag without an end")
            break
        }
        tag = substr(page, 1, end - 1)
        page = substr(page, end + 1)
        check_tag(tag)
        if (tag ~ /^(style|script)( |$)/) {
            check_raw(open[depth])
        }
    }
    check_text(page)
    if (depth != 0) {
        wrong("<" open[depth] "> is not closed")
    }
    if (json == "") {
        print "elements " elements + 0
    }
}
