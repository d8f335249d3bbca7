"""From a scene to the problem on its grid: shapes drawn, masses matched, files read."""
