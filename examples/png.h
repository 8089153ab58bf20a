/* Writes an 8-bit RGB picture as PNG (RFC 2083). The pixels go into "stored" deflate blocks (RFC 1951, 3.2.4), which
 * need no compressor; the checksums are those of the two formats: CRC-32 a chunk and Adler-32 over the pixels. */
#ifndef DRAGOMAN_EXAMPLE_PNG_H
#define DRAGOMAN_EXAMPLE_PNG_H

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <string>
#include <vector>

namespace png {

typedef std::vector<uint8_t> bytes;

static inline void put_u32(bytes &out, uint32_t value)
{
	for (int shift = 24; shift >= 0; shift -= 8)
		out.push_back((uint8_t)(value >> shift));
}

static inline void put_chunk(bytes &out, const char *type, const bytes &data)
{
	put_u32(out, (uint32_t)data.size());
	size_t start = out.size();
	out.insert(out.end(), type, type + 4);
	out.insert(out.end(), data.begin(), data.end());
	uint32_t crc = 0xffffffff;
	for (size_t i = start; i < out.size(); i++) {
		crc ^= out[i];
		for (int bit = 0; bit < 8; bit++)
			crc = crc >> 1 ^ (crc & 1 ? 0xedb88320 : 0);
	}
	put_u32(out, ~crc);
}

static inline bytes zlib_stored(const bytes &data)
{
	const size_t limit = 65535;
	bytes out = { 0x78, 0x01 };
	uint32_t a = 1, b = 0;
	for (size_t start = 0; start < data.size(); start += limit) {
		size_t length = std::min(limit, data.size() - start);
		out.push_back(start + length == data.size());
		for (size_t field : { length, ~length }) {
			out.push_back((uint8_t)field);
			out.push_back((uint8_t)(field >> 8));
		}
		out.insert(out.end(), data.begin() + start, data.begin() + start + length);
	}
	for (uint8_t byte : data) {
		a = (a + byte) % 65521;
		b = (b + a) % 65521;
	}
	put_u32(out, b << 16 | a);
	return out;
}

/* rgb: height rows of width pixels of three bytes. False where the file cannot be written. */
static inline bool write(const std::string &path, const bytes &rgb, uint32_t width, uint32_t height)
{
	bytes rows, header, file = { 0x89, 'P', 'N', 'G', '\r', '\n', 0x1a, '\n' };
	for (uint32_t y = 0; y < height; y++) {
		rows.push_back(0); /* no filter */
		rows.insert(rows.end(), rgb.begin() + (size_t)y * width * 3, rgb.begin() + (size_t)(y + 1) * width * 3);
	}
	put_u32(header, width);
	put_u32(header, height);
	for (uint8_t byte : { 8, 2, 0, 0, 0 }) /* bits, RGB, deflate, standard filters, not interlaced */
		header.push_back(byte);
	put_chunk(file, "IHDR", header);
	put_chunk(file, "IDAT", zlib_stored(rows));
	put_chunk(file, "IEND", bytes());

	std::FILE *stream = std::fopen(path.c_str(), "wb");
	if (!stream)
		return false;
	bool written = std::fwrite(file.data(), 1, file.size(), stream) == file.size();
	return std::fclose(stream) == 0 && written;
}

} // namespace png

#endif
