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
check "... a run that is too short has no bottleneck" grep -q '<b>No bottleneck was found</b>' real.html
check "... the verdict and the stages are there" grep -q '<bdi>decode</bdi>' real.html
expect "the page goes to standard output, unless that is a terminal" 0 report real.json
check "... every byte" cmp out real.html

expect "a recorded report is shown" 0 report "$recorded/times.json" -o times.html
check "... well-formed" page_is_right times.html
check "... with its JSON" holds times.html 1 "$recorded/times.json"
for words in 'gaussian_<wbr/>blur</bdi></b> limits the run: cpu (61.0 %)' '<b>workers 4</b>: two cores are idle' \
    '11,000/s to 12,000/s expected' '<td>checkpoint</td>' 'ready 31.4 %' 'resize#2</bdi>' 'CPU a sample' '<th>max</th>' \
    'sluice/<wbr/>w/<wbr/>0</bdi>' '<polyline points="0.0,' '120 points' 'throttled periods' 'slot bytes' \
    '<bdi>&lt;/<wbr/>script&gt;&lt;script&gt;alert(1)&lt;/<wbr/>script&gt;&amp;&quot;&#39;x.jpg</bdi>' 'train/<wbr/>&#65533;gpj.exe'; do
    check "... it shows $words" grep -q -e "$words" times.html
done
check "... and leaves nothing out" sh -c '! grep -q "Left out" times.html'
sed 's/"advice":\[/"x":[/; s/"time":{/"y":{/' real.json >old.json
expect "a report of an older version is shown" 0 report old.json -o old.html
check "a report without keys says what it lacks" grep -q 'Left out: Advice (absent), Wall time (absent)' old.html
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

# ---- the schema -------------------------------------------------------------------------------------
if [ -n "$python" ]; then
    "$sluice" bench "synthetic samples=100 shape=8,8,3 | cache 1M | batch 5" --device host:0,copy=1 --digest --json >cached.json 2>err
    schema="$here/../docs/report.schema.json"
    matches() { "$python" "$here/report_schema.py" "$schema" "$here/../examples/cli/report_reader.c" "$@"; }
    check "real reports match docs/report.schema.json" matches real.json cached.json
    for change in 's/"epochs":/"epoch":/' 's/"epochs":[0-9]*/"epochs":null/' 's/"seconds":[0-9.]*/"seconds":-1/' 's/"name":"decode"/"x":1,&/'; do
        sed "$change" real.json >wrong.json
        check "... after $change a report does not" sh -c '! cmp -s wrong.json real.json && ! "$@"' - "$python" "$here/report_schema.py" \
            "$schema" "$here/../examples/cli/report_reader.c" wrong.json
    done
else
    skip "the schema" "no python3"
fi

run sh -c '"$1" report - -o piped.html <real.json' - "$sluice"
check "a report from standard input is shown" [ "$code" -eq 0 ]
check "... with its JSON" holds piped.html 1 real.json

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
printf '{"schema":1,"error":nu' >cut.json
refused "a report that is cut inside of null" cut.json 'cut short after byte 22'
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
sed 's/"schema":1/"schema":2/' real.json >other.json
refused "another schema" other.json '"schema" is 2, and must be 1:'
sed 's/"schema":1/"schema":"1"/' real.json >other.json
refused "a text as the schema" other.json '"schema" must be the integer 1'
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
"$sluice" bench "synthetic samples=100 shape=8,8,3 | batch 5" --runs 2 --json >runs.json 2>err
refused "the reports of several runs" runs.json 'which `sluice compare` reads'
"$sluice" compare real.json real.json --json >compared.json 2>err
refused "a comparison" compared.json '"stages" is missing: the file is not a report'
sed 's/"ns_per_tick":[0-9.e+-]*/"ns_per_tick":0/' real.json >type.json
refused "a histogram without a unit" type.json '"stages.histogram.ns_per_tick" must be a number above 0'
echo '[1]' >list.json
refused "a list" list.json '"schema" is missing: the file is not a report'
printf '{"schema":1,"status":"OK","stages":[],"series":7,"passes":{"a":[1]},"slowest":"x","threads":null,"machine":{},"memory":{"a_bytes":"x"}}' >odd.json
expect "values of later versions are left out" 0 report odd.json -o odd.html
check "... well-formed" page_is_right odd.html
check "... with one word why" grep -q 'Threads (unknown), Series (unreadable), Slowest samples (unreadable), Machine (empty)' odd.html
printf '{"schema":1,"status":"OK","stages":[{"name":"\\u202ex\\u0001","busy_share":9e300,"p50_us":9e300}],"series":[7,{"a":{}}],"passes":[[],{"pass":"x","batches":9e300},7],"slowest":[[],{}]}' >odd.json
expect "values of any size are shown" 0 report odd.json -o odd.html
check "... well-formed" page_is_right odd.html
printf '{"schema":1,"status":"OK","stages":[],"samples":-0.0,"bottleneck":{"stage":"none","cause":"handover"}}' >odd.json
expect "a hand-over that limits is shown" 0 report odd.json -o odd.html
check "... by its cause" grep -q '<b><bdi>handover</bdi></b> limits the run<' odd.html
check "... -0 is 0" grep -q 'samples <b>0</b>' odd.html
printf '{"schema":1,"status":"OK","stages":[],"errors":{"failed":7,"first":null},"machine":{%s"z":0}}' \
    "$(awk 'BEGIN {for (i = 0; i < 60; i++) printf "\"k%d\":1,", i}')" >odd.json
