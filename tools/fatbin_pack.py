#!/usr/bin/env python3
"""Puts PTX files into a fat binary, as clang's -fcuda-include-gpubinary takes it.

    fatbin_pack.py -o OUT.fatbin [--zstd] FILE.ptx...

The container is the one that fatbin/ reads (docs/architecture.md, "Fat binaries"): a 16-byte header, then for each
image a 64-byte entry header and the payload. PTX payloads end in a NUL and are padded to 8 bytes."""
import argparse
import re
import shutil
import struct
import subprocess
import sys

CONTAINER_MAGIC = 0xBA55ED50
KIND_PTX = 1
FLAG_64_BIT, FLAG_CUDA, FLAG_LINUX, FLAG_ZSTD = 0x1, 0x4, 0x10, 0x8000
ENTRY_BYTES = 64


def directive(text, name, pattern, path):
    match = re.search(r"^\s*\." + name + r"\s+" + pattern, text, re.MULTILINE)
    if not match:
        sys.exit(f"fatbin_pack: {path}: no .{name} directive")
    return match


def entry(path, compress):
    text = open(path, encoding="utf-8").read()
    version = directive(text, "version", r"(\d+)\.(\d+)", path)
    target = directive(text, "target", r"(?:sm|compute)_(\d+)", path)
    payload = text.encode() + b"\0"
    flags, size, whole = FLAG_64_BIT | FLAG_CUDA | FLAG_LINUX, 0, 0
    if compress:
        whole = len(payload)
        payload = subprocess.run(["zstd", "-q", "-c", "-19"], input=payload, stdout=subprocess.PIPE, check=True).stdout
        flags, size = flags | FLAG_ZSTD, len(payload)
    payload += b"\0" * (-len(payload) % 8)
    header = struct.pack("<HHIQIIHHIIIQQQ", KIND_PTX, 0x101, ENTRY_BYTES, len(payload), size, 0, int(version[2]),
                         int(version[1]), int(target[1]), 0, 0, flags, 0, whole)
    assert len(header) == ENTRY_BYTES
    return header + payload


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("-o", dest="out", required=True, metavar="OUT.fatbin")
    parser.add_argument("--zstd", action="store_true", help="compress with the zstd command")
    parser.add_argument("ptx", nargs="+", metavar="FILE.ptx")
    arguments = parser.parse_args()
    if arguments.zstd and not shutil.which("zstd"):
        sys.exit("fatbin_pack: --zstd needs the zstd command (Debian: apt-get install zstd)")
    body = b"".join(entry(path, arguments.zstd) for path in arguments.ptx)
    with open(arguments.out, "wb") as out:
        out.write(struct.pack("<IHHQ", CONTAINER_MAGIC, 1, 16, len(body)) + body)


if __name__ == "__main__":
    main()
