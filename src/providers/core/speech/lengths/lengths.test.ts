import { describe, expect, test } from '@jest/globals';
import fc from 'fast-check';
import { mp4Seconds } from './mp4.ts';
import { mpegSeconds } from './mpeg.ts';
import { wavSeconds } from './wav.ts';
import { webmSeconds } from './webm.ts';

const u8 = (...bytes: number[]) => Buffer.from(bytes);
const u16 = (value: number) => u8(value >> 8, value & 255);
const u32 = (value: number) => u8(value >>> 24, (value >> 16) & 255, (value >> 8) & 255, value & 255);
const latin1 = (text: string) => Buffer.from(text, 'latin1');

/** A frame of MPEG 1 layer 3, 128 kilobits, 44.1 kHz: 417 bytes and 1152 samples. */
const frame = (content = '') =>
  Buffer.concat([u8(0xff, 0xfb, 0x90, 0), latin1(content), Buffer.alloc(413 - content.length)]);
/** One of MPEG 2, 64 kilobits, 22.05 kHz: 208 bytes and 576 samples. */
const smallFrame = Buffer.concat([u8(0xff, 0xf3, 0x80, 0), Buffer.alloc(204)]);
const frames = (count: number) => Buffer.concat(Array.from({ length: count }, () => frame()));
const frameSeconds = 1152 / 44_100;

describe('MPEG audio is as long as its frames', () => {
  test('whatever its tags and its first frame say', () => {
    expect(mpegSeconds(frames(100))).toBeCloseTo(100 * frameSeconds, 9);
    const forged = frame(`${'\0'.repeat(32)}Xing\0\0\0\x01\0\0\0\x01`);
    expect(mpegSeconds(Buffer.concat([forged, frames(100)]))).toBeCloseTo(100 * frameSeconds, 9);
    const tag = Buffer.concat([latin1('ID3\x04\0\0\0\0\x07\x51'), frames(2), Buffer.alloc(977 - 834)]);
    expect(mpegSeconds(Buffer.concat([tag, frames(3), latin1('TAG'), Buffer.alloc(125)]))).toBeCloseTo(
      3 * frameSeconds,
      9,
    );
  });

  test('behind garbage, and where another kind begins', () => {
    const garbage = Buffer.alloc(1_000, 0xff);
    expect(mpegSeconds(Buffer.concat([garbage, frames(5), garbage, frames(5)]))).toBeCloseTo(10 * frameSeconds, 1);
    const others = Buffer.concat(Array.from({ length: 50 }, () => smallFrame));
    expect(mpegSeconds(Buffer.concat([frames(3), others]))).toBeCloseTo(53 * frameSeconds, 2);
  });

  test('and bytes that look like a frame by chance are none', () => {
    const header = u8(0xff, 0xfb, 0x90, 0x64);
    const text = latin1('This is a text of some length. '.repeat(100));
    for (const file of [
      header,
      Buffer.concat([latin1('ID3\x04\0\0\0\0\0\0'), text, header]),
      Buffer.concat([u8(0xff, 0xfe), text, header]),
      Buffer.concat([header, text]),
      Buffer.concat([text, frames(2), text]),
      Buffer.concat([frame(), text]),
    ]) {
      expect(mpegSeconds(file)).toBe(0);
    }
    // A short recording may be a single frame, and what a long one ends with is no sound.
    expect(mpegSeconds(frame())).toBeCloseTo(frameSeconds, 9);
    expect(mpegSeconds(Buffer.concat([frames(2), text]))).toBe(0);
    expect(mpegSeconds(Buffer.concat([frames(9), text, header]))).toBeCloseTo(9 * frameSeconds, 9);
  });

  test('and one that is cut counts what is left', () => {
    const whole = frames(100);
    expect(mpegSeconds(whole.subarray(0, whole.length / 2))).toBeCloseTo(50 * frameSeconds, 1);
    expect([latin1('ID3'), latin1('ID3\x04\0\0\x7f\x7f\x7f\x7f'), Buffer.alloc(0)].map(mpegSeconds)).toEqual([0, 0, 0]);
  });
});

const box = (type: string, ...content: Buffer[]) => {
  const all = Buffer.concat(content);
  return Buffer.concat([u32(all.length + 8), latin1(type), all]);
};
const zeros = (count: number) => Buffer.alloc(count);
const scale = 1_000;

/** A track with `samples` of 20 units each in its table. Its header says that it is one unit long. */
const trak = (samples: number, kind = 'soun') =>
  box(
    'trak',
    box('tkhd', zeros(12), u32(1), zeros(64)),
    box(
      'mdia',
      box('mdhd', zeros(12), u32(scale), u32(1), zeros(4)),
      box('hdlr', zeros(8), latin1(kind), zeros(12)),
      box('minf', box('stbl', box('stts', zeros(4), u32(1), u32(samples), u32(20)))),
    ),
  );
const ftyp = box('ftyp', latin1('isom'), zeros(4));

