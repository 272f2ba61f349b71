# Exports the settings of the service, from /etc/lyra/lyra.env and its unit. Those of the environment come first.
load_settings() {
  own=
  while IFS= read -r line || [ -n "$line" ]; do
    line=${line#"${line%%[![:space:]]*}"}
    case $line in [A-Za-z_]*=*) ;; *) continue ;; esac
    name=${line%%=*}
    value=${line#*=}
    value=${value%"${value##*[![:space:]]}"}
    case $name in *[!A-Za-z0-9_]*) continue ;; esac
    case $value in
      \"*\") value=${value#\"} value=${value%\"} ;;
      \'*\') value=${value#\'} value=${value%\'} ;;
    esac
    # As systemd does, the last line of a name counts.
    case " $own " in
      *" $name "*) ;;
      *)
        if eval "[ -n \"\${$name+set}\" ]"; then continue; fi
        own="$own $name"
        ;;
    esac
    export "$name=$value"
  done < /etc/lyra/lyra.env
  export LYRA_STORE="${LYRA_STORE:-/var/lib/lyra/lyra.db}"
  export LYRA_EVENT_LOG="${LYRA_EVENT_LOG:-/var/lib/lyra/event-log}"
}
