"""Makes pictures of charts with vl-convert, which needs neither a browser nor the network."""

from __future__ import annotations

import base64
import re
import struct
import zlib
from collections.abc import Iterator, Mapping
from functools import cache
from os import PathLike
from pathlib import PurePath
from types import ModuleType
from typing import TYPE_CHECKING, Any

import numpy as np

from tfprof_widget.charts.chart import Spec
from tfprof_widget.lib.arrays import Indices
from tfprof_widget.lib.errors import LONGEST_QUOTE, ProfileError, shortened, value_error
from tfprof_widget.lib.safely import write_whole
from tfprof_widget.lib.text import cut_in_the_middle, visible_lines

if TYPE_CHECKING:
    import altair
    from numpy.typing import NDArray

INSTALL = "run `pip install 'tfprof-widget[export]'`"
PIXELS_AN_INCH = 96
WIDTH_INCHES = 6.5
# Longer texts are cut, as names of devices: whole sentences fit.
LONGEST = 2000
# Sharp on paper and on screens: two dots to a pixel.
DOTS_A_PIXEL = 2
# As many as a PNG may list, and as many as go into half a byte.
COLOURS, FEW_COLOURS = 256, 16
# By so much a dot at the rim of a letter or bar may be lighter or darker; a colour of fewer dots is nowhere else.
_ALIKE, _SPECK = 48, 8
# vl-convert takes a pixel for a point, of which there are 72 to an inch.
_POINTS_A_PIXEL = 72 / PIXELS_AN_INCH
# Altair 6 writes a dot for the plus, with which notebooks hold no JSON.
_VEGA_LITE = "application/vnd.vegalite.v6+json"
_SIZE = re.compile(r'\b(width|height)="([\d.]+)"')


def pixels(inches: float) -> int:
    """The width of a picture in pixels; one that leaves no room for a chart is refused.

    >>> pixels(6.5)
    624
    """
    if not 2 <= inches <= 40:
        raise value_error(f"width is {inches!r}, but must be 2 to 40 inches")
    return round(PIXELS_AN_INCH * inches)


def svg(spec: Spec) -> str:
    """A chart as SVG, in fonts that every system has.

    >>> from tfprof_widget.charts.chart import Subject
    >>> from tfprof_widget.charts.kinds import described
    >>> from tfprof_widget.demo import demo_profile
    >>> svg(described("op types", Subject(demo_profile().view("op"))))[:4]
    '<svg'
    """
    found: str = _converted("vegalite_to_svg", drawable(spec))
    return found


def png(spec: Spec, colours: int = COLOURS) -> bytes:
    """A chart as PNG, which says how large it is to be printed; in so many colours, if that shows the same.

    >>> from tfprof_widget.charts.chart import Subject
    >>> from tfprof_widget.charts.kinds import described
    >>> from tfprof_widget.demo import demo_profile
    >>> png(described("op types", Subject(demo_profile().view("op"))))[1:4]
    b'PNG'
    """
    dots = DOTS_A_PIXEL * PIXELS_AN_INCH
    return compact(_converted("vegalite_to_png", drawable(spec), scale=_POINTS_A_PIXEL, ppi=dots), colours)


