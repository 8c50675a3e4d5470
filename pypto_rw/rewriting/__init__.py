"""The rules at work: rule files, the e-graph, and what it makes of shapes of statements, kept between processes."""
