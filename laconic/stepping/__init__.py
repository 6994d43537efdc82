"""What a replica does after steps that it takes alone."""
