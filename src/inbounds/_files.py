"""Read a file that is one, and write a file completely or not at all."""

import errno
import os
import stat
import uuid
from collections.abc import Iterable
from pathlib import Path


def write_atomically(path: Path, content: str | bytes | Iterable[str]) -> None:
    """Write a file so that nobody ever sees half of it.

    The content is written to a hidden file in the same folder, which replaces ``path`` once it is on the disk. If
    anything fails before that, ``path`` stays as it was and the hidden file is removed.

    Parameters
    ----------
    path
        The file to write. The folder must exist; a file of that name is replaced.
    content
        Bytes, text, or pieces of text, which are written one by one. Text is written in UTF-8, and its line ends are
        not changed.

    Raises
    ------
    OSError
        If the file cannot be written; ``filename`` is ``path``.

    Examples
    --------
    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     write_atomically(Path(folder) / "a.txt", ["one\\n", "two\\n"])
    ...     (Path(folder) / "a.txt").read_text()
    'one\\ntwo\\n'
    """
    pieces = [content] if isinstance(content, str | bytes) else content
    part = path.with_name(f".{uuid.uuid4().hex}.part")
    try:
        # Not `tempfile`, whose files only their owner may read.
        with part.open("xb") as file:
            for piece in pieces:
                file.write(piece.encode("utf-8") if isinstance(piece, str) else piece)
            file.flush()
            os.fsync(file.fileno())
        part.replace(path)
    except OSError as error:
        part.unlink(missing_ok=True)
        if error.errno is None:
            raise
        raise OSError(error.errno, error.strerror, str(path)) from None
    except BaseException:
        part.unlink(missing_ok=True)
        raise


def read_regular(path: Path) -> str:
    """Read the text of a file in UTF-8, and refuse a pipe or a device: reading one may never end.

    Parameters
    ----------
    path
        The file, or a link to it.

    Returns
    -------
    str
        The text.

    Raises
    ------
    OSError
        If the file cannot be read or is not a regular file; ``strerror`` says which.
    UnicodeDecodeError
        If it is not text in UTF-8.
    """
    _require_regular(path, path.stat())
    # What has become a pipe since then is opened without waiting for its other end.
    handle = os.open(path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0))
    with os.fdopen(handle, "rb") as file:
        _require_regular(path, os.fstat(handle))
        return file.read().decode("utf-8")


def _require_regular(path: Path, status: os.stat_result) -> None:
    if not stat.S_ISREG(status.st_mode):
        raise OSError(errno.EINVAL, "it is not a regular file", str(path))
