"""The hashes of installed wheels, which set-up keeps and the bill of materials tells."""

from __future__ import annotations

import json
from pathlib import Path

import bootstrap
from builder.bundled import WHEELS_FILE, wheel_hashes

FIRST, SECOND = "ab" * 32, "cd" * 32


def report(path: Path, *installed: tuple[str, dict[str, object]]) -> Path:
    items = [
        {"metadata": {"name": name, "version": "1.0"}, "download_info": download}
        for name, download in installed
    ]
    path.write_text(json.dumps({"version": "1", "install": items}))
    return path


def wheel(digest: str) -> dict[str, object]:
    return {"url": "https://example.org/x.whl", "archive_info": {"hashes": {"sha256": digest}}}


def test_hashes_of_earlier_installations_are_kept(tmp_path: Path) -> None:
    assert bootstrap.WHEELS == WHEELS_FILE
    kept = tmp_path / WHEELS_FILE
    ours: dict[str, object] = {"url": "file:///checkout", "dir_info": {"editable": True}}
    first = report(tmp_path / "a", ("Num_Py", wheel(FIRST)), ("gpuexplorer", ours))
    bootstrap.keep_hashes(first, kept)
    bootstrap.keep_hashes(report(tmp_path / "b", ("other", wheel(SECOND))), kept)
    assert wheel_hashes(kept) == {"num-py==1.0": FIRST, "other==1.0": SECOND}
    assert not first.exists()
