#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# sluice report: a page of real and of recorded reports, what bad files get, and the reports of ranks as one.
# test_report.sh BUILD_DIR; a line for each check, and last `report: N passed, N failed, N skipped`.
set -u
here=$(cd "$(dirname "$0")" && pwd)
build=$(cd "${1:?usage: test_report.sh BUILD_DIR}" && pwd)
title=report
. "$here/shell_kit.sh"
sluice=$build/bin/sluice
recorded=$here/data/reports

cd "$tmp" || exit 1
case $("$sluice" --version) in
*"jansson on"*) ;;
*)
    expect "without jansson the command says so" 2 report none.json
    check "... and names the package" err_has 'libjansson-dev'
    finish
    ;;
esac

# page_is_right PAGE: the checker has nothing to say of it.
page_is_right() {
    awk -f "$here/html_page.awk" "$1" >found
    grep -qx 'elements [1-9][0-9]*' found && [ "$(wc -l <found)" -eq 1 ] && return
    cat found
    return 1
}
# holds PAGE N FILE: its N-th embedded JSON is that file.
holds() { awk -v json="$2" -f "$here/html_page.awk" "$1" | cmp - "$3"; }

# ---- pages ------------------------------------------------------------------------------------------
"$sluice" synth set --classes 2 --per-class 10 --size 32 >made || skip_rest "sluice synth makes none"
mkdir -p 'set/train/<'
echo "no image" >'set/train/</script>x<!--.jpg'
"$sluice" bench "image_folder set/train | decode | resize 16,16 | batch 4" --steps 20 --on-error replace --json >real.json 2>err
check "a run with a sample </script> writes its report" grep -q '</script>x<!--.jpg' real.json
expect "its page is made" 0 report real.json -o real.html
check "... and is well-formed, and loads nothing" page_is_right real.html
check "... it holds the report" holds real.html 1 real.json
check "... the sample's name ends no element" test "$(grep -c '</script>' real.html)" -eq 1
check "... its name is shown" grep -q '&lt;/<wbr/>script&gt;x&lt;!--.jpg' real.html
check "... the verdict and the stages are there" grep -q '<bdi>decode</bdi>' real.html
expect "the page goes to standard output, unless that is a terminal" 0 report real.json
check "... every byte" cmp out real.html

expect "a recorded report of schema 2 is shown" 0 report "$recorded/times.json" -o times.html
check "... well-formed" page_is_right times.html
check "... with its JSON" holds times.html 1 "$recorded/times.json"
for words in 'gaussian_<wbr/>blur</bdi></b> limits the run: cpu (61.0 %)' '<b>workers 4</b>: two cores are idle' \
    '11,000/s to 12,000/s expected' '<td>checkpoint</td>' 'ready 31.4 %' 'resize#2</bdi>' 'CPU a sample' '<th>max</th>' \
    'sluice/<wbr/>w/<wbr/>0</bdi>' '<polyline points="0.0,' '120 points' 'throttled periods' 'slot bytes' \
    '<bdi>&lt;/<wbr/>script&gt;&lt;script&gt;alert(1)&lt;/<wbr/>script&gt;&amp;&quot;&#39;x.jpg</bdi>' 'train/<wbr/>&#65533;gpj.exe'; do
    check "... it shows $words" grep -q -e "$words" times.html
done
check "... and leaves nothing out" sh -c '! grep -q "Left out" times.html'
check "a report of schema 1 says what it lacks" grep -q 'Left out: Advice (absent), Wall time (absent)' real.html
check "styles are for light, dark, narrow and paper" sh -c 'for w in prefers-color-scheme:dark max-width:480px "@media print"; do
    grep -q "$w" times.html || exit 1; done'

expect "several runs are shown side by side" 0 report real.json "$recorded/times.json" real.json -o three.html
check "... well-formed" page_is_right three.html
check "... each with its JSON" holds three.html 2 "$recorded/times.json"
check "... and compared" grep -q 'Differences are from the first run' three.html
check "... a stage that one run lacks is unknown there" grep -q '<td>?</td>' three.html
"$sluice" bench "none none" --json >failed.json 2>err
expect "the report of a run that never began is shown" 0 report failed.json -o failed.html
check "... well-formed" page_is_right failed.html
check "... with its error" grep -q 'E_INVALID' failed.html

# The checker finds what it is for.
for change in 's/<\/h3>//' 's/class="verdict"/class=verdict/' 's/<h1>/<h1><img src="x"\/>/' 's/<body>/<body onload="x"/' \
    's/<style>/<style>@import "x";/' 's/<style>/<style>a{background:url(x)}/' 's/<h1>/<h1>a \& b/' 's/<h1>/<script>x<\/script><h1>/' \
    's/\\u003c/</'; do
    sed "$change" real.html >wrong.html
    check "the checker finds $change" sh -c '! cmp -s wrong.html real.html && [ "$(awk -f "$1/html_page.awk" wrong.html | wc -l)" -gt 1 ]' - "$here"
