"""The icon: drawn once, and packed as Windows and macOS read it."""

from __future__ import annotations

import struct
from pathlib import Path

import pytest
from builder.errors import BuildError
from builder.icons import ICNS_KINDS, ICO_SIZES, Picture, draw, icns, ico, write_icons

from tests.support.payload import ROOT

SVG = ROOT / "resources/icons/gpuexplorer.svg"
PNG = b"\x89PNG\r\n\x1a\n"


def edge_of(png: bytes) -> tuple[int, int]:
    """Return the width and height that a PNG's head tells."""
    assert png.startswith(PNG)
    return struct.unpack(">II", png[16:24])


def test_the_drawing_fills_its_square_and_is_the_same_every_time() -> None:
    first, again = draw(SVG, [32]), draw(SVG, [32])
    assert first == again
    picture = first[32]
    assert edge_of(picture.png) == (32, 32)
    alpha = picture.bgra[3::4]
    assert len(alpha) == 32 * 32
    assert alpha[0] == 0  # the corners are clear
    middle = 4 * (16 * 32 + 16)
    assert picture.bgra[middle + 3] == 255


def test_a_drawing_that_is_none_is_refused_by_name(tmp_path: Path) -> None:
    (tmp_path / "bad.svg").write_text("no drawing")
    with pytest.raises(BuildError, match=r"bad\.svg"):
        draw(tmp_path / "bad.svg", [16])


def test_every_member_of_a_windows_icon_is_where_its_head_says() -> None:
    pictures = draw(SVG, ICO_SIZES)
    data = ico([pictures[edge] for edge in ICO_SIZES])
    reserved, kind, count = struct.unpack_from("<HHH", data)
    assert (reserved, kind, count) == (0, 1, len(ICO_SIZES))
    end = 6 + 16 * count
    for index, edge in enumerate(ICO_SIZES):
        head = struct.unpack_from("<BBBBHHII", data, 6 + 16 * index)
        width, height, *_, planes, bits, size, offset = head
        assert (width or 256, height or 256, planes, bits) == (edge, edge, 1, 32)
        assert offset == end
        end = offset + size
        body = data[offset:end]
        if edge == 256:
            assert edge_of(body) == (256, 256)
        else:
            assert struct.unpack_from("<Iii", body) == (40, edge, 2 * edge)
            assert len(body) == 40 + 4 * edge * edge + (edge + 31) // 32 * 4 * edge
    assert end == len(data)


def test_a_bitmap_begins_with_the_lowest_row_and_masks_what_is_clear() -> None:
    red, clear = b"\x00\x00\xff\xff", b"\x00\x00\x00\x00"
    data = ico([Picture(2, PNG, red + clear + clear + clear)])
    pixels = data[22 + 40 :][: 4 * 4]
    assert pixels == clear + clear + red + clear
    mask = data[22 + 40 + 16 :]
    assert [mask[0], mask[4]] == [0b11000000, 0b01000000]


def test_every_member_of_an_apple_icon_is_a_png_of_its_size() -> None:
    pictures = draw(SVG, set(ICNS_KINDS.values()))
    data = icns(pictures)
    assert data[:4] == b"icns" and struct.unpack_from(">I", data, 4)[0] == len(data)
    offset, kinds = 8, {}
    while offset < len(data):
        size = struct.unpack_from(">I", data, offset + 4)[0]
        kinds[data[offset : offset + 4]] = edge_of(data[offset + 8 : offset + size])
        offset += size
    assert kinds == {kind: (edge, edge) for kind, edge in ICNS_KINDS.items()}


def test_all_files_are_written(tmp_path: Path) -> None:
    names = {path.name for path in write_icons(SVG, tmp_path / "icons")}
    assert {"gpuexplorer.ico", "gpuexplorer.icns", "gpuexplorer-16.png"} <= names
    assert names == {path.name for path in (tmp_path / "icons").iterdir()}
