"""Bundled scenes, as TOML files with the meshes they use."""
