from __future__ import annotations

import unicodedata

import pytest

from laconic.baseline import Baseline
from laconic.citation import cited, parse
from laconic.components import COMPONENTS
from laconic.core.errors import UsageError
from laconic.papers import PAPERS
from laconic.plan import Plan


@pytest.mark.parametrize("key", PAPERS)
def test_every_paper_can_be_read(key: str):
    paper = parse(key, PAPERS[key])
    assert paper.authors
    assert all(name.strip() == name and len(name) > 1 and "al" not in name.split() for name in paper.authors)
    assert paper.title[0].isupper() or paper.title.startswith("sign") or paper.title[0].isdigit()
    assert str(paper.year) in key
    assert key.startswith(_plain(paper.authors[0].split("-")[0].split()[0])[:4])
    assert paper.venue or paper.arxiv, f"{key}: where was it published?"


def _plain(name: str) -> str:
    letters = unicodedata.normalize("NFD", name.lower())
    return "".join(c for c in letters if not unicodedata.combining(c))


def test_every_paper_is_somebodys_or_waits_for_its_algorithm():
    assert {kind.paper for kind in COMPONENTS.values() if kind.paper} <= set(PAPERS)


def test_an_entry_with_everything():
    line = "Aji, Heafield. Sparse Communication for Distributed Gradient Descent. EMNLP 2017. arXiv:1704.05021"
    assert parse("aji2017sparse", line).bibtex() == (
        "@inproceedings{aji2017sparse,\n"
        "  author = {Aji and Heafield},\n"
        "  title = {{Sparse Communication for Distributed Gradient Descent}},\n"
        "  booktitle = {EMNLP},\n"
        "  year = {2017},\n"
        "  eprint = {1704.05021},\n"
        "  archivePrefix = {arXiv}\n"
        "}"
    )


def test_others_names_of_two_words_and_signs_of_tex():
    paper = parse("x2020y", "Li, Van Essen, et al. 99% of A & B. Or C. 2020. arXiv:2001.00001")
    assert (paper.authors, paper.more, paper.kind, paper.venue) == (("Li", "Van Essen"), True, "misc", "")
    assert "author = {Li and {Van Essen} and others}" in paper.bibtex()
    assert r"title = {{99\% of A \& B. Or C}}" in paper.bibtex()


@pytest.mark.parametrize(
    ("key", "kind"),
    [
        ("elias1975universal", "article"),
        ("huffman1952method", "article"),
        ("patarasuk2009bandwidth", "article"),
        ("konecny2016federated", "misc"),
        ("alistarh2017qsgd", "inproceedings"),
    ],
)
def test_journals_meetings_and_preprints(key: str, kind: str):
    assert parse(key, PAPERS[key]).kind == kind


@pytest.mark.parametrize("line", ["", "Nobody. Nothing", "A. B. Venue 99", "A. B. ICML 2018. arXiv:abc"])
def test_what_is_no_citation_is_refused(line: str):
    with pytest.raises(UsageError, match="does not read"):
        parse("key", line)


def test_a_plan_cites_what_it_uses_once_and_in_order():
    plan = Plan.parse("bsp / allreduce / ef(topk(0.01) | qsgd(bits=4) | golomb | elias) / fused")
    keys = [paper.key for paper in cited(plan)]
    assert len(keys) == len(set(keys))
    wanted = ["karimireddy2019error", "basu2019qsparse", "aji2017sparse", "alistarh2017qsgd", "golomb1966run"]
    assert [k for k in keys if k in wanted] == wanted
    assert "elias1975universal" in keys
    assert "vogels2019powersgd" not in keys


def test_an_algorithm_of_all_reduce_cites_its_own_paper():
    assert [p.key for p in cited(Plan.parse("allreduce(double_tree) / none"))].count("sanders2009two") == 1
    assert "sanders2009two" not in [p.key for p in cited(Plan.parse("allreduce(ring) / none"))]


def test_baselines_have_papers_too():
    assert [p.key for p in cited(Baseline())] == ["li2020pytorch"]
    assert [p.key for p in cited(Baseline("powersgd", 4))] == ["li2020pytorch", "vogels2019powersgd"]
