#!/bin/sh
# For Slurm's `Epilog`: takes the files away that the prolog left, unless another job has the GPU by now.
PATH=/usr/bin:/bin
directory=${GPU_EXPORTER_SLURM_JOB_DIR:-/run/gpu-exporter-jobs}
gpus=${SLURM_JOB_GPUS:-${CUDA_VISIBLE_DEVICES:-}}
[ -n "$gpus" ] && [ -n "${SLURM_JOB_ID:-}" ] && [ -d "$directory" ] || exit 0

for gpu in $(printf '%s' "$gpus" | tr ',' ' '); do
    case $gpu in '' | *[!0-9]*) continue ;; esac
    if grep -q "\"SLURM_JOB_ID\":\"$SLURM_JOB_ID\"" "$directory/$gpu" 2>/dev/null; then
        rm -f "$directory/$gpu"
    fi
done
exit 0
