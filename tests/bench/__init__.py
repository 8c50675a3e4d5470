"""`python -m tests.bench`: how long a compilation takes, against Python's own parser on the same text.

kernels    the generated kernels, by name and number of statements
measure    one kernel in a process of its own: seconds of each stage, peak memory
__main__   the table
"""
