"""The front stages: an authored module becomes a tile-level one. Read `stages.py` first."""
