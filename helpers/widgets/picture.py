"""From a figure to the screen: what stands still is kept as a background, only what moves is drawn again."""

import base64
import html
import struct
import threading
import zlib

import numpy as np
from matplotlib.figure import Figure

# Callbacks run on another thread than cells, and matplotlib's text layout is not safe there. Figure.draw takes this
# lock, draw_artist takes none, so whoever moves artists holds it too.
LOCK = getattr(Figure, "_render_lock", None) or threading.RLock()

# Run by the browser whenever a picture arrives: names the slider handles for screen readers and keeps the notebook's
# one-letter shortcuts (b, m, d d) quiet while a control has the focus. ipywidgets offers no option for either.
# Once more a moment later: a switch that came with this picture may be on the page only then.
WIRE = (
    "const wire=()=>{const p=this.closest('.explore');if(!p)return;p.querySelectorAll('.noUi-handle').forEach(h=>{"
    "const w=h.closest('.widget-inline-hbox'),l=w.querySelector('label'),r=w.querySelector('.widget-readout');"
    "h.setAttribute('aria-label',l?l.textContent:'value');if(r)h.setAttribute('aria-valuetext',r.textContent)});"
    "p.querySelectorAll('input,select,textarea,button,[tabindex],[contenteditable]').forEach("
    "e=>e.dataset.lmSuppressShortcuts||(e.dataset.lmSuppressShortcuts='true'));"
    "p.querySelectorAll('.explore-readout .widget-html-content').forEach(e=>e.setAttribute('role','status'))};"
    "wire();setTimeout(wire,300)"
)
_NOTHING = "data:image/gif;base64,R0lGODlhAQABAIAAAAAAAP///yH5BAEAAAAALAAAAAABAAEAAAIBRAA7"
WIRE_ONLY = f'<img src="{_NOTHING}" alt="" width="1" height="1" onload="{WIRE}">'


class Picture:
    """Draws a figure whose ``moving`` artists are animated; call its methods while holding LOCK."""

    def __init__(self, figure, moving):
        self.figure, self.canvas = figure, figure.canvas
        self.moving = sorted(moving, key=lambda artist: artist.zorder)
        self.size = tuple(round(n / figure.dpi * 100) for n in self.canvas.get_width_height())
        self._background = None

    def draw(self):
        """Bring the canvas up to date. ``Figure.stale`` tells whether anything but the moving artists has changed."""
        if self._background is None or self.figure.stale:
            self.canvas.draw()
            self._background = self.canvas.copy_from_bbox(self.figure.bbox)
        else:
            self.canvas.restore_region(self._background)
        renderer = self.canvas.get_renderer()
        for artist in self.moving:
            artist.draw(renderer)

    def png(self, level=1):
        """Return the canvas as PNG bytes; ``level`` 1 is fast, 6 is small. Same pixels, same bytes.

        Image libraries try five filters on each line, which takes as long as all the rest and gains nothing on flat
        colours. Here each line has the filter 0, none (PNG specification, section 9), and is ready twice as fast.
        """
        pixels = np.asarray(self.canvas.buffer_rgba())[..., :3]
        height, width, _ = pixels.shape
        lines = np.zeros((height, 1 + 3 * width), np.uint8)
        lines[:, 1:].reshape(pixels.shape)[:] = pixels  # a view: the pixels are copied once
        header = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)  # eight bits a colour, no alpha
        parts = (b"IHDR", header), (b"IDAT", zlib.compress(lines, level)), (b"IEND", b"")
        return b"\x89PNG\r\n\x1a\n" + b"".join(chunk(*part) for part in parts)

    def element(self, alt):
        """Return the picture as an <img> with its alt text."""
        width, height = self.canvas.get_width_height()
        return (
            f'<img alt="{html.escape(alt)}" width="{width}" height="{height}" onload="{WIRE}" '
            f'style="max-width:100%;height:auto;display:block" src="data:image/png;base64,{encode(self.png())}">'
        )


def chunk(kind, content):
    """Return one chunk of a PNG file: length, kind, content, checksum (PNG specification, section 5.3)."""
    return struct.pack(">I", len(content)) + kind + content + struct.pack(">I", zlib.crc32(kind + content))


def encode(png):
    """Return PNG bytes as base64 text."""
    return base64.b64encode(png).decode("ascii")
