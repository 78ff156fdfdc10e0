#!/usr/bin/env bash
# Saves PATH three times with a warm cache with nightjar and with whichever of restic, borg, rustic and bupstash are
# installed, each into a fresh repository, then restores it; prints medians of the wall time and the repository's size.
#
#     benches/compare.sh PATH [PROGRAM...]
set -euo pipefail
source=$(realpath "$1")
shift
programs=("$@")
[ ${#programs[@]} -gt 0 ] || programs=(nightjar bupstash rustic borg restic)
nightjar=${NIGHTJAR_BIN:-$(dirname "$0")/../target/release/nightjar}
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
export NIGHTJAR_PASSWORD=p RESTIC_PASSWORD=p BORG_PASSPHRASE=p RUSTIC_PASSWORD=p RUSTIC_NO_PROGRESS=true RUSTIC_LOG_LEVEL=warn

seconds() { # runs a command and prints its wall time
    local began=${EPOCHREALTIME/./}
    "$@" >/dev/null 2>&1
    local us=$((${EPOCHREALTIME/./} - began))
    printf '%d.%02d\n' $((us / 1000000)) $((us / 10000 % 100))
}
median() { sort -n | sed -n "$((($1 + 1) / 2))p"; }
make() {
    case $1 in
        nightjar) "$nightjar" -r "$2" init --no-recovery-key ;;
        bupstash) bupstash init -r "$2" && bupstash new-key -o "$2.key" ;;
        rustic) rustic -r "$2" init ;;
        borg) borg init -e repokey-blake2 "$2" ;;
        restic) restic -r "$2" init --repository-version 2 ;;
    esac >/dev/null 2>&1
}
save() {
    case $1 in
        nightjar) "$nightjar" -q -r "$2" backup "$source" ;;
        bupstash) bupstash put -q -r "$2" -k "$2.key" --compression zstd:3 n=s "$source" ;;
        rustic) rustic -r "$2" backup "$source" ;;
        borg) cd "$source" && borg create -C zstd,3 "$2::s" . ;;
        restic) restic -r "$2" backup -q --compression auto "$source" ;;
    esac
}
back() {
    mkdir -p "$3"
    case $1 in
        nightjar) "$nightjar" -q -r "$2" restore latest --target "$3" ;;
        bupstash) bupstash restore -q -r "$2" -k "$2.key" --into "$3" n=s ;;
        rustic) rustic -r "$2" restore latest "$3" ;;
        borg) cd "$3" && borg extract "$2::s" ;;
        restic) restic -r "$2" restore -q latest --target "$3" ;;
    esac
}

find "$source" -type f -exec cat {} + >/dev/null
printf '%-10s %10s %10s %14s\n' program "backup s" "restore s" "repository MB"
for program in "${programs[@]}"; do
    [ "$program" = nightjar ] || command -v "$program" >/dev/null || continue
    backups=() restores=()
    for n in 1 2 3; do
        repo=$scratch/$program-$n
        make "$program" "$repo"
        backups+=("$(export HOME=$scratch; seconds save "$program" "$repo")")
        restores+=("$(export HOME=$scratch; seconds back "$program" "$repo" "$scratch/back-$program-$n")")
    done
    bytes=$(find "$repo" -type f -printf '%s\n' | awk '{sum += $1} END {print sum / 1e6}')
    printf '%-10s %10s %10s %14.1f\n' "$program" "$(printf '%s\n' "${backups[@]}" | median 3)" \
        "$(printf '%s\n' "${restores[@]}" | median 3)" "$bytes"
done