done

# ---- bad input --------------------------------------------------------------------------------------
# refused NAME FILE WORDS: the report is refused by a message with the file's name and these words; no page is written.
refused() {
    rm -f bad.html
    expect "$1" 1 report "$2" -o bad.html
    check "... it says so" err_has "report: $2: .*$3"
    check "... in few words" test "$(wc -c <"$tmp/err")" -lt 500
    check "... and no page is written" test ! -e bad.html
}
head -c 1500 real.json >cut.json
refused "a report that is cut short" cut.json 'cut short after byte 1500'
: >empty.json
refused "an empty file" empty.json 'the file is empty'
refused "a file that is missing" none.json 'cannot read the file: No such file'
mkdir -p folder.json
refused "a folder" folder.json 'cannot read the file: Is a directory'
echo 'no JSON' >text.json
refused "a text" text.json 'not valid JSON: line 1'
printf '{"schema":1,\0}' >zero.json
refused "a zero byte" zero.json 'byte 12 of the file is zero'
sed 's/"seconds":[0-9.]*/"seconds":NaN/' real.json >nan.json
refused "NaN" nan.json 'not valid JSON'
sed 's/"samples":[0-9]*/"samples":1e999/' real.json >huge.json
refused "a number that no double holds" huge.json 'not valid JSON'
sed 's/"schema":1/"schema":3/' real.json >other.json
refused "another schema" other.json '"schema" is 3, and must be 1 or 2'
sed 's/"seconds":[0-9.]*/"seconds":"x"/' real.json >type.json
refused "a text for a number" type.json '"seconds" must be a number'
sed 's/"seconds":[0-9.]*/"seconds":-1/' real.json >type.json
refused "a negative time" type.json '"seconds" must be a number, not negative'
sed 's/"name":"decode"/"name":7/' real.json >type.json
refused "a number for a name" type.json '"stages.name" must be a text'
sed 's/"stages":\[/"stages":[7,/' real.json >type.json
refused "a number for a stage" type.json 'element 0 of "stages" must be an object'
printf '{"schema":1,"status":"OK","stages":[%s{"name":"x"}]}' "$(yes '{"name":"x"},' | head -n 1000000 | tr -d '\n')" >many.json
refused "10^6 stages" many.json '"stages" has 1000001 elements, and must have at most 256'
printf '{"schema":1,"x":%s' "$(yes '[' | head -n 100000 | tr -d '\n')" >deep.json
refused "10^5 lists in each other" deep.json 'not valid JSON'
head -c 17000000 /dev/zero | tr '\0' ' ' >large.json
refused "17 MB" large.json 'must have at most 16777216 bytes'
sed 's/"status":"OK"/"status":"OK","status":"OK"/' real.json >twice.json
refused "a key twice" twice.json 'not valid JSON'
"$sluice" verify set/train --json >verify.json 2>err
refused "the JSON of another command" verify.json '"stages" is missing: the file is not a report'
echo '[1]' >list.json
refused "a list" list.json '"schema" is missing: the file is not a report'
printf '{"schema":2,"status":"OK","stages":[],"series":7,"slowest":"x","threads":null,"machine":{},"memory":{"a_bytes":"x"}}' >odd.json
expect "values of later versions are left out" 0 report odd.json -o odd.html
check "... well-formed" page_is_right odd.html
check "... with one word why" grep -q 'Threads (unknown), Series (unreadable), Slowest samples (unreadable), Machine (empty)' odd.html
printf '{"schema":2,"status":"OK","stages":[{"name":"\\u202ex\\u0001","busy_share":9e300,"p50_us":9e300}],"series":[7,{"a":{}}],"slowest":[[],{}]}' >odd.json
expect "values of any size are shown" 0 report odd.json -o odd.html
check "... well-formed" page_is_right odd.html

# ---- the command line -------------------------------------------------------------------------------
expect "a report is needed" 2 report
check "... it says where from" err_has 'sluice bench --json'
cp real.json kept.json
expect "an input is not replaced" 2 report kept.json -o kept.json
check "... it says so" err_has '-o kept.json is also an input'
check "... and is as before" cmp kept.json real.json
expect "a folder cannot be written" 1 report real.json -o folder.json
check "... it names it" err_has 'cannot write folder.json: Is a directory'
expect "a path in no folder cannot be written" 1 report real.json -o none/x.html
check "... it names it" err_has 'cannot write none/x.html: No such file'
if [ -n "$python" ] && [ -c /dev/ptmx ]; then
    "$python" -c 'import os, pty, sys
sys.exit(os.waitstatus_to_exitcode(pty.spawn(sys.argv[1:])))' "$sluice" report real.json >said 2>&1 </dev/null
    code=$?
    check "a terminal gets no HTML" test "$code" -eq 2
    check "... but what to do" grep -q 'by -o run.html' said
else
    skip "a terminal" "no python3"
fi

finish
