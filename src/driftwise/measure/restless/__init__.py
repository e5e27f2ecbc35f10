"""What is measured of runs with restless arms; what they are held against is in `study/rival.py`."""
