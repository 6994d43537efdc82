"""Real workloads that ship with Laconic: `digits`, `bytes`, `fashion`.

Each is a plain training script with the one added line. Run it as `python -m laconic.tasks.NAME`: alone, under
torchrun, or under `laconic run`.
"""
