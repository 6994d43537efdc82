"""What happened when: spans, their merger over ranks for Chrome or Perfetto, and where a step's time went."""
