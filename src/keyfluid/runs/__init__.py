"""A run: from a scene to its folder of frames, checkpoints, metrics, films and VDB files."""
