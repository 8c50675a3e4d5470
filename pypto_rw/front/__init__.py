"""The front stages: an authored module becomes a tile-level one. `stages.py` reads top to bottom."""
