"""`python -m laconic.cli VERB ...`, for places where the `laconic` script is not on PATH."""

from __future__ import annotations

import sys

from laconic.cli import main

sys.exit(main())
