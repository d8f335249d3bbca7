#!/bin/sh
# A session with 09_plume.toml: a wedge over two keys, a run that is stopped and resumed, another camera, an export.
# `sh 09_session.sh FOLDER [--set KEY=VALUE ...]`; what follows the folder goes to `wedge` and `run`.
set -eu
scene="$(dirname "$0")/09_plume.toml"
folder="$1"
shift

# Four small runs, side by side in wedge.png: a row per buoyancy, a column per vorticity.
keyfluid wedge "$scene" smoke.buoyancy=1,3 smoke.vorticity=0,6 --preview "$@" -o "$folder/wedge"

# Ctrl-C is SIGINT. It is sent here as soon as there is a frame; at a terminal, press the keys.
keyfluid run "$scene" --set smoke.vorticity=6 "$@" -o "$folder/plume" &
run=$!
until ls "$folder"/plume/frames/*1* >/dev/null 2>&1 || ! kill -0 "$run" 2>/dev/null; do sleep 0.1; done
kill -INT "$run"
wait "$run" || echo "stopped, exit code $?"

keyfluid resume "$folder/plume"
keyfluid render "$folder/plume" --set camera.orbit=90 --set "camera.position=[2.2, 1.2, 1.8]" -o "$folder/film"
keyfluid export "$folder/plume" --names blender --up z --grids density,velocity -o "$folder/vdb"