expect "61 values of a machine are shown in part" 0 report odd.json -o odd.html
check "... which is said" grep -q 'Values only in the JSON of this page: 11\.' odd.html
check "... bad samples without a list are counted" grep -q '<p>7 failed' odd.html

# ---- merge ------------------------------------------------------------------------------------------
# rank_report R WORLD SAMPLES SECONDS HISTOGRAM WAITS [MORE]: what a rank writes, in little.
rank_report() {
    printf '{"schema":1,"status":"OK","error":null,"samples":%s,"steps":10,"first_step":0,"seconds":%s,"samples_per_s":%s,' "$3" "$4" \
        "$(awk "BEGIN {print $3 / $4}")"
    printf '"data_wait_share":0.5,"stages":[{"name":"decode","samples":%s,"busy_share":0.5,"workers":2,"cpu_us_per_sample":%s,' "$3" "$1"
    printf '"p50_us":1,"p99_us":1,"max_us":%s,"operations":[{"name":"resize","us_per_sample":%s,"share":1}],"histogram":%s}],' "$1" "$1" "$5"
    printf '"bottleneck":{"stage":"decode","cause":"cpu","share":0.5,"why":"decode of %s"},"process":{"rank":%s,"world":%s,"host":"h%s"},' \
        "$1" "$1" "$2" "$1"
    printf '"ranks":%s,"environment":{"versions":{"sluice":"0.2.0"}}%s}\n' "$6" "${7:-}"
}
# merged EXPRESSION: it holds of the merged report j, or it cannot be told.
merged() {
    [ -n "$python" ] || return 0
    "$python" -c 'import json, sys
j = json.load(open(sys.argv[1]))
assert eval("(" + sys.argv[2] + ")"), (sys.argv[2], j)' all.json "$1"
}
h0='{"ns_per_tick":1,"counts":[[5,3]]}'
h1='{"ns_per_tick":1,"counts":[[20,6],[8,1]]}'
rank_report 0 3 30 2 "$h0" '{"waits":[{"rank":2,"seconds":0.5,"delay":"data"},{"rank":1,"seconds":0.1,"delay":"step"}]}' >r0.json
rank_report 1 3 10 2 "$h1" '{"waits":[{"rank":2,"seconds":0.3,"delay":"step"}]}' >r1.json
rank_report 2 3 20 1 "$h1" '{"waits":[]}' ',"digest":"x"' >r2.json
expect "reports of ranks are merged" 0 report merge r2.json r0.json r1.json -o all.json
check "... it says that all are there" err_has '^All 3 ranks\. The straggler is rank 2: the ranks wait 16\.0 % of their'
check "... and the cause" sh -c 'tr -s "\n " " " <"$1" | grep -q "its steps wait for data. There decode limits, by cpu: decode of 2"' - "$tmp/err"
check "... counters are added" merged "j['samples'] == 60 and j['seconds'] == 2 and j['samples_per_s'] == 30 and j['stages'][0]['samples'] == 60"
check "... means are weighted" merged "abs(j['stages'][0]['cpu_us_per_sample'] - 50 / 60) < 1e-6 and j['stages'][0]['max_us'] == 2 and
    abs(j['stages'][0]['operations'][0]['us_per_sample'] - 50 / 60) < 1e-6"
