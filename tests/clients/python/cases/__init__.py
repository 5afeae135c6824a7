"""The cases, one module for each group; each takes a client whose server is empty."""
