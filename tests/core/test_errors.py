from __future__ import annotations

import inspect

from laconic.core import errors


def test_everything_raised_on_purpose_descends_from_laconic_error():
    kinds = [k for _, k in inspect.getmembers(errors, inspect.isclass)]
    assert len(kinds) >= 7
    assert all(issubclass(k, errors.LaconicError) for k in kinds)
