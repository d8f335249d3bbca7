# SPDX-License-Identifier: GPL-3.0-or-later
"""What the extension does without Blender: geometry, the scene folder, the program, a job. No `bpy` in here."""
