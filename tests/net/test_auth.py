from __future__ import annotations

import pytest

from laconic.core.errors import UsageError
from laconic.net.auth import Keys, read_keys, write_keys


def test_a_key_file_is_read_as_it_was_written_and_only_by_its_owner(tmp_path):
    keys, path = Keys.make(), tmp_path / "job.key"
    write_keys(path, keys)
    assert path.stat().st_mode & 0o777 == 0o600
    assert read_keys(path) == keys
    assert Keys.from_text(keys.text()) == keys


def test_an_existing_key_is_never_replaced(tmp_path):
    path = tmp_path / "job.key"
    write_keys(path, Keys.make())
    with pytest.raises(UsageError, match="exists already"):
        write_keys(path, Keys.make())


def test_a_key_that_others_can_read_is_refused(tmp_path):
    path = tmp_path / "job.key"
    write_keys(path, Keys.make())
    path.chmod(0o644)
    with pytest.raises(UsageError, match="chmod 600"):
        read_keys(path)


@pytest.mark.parametrize("text", ["", "laconic job key 1\n", "hello", "laconic job key 1\npublic x\nsecret y\n", "\0"])
def test_a_file_that_is_no_key_is_refused(tmp_path, text):
    path = tmp_path / "job.key"
    path.write_text(text)
    path.chmod(0o600)
    with pytest.raises(UsageError, match="key"):
        read_keys(path)


def test_halves_of_two_keys_do_not_make_one():
    with pytest.raises(UsageError, match="do not belong together"):
        Keys(Keys.make().public, Keys.make().secret)


def test_a_missing_file_says_how_to_make_one(tmp_path):
    with pytest.raises(UsageError, match="laconic keygen"):
        read_keys(tmp_path / "none")


def test_secrets_are_not_printed():
    keys = Keys.make()
    assert keys.secret not in repr(keys)
