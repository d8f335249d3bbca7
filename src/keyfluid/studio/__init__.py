"""The studio: a local page where a person draws, places and times shapes, runs scenes and looks at films.

The scene file stays the truth: everything the page does is a change of an ordinary scene folder in a workspace, and
runs are ordinary `keyfluid run` processes. `server.py` starts it, `app.py` lists its routes.
"""
