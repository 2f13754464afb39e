#!/bin/sh
# Saves, recalls and prefetches over HTTP, with an agent's key, which is made on the agent's page in the console.
#
#   MEMORY_KEY=nck_… examples/curl.sh [http://127.0.0.1:8000 [USER]]
set -eu
url=${1:-http://127.0.0.1:8000}
user=${2:-ann}
: "${MEMORY_KEY:?is not set; make a key on the agent\'s page in the console}"

# call PATH [JSON]: GET without a body, POST with one.
call() {
    echo "── $*"
    path=$1
    shift
    [ $# -eq 0 ] || set -- --data "$1"
    curl --silent --show-error --fail-with-body "$url/api/$path" "$@" \
        -H "Authorization: Bearer $MEMORY_KEY" -H "X-Netaclaw-User: $user" -H 'Content-Type: application/json'
    echo
}

call 'tools?shape=openai'
call tools/memory_save '{"action": "create", "type": "user", "name": "茶", "content": "早上喝绿茶。Drinks green tea."}'
call tools/memory_recall '{"query": "which tea?"}'
call prefetch '{"message": "早上喝什么？"}'
call system-prompt '{"systemPrompt": "You help.", "message": "早上喝什么？"}'