check "... histograms, too" merged "j['stages'][0]['histogram'] == {'ns_per_tick': 1, 'counts': [[5, 3], [8, 2], [20, 12]]}"
check "... percentiles are those of all items" merged "j['stages'][0]['p50_us'] == 0.025 and j['stages'][0]['p99_us'] == 0.025"
check "... the verdict is the straggler's" merged "j['bottleneck']['why'] == 'rank 2: decode of 2' and
    j['merge']['straggler'] == {'rank': 2, 'share': 0.16, 'delay': 'data', 'stage': 'decode', 'cause': 'cpu'}"
check "... what has no merge is named" merged "j['merge']['left_out'] == ['ranks', 'digest'] and j['merge']['missing'] == []"
expect "a merge is shown" 0 report all.json -o all.html
check "... well-formed" page_is_right all.html
check "... with its ranks" grep -q 'The straggler is rank 2' all.html
expect "a rank without a report" 0 report merge r0.json r1.json -o two.json
check "... is missing" err_has '^2 of 3 ranks; the reports of these are missing: 2\.'
check "... also as the straggler" sh -c 'tr -s "\n " " " <"$1" | grep -q "rank 2: .* its report is missing"' - "$tmp/err"
cp two.json all.json
check "... in JSON" merged "j['merge']['missing'] == [2] and j['merge']['straggler']['rank'] == 2 and j['merge']['straggler']['cause'] is None"
for r in 0 1 2; do
    rank_report $r 3 $((20 - r * r)) 1 "$h0" null >"n$r.json"
done
expect "ranks that count no waits" 0 report merge n0.json n1.json n2.json -o all.json
check "... are compared by their rates" err_has 'rank 2: its rate is 15\.8 % below'
expect "two ranks that count no waits" 0 report merge n0.json n2.json -o all.json
check "... are compared with the mean of both" sh -c 'tr -s "\n " " " <"$1" | grep -q "rank 2: its rate is 11\.1 % below"' - "$tmp/err"
expect "ranks alike" 0 report merge n0.json n1.json -o all.json
check "... have no straggler" err_has 'No rank is slower than'
expect "a merge goes to standard output" 0 report merge n0.json n1.json
check "... as one object" grep -qx '{.*}' "$tmp/out"
if [ -n "$python" ]; then
    "$python" - "$tmp" <<'P'
import json, random, sys
random.seed(1)
def bucket(t):
    if t < 8: return int(t)
    e = int(t).bit_length() - 1
    return (e - 2) * 8 + (int(t) >> (e - 3) & 7)
every = []
for r, tick in enumerate((0.385, 0.3851, 1.7)):
    values = [random.lognormvariate(9 + r, 1.5) for i in range(3000)]
    every += values
    counts = {}
    for v in values: counts[bucket(v / tick)] = counts.get(bucket(v / tick), 0) + 1
    json.dump({"schema": 1, "status": "OK", "samples": 3000, "seconds": 1, "process": {"rank": r, "world": 3}, "stages": [
        {"name": "x", "samples": 3000, "histogram": {"ns_per_tick": tick, "counts": sorted(map(list, counts.items()))}}]},
        open(f"{sys.argv[1]}/v{r}.json", "w"))
every.sort()
print(every[4500] / 1e3, every[int(9000 * .99)] / 1e3, file=open(f"{sys.argv[1]}/raw", "w"))
P
    expect "reports of machines with other clocks" 0 report merge v0.json v1.json v2.json
    check "... have the percentiles of the raw values within 7 %" "$python" -c 'import json, sys
s = json.load(open(sys.argv[1]))["stages"][0]
raw = [float(x) for x in open(sys.argv[2]).read().split()]
print(raw, s["p50_us"], s["p99_us"])
for got, want in zip((s["p50_us"], s["p99_us"]), raw): assert abs(got / want - 1) < 0.07
items = sum(n for b, n in s["histogram"]["counts"])
assert items == 9000' "$tmp/out" raw
else
    skip "percentiles of raw values" "no python3"
