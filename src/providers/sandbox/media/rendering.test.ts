import { createHash } from 'node:crypto';
import { mkdtemp, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { crc32, deflateSync } from 'node:zlib';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { parseBuffer } from 'music-metadata';
import sharp, { type Color, type Sharp } from 'sharp';
import { tenantKeyOf } from '../../../../test/platform/tenant-key.ts';
import { BoundedWork } from '../../../platform/bounded-work/bounded-work.ts';
import { openLog } from '../../../platform/observability/log.ts';
import { sizes } from '../../core/media/aspect-ratios.ts';
import { pixelLimits } from '../../core/media/requests.ts';
import { compose, sampleRate } from './music.ts';
import type { Rendered, Rendering } from './render-media.ts';
import { renderMedia } from './rendering.ts';

const digestOf = (text: string) => createHash('sha256').update(text).digest('hex');
const digest = digestOf('a red bicycle');
const maxPixels = pixelLimits.input;

type WithoutOutput<Of> = Of extends unknown ? Omit<Of, 'output'> : never;

let folder: string;
let work: BoundedWork;
let files = 0;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'rendering-'));
  work = new BoundedWork({ log: openLog('error', 'test'), tasks: [renderMedia.image] });
});
afterAll(async () => {
  work.close();
  await rm(folder, { recursive: true });
});

const newPath = () => join(folder, String(files++));
async function render(rendering: WithoutOutput<Rendering>): Promise<{ rendered: Rendered; path: string }> {
  const path = newPath();
  return {
    rendered: await work.run(renderMedia[rendering.kind], tenantKeyOf('one'), {
      ...rendering,
      output: path,
    } as Rendering),
    path,
  };
}
async function file(content: Uint8Array | Promise<Uint8Array>): Promise<string> {
  const path = newPath();
  await writeFile(path, await content);
  return path;
}
async function bytes(rendering: WithoutOutput<Rendering>): Promise<Buffer> {
  const { rendered, path } = await render(rendering);
  expect(rendered).toHaveProperty('made');
  return readFile(path);
}

const red = { r: 220, g: 20, b: 30 };
const blank = (width: number, height: number, background: Color = '#fff') =>
  sharp({ create: { width, height, channels: 3, background } });
const square = (width: number, height: number) =>
  blank(width, height).composite([
    { input: { create: { width: width / 2, height: height / 2, channels: 3, background: red } }, gravity: 'centre' },
  ]);
const noise = (width: number, height: number) =>
  sharp(Buffer.from(Array.from({ length: width * height * 3 }, (_, at) => (at * 2_654_435_761) >>> 24)), {
    raw: { width, height, channels: 3 },
  });

describe('a picture', () => {
  test.each(Object.entries(sizes))('%s has its size, and shows something', async (_, size) => {
    const png = await bytes({ kind: 'image', digest, size, shapes: 12 });
    expect(await sharp(png).metadata()).toMatchObject({
      ...size,
      format: 'png',
      depth: 'uchar',
      channels: 3,
      space: 'srgb',
      isProgressive: false,
    });
    const { channels } = await sharp(png).stats();
    for (const { stdev } of channels) expect(stdev).toBeGreaterThan(8);
  });

  test('is the same file for the same request, and another for another', async () => {
    const asked = { kind: 'image', digest, size: sizes['1:1'], shapes: 12 } as const;
    const one = await bytes(asked);
    expect(one.equals(await bytes(asked))).toBe(true);
    expect(one.equals(await bytes({ ...asked, digest: digestOf('another') }))).toBe(false);
    expect((await sharp(one).metadata()).exif?.toString('latin1')).toContain('sandbox');
  });
});

describe('an upscaled image', () => {
  test.each(['png', 'jpeg', 'webp'] as const)('of a %s is it, larger', async (format) => {
    const given = await square(160, 120).toFormat(format).toBuffer();
    const { rendered, path } = await render({ kind: 'upscale', input: await file(given), maxPixels, scale: 4 });
    expect(rendered).toEqual({ made: { size: { width: 640, height: 480 }, original: { width: 160, height: 120 } } });
    expect(await sharp(path).metadata()).toMatchObject({ format: 'png', width: 640, height: 480, space: 'srgb' });
    const [before, after] = await Promise.all(
      [given, await sharp(path).resize(160, 120).png().toBuffer()].map((one) =>
        sharp(one).removeAlpha().raw().toBuffer(),
      ),
    );
    const apart = before!.reduce((sum, value, at) => sum + Math.abs(value - after![at]!), 0) / before!.length;
    expect(apart).toBeLessThan(2);
  });

  test('stands upright as its camera said, and the same image gives the same file', async () => {
    const lying = await file(square(100, 60).withMetadata({ orientation: 6 }).jpeg().toBuffer());
    const { rendered } = await render({ kind: 'upscale', input: lying, maxPixels, scale: 2 });
    expect(rendered).toMatchObject({ made: { size: { width: 120, height: 200 } } });
    const again = { kind: 'upscale', input: lying, maxPixels, scale: 2 } as const;
    expect((await bytes(again)).equals(await bytes(again))).toBe(true);
  });
});

