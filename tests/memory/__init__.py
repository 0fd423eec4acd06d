"""The memory plan held against what engines logged: `python -m tests.memory` writes the table in docs/memory.md."""
