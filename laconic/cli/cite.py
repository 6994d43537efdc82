"""`laconic cite PLAN`: BibTeX of the papers behind what a plan uses, its defaults included."""

from __future__ import annotations

import argparse
from collections.abc import Sequence

from laconic import baseline
from laconic.citation import cited
from laconic.plan import Plan


def main(argv: Sequence[str]) -> int:
    """Print one BibTeX entry a paper, in the order of the plan."""
    parser = argparse.ArgumentParser(prog="laconic cite", description=__doc__)
    parser.add_argument("plan", nargs="+", help="plans or baselines, for example 'ef(topk(0.01) | golomb)'")
    args = parser.parse_args(argv)
    papers = [paper for text in args.plan for paper in cited(baseline.parse(text) or Plan.parse(text))]
    print("\n\n".join(dict.fromkeys(paper.bibtex() for paper in papers)))
    return 0
