"""Which plan: measure the network (probe) and the model (profile), predict every plan (predict), rank them (search)."""
