"""Plans side by side with DDP: who runs, in what order, what was measured, what it means.

rows -> order -> run (jobs) -> measured (one run) -> lines (one row) -> verdict, table, html, report
"""
