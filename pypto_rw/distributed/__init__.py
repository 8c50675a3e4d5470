"""Kernels that work on windows of other ranks: what their statements stand for, and what must follow them."""
