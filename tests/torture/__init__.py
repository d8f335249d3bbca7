"""The torture kit: kills, faults, power cuts, want of memory and hostile files, and a report with figures.

    make torture KILLS=1000 FAULTS=300 CUTS=100 INPUTS=1000000

It knows keyfluid only from outside: the command line, its exit codes and lines, and the files of a run's folder.
A part passes where every disturbed run ends in files bit-identical to those of an undisturbed one, or says in one
line why not; anything else (traceback, other bits, leftover files, a crash) is a failure, kept with what reproduces it.

    scenes.py   one tiny scene for each method and schedule
    children.py keyfluid's command line in a forked child, ready within milliseconds
    results.py  what is compared between two run folders
    kills.py    SIGKILL at random moments
    shim.py     file operations counted, failed or logged
    faults.py   an error, a short write or a sudden exit at a chosen file operation
    disk.py     what a disk may show after a power cut
    power.py    power cuts at random moments
    memory.py   address space limited at random
    readers.py  what is fuzzed: a seed, its mutations and the call for each reader
    seeds.py    the small files that mutations begin with
    mutate.py   mutations of bytes, words and JSON
    formats.py  mutations that keep checksums and lengths right
    attempt.py  one input read once
    fuzz.py     workers and their watchdog
    corpus.py   what once failed, read again
    report.py   JSON of all parts to a table
"""
