"""Torch computes with one thread: two wait for each other longer than a tiny model takes."""

import os

os.environ["OMP_NUM_THREADS"] = "1"  # read when torch is first imported, also by what a test starts
