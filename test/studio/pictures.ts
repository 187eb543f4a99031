import { crc32, deflateSync } from 'node:zlib';
import sharp from 'sharp';

const white = '#fff';
const red = { r: 220, g: 20, b: 30 };
export const blank = (width: number, height: number, background: string | typeof red = white) =>
  sharp({ create: { width, height, channels: 3, background } });
/** A red square on white. */
export const square = (width: number, height: number) =>
  blank(width, height).composite([
    { input: { create: { width: width / 2, height: height / 2, channels: 3, background: red } }, gravity: 'centre' },
  ]);
export const noise = (width: number, height: number) =>
  sharp(Buffer.from(Array.from({ length: width * height * 3 }, (_, at) => (at * 2_654_435_761) >>> 24)), {
    raw: { width, height, channels: 3 },
  });

function chunk(name: string, data: Buffer): Buffer {
  const [length, check] = [Buffer.alloc(4), Buffer.alloc(4)];
  length.writeUInt32BE(data.length);
  check.writeUInt32BE(crc32(Buffer.concat([Buffer.from(name), data])));
  return Buffer.concat([length, Buffer.from(name), data, check]);
}

/** A PNG with texts of 256 MiB each, which take 256 KiB. */
export function textBomb(png: Buffer, texts = 8): Buffer {
  const text = Buffer.concat([Buffer.from('Comment\0\0'), deflateSync(Buffer.alloc(256 * 1024 * 1024))]);
  return Buffer.concat([
    png.subarray(0, 33),
    ...Array.from({ length: texts }, () => chunk('zTXt', text)),
    png.subarray(33),
  ]);
}