fi
for r in 0 1; do
    rank_report $r 2 1e300 1e-300 "$h0" '{"waits":[{"rank":1,"seconds":1.7e308},{"rank":1,"seconds":1.7e308}]}' |
        sed 's/"samples_per_s":[^,]*/"samples_per_s":1/' >"x$r.json"
done
expect "sums and rates that no double holds" 0 report merge x0.json x1.json -o all.json
check "... are unknown" merged "j['samples_per_s'] is None and j['merge']['straggler'] is None"
for r in 0 1; do
    rank_report $r 2 10 $((1 + r)) "$h0" null | sed 's/"stage":"decode","cause":"cpu"/"stage":"none","cause":"none"/' >"x$r.json"
done
expect "a straggler without a bottleneck" 0 report merge x0.json x1.json -o all.json
check "... has none" sh -c 'tr -s "\n " " " <"$1" | grep -q "No stage limits there: decode of 1"' - "$tmp/err"

for r in 0 1; do
    rank_report $r 2 10 1 "$h0" null ",\"mode\":\"m$r\"" >"m$r.json"
done
expect "ranks of two modes" 0 report merge m0.json m1.json -o all.json
check "... have none in common, which is said" merged "j['mode'] is None and j['merge']['left_out'] == ['mode']"
for r in 0 1; do
    rank_report $r 2 10 1 "$h0" null ",\"running\":$([ $r = 0 ] && echo true || echo false),\"clock_jumped\":$([ $r = 1 ] && echo true || echo false)" |
        sed "s/\"environment\":{/&\"cpu\":\"of rank $r\",\"kernels\":\"v3\",/" >"e$r.json"
done
expect "ranks of two machines, of which one still runs" 0 report merge e0.json e1.json -o all.json
check "... have the environment that they share" merged "j['environment'] == {'cpu': None, 'kernels': 'v3', 'versions': {'sluice': '0.2.0'}}"
check "... what differs is named" merged "j['merge']['left_out'] == ['environment.cpu']"
check "... the merge has not ended, either" merged "j['running'] is True"
check "... a clock of one rank has jumped" merged "j['clock_jumped'] is True"
expect "a page of that rank" 0 report e1.json -o jumped.html
check "... says so" grep -q 'a clock jumped' jumped.html
expect "a page of it" 0 report e0.json -o running.html
check "... says so" grep -q 'the run had not ended' running.html

# Reports of two ranks of a real run.
for r in 0 1; do
    "$sluice" bench "synthetic samples=400 shape=8,8,3 | batch 5" --rank $r --world 2 --json >"w$r.json" 2>err
done
expect "real reports of ranks are merged" 0 report merge w0.json w1.json -o all.json
check "... all samples are there" merged "j['samples'] == 400 and j['stages'][-1]['name'] == 'step' and
    sum(n for b, n in j['stages'][-1]['histogram']['counts']) == j['stages'][-1]['samples'] == 80"
check "... only what has no merge is left out" merged "set(j['merge']['left_out']) <= {'mode_reason', 'digest', 'images', 'cache',
    'device_maps', 'placement', 'step', 'ranks', 'series', 'series_interval_s'}"
check "... stages have all that ranks know of them" merged "all(v is None or k in merged_stage
    for stage, merged_stage in zip(json.load(open('w0.json'))['stages'], j['stages']) for k, v in stage.items())"
check "... memory is added up" merged "all(j['memory'][key] ==
    sum(json.load(open(f'w{r}.json'))['memory'][key] for r in (0, 1)) for key in ('worker_bytes', 'row_bytes', 'host_bytes', 'other_bytes'))"
check "... the passes of each rank, too" merged "[p['rank'] for p in j['passes'] if p['pass'] == 0] == [0, 1] and
    all(p['batches'] > 0 and p['bad_samples'] == 0 for p in j['passes'])"
expect "... and shown" 0 report all.json -o all.html
check "... with passes" grep -q '<h3>Passes</h3>' all.html
check "... with each pool" grep -q 'worker bytes' all.html
check "... well-formed" page_is_right all.html

