import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import sharp from 'sharp';
import { makeVideo } from '../../src/providers/sandbox/media/video.ts';

/** A file as a provider would give it. */
export interface FakeFile {
  type: string;
  bytes: Buffer;
}

export interface Size {
  width: number;
  height: number;
}

const green = { r: 40, g: 160, b: 90 };

export async function pictureFile({ width, height }: Size, format: 'jpeg' | 'png'): Promise<FakeFile> {
  const bytes = await sharp({ create: { width, height, channels: 3, background: green } })
    [format]()
    .toBuffer();
  return { type: `image/${format}`, bytes };
}

/** The image of a `data:` URI. It is read from a file, because the product's own rules for decoding hold here too. */
async function withGiven<Result>(dataUri: string, use: (path: string) => Promise<Result>): Promise<Result> {
  return inFolder(async (folder) => {
    const path = join(folder, 'given');
    await writeFile(path, Buffer.from(dataUri.slice(dataUri.indexOf(',') + 1), 'base64'));
    return use(path);
  });
}

async function inFolder<Result>(use: (folder: string) => Promise<Result>): Promise<Result> {
  const folder = await mkdtemp(join(tmpdir(), 'fake-media-'));
  try {
    return await use(folder);
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

export const upscaledFile = (dataUri: string, scale: number): Promise<FakeFile> =>
  withGiven(dataUri, async (path) => {
    const { width, height } = await sharp(path).metadata();
    const size = { width: width * scale, height: height * scale };
    return { type: 'image/png', bytes: await sharp(path).resize(size).png().toBuffer() };
  });

/** Transparent on the left. */
export const cutOutFile = (dataUri: string): Promise<FakeFile> =>
  withGiven(dataUri, async (path) => {
    const { data, info } = await sharp(path).ensureAlpha().raw().toBuffer({ resolveWithObject: true });
    for (let at = 0; at < data.length; at += 4) if ((at / 4) % info.width < info.width / 2) data[at + 3] = 0;
    const raw = { width: info.width, height: info.height, channels: 4 } as const;
    return { type: 'image/png', bytes: await sharp(data, { raw }).png().toBuffer() };
  });

const videos = new Map<string, Promise<Buffer>>();

const encodeVideo = (size: Size, seconds: number): Promise<Buffer> =>
  inFolder(async (folder) => {
    const path = join(folder, 'video.mp4');
    await makeVideo('ab'.repeat(32), { size, seconds, image: undefined }, path);
    return readFile(path);
  });

/** Encoded once for each size and length. */
export async function videoFile(size: Size, seconds: number): Promise<FakeFile> {
  const key = `${size.width} ${size.height} ${seconds}`;
  const bytes = videos.get(key) ?? encodeVideo(size, seconds);
  videos.set(key, bytes);
  return { type: 'video/mp4', bytes: await bytes };
}

const sampleRate = 44_100;

/** A tone, in stereo with 16 bits. */
export function soundFile(seconds: number): FakeFile {
  const frames = Math.round(seconds * sampleRate);
  const data = Buffer.alloc(frames * 4);
  for (let frame = 0; frame < frames; frame++) {
    const sample = Math.round(Math.sin((frame * 2 * Math.PI * 440) / sampleRate) * 9_000);
    data.writeInt16LE(sample, frame * 4);
    data.writeInt16LE(sample, frame * 4 + 2);
  }
  const head = Buffer.alloc(44);
  head.write('RIFF', 0, 'latin1');
  head.writeUInt32LE(36 + data.length, 4);
  head.write('WAVEfmt ', 8, 'latin1');
  for (const [at, value] of [
    [20, 1],
    [22, 2],
    [32, 4],
    [34, 16],
  ] as const)
    head.writeUInt16LE(value, at);
  for (const [at, value] of [
    [16, 16],
    [24, sampleRate],
    [28, sampleRate * 4],
    [40, data.length],
  ] as const) {
    head.writeUInt32LE(value, at);
  }
  head.write('data', 36, 'latin1');
  return { type: 'audio/wav', bytes: Buffer.concat([head, data]) };
}