def compact(picture: bytes, most: int = COLOURS) -> bytes:
    """A PNG as vl-convert writes it, in fewer bytes: with a list of its colours, which are few and all opaque.

    If 16 colours are asked for, greys at the rims of letters become the nearest of these.

    >>> from tfprof_widget.charts.chart import Subject
    >>> from tfprof_widget.charts.kinds import described
    >>> from tfprof_widget.demo import demo_profile
    >>> spec = described("op types", Subject(demo_profile().view("op")))
    >>> written = _converter().vegalite_to_png(spec)
    >>> 5 * len(compact(written)) < len(written)
    True
    """
    chunks = dict(_chunks(picture))
    width, height = struct.unpack(">II", chunks[b"IHDR"][:8])
    rows = np.frombuffer(zlib.decompress(chunks[b"IDAT"]), np.uint8)
    if chunks[b"IHDR"][8:10] != b"\x08\x06" or len(rows) != height * (4 * width + 1):
        return picture
    rows = rows.reshape(height, 4 * width + 1)
    if not (rows[:, 0] == 1).all():
        return picture
    # Each pixel is written as what it is more than the one left of it, for which a byte at the front of a row stands.
    pixels = rows[:, 1:].reshape(height, width, 4).cumsum(axis=1, dtype=np.uint8)
    found, index, dots = np.unique(pixels.reshape(-1, 4).view(">u4"), return_inverse=True, return_counts=True)
    if len(found) > COLOURS or (found & 255 != 255).any():
        return picture
    colours = found.view(np.uint8).reshape(-1, 4)[:, :3]
    kept, nearest = _fewer(colours, dots, most)
    places = nearest[index].reshape(height, width).astype(np.uint8)
    depth = 8
    if len(kept) <= FEW_COLOURS:
        depth, places = 4, np.pad(places, ((0, 0), (0, width % 2)))
        places = (places[:, ::2] << 4 | places[:, 1::2]).astype(np.uint8)
    chunks[b"IHDR"] = struct.pack(">IIBBBBB", width, height, depth, 3, 0, 0, 0)
    lines = np.pad(places, ((0, 0), (1, 0)))
    parts = {**chunks, b"PLTE": colours[kept].tobytes(), b"IDAT": zlib.compress(lines.tobytes(), 9), b"IEND": b""}
    order = (b"IHDR", b"pHYs", b"PLTE", b"IDAT", b"IEND")
    return picture[:8] + b"".join(_chunk(name, parts[name]) for name in order if name in parts)


def _fewer(colours: NDArray[np.uint8], dots: NDArray[np.int64], most: int) -> tuple[Indices, Indices]:
    """The places of at most so many colours, and which of them is nearest to each; all, if one is far from them."""
    everything = np.arange(len(colours), dtype=np.int32)
    kept = [int(dots.argmax())]
    apart = np.abs(colours[:, None].astype(np.int32) - colours).max(axis=2)
    while len(kept) < min(most, len(colours)):
        kept.append(int((apart[:, kept].min(axis=1).astype(np.int64) ** 2 * dots).argmax()))
    if len(kept) == len(colours) or (apart[:, kept].min(axis=1)[dots >= _SPECK] > _ALIKE).any():
        return everything, everything
    return np.array(kept, np.int32), apart[:, kept].argmin(axis=1).astype(np.int32)


def _chunks(picture: bytes) -> Iterator[tuple[bytes, bytes]]:
    """The parts of a PNG; those that hold the pixels as one."""
    position, pixels = 8, b""
    while position < len(picture):
        length, name = struct.unpack_from(">I4s", picture, position)
        content = picture[position + 8 : position + 8 + length]
        if name == b"IDAT":
            pixels += content
        else:
            yield name, content
        position += 12 + length
    yield b"IDAT", pixels


def _chunk(name: bytes, content: bytes) -> bytes:
    return struct.pack(">I", len(content)) + name + content + struct.pack(">I", zlib.crc32(name + content))


_TAG = re.compile(r'<(?:"[^"]*"|[^"<>])*>')
_EMPTY_PATH = re.compile(r'<path [^<]*\bd="(?:M0,0h0v0h0Z)?"[^<]*/>')
# What an image says to nobody, and what holds without being said.
_NEEDLESS = re.compile(
    r' (?:class|role|aria-\w+|pointer-events)="[^"]*"| opacity="1"| text-anchor="start"| transform="translate\(0,0\)"'
)
_LONG_NUMBER = re.compile(r"\d+\.\d{3,}(?:e-\d+)?")
_FONT = re.compile(r' font-family="[^"]*"')
_PAINT_OF_GROUP = re.compile(r'<g\b[^<>]* (?:fill|stroke)="([^"]*)"')
_BARE_PATH = re.compile(r'<path d="[^"]*"/>$')
# A box with round corners, as a bar is clipped by.
_BOX = re.compile(
    r'<path d="M(?P<radius>[\d.]+),0L[\d.]+,0C[\d.,]+L(?P<width>[\d.]+),[\d.]+C[\d.,]+,(?P<height>[\d.]+)L(?P=radius),'
    r'(?P=height)C[\d.,]+L0,(?P=radius)C[\d.,]+Z"/>$'
)


