"""One way to write a file: whole, or not at all."""

import os
import stat

import pytest

from inbounds._files import write_atomically


@pytest.mark.parametrize(
    "content", ["größe\r\n", "größe\r\n".encode(), ["grö", "", "ße\r\n"]], ids=["text", "bytes", "pieces"]
)
def test_content_is_written_as_it_is(tmp_path, content):
    path = tmp_path / "file"
    path.write_text("before")
    write_atomically(path, content)
    assert path.read_bytes() == "größe\r\n".encode()
    assert [one.name for one in tmp_path.iterdir()] == ["file"]


@pytest.mark.parametrize("error", [ValueError("no more"), KeyboardInterrupt()], ids=["error", "interrupt"])
def test_what_fails_half_way_leaves_everything_as_it_was(tmp_path, error):
    path = tmp_path / "file"
    path.write_text("before")

    def pieces():
        yield "after"
        raise error

    with pytest.raises(type(error)):
        write_atomically(path, pieces())
    assert path.read_text() == "before"
    assert [one.name for one in tmp_path.iterdir()] == ["file"]


def test_the_error_names_the_file_that_was_asked_for(tmp_path):
    with pytest.raises(FileNotFoundError) as missing:
        write_atomically(tmp_path / "none" / "file", "x")
    assert missing.value.filename == str(tmp_path / "none" / "file")
    (tmp_path / "folder").mkdir()
    with pytest.raises(IsADirectoryError) as folder:
        write_atomically(tmp_path / "folder", "x")
    assert folder.value.filename == str(tmp_path / "folder")
    assert [one.name for one in tmp_path.iterdir()] == ["folder"]


def test_others_may_read_it_as_they_may_any_new_file(tmp_path):
    before = os.umask(0o027)
    try:
        write_atomically(tmp_path / "file", "x")
    finally:
        os.umask(before)
    assert stat.S_IMODE((tmp_path / "file").stat().st_mode) == 0o640
