"""Turns the frame buffer of Xvfb (an XWD file) into a PNG, and refuses one that is nearly empty.

framebuffer.py SOURCE TARGET.png                       exit code 1: nearly empty
framebuffer.py SOURCE --count RRGGBB X,Y,W,H           prints how many pixels of a part have about that colour
framebuffer.py SOURCE --box RRGGBB X,Y,W,H             prints the left, top, right and bottom end of that colour
"""

import struct
import sys
import zlib

LEAST_COLOURS = 24
# Edges of what is drawn are mixed with what lies behind.
MOST_OFF = 24


def read_xwd(path):
    """Width, height and rows of RGB bytes of a 32-bit XWD file."""
    with open(path, "rb") as stream:
        data = stream.read()
    header = struct.unpack(">25I", data[:100])
    header_size, width, height = header[0], header[4], header[5]
    bytes_per_line, colours = header[12], header[19]
    start = header_size + colours * 12
    rows = []
    for y in range(height):
        line = data[start + y * bytes_per_line : start + y * bytes_per_line + width * 4]
        row = bytearray(width * 3)
        row[0::3], row[1::3], row[2::3] = line[2::4], line[1::4], line[0::4]
        rows.append(bytes(row))
    return width, height, rows


def write_png(path, width, height, rows):
    def chunk(kind, body):
        return struct.pack(">I", len(body)) + kind + body + struct.pack(">I", zlib.crc32(kind + body))

    pixels = b"".join(b"\0" + row for row in rows)
    with open(path, "wb") as stream:
        stream.write(b"\x89PNG\r\n\x1a\n")
        stream.write(chunk(b"IHDR", struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)))
        stream.write(chunk(b"IDAT", zlib.compress(pixels, 9)))
        stream.write(chunk(b"IEND", b""))


def places_of(rows, colour, part):
    """Where a part of the picture has a colour."""
    wanted = bytes.fromhex(colour)
    left, top, width, height = (int(side) for side in part.split(","))
    for y in range(top, min(top + height, len(rows))):
        row = rows[y]
        for x in range(left, min(left + width, len(row) // 3)):
            pixel = row[3 * x : 3 * x + 3]
            if all(abs(a - b) <= MOST_OFF for a, b in zip(pixel, wanted)):
                yield x, y


def main():
    source, what = sys.argv[1:3]
    width, height, rows = read_xwd(source)
    if what == "--count":
        print(sum(1 for _ in places_of(rows, *sys.argv[3:])))
        return
    if what == "--box":
        places = list(places_of(rows, *sys.argv[3:]))
        if not places:
            sys.exit(f"no pixel of colour {sys.argv[3]}")
        across, down = zip(*places)
        print(min(across), min(down), max(across), max(down))
        return
    write_png(what, width, height, rows)
    colours = {row[x : x + 3] for row in rows[::4] for x in range(0, width * 3, 12)}
    if len(colours) < LEAST_COLOURS:
        sys.exit(f"{what}: nearly empty, {len(colours)} colours")


if __name__ == "__main__":
    main()
