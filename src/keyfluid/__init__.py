"""keyfluid: directs smoke and liquid into shapes."""

__version__ = "0.1.0"
