"""The inputs of `in: sweep N` (see ../run_ptx.c) and how threads see them."""

EDGES = [0x00000000, 0x80000000, 0x3f800000, 0xbf800000, 0x7fc00000, 0xff800001, 0x00000001, 0x007fffff,
         0x7f7fffff, 0x3f7fffff, 0x3f800001, 0x3f801000, 0x3dcccccd, 0x40000000, 0xc0400000, 0x7f800000,
         0x3c00bc00, 0x7e003c00, 0x00010002, 0x7bff7c00, 0x3bff3c01, 0x80000000, 0x3f80bf80, 0x7fc0ff80,
         0x12345678, 0x9abcdef0, 0x007fffff, 0x7fffffff, 0x00800000, 0xffffffff, 0x0f1e2d3c, 0x00000003]
MASK64 = (1 << 64) - 1


def sweep(count):
    s, words = 0x9e3779b97f4a7c15, []
    for _ in range(count):
        s ^= (s << 13) & MASK64
        s ^= s >> 7
        s ^= (s << 17) & MASK64
        words.append(s & 0xffffffff if (s >> 40) % 3 else EDGES[(s >> 48) % 32])
    return words


def triples(threads=256):
    words = sweep(3 * threads)
    return [tuple(words[3 * i:3 * i + 3]) for i in range(threads)]
