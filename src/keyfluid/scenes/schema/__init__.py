"""The scene file as tables: what keys there are, and what is wrong with a file. No arrays here."""
