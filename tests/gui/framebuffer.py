"""Turns the frame buffer of Xvfb (an XWD file) into a PNG, and refuses one that is nearly empty."""

import struct
import sys
import zlib

LEAST_COLOURS = 24


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


def main():
    source, target = sys.argv[1:]
    width, height, rows = read_xwd(source)
    write_png(target, width, height, rows)
    colours = {row[x : x + 3] for row in rows[::4] for x in range(0, width * 3, 12)}
    if len(colours) < LEAST_COLOURS:
        sys.exit(f"{target}: nearly empty, {len(colours)} colours")


if __name__ == "__main__":
    main()