describe('an image without its background', () => {
  const cut = async (image: Sharp) => {
    const { rendered, path } = await render({
      kind: 'background_removal',
      input: await file(image.png().toBuffer()),
      maxPixels,
    });
    const alpha = await sharp(path).ensureAlpha().extractChannel(3).raw().toBuffer();
    return { made: 'made' in rendered ? rendered.made : undefined, alpha, path };
  };

  test.each([
    [200, 100],
    [2_400, 1_200],
  ])('keeps what is in front, at %d by %d', async (width, height) => {
    const { made, alpha, path } = await cut(square(width, height));
    expect(made).toMatchObject({ size: { width, height }, hasTransparency: true });
    expect(await sharp(path).metadata()).toMatchObject({ format: 'png', channels: 4, width, height });
    expect([alpha[0], alpha[(height / 2) * width + width / 2]]).toEqual([0, 255]);
    expect(alpha.filter((value) => value === 255).length / alpha.length).toBeCloseTo(0.25, 1);
  });

  test('is the image where there is no background to find', async () => {
    for (const image of [noise(64, 64), blank(64, 64)]) {
      expect((await cut(image)).made).toMatchObject({ hasTransparency: false });
    }
  });

  test('keeps the holes that it had', async () => {
    const { data } = await noise(8, 8).ensureAlpha().raw().toBuffer({ resolveWithObject: true });
    data[3] = 0;
    const { made, alpha } = await cut(sharp(data, { raw: { width: 8, height: 8, channels: 4 } }));
    expect(made).toMatchObject({ hasTransparency: true });
    expect([alpha[0], alpha[1]]).toEqual([0, 255]);
  });
});

/** A PNG that claims to be as large as it likes, with a single row of pixels. */
function claimingPng(width: number, height: number): Buffer {
  const chunk = (type: string, content: Buffer) => {
    const body = Buffer.concat([Buffer.from(type, 'latin1'), content]);
    const [length, sum] = [Buffer.alloc(4), Buffer.alloc(4)];
    length.writeUInt32BE(content.length);
    sum.writeUInt32BE(crc32(body));
    return Buffer.concat([length, body, sum]);
  };
  const header = Buffer.alloc(13);
  header.writeUInt32BE(width, 0);
  header.writeUInt32BE(height, 4);
  header.set([8, 6, 0, 0, 0], 8);
  const parts = [
    chunk('IHDR', header),
    chunk('IDAT', deflateSync(Buffer.alloc(width * 4 + 1))),
    chunk('IEND', Buffer.alloc(0)),
  ];
  return Buffer.concat([Buffer.from('\x89PNG\r\n\x1a\n', 'latin1'), ...parts]);
}

describe('an image that is refused', () => {
  const refusals: [string, string, () => Uint8Array | Promise<Uint8Array>][] = [
    ['format', 'nothing', () => Buffer.alloc(0)],
    ['format', 'a drawing', () => Buffer.from('<svg xmlns="http://www.w3.org/2000/svg" width="1" height="1"/>')],
    ['format', 'a GIF', () => blank(2, 2).gif().toBuffer()],
    ['format', 'an AVIF', () => blank(16, 16).avif().toBuffer()],
    ['undecodable', 'a signature alone', () => Buffer.from('\x89PNG\r\n\x1a\nand nothing else', 'latin1')],
    ['undecodable', 'a JPEG that was cut', async () => (await noise(200, 200).jpeg().toBuffer()).subarray(0, 9_000)],
    ['undecodable', 'a PNG that was cut', async () => (await noise(200, 200).png().toBuffer()).subarray(0, 3_000)],
    ['undecodable', 'a PNG without its rows', () => claimingPng(1_000, 1_000)],
    ['pixels', 'a bomb', () => claimingPng(60_000, 60_000)],
    ['pixels', 'a little too much', () => claimingPng(40_001, 1_000)],
  ];
  test.each(refusals)('%s: %s', async (problem, _, content) => {
    const input = await file(content());
    const kinds = [
      { kind: 'upscale', input, maxPixels, scale: 2 },
      { kind: 'background_removal', input, maxPixels },
    ] as const;
    for (const rendering of kinds) expect((await render(rendering)).rendered).toEqual({ refused: problem });
  });
});

/** The contents of the first box at a path of types. */
function box(mp4: Buffer, ...path: string[]): Buffer {
  const [type, ...rest] = path;
  for (let at = 0; at + 8 <= mp4.length; at += mp4.readUInt32BE(at)) {
    if (mp4.toString('latin1', at + 4, at + 8) !== type) continue;
    const content = mp4.subarray(at + 8, at + mp4.readUInt32BE(at));
    return rest.length === 0 ? content : box(content, ...rest);
  }
  throw new Error(`There is no ${type}.`);
}

