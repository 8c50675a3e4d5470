"""Tools for people who write rule files: run examples, find what is wrong, count what fires, print documentation."""
