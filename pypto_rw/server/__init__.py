"""The language server (`pypto-rw lsp`): what an editor shows of a kernel while it is written.

`scan` reads a text that may not parse, `catalogue` knows the ops, `analysis` compiles, `hover`, `navigation` and
`completion` answer questions about a place, `session` speaks the protocol. Only `session` and `positions` need pygls.
"""