describe('a video', () => {
  const size = { width: 320, height: 192 };

  test.each([5, 5.3, 9.999])('of %d seconds is exactly as long, and complete', async (seconds) => {
    const mp4 = await bytes({ kind: 'video', digest, size, seconds, input: null, maxPixels });
    const header = box(mp4, 'moov', 'mvhd');
    expect(header.readUInt32BE(16) / header.readUInt32BE(12)).toBeCloseTo(seconds, 3);
    const track = box(mp4, 'moov', 'trak', 'tkhd');
    expect([track.readUInt32BE(76) / 65_536, track.readUInt32BE(80) / 65_536]).toEqual([size.width, size.height]);
    for (const timed of [header, track, box(mp4, 'moov', 'trak', 'mdia', 'mdhd')]) {
      expect(timed.subarray(4, 12)).toEqual(Buffer.alloc(8));
    }
    const table = ['moov', 'trak', 'mdia', 'minf', 'stbl'];
    expect(box(mp4, ...table, 'stsd').toString('latin1')).toContain('avc1');
    const samples = box(mp4, ...table, 'stsz');
    const lengths = Array.from({ length: samples.readUInt32BE(8) }, (_, at) => samples.readUInt32BE(12 + at * 4));
    expect(lengths.reduce((sum, one) => sum + one)).toBeLessThanOrEqual(box(mp4, 'mdat').length);
    // What moves needs bytes: the pictures are not all one.
    expect(lengths.filter((one) => one > 100).length).toBeGreaterThan(lengths.length / 2);
  });

  test('is the same file for the same request and image', async () => {
    const input = await file(square(100, 100).png().toBuffer());
    const asked = { kind: 'video', digest, size, seconds: 5, input, maxPixels } as const;
    const one = await bytes(asked);
    expect(one.equals(await bytes(asked))).toBe(true);
    expect(one.equals(await bytes({ ...asked, input: null }))).toBe(false);
    const broken = await file(Buffer.from('GIF89a'));
    expect((await render({ ...asked, input: broken })).rendered).toEqual({ refused: 'format' });
  });
});

/** How many bits describe the left channel in each granule of an MP3 with two channels: none, where it is silent. */
function granules(mp3: Buffer): number[] {
  const found: number[] = [];
  const start = mp3.indexOf(Buffer.from([0xff, 0xfb]));
  for (let at = start; at + 36 < mp3.length; ) {
    const kilobits = [0, 32, 40, 48, 56, 64, 80, 96, 112, 128][mp3[at + 2]! >> 4]!;
    const bits = [...mp3.subarray(at + 4, at + 36)].map((byte) => byte.toString(2).padStart(8, '0')).join('');
    for (const length of [20, 138]) found.push(Number.parseInt(bits.slice(length, length + 12), 2));
    at += Math.floor((144_000 * kilobits) / sampleRate) + ((mp3[at + 2]! >> 1) & 1);
  }
  return found;
}

describe('music', () => {
  test.each([10, 12.5])('of %d seconds is an MP3 of that length, and can be heard', async (seconds) => {
    const asked = { kind: 'music', digest, seconds, bpm: 120 } as const;
    const mp3 = await bytes(asked);
    const { format, native } = await parseBuffer(mp3, { mimeType: 'audio/mpeg' }, { duration: true });
    expect(format).toMatchObject({ codec: 'MPEG 1 Layer 3', sampleRate: 44_100, numberOfChannels: 2 });
    expect(Math.abs(format.duration! - seconds)).toBeLessThan(0.1);
    expect(native['ID3v2.4']).toContainEqual({ id: 'TSSE', value: 'sandbox' });
    const frames = granules(mp3);
    expect(frames.length).toBeGreaterThan((seconds * sampleRate) / 576);
    expect(frames.filter((length) => length > 100).length / frames.length).toBeGreaterThan(0.95);
    expect(mp3.equals(await bytes(asked))).toBe(true);
    expect(mp3.equals(await bytes({ ...asked, bpm: 121 }))).toBe(false);
  });

  test.each([40, 97.5, 240])('of %d beats a minute has a drum on every beat and nowhere else', (bpm) => {
    const [left] = compose(digest, 10, bpm);
    // The drum falls from 160 to 50 Hz: what is left of the signal below the other instruments.
    const window = Math.round(sampleRate * 0.02);
    const energy = (at: number) => left.subarray(at, at + window).reduce((sum, value) => sum + value ** 2, 0) / window;
    const step = (60 / bpm) * sampleRate;
    const silent: number[] = [];
    for (let beat = 1; (beat + 1) * step < left.length - sampleRate; beat++) {
      const on = Math.round(beat * step);
      if (energy(on) < 3 * energy(on - window)) silent.push(beat);
    }
    expect(silent).toEqual([]);
    expect(left.every((value) => value > -1 && value < 1)).toBe(true);
  });
});

test('what was made stays small on disk', async () => {
  const { path } = await render({ kind: 'image', digest, size: sizes['1:1'], shapes: 40 });
  expect((await stat(path)).size).toBeLessThan(2_000_000);
});
