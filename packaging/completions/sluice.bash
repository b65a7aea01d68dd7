# SPDX-License-Identifier: Apache-2.0
# Completion of sluice(1) in bash: commands, options, stages, file names. The tool itself lists them.

_sluice_commands() { "$1" help 2>/dev/null | sed -n 's/^  \([a-z][a-z]*\) .*/\1/p'; }
_sluice_options() { "$1" help "$2" 2>/dev/null | sed -n 's/^  \(--*[a-z][a-z-]*\).*/\1/p'; }
_sluice_stages() { "$1" help stages 2>/dev/null | sed -n 's/^\([a-z][a-z0-9_]*\).*/\1/p'; }

# _sluice_match PREFIX WORD LIST: sets COMPREPLY to the entries that continue WORD, behind PREFIX.
_sluice_match() {
    local entry
    for entry in $3; do
        case $entry in "$2"*) COMPREPLY+=("$1$entry") ;; esac
    done
}

_sluice() {
    local tool=${COMP_WORDS[0]} word=${COMP_WORDS[COMP_CWORD]} before=${COMP_WORDS[COMP_CWORD - 1]} prefix=
    COMPREPLY=()
    if [ "$COMP_CWORD" -eq 1 ]; then
        _sluice_match '' "$word" "$(_sluice_commands "$tool") --help --version"
        return
    fi
    case $before in
    -f | -o | --xml | --digests | --ids | --npy | --plugin) return ;; # a file name
    esac
    if [ "${COMP_WORDS[1]}" = help ]; then
        if [ "$COMP_CWORD" -eq 2 ]; then
            _sluice_match '' "$word" "$(_sluice_commands "$tool") stages --man --markdown"
        fi
        _sluice_match '' "$word" "$(_sluice_stages "$tool")"
        return
    fi
    case $word in
    -*) _sluice_match '' "$word" "$(_sluice_options "$tool" "${COMP_WORDS[1]}") --plugin --help" ;;
    [\"\']*) # a pipeline: a stage begins the text, or follows a bar
        word=${word#?}
        case $word in
        *'|'*)
            prefix=${word%|*}\|
            word=${word##*|}
            while [ "${word# }" != "$word" ]; do
                prefix="$prefix "
                word=${word# }
            done
            ;;
        esac
        case $word in
        *' '*) ;; # an argument
        *) _sluice_match "$prefix" "$word" "$(_sluice_stages "$tool")" ;;
        esac
        ;;
    esac
}

complete -o default -o bashdefault -F _sluice sluice
