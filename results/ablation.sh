#!/bin/sh
# What each part of the default preset is worth: the preset with one part changed.
# sh results/ablation.sh [folder [rrm]]; `foretune` must be on the path. Goes on where it was interrupted.
# Hartmann-6 and gas take fifty minutes of one core; radio resource management, with `rrm` instead of them, an hour and a half.
set -e
folder=${1:-runs/ablation}
radio=$2

run() { # problem, experiments, tasks, name of the change, settings
    problem=$1 experiments=$2 tasks=$3 name=$4
    shift 4
    out=$folder/$problem/$name
    [ -e "$out/study.json" ] && resume=--resume || resume=
    foretune run "$problem" --method mft-mes --experiments "$experiments" --tasks "$tasks" --seed 28000 --quiet $resume --out "$out" "$@"
}

each() { # name of the change, settings
    if [ "$radio" ]; then
        run rrm 12 12 "$@"
    else
        run hartmann6 60 10 "$@"
        run gas 60 17 "$@"
    fi
}

each preset
each no-transfer-term --set beta=0
each transfer-term-without-limit --set limited=false
each information-paper --set information=paper
each nothing-carried --set carried=0 --set carry_particles=false
each no-particles-carried --set carry_particles=false
each no-points-carried --set carried=0
each no-part-without-memory --set memory_after=0
each not-measured-again --set remeasure=false
each no-values-remembered --set memory_deviation=0
each first-prior-left-out --set kde_mix=0
each learning-at-the-end-only --set steps_per_round=0
each running-scale --set scaling=running
each nothing-kept-for-measuring --set verify=0
each recommended-anywhere --set recommend=anywhere
each recommended-among-all-tried --set recommend=queried
