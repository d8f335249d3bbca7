"""The folder of a run on disk: one home for its format.

layout.py        the names of all files
record.py        the marker `.keyfluid`, which lists every file that keyfluid wrote there
owned.py         a folder with that marker: its lock, writing and removing files of ours and no others
aside.py         an old run moved aside until the one that replaces it has begun
fingerprint.py   what a run was computed from, its format, and what differs when it is resumed
stored_frame.py  the arrays and meta data of a frame
frame_files.py   frames/0000.npz and so on, which know their number and their run
result_file.py   result.json, with every number where it is expected
checkpoints.py   checkpoint.npz, the one before it, and the parts they share
run_folder.py    a run's folder, found to read it or opened to write to it
"""

FORMAT = 3
"""Version of the format. 1 had no record; 2 lists its files, and frames and checkpoints name their run; in 3 arrays may
be packed."""

READABLE = (2, 3)
"""Versions that can be read, and written to after their record says 3."""