describe('an MP4 file is as long as its samples of sound', () => {
  test('whatever its headers say', () => {
    expect(mp4Seconds(Buffer.concat([ftyp, box('moov', trak(9_999, 'vide'), trak(500))]))).toBe(10);
    expect(mp4Seconds(Buffer.concat([ftyp, box('moov', trak(500, 'vide')), box('mdat', zeros(99))]))).toBe(0);
    expect(mp4Seconds(ftyp)).toBe(0);
  });

  test('in fragments too', () => {
    const moov = box('moov', trak(0), box('mvex', box('trex', zeros(4), u32(1), zeros(4), u32(20), zeros(8))));
    const byDefault = box('moof', box('traf', box('tfhd', u32(0), u32(1)), box('trun', u32(0), u32(100))));
    const own = box(
      'moof',
      box('traf', box('tfhd', u32(0x8), u32(1), u32(30)), box('trun', u32(0x1), u32(100), u32(0))),
    );
    const each = box(
      'moof',
      box('traf', box('tfhd', u32(0), u32(1)), box('trun', u32(0x300), u32(2), u32(500), u32(7), u32(501), u32(7))),
    );
    const other = box('moof', box('traf', box('tfhd', u32(0), u32(9)), box('trun', u32(0), u32(100))));
    expect(mp4Seconds(Buffer.concat([ftyp, moov, byDefault, own, each, other]))).toBeCloseTo(2 + 3 + 1.001, 9);
  });
});

const element = (id: number[], ...content: Buffer[]) => {
  const all = Buffer.concat(content);
  return Buffer.concat([u8(...id), u8(0x10 | (all.length >>> 24)), u32(all.length).subarray(1), all]);
};
/** As a recording has it that is under way. */
const endless = (id: number[], ...content: Buffer[]) =>
  Buffer.concat([u8(...id), u8(0x01, 255, 255, 255, 255, 255, 255, 255), ...content]);
const track = (number: number, type: number) => element([0xae], element([0xd7], u8(number)), element([0x83], u8(type)));
const block = (number: number, time: number) => element([0xa3], u8(0x80 | number), u16(time), u8(0), zeros(20));
const cluster = (time: number, ...blocks: Buffer[]) =>
  endless([0x1f, 0x43, 0xb6, 0x75], element([0xe7], u32(time)), ...blocks);
const header = element([0x1a, 0x45, 0xdf, 0xa3], zeros(3));
const webm = (...content: Buffer[]) => Buffer.concat([header, endless([0x18, 0x53, 0x80, 0x67], ...content)]);
const info = element(
  [0x15, 0x49, 0xa9, 0x66],
  element([0x44, 0x89], zeros(8)),
  element([0x2a, 0xd7, 0xb1], u32(1_000_000)),
);

describe('a WebM file is as long as its blocks of sound', () => {
  const tracks = element([0x16, 0x54, 0xae, 0x6b], track(1, 1), track(2, 2));

  test('whether or not its header has the length', () => {
    const blocks = [block(2, 0), block(2, 20), block(1, 9_000)];
    const file = webm(info, tracks, cluster(0, ...blocks), cluster(60_000, ...blocks));
    expect(webmSeconds(file)).toBeCloseTo(60.04, 9);
    const steady = Array.from({ length: 50 }, (_, n) => block(2, n * 20));
    expect(webmSeconds(webm(tracks, cluster(5_000, ...steady)))).toBeCloseTo(1, 9);
    const grouped = element([0xa0], element([0xa1], u8(0x82), u16(40), u8(0)));
    expect(webmSeconds(webm(tracks, cluster(0, block(2, 0), block(2, 20), grouped)))).toBeCloseTo(0.06, 9);
  });

  test('and of none without any', () => {
    expect(webmSeconds(webm(info, tracks))).toBe(0);
    expect(webmSeconds(webm(tracks, cluster(0, block(1, 0), block(1, 500), block(3, 900))))).toBe(0);
  });
});

test('a WAV file is as long as its samples', () => {
  const u16le = (value: number) => u8(value & 255, value >> 8);
  const u32le = (value: number) => Buffer.from(u32(value)).reverse();
  const chunk = (type: string, content: Buffer, declared = content.length) =>
    Buffer.concat([latin1(type), u32le(declared), content]);
  const format = (tag: number, bytes: number) =>
    chunk('fmt ', Buffer.concat([u16le(tag), u16le(2), u32le(8_000), u32le(bytes), u16le(4), u16le(16)]));
  const riff = (...chunks: Buffer[]) => Buffer.concat([latin1('RIFF\0\0\0\0WAVE'), ...chunks]);
  const data = zeros(64_000);
  // Neither the declared rate of bytes nor a number of samples is trusted.
  expect(wavSeconds(riff(format(1, 9_999_999), chunk('fact', u32le(1)), chunk('data', data)))).toBe(2);
  for (const declared of [0, 0xffffffff]) expect(wavSeconds(riff(format(3, 0), chunk('data', data, declared)))).toBe(2);
  expect(wavSeconds(riff(format(17, 16_000), chunk('data', data)))).toBe(4);
  expect([riff(chunk('data', data)), riff(format(1, 1)), zeros(3)].map(wavSeconds)).toEqual([0, 0, 0]);
});

test('any bytes have some length, or none', () => {
  const starts = [Buffer.alloc(0), frames(2), ftyp, box('moov', trak(1)), header, latin1('RIFF\0\0\0\0WAVEfmt ')];
  const measures = [mpegSeconds, mp4Seconds, wavSeconds, webmSeconds];
  fc.assert(
    fc.property(fc.constantFrom(...starts), fc.uint8Array({ maxLength: 300 }), (start, bytes) => {
      for (const measure of measures) {
        const seconds = measure(Buffer.concat([start, bytes]));
        expect(seconds).toBeGreaterThanOrEqual(0);
      }
    }),
  );
});
