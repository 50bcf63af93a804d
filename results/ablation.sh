#!/bin/sh
# What each part of the default preset is worth: the preset with one part changed.
# sh results/ablation.sh [folder [rrm]]; `foretune` must be on the path. Goes on where it was interrupted.
# Hartmann-6 and gas take forty minutes of one core; with `rrm`, radio resource management as well, as much again.
set -e
folder=${1:-runs/ablation}
radio=$2

run() { # problem, experiments, tasks, name of the change, settings
    problem=$1 experiments=$2 tasks=$3 name=$4
    shift 4
    out=$folder/$problem/$name
    [ -e "$out/study.json" ] && resume=--resume || resume=
    foretune run "$problem" --experiments "$experiments" --tasks "$tasks" --seed 7000 --quiet $resume --out "$out" "$@"
}

each() { # name of the change, settings
    run hartmann6 60 10 "$@"
    run gas 30 17 "$@"
    if [ "$radio" ]; then run rrm 6 12 "$@"; fi
}

each preset
each no-transfer-term --set beta=0
each transfer-term-1.2 --set beta=1.2
each information-paper --set information=paper
each nothing-carried --set carried=0 --set carry_particles=false
each no-particles-carried --set carry_particles=false
each no-points-carried --set carried=0
each no-fresh-look --set fresh=0
each not-measured-again --set retry=false
each no-values-remembered --set doubt=0
each first-prior-left-out --set kde_mix=0
each learning-at-the-end-only --set steps_per_round=0
each running-scale --set scaling=running
each recommend-queried --set recommend=queried
run hartmann6 20 10 deep-map --set map=deep:64
