"""The last stage: a planned module becomes text. Statements become shapes, shapes templates, templates lines."""
