"""Files in and out: volumes, frames, checkpoints, pictures and films."""
