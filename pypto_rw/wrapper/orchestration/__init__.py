"""Orchestration functions as C++: a walk over statements with a map from names to C++ values. Entry: `generate.py`."""