def compact_svg(drawing: str) -> str:
    """An SVG as vl-convert writes it, in fewer bytes: what shows nothing is left out, and the font is named once.

    Nothing is shown by the outline of a bar, which is neither filled nor drawn. What clips the bar is written as a box.

    >>> compact_svg('<svg><text class="mark" x="1.23456" opacity="1">1.23456</text></svg>')
    '<svg><text x="1.23">1.23456</text></svg>'
    """
    fonts = set(_FONT.findall(drawing))
    groups: list[bool] = []
    # A second font would be that of single texts, which then all have to say theirs.
    font = fonts.pop() if len(fonts) == 1 else None
    are_bare_unseen = {*_PAINT_OF_GROUP.findall(drawing)} == {"none"}
    is_clip = False

    def shorter(found: re.Match[str]) -> str:
        nonlocal is_clip
        is_clip, was_clip = found[0].startswith("<clipPath"), is_clip
        if found[0] == "</g>":
            return "" if groups.pop() else "</g>"
        tag = _LONG_NUMBER.sub(lambda number: f"{float(number[0]):.2f}", _NEEDLESS.sub("", found[0]))
        if font is not None:
            tag = tag.replace("<svg", f"<svg{font}", 1) if tag.startswith("<svg") else tag.replace(font, "")
        if not re.match(r"<g\b[^/]*>$", tag):
            if was_clip:
                return _BOX.sub(r'<rect width="\g<width>" height="\g<height>" rx="\g<radius>"/>', tag)
            return "" if are_bare_unseen and _BARE_PATH.match(tag) else tag
        groups.append(tag == "<g>")
        return "" if groups[-1] else tag

    return _one_size(_TAG.sub(shorter, _EMPTY_PATH.sub("", drawing)))


_SIZE_OF_TEXT = re.compile(r'(<text\b[^<>]*?) font-size="([^"]*)"')


def _one_size(drawing: str) -> str:
    """The size of most texts is said once, if all texts say theirs."""
    sizes = [size for _, size in _SIZE_OF_TEXT.findall(drawing)]
    if not sizes or len(sizes) != len(re.findall(r"<text\b", drawing)):
        return drawing
    usual = max(sizes, key=sizes.count)
    said = _SIZE_OF_TEXT.sub(lambda found: found[1] if found[2] == usual else found[0], drawing)
    return said.replace("<svg", f'<svg font-size="{usual}"', 1)


def pdf(spec: Spec) -> bytes:
    """A chart as a page of PDF, as large as the chart.

    >>> from tfprof_widget.charts.chart import Subject
    >>> from tfprof_widget.charts.kinds import described
    >>> from tfprof_widget.demo import demo_profile
    >>> pdf(described("op types", Subject(demo_profile().view("op"))))[:4]
    b'%PDF'
    """
    # A drawing's pixels become points, so it is drawn at the size that it has in points.
    drawing = _SIZE.sub(lambda found: f'{found[1]}="{float(found[2]) * _POINTS_A_PIXEL:g}"', svg(spec), count=2)
    found: bytes = _converted("svg_to_pdf", drawing)
    return found


def save_picture(path: str | PathLike[str], spec: Spec) -> None:
    """Write a chart as SVG, PNG or PDF, by the suffix of the path.

    >>> save_picture("chart.gif", {})
    Traceback (most recent call last):
        ...
    ValueError: path is 'chart.gif', but must end in .svg, .png or .pdf
    """
    match PurePath(path).suffix.lower():
        case ".svg":
            content = svg(spec).encode()
        case ".png":
            content = png(spec)
        case ".pdf":
            content = pdf(spec)
        case _:
            raise value_error(f"path is {str(path)!r}, but must end in .svg, .png or .pdf")
    write_whole(path, content)


