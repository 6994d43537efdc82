"""One page, self-contained, well formed, and nothing a plan or a script says can break out of it."""

from __future__ import annotations

import re
from html.parser import HTMLParser
from itertools import pairwise
from xml.etree import ElementTree as ET

import pytest

from laconic.compare.html import page
from laconic.compare.lines import Comparison
from laconic.compare.measured import Point
from laconic.compare.svg import Bar, Curve, alone, bars, curves, name_places, powers
from laconic.core.units import seconds_text
from tests.compare.made import comparison, run

VOID = {"meta", "br", "hr", "img", "input", "link"}


class Tree(HTMLParser):
    """Every tag is closed in order."""

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.seen: list[tuple[str, dict[str, str | None]]] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.seen.append((tag, dict(attrs)))
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.seen.append((tag, dict(attrs)))

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag


def made(**more: object) -> Comparison:
    way = tuple(Point(i, i * 0.1, i * 1000.0, None, {"accuracy": 0.5 + i / 20}) for i in range(1, 6))
    return comparison(
        {
            "ddp": [run(0.4, points=way)],
            "local(8)": [run(0.1, wait_s=0.02, points=way)],
            "ef(topk(0.01))": "Rank 0 <b>died</b>\n</pre><script>alert(1)</script>",
            "silent": [run(0.1, wait_s=0.0, points=tuple(Point(1, 1.0, 0, None, {"accuracy": 0.1}) for _ in way))],
        },
        **more,  # type: ignore[arg-type]
    )


def test_the_page_is_well_formed_and_has_what_was_asked_for():
    text = page([made(command="laconic compare digits --hosts 4", machine={"torch": "2.13"})])
    tree = Tree()
    tree.feed(text)
    assert tree.open == []
    tags = [tag for tag, _ in tree.seen]
    assert tags.count("svg") == 3  # bars, metric against time, metric against bytes
    assert {"table", "caption", "main", "h1"} <= set(tags)
    assert ("html", {"lang": "en"}) in tree.seen
    assert all(attrs["scope"] in ("col", "row") for tag, attrs in tree.seen if tag == "th")
    for word in ("laconic compare digits --hosts 4", "2.13", "4 emulated hosts at 100mbit", "Fastest plan: local(8)"):
        assert word in text


def test_nothing_is_loaded_from_elsewhere():
    text = page([made()])
    assert not re.search(r"https?://|src=|@import|url\(|<link|<script", text)
    assert "default-src 'none'" in text


def test_what_others_wrote_is_escaped():
    text = page([made(command='x "<i>" & y', machine={"<k>": "<v>"})])
    for raw in ("<script>", "<b>died", '"<i>"', "<k>", "<v>"):
        assert raw not in text
    assert "&lt;script&gt;alert(1)&lt;/script&gt;" in text


def test_one_page_holds_several_comparisons():
    assert page([made(), made(task="bytes")], "Demo").count("<section>") == 2


def test_a_page_without_any_result_is_still_a_page():
    text = page([comparison({"ddp": []}, complete=False)])
    assert "Stopped early" in text
    assert "<svg" not in text


def test_pictures_are_xml_with_a_title_and_a_description():
    bar = ET.fromstring(bars([Bar("a<b", 1.0, 2.0, "3 s"), Bar("floor", 1.0, 0.0, "1 s")], "Steps & more"))
    assert bar.findtext("title") == "Steps & more"
    assert bar.findtext("desc") == "a<b: 3 s; floor: 1 s"
    widths = [float(rect.get("width", "0")) for rect in bar.iter("rect")]
    assert widths[1] == pytest.approx(2 * widths[0], abs=0.3)  # tenths of a pixel
    assert widths[2] == pytest.approx(widths[0])


@pytest.mark.parametrize(
    "points",
    [
        ((1.0, 0.5),),  # one point: no range at all
        ((0.001, 0.1), (1000.0, 0.9)),  # far apart: powers of ten
        ((1.0, 0.0), (2.0, 0.0)),
        ((1.0, -3.0), (2.0, 1e9)),
    ],
)
def test_curves_stay_inside_their_picture(points: tuple[tuple[float, float], ...]):
    drawn = ET.fromstring(curves([Curve("a", 0, points)], "t", seconds_text, "time", "loss"))
    for circle in drawn.iter("circle"):
        assert 0 <= float(circle.get("cx", "-1")) <= 860
        assert 0 <= float(circle.get("cy", "-1")) <= 300
    assert len(list(drawn.iter("circle"))) == len(points)


def test_powers_are_straight_lines_where_both_axes_count_in_powers():
    points = tuple((x, 7 * x**2) for x in (1.0, 10.0, 100.0))
    drawn = ET.fromstring(powers([Curve("square", 0, points)], "t", "x", "y"))
    places = [(float(c.get("cx", "0")), float(c.get("cy", "0"))) for c in drawn.iter("circle")]
    steps = [(after[0] - before[0], after[1] - before[1]) for before, after in pairwise(places)]
    assert steps[0] == pytest.approx(steps[1], abs=0.2)  # tenths of a pixel
    assert "square: 7 at 1, 700 at 10, 7e+04 at 100" in (drawn.findtext("desc") or "")


def test_a_picture_of_its_own_is_a_whole_file():
    text = alone(powers([Curve("a", 0, ((1.0, 1.0), (2.0, 4.0)))], "Steps & more", "x", "y"))
    names = {"svg": "http://www.w3.org/2000/svg"}
    drawn = ET.fromstring(text)
    assert drawn.findtext("svg:title", namespaces=names) == "Steps & more"
    kinds = [element.tag.rpartition("}")[2] for element in drawn]
    assert kinds[:4] == ["title", "desc", "style", "rect"], "paper lies under what is drawn"
    assert "circle" in kinds


def test_no_curves_no_picture():
    assert curves([], "t", seconds_text, "time", "loss") == ""
    assert powers([], "t", "x", "y") == ""


def test_names_beside_curves_do_not_cover_each_other():
    places = name_places([100.0, 100.0, 101.0, 250.0, 250.0], bottom=254.0)
    ordered = sorted(places)
    assert all(later - earlier >= 15 for earlier, later in pairwise(ordered))
    assert ordered[-1] <= 254
