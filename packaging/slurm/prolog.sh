#!/bin/sh
# For Slurm's `Prolog`: leaves one file a GPU, named by its index, that says which job has it. gpu-exporter reads them with
# --slurm-job-dir. slurmd runs this as root without a search path, so that only what the shell itself can do is used, and
# a prolog that fails drains the node, so that this one never does.
PATH=/usr/bin:/bin
directory=${GPU_EXPORTER_SLURM_JOB_DIR:-/run/gpu-exporter-jobs}
gpus=${SLURM_JOB_GPUS:-${CUDA_VISIBLE_DEVICES:-}}
[ -n "$gpus" ] && [ -n "${SLURM_JOB_ID:-}" ] || exit 0
[ -d "$directory" ] || mkdir -m 0755 "$directory" 2>/dev/null || exit 0

# Names stand in JSON texts: without quotes, backslashes and control characters they need no escaping.
plain() { printf '%s' "$1" | tr -d '"\\' | tr -d '[:cntrl:]'; }

umask 022
for gpu in $(printf '%s' "$gpus" | tr ',' ' '); do
    # Whatever is not a plain number names no GPU here.
    case $gpu in '' | *[!0-9]*) continue ;; esac
    # Written aside and moved, so that no half of it is ever read.
    printf '{"SLURM_JOB_ID":"%s","SLURM_JOB_USER":"%s","SLURM_JOB_PARTITION":"%s","SLURM_CLUSTER_NAME":"%s"}\n' \
        "$(plain "$SLURM_JOB_ID")" "$(plain "${SLURM_JOB_USER:-}")" \
        "$(plain "${SLURM_JOB_PARTITION:-}")" "$(plain "${SLURM_CLUSTER_NAME:-}")" \
        >"$directory/.$gpu.new" 2>/dev/null && mv -f "$directory/.$gpu.new" "$directory/$gpu" 2>/dev/null
done
exit 0