def drawable(value: Any) -> Any:
    """A specification without texts that vl-convert cannot draw: some characters end the process, long texts take long.

    >>> drawable({"title": "a\\x07"})
    {'title': 'a\\\\x07'}
    """
    if isinstance(value, str):
        return cut_in_the_middle(visible_lines(value), LONGEST)
    if isinstance(value, Mapping):
        return {key: drawable(each) for key, each in value.items()}
    return [*map(drawable, value)] if isinstance(value, list | tuple) else value


def mime_bundle(spec: Spec, text: str) -> tuple[dict[str, Any], dict[str, Any]]:
    """A chart as hosts of notebooks show it, and how large the picture is to be shown.

    It has no SVG, for which nbconvert would need Inkscape on the way to LaTeX.

    >>> from tfprof_widget.charts.chart import Subject
    >>> from tfprof_widget.charts.kinds import described
    >>> from tfprof_widget.demo import demo_profile
    >>> data, sizes = mime_bundle(described("op types", Subject(demo_profile().view("op"))), "a chart")
    >>> sorted(data), sizes["image/png"]["width"]
    (['image/png', 'text/plain'], 624)
    """
    picture = png(spec)
    data = {"image/png": base64.b64encode(picture).decode(), "text/plain": text}
    return data, {"image/png": picture_size(picture)}


def picture_size(picture: bytes) -> dict[str, int]:
    """The width and height of a PNG in pixels of a page.

    >>> picture_size(bytes(16) + (1248).to_bytes(4, "big") + (600).to_bytes(4, "big"))
    {'width': 624, 'height': 300}
    """
    width, height = (int.from_bytes(picture[at : at + 4], "big") // DOTS_A_PIXEL for at in (16, 20))
    return {"width": width, "height": height}


def _told(spec: Spec) -> str:
    """What a chart is of, by its title."""
    title = spec.get("title", "")
    text = title.get("text", "") if isinstance(title, Mapping) else title
    return " ".join(text) if isinstance(text, list) else str(text)


def can_draw() -> bool:
    """Whether pictures can be made: vl-convert is installed.

    >>> can_draw()
    True
    """
    try:
        _converter()
    except ProfileError:
        return False
    return True


def _converted(name: str, *given: Any, **how: Any) -> Any:
    """The result of a function of vl-convert."""
    convert = getattr(_converter(), name)
    try:
        return convert(*given, **how)
    except ValueError as error:
        raise ProfileError(f"vl-convert cannot draw the chart ({shortened(str(error), LONGEST_QUOTE)})") from None


def _converter() -> ModuleType:
    try:
        import vl_convert
    except ImportError:
        raise ProfileError(f"pictures of charts need vl-convert: {INSTALL}") from None
    return vl_convert


def altair_chart(spec: Spec) -> altair.LayerChart | altair.Chart:
    """A chart to go on with in altair, which shows itself as PNG instead of fetching a script to draw it with.

    >>> from tfprof_widget.charts.chart import Subject
    >>> from tfprof_widget.charts.kinds import described
    >>> from tfprof_widget.demo import demo_profile
    >>> altair_chart(described("op types", Subject(demo_profile().view("op")))).properties(width=300).width
    300
    """
    layered, single = _offline_charts()
    return (layered if "layer" in spec else single).from_dict(spec)


@cache
def _offline_charts() -> tuple[type[altair.LayerChart], type[altair.Chart]]:
    """Altair's classes with a way of their own to show themselves."""
    try:
        import altair
    except ImportError:
        raise ProfileError(f"charts in Python need altair: {INSTALL}") from None

    class Offline:
        """Shows a chart as Vega-Lite and PNG; if another renderer than altair's default was chosen, by that."""

        def _repr_mimebundle_(self: Any, *args: Any, **kwargs: Any) -> Any:
            if altair.renderers.active != "default":
                return super()._repr_mimebundle_(*args, **kwargs)  # type: ignore[misc]
            spec = self.to_dict()
            data, sizes = mime_bundle(spec, _told(spec))
            return data | {_VEGA_LITE: spec}, sizes

    class OfflineLayerChart(Offline, altair.LayerChart):
        __doc__ = altair.LayerChart.__doc__

    class OfflineChart(Offline, altair.Chart):
        __doc__ = altair.Chart.__doc__

    return OfflineLayerChart, OfflineChart
