"""The wire: the only place where bytes are counted."""
