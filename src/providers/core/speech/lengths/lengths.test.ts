import { describe, expect, test } from '@jest/globals';
import fc from 'fast-check';
import { mp4Seconds } from './mp4.ts';
import { mpegSeconds } from './mpeg.ts';
import { wavSeconds } from './wav.ts';
import { webmSeconds } from './webm.ts';

const u8 = (...bytes: number[]) => Buffer.from(bytes);
const u16 = (value: number) => u8(value >> 8, value & 255);
const u32 = (value: number) => u8(value >>> 24, (value >> 16) & 255, (value >> 8) & 255, value & 255);
const zeros = (count: number) => Buffer.alloc(count);
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

  test('where frames of several kinds follow each other, and other bytes are between them', () => {
    const mixed = Buffer.concat(Array.from({ length: 50 }, () => [frame(), smallFrame]).flat());
    const smallSeconds = 576 / 22_050;
    expect(mpegSeconds(Buffer.concat([frames(3), mixed]))).toBeCloseTo(53 * frameSeconds + 50 * smallSeconds, 9);
    const torn = Buffer.concat(Array.from({ length: 50 }, () => [zeros(1), frame()]).flat());
    expect(mpegSeconds(Buffer.concat([frames(3), torn]))).toBeCloseTo(53 * frameSeconds, 9);
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
const scale = 1_000;

/** The head of an entry for sound with one channel. */
const soundEntry = (type: string, hertz: number, bits: number, ...inner: Buffer[]) =>
  box(type, zeros(6), u16(1), zeros(8), u16(1), u16(bits), zeros(4), u16(hertz), u16(0), ...inner);
const described = (tag: number, ...content: Buffer[]) => {
  const all = Buffer.concat(content);
  return Buffer.concat([u8(tag, all.length), all]);
};
/** AAC with 51,200 values in a second, so that a frame has 20 milliseconds. */
const config = u8(0b00010_111, 0b1_0000000, 0b0_1100100, 0b0_0000000, 0b0_0001_000);
const esds = (objectType: number) =>
  box('esds', zeros(4), described(3, zeros(3), described(4, u8(objectType), zeros(12), described(5, config))));
const aac = soundEntry('mp4a', 51_200, 16, esds(0x40));

interface Tables {
  kind?: string;
  entry?: Buffer;
  /** Length of each sample in the tables, in units. */
  length?: number;
  declared?: number;
  units?: number;
  sizes?: number[];
  at?: number;
  more?: Buffer[];
}

/** A track with `samples` in its tables. Its header says that it is one unit long. */
function trak(
  samples: number,
  { kind = 'soun', entry = aac, length = 20, declared = samples, units = scale, sizes, at = 0, more = [] }: Tables = {},
) {
  const tables = [
    box('stsd', zeros(4), u32(1), entry),
    box('stts', zeros(4), u32(1), u32(declared), u32(length)),
    sizes
      ? box('stsz', zeros(4), u32(0), u32(samples), ...sizes.map(u32))
      : box('stsz', zeros(4), u32(samples > 0 ? 100 : 0), u32(samples)),
    box('stsc', zeros(4), u32(1), u32(1), u32(samples), u32(1)),
    box('stco', zeros(4), u32(1), u32(at)),
  ];
  return box(
    'trak',
    box('tkhd', zeros(12), u32(1), zeros(64)),
    box(
      'mdia',
      box('mdhd', zeros(12), u32(units), u32(1), zeros(4)),
      box('hdlr', zeros(8), latin1(kind), zeros(12)),
      box('minf', box('stbl', ...tables, ...more)),
    ),
  );
}
const ftyp = box('ftyp', latin1('isom'), zeros(4));

/** A file whose only track has these samples behind each other, each declared to be as long as one unit. */
function mp4Of(entry: Buffer, samples: Buffer[]): Buffer {
  const data = Buffer.concat([ftyp, box('mdat', ...samples)]);
  const sizes = samples.map((sample) => sample.length);
  const tables = { entry, length: 1, units: 48_000, sizes, at: ftyp.length + 8 };
  return Buffer.concat([data, box('moov', trak(samples.length, tables))]);
}

describe('an MP4 file is as long as its samples of sound', () => {
  test('whatever its headers say', () => {
    expect(mp4Seconds(Buffer.concat([ftyp, box('moov', trak(9_999, { kind: 'vide' }), trak(500))]))).toBe(10);
    expect(mp4Seconds(Buffer.concat([ftyp, box('moov', trak(500, { kind: 'vide' })), box('mdat', zeros(99))]))).toBe(0);
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

  test.each<[string, Tables]>([
    ['say that each is short', { length: 1 }],
    ['say that a second has more units', { units: scale * 1_000 }],
    ['name the length of one sample alone', { declared: 1 }],
  ])('when its tables %s', (_, tables) => {
    // The last sample may be shorter.
    expect(mp4Seconds(Buffer.concat([ftyp, box('moov', trak(500, tables))]))).toBeCloseTo(9.98, 9);
  });

  test('when a sample has several frames, which have at most 768 bytes each', () => {
    const entry = soundEntry('mp4a', 51_200, 16, esds(0x67));
    expect(mp4Seconds(mp4Of(entry, [zeros(76_800)]))).toBeCloseTo(1.98, 9);
  });

  test('in fragments that say that it is shorter', () => {
    const moov = box('moov', trak(0), box('mvex', box('trex', zeros(4), u32(1), zeros(4), u32(1), u32(100), zeros(4))));
    const moof = box('moof', box('traf', box('tfhd', u32(0), u32(1)), box('trun', u32(0), u32(100))));
    expect(mp4Seconds(Buffer.concat([ftyp, moov, moof, moof]))).toBeCloseTo(3.98, 9);
  });

  test.each<[string, Buffer, Buffer, number]>([
    // Two frames of 20 ms, one of 60 ms, and three of 2.5 ms.
    ['Opus', soundEntry('Opus', 48_000, 16), u8(0b11111_001, 0), 4],
    ['Opus', soundEntry('Opus', 48_000, 16), u8(0b00011_000, 0), 6],
    ['Opus', soundEntry('Opus', 48_000, 16), u8(0b11100_011, 3), 0.75],
    ['MP3', soundEntry('.mp3', 44_100, 16), frame(), 100 * frameSeconds],
    ['MP3', soundEntry('mp4a', 44_100, 16, esds(0x6b)), frame(), 100 * frameSeconds],
    // Two frames of 12.2 kilobits, and one of 4.75.
    ['AMR', soundEntry('samr', 8_000, 16), Buffer.concat([u8(0x3c), zeros(31), u8(0x3c), zeros(31)]), 4],
    ['AMR', soundEntry('samr', 8_000, 16), Buffer.concat([u8(0x04), zeros(12)]), 2],
  ])('of %s is as long as its packets', (_, entry, sample, seconds) => {
    // Encoders fill the last ones up.
    expect(mp4Seconds(mp4Of(entry, Array(100).fill(sample)))).toBeCloseTo(seconds - 0.12, 9);
  });

  test.each<[string, Buffer, number]>([
    ['ALAC', soundEntry('alac', 44_100, 16, box('alac', zeros(4), u32(4_096), zeros(16), u32(44_100))), 99 * 4_096],
    [
      'FLAC',
      soundEntry('fLaC', 44_100, 16, box('dfLa', zeros(8), u16(9), u16(4_096), zeros(6), u32(44_100 << 12))),
      99 * 4_096,
    ],
    ['PCM', soundEntry('sowt', 44_100, 16), 100 * 50],
    ['PCM of 8 bits', soundEntry('alaw', 44_100, 16), 100 * 100],
  ])('of %s is as long as its values', (_, entry, values) => {
    expect(mp4Seconds(mp4Of(entry, Array(100).fill(zeros(100))))).toBeCloseTo(values / 44_100, 9);
  });

  test('and has none where its tables contradict each other, or its sound cannot be measured', () => {
    const second = box('stts', zeros(4), u32(1), u32(1), u32(1));
    const files = [
      [box('moov', trak(500, { more: [second] }))],
      [box('moov', trak(500), box('udta', box('stsz', zeros(4), u32(1), u32(9))))],
      [box('moov', trak(1)), box('moov', trak(500))],
      [box('moov', trak(1), trak(500, { entry: soundEntry('ac-3', 48_000, 16) }))],
      [box('moov', trak(500, { entry: soundEntry('mp4a', 48_000, 16) }))],
    ];
    for (const file of files) expect(mp4Seconds(Buffer.concat([ftyp, ...file]))).toBe(0);
  });

  test('with any number of samples in a few bytes costs little', () => {
    const entry = soundEntry('Opus', 48_000, 16);
    const tables = [
      box('stsd', zeros(4), u32(1), entry),
      box('stsz', zeros(4), u32(1), u32(0xffff_ffff)),
      box('stsc', zeros(4), u32(1), u32(1), u32(0xffff_ffff), u32(1)),
      box('stco', zeros(4), u32(1), u32(0)),
    ];
    const endless = box('trak', box('mdia', box('hdlr', zeros(8), latin1('soun')), ...tables));
    expect(mp4Seconds(Buffer.concat([ftyp, box('moov', endless)]))).toBe(Number.POSITIVE_INFINITY);
    const run = box('moof', box('traf', box('tfhd', u32(0), u32(1)), box('trun', u32(0), u32(0xffff_ffff))));
    expect(mp4Seconds(Buffer.concat([ftyp, box('moov', trak(0)), run]))).toBe(0);
  });
});

const element = (id: number[], ...content: Buffer[]) => {
  const all = Buffer.concat(content);
  return Buffer.concat([u8(...id), u8(0x10 | (all.length >>> 24)), u32(all.length).subarray(1), all]);
};
/** As a recording has it that is under way. */
const endless = (id: number[], ...content: Buffer[]) =>
  Buffer.concat([u8(...id), u8(0x01, 255, 255, 255, 255, 255, 255, 255), ...content]);
const track = (number: number, type: number, codec = 'A_OPUS', ...more: Buffer[]) =>
  element([0xae], element([0xd7], u8(number)), element([0x83], u8(type)), element([0x86], latin1(codec)), ...more);
/** A frame of 20 milliseconds. */
const opus = Buffer.concat([u8(0b11111_000), zeros(19)]);
const block = (number: number, time: number, content: Buffer = opus, flags = 0) =>
  element([0xa3], u8(0x80 | number), u16(time), u8(flags), content);
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
  const tracksOf = (...all: Buffer[]) => element([0x16, 0x54, 0xae, 0x6b], ...all);
  const tracks = tracksOf(track(1, 1, 'V_VP8'), track(2, 2));
  /** 100 blocks that begin at the same time. */
  const still = (content: Buffer = opus, flags = 0) =>
    cluster(0, ...Array.from({ length: 100 }, () => block(2, 0, content, flags)));

  test('whether or not its header has the length', () => {
    const blocks = [block(2, 0), block(2, 20), block(1, 9_000)];
    const file = webm(info, tracks, cluster(0, ...blocks), cluster(60_000, ...blocks));
    expect(webmSeconds(file)).toBeCloseTo(60.04, 9);
    const steady = Array.from({ length: 50 }, (_, n) => block(2, n * 20));
    expect(webmSeconds(webm(tracks, cluster(5_000, ...steady)))).toBeCloseTo(1, 9);
    const grouped = element([0xa0], element([0xa1], u8(0x82), u16(40), u8(0)));
    expect(webmSeconds(webm(tracks, cluster(0, block(2, 0), block(2, 20), grouped)))).toBeCloseTo(0.06, 9);
  });

  test('or as its packets, if they are longer than the times of its blocks', () => {
    expect(webmSeconds(webm(tracks, still()))).toBeCloseTo(2 - 0.122, 9);
    const units = element([0x15, 0x49, 0xa9, 0x66], element([0x2a, 0xd7, 0xb1], u32(1)));
    const steady = cluster(0, ...Array.from({ length: 100 }, (_, n) => block(2, n * 20)));
    expect(webmSeconds(webm(units, tracks, steady))).toBeCloseTo(2 - 0.122, 9);
    // Players read the tracks from the end of a file, too.
    expect(webmSeconds(webm(still(), tracks, cluster(0, block(2, 0))))).toBeCloseTo(2.02 - 0.122, 9);
    expect(webmSeconds(webm(tracksOf(track(2, 17)), still()))).toBeCloseTo(2 - 0.122, 9);
  });

  test.each<[string, number, Buffer]>([
    ['Xiph', 0x02, Buffer.concat([u8(2, 255, 1, 20), zeros(256 + 20), opus])],
    ['EBML', 0x06, Buffer.concat([u8(2, 0x80 | 30, 0x80 | (63 - 10)), zeros(30 + 20), opus])],
    ['fixed', 0x04, Buffer.concat([u8(2), zeros(40), opus])],
  ])('with all frames of a block that has their sizes as %s', (_, flags, content) => {
    // A frame that begins with 0 has 10 milliseconds.
    expect(webmSeconds(webm(tracks, still(content, flags)))).toBeCloseTo(4 - 0.122, 9);
  });

  const config = (content: Buffer) => element([0x63, 0xa2], content);
  const audio = (hertz: number, bits: number) => {
    const rate = Buffer.alloc(4);
    rate.writeFloatBE(hertz);
    return element([0xe1], element([0xb5], rate), element([0x9f], u8(2)), element([0x62, 0x64], u8(bits)));
  };
  const flac = Buffer.concat([latin1('fLaC'), zeros(4), u16(9), u16(4_096), zeros(6), u32(44_100 << 12)]);
  test.each<[string, Buffer[], Buffer, number]>([
    ['A_AAC', [config(u8(0b00010_111, 0b1_0000000, 0b0_1100100, 0b0_0000000, 0b0_0001_000))], zeros(99), 99 * 0.02],
    ['A_MPEG/L3', [], frame(), 100 * frameSeconds - 0.12],
    ['A_FLAC', [config(flac)], zeros(99), (99 * 4_096) / 44_100],
    ['A_ALAC', [config(Buffer.concat([u32(4_096), zeros(16), u32(44_100)]))], zeros(99), (99 * 4_096) / 44_100],
    ['A_PCM/INT/LIT', [audio(8_000, 16)], zeros(400), (100 * 100) / 8_000],
    ['A_PCM/FLOAT/IEEE', [audio(8_000, 32)], zeros(400), (100 * 50) / 8_000],
  ])('of %s', (codec, more, content, seconds) => {
    const file = webm(tracksOf(track(2, 2, codec, ...more)), still(content));
    expect(webmSeconds(file)).toBeCloseTo(seconds - 0.002, 9);
  });

  test('and has none where it contradicts itself, or its sound cannot be measured', () => {
    const moving = (content: Buffer = opus, flags = 0) =>
      cluster(0, block(2, 0, content, flags), block(2, 20, content, flags));
    expect(webmSeconds(webm(tracks, moving()))).toBeCloseTo(0.04, 9);
    // A cluster of 9 bytes, in which elements say that they have more.
    const small = (...content: Buffer[]) => Buffer.concat([u8(0x1f, 0x43, 0xb6, 0x75, 0x80 | 9), ...content]);
    const hidden = still();
    const files = [
      [tracksOf(track(2, 2, 'A_VORBIS')), moving()],
      [tracksOf(track(2, 2, 'A_AAC')), moving()],
      [tracksOf(track(2, 2, 'A_PCM/INT/LIT')), moving()],
      [tracksOf(track(2, 2, 'A_OPUS', element([0x6d, 0x80], zeros(9)))), moving()],
      [tracksOf(track(2, 2), track(2, 1, 'V_VP8')), moving()],
      [tracksOf(track(2, 2, 'A_OPUS', element([0x86], latin1('A_AAC')))), moving()],
      [tracks, moving(Buffer.concat([u8(2, 255, 255), zeros(9)]), 0x02)],
      [tracks, moving(), element([0xec], hidden)],
      [tracks, moving(), block(9, 0, hidden)],
      [tracks, moving(), small(block(1, 0, hidden))],
      [tracks, moving(), small(element([0xa0], block(1, 0, hidden)))],
      [tracks, moving(), block(1, 0, hidden, 0x02)],
    ];
    for (const file of files) expect(webmSeconds(webm(...file))).toBe(0);
  });

  test('also behind bytes that are none of its elements', () => {
    const file = webm(tracks, cluster(0, block(2, 0)), zeros(9), still());
    expect(webmSeconds(file)).toBeCloseTo(2.02 - 0.122, 9);
  });

  test('and of none without any', () => {
    expect(webmSeconds(webm(info, tracks))).toBe(0);
    expect(webmSeconds(webm(tracks, cluster(0, block(1, 0), block(1, 500), block(3, 900))))).toBe(0);
  });
});

const u16le = (value: number) => u8(value & 255, value >> 8);
const u32le = (value: number) => Buffer.from(u32(value)).reverse();
const chunk = (type: string, content: Buffer, declared = content.length) =>
  Buffer.concat([latin1(type), u32le(declared), content]);

interface Format {
  channels?: number;
  declared?: number;
  blockBytes?: number;
  bits?: number;
  more?: Buffer;
}

/** Sound of 8,000 values a second. */
const format = (
  tag: number,
  { channels = 2, declared = 9_999_999, blockBytes = 4, bits = 16, more = zeros(0) }: Format = {},
) => {
  const head = [u16le(tag), u16le(channels), u32le(8_000), u32le(declared), u16le(blockBytes), u16le(bits)];
  return chunk('fmt ', Buffer.concat([...head, more]));
};
const riff = (...chunks: Buffer[]) => Buffer.concat([latin1('RIFF\0\0\0\0WAVE'), ...chunks]);
const extended = (tag: number) => Buffer.concat([u16le(22), zeros(6), u16le(tag), zeros(14)]);

describe('a WAV file is as long as its samples', () => {
  const data = zeros(64_000);

  test('and neither the declared rate of bytes nor a number of samples is trusted', () => {
    expect(wavSeconds(riff(format(1), chunk('fact', u32le(1)), chunk('data', data)))).toBe(2);
    for (const declared of [0, 0xffffffff]) {
      expect(wavSeconds(riff(format(3, { declared: 0 }), chunk('data', data, declared)))).toBe(2);
    }
    expect(wavSeconds(riff(format(1, { bits: 12 }), chunk('data', data)))).toBe(2);
    expect(wavSeconds(riff(format(1, { bits: 24, blockBytes: 4 }), chunk('data', data)))).toBe(2);
  });

  test.each<[string, number, Format, number]>([
    ['A-law', 6, { bits: 64, blockBytes: 0 }, 64_000 / 16_000],
    ['mu-law', 7, { bits: 8, blockBytes: 2 }, 64_000 / 16_000],
    ['ADPCM of IMA', 17, { channels: 1, bits: 4, blockBytes: 256 }, (250 * 505) / 8_000],
    ['ADPCM of Microsoft', 2, { bits: 4, blockBytes: 512 }, (125 * 500) / 8_000],
    ['GSM', 0x31, { channels: 1, bits: 0, blockBytes: 65 }, ((64_000 / 65) * 320) / 8_000],
    ['PCM that a longer description names', 0xfffe, { more: extended(1) }, 2],
    ['A-law that a longer description names', 0xfffe, { more: extended(6) }, 4],
  ])('of %s', (_, tag, sound, seconds) => {
    expect(wavSeconds(riff(format(tag, sound), chunk('data', data)))).toBeCloseTo(seconds, 9);
  });

  test('of MPEG audio, also where they are declared not to be compressed', () => {
    for (const tag of [0x55, 1]) {
      expect(wavSeconds(riff(format(tag), chunk('data', frames(100))))).toBeCloseTo(100 * frameSeconds, 9);
    }
  });

  test.each<[string, number[], number]>([
    ['AAC', [0xff, 0xf1, 0x50, 0x80, 0x0c, 0x9f], 100],
    ['AC-3', [0x0b, 0x77, 0, 0, 0b00_000000, 0b01000_000], 128],
    ['AC-3 of 44.1 kHz', [0x0b, 0x77, 0, 0, 0b01_000001, 0b01000_000], 140],
    ['AC-3 from the other end', [0x77, 0x0b, 0, 0, 0b01000_000, 0b00_000000], 128],
    ['E-AC-3', [0x0b, 0x77, 0, 49, 0, 0b10000_000], 100],
    ['DTS', [0x7f, 0xfe, 0x80, 0x01, 0xfc, 0x3c, 0x06, 0x30], 100],
    ['DTS from the other end', [0xfe, 0x7f, 0x01, 0x80, 0x3c, 0xfc, 0x30, 0x06], 100],
    ['DTS of 14 bits', [0x1f, 0xff, 0xe8, 0x00, 0x07, 0xf0, 0x00, 0x06, 0x0c, 0x00], 57 * 2],
  ])('and has none where they are %s that is declared not to be compressed', (_, head, size) => {
    const stream = Buffer.concat(Array.from({ length: 9 }, () => [u8(...head), zeros(size - head.length)]).flat());
    expect(wavSeconds(riff(format(1), chunk('data', stream)))).toBe(0);
    expect(wavSeconds(riff(format(1), chunk('data', stream.subarray(0, size * 2))))).toBeCloseTo((size * 2) / 32_000);
  });

  test('and has none where it describes them twice, or they cannot be measured', () => {
    const files = [
      riff(chunk('data', data)),
      riff(format(1)),
      zeros(3),
      riff(format(1), chunk('data', data), format(1, { channels: 200 })),
      ...[format(0x161), format(0xfffe), format(0xfffe, { more: extended(0x161) })].map((one) =>
        riff(one, chunk('data', data)),
      ),
      ...[format(1, { bits: 0 }), format(1, { bits: 65_528 }), format(6, { channels: 0 })].map((one) =>
        riff(one, chunk('data', data)),
      ),
      ...[format(17, { bits: 4, blockBytes: 0 }), format(17, { bits: 3, blockBytes: 256 }), format(0x31)].map((one) =>
        riff(one, chunk('data', data)),
      ),
    ];
    for (const file of files) expect(wavSeconds(file)).toBe(0);
  });
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
