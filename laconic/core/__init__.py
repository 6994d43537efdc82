"""The words every other folder speaks: buckets, requests, payloads, randomness, errors."""
