"""What a method is given, as frozen data on the grid. Methods stand on it; keyfluid.scenes fills it.

problem.py    Problem: grid, time, fluid, what is there at the start, and what is asked; Fluid: what is moved
steps.py      Steps: the fluid step by step, with Clock and Advance
search.py     SearchDefaults: what a search takes where the scene leaves it open
targets.py    Keyframe, Picture, Flow: what is asked at a frame
emission.py   Emission: a source on the grid
film.py       FrameRecord: one frame of a film; EditedFilm: a film that is to be changed
kept.py       Meta: numbers and words that are kept beside arrays, and how they are read back
"""

from keyfluid.problem.emission import Emission, share_of_faces
from keyfluid.problem.film import EditedFilm, FrameRecord, dissipated_name, gathered_name
from keyfluid.problem.problem import EngineOptions, Fluid, MovingSolids, Problem
from keyfluid.problem.search import SearchDefaults
from keyfluid.problem.steps import Advance, Clock, Steps
from keyfluid.problem.targets import Flow, Keyframe, Picture, TargetBody

__all__ = [
    "Advance", "Clock", "EditedFilm", "Emission", "EngineOptions", "Flow", "Fluid", "FrameRecord", "Keyframe",
    "MovingSolids", "Picture", "Problem", "SearchDefaults", "Steps", "TargetBody", "dissipated_name", "gathered_name",
    "share_of_faces",
]  # fmt: skip
