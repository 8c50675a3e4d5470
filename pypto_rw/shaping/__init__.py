"""Statements as shapes: what of them the rules see, and what the rules say of their types."""