expect "the report of one rank is merged" 0 report merge w0.json -o all.json
check "... its percentiles stay, which the tool computes again" merged "all(abs(m[key] - s[key]) <= 0.01 + 0.001 * s[key]
    for s, m in zip(json.load(open('w0.json'))['stages'], j['stages']) for key in ('p50_us', 'p99_us'))"

# no_merge NAME WORDS FILES...
no_merge() {
    name=$1
    words=$2
    shift 2
    expect "$name" 1 report merge "$@" -o no.json
    check "... it says so" sh -c 'tr -s "\n\t " " " <"$1" | grep -q -e "$2"' - "$tmp/err" "$words"
    check "... and no file is written" test ! -e no.json
}
no_merge "a rank twice" 'r0.json and kept0.json are both of rank 0\|kept0.json and r0.json are both of rank 0' r0.json r1.json \
    "$(cp r0.json kept0.json && echo kept0.json)"
sed 's/"world":3/"world":4/' r1.json >other.json
no_merge "other worlds" 'r0.json and other.json are reports of different runs: world differs' r0.json other.json
sed 's/"decode"/"read"/' r1.json >other.json
no_merge "other stages" 'different runs: the list of stages differs' r0.json other.json
sed 's/"steps":10/"steps":11/' r1.json >other.json
no_merge "other steps of ranks that agree" 'different runs: steps differs' r0.json other.json
sed 's/0\.2\.0/0.3.0/' r1.json >other.json
no_merge "other versions" 'different runs: sluice differs' r0.json other.json
sed 's/"world":3/"world":3.5/' r1.json >other.json
no_merge "a world of 3.5 ranks" 'must have a rank and the world' other.json
sed 's/"rank":2,"seconds"/"rank":3,"seconds"/' r1.json >other.json
no_merge "waits for a rank of another world" '"ranks.waits.rank" is 3, and must be a rank of the world of 3' r0.json other.json
sed 's/\("stages":\[\)\(.*\)\],"bottleneck"/\1\2,\2],"bottleneck"/' r1.json >other.json
no_merge "two stages of a name" 'other.json has two stages of the name decode' other.json
sed 's/\("operations":\[\)\([^]]*\)\]/\1\2,\2]/' r1.json >other.json
no_merge "two operations of a name" 'other.json has two operations of the name resize' other.json
no_merge "reports without ranks" 'must have a rank and the world' odd.json
no_merge "a merge of merges" 'two.json is already a merge' two.json
sed 's/\[20,6\]/[320,6]/' r1.json >other.json
no_merge "a bucket that is too high" 'must be a bucket from 0 to 319 and a count' r0.json other.json
no_merge "a run that never began" 'must have a rank' failed.json
sed 's/"rank":1,/"rank":1e300,/; s/"world":3/"world":1e301/' r1.json >other.json
no_merge "a rank of any size" 'must have a rank' other.json
printf '{"schema":1,"status":"OK","stages":[],"process":{"rank":0,"world":1000000000}}' >other.json
expect "10^9 missing ranks" 0 report merge other.json -o all.json
check "... are counted" err_has 'and 999999983 more'

# ---- the command line -------------------------------------------------------------------------------
expect "a report is needed" 2 report
check "... it says where from" err_has 'sluice bench --json'
cp real.json kept.json
expect "an input is not replaced" 2 report kept.json -o kept.json
check "... it says so" err_has '-o kept.json is also an input'
check "... and is as before" cmp kept.json real.json
run sh -c '"$1" report - -o kept.json <kept.json' - "$sluice"
check "nor one from standard input" [ "$code" -eq 2 ]
check "... and is as before" cmp kept.json real.json
expect "a device is not replaced" 2 report real.json -o /dev/null
check "... it says so" err_has 'report: -o /dev/null is a device or a pipe, and must be a file'
expect "-o - is standard output" 0 report real.json -o -
check "... all of it" cmp out real.html
check "... and no file" test ! -e ./-
expect "17 pages" 2 report a b c d e f g h i j k l m n o p q
check "... are too many" err_has 'there are 17 reports, and there must be at most 16'
expect "reports of ranks are needed" 2 report merge
check "... it says so" err_has 'give the files of the ranks'
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
