import encoding from 'h264-mp4-encoder';
import sharp from 'sharp';

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

/** The image of a `data:` URI. */
const given = (dataUri: string) => sharp(Buffer.from(dataUri.slice(dataUri.indexOf(',') + 1), 'base64'));

export async function upscaledFile(dataUri: string, scale: number): Promise<FakeFile> {
  const { width, height } = await given(dataUri).metadata();
  const size = { width: width * scale, height: height * scale };
  return { type: 'image/png', bytes: await given(dataUri).resize(size).png().toBuffer() };
}

/** Transparent on the left. */
export async function cutOutFile(dataUri: string): Promise<FakeFile> {
  const { data, info } = await given(dataUri).ensureAlpha().raw().toBuffer({ resolveWithObject: true });
  for (let at = 0; at < data.length; at += 4) if ((at / 4) % info.width < info.width / 2) data[at + 3] = 0;
  const raw = { width: info.width, height: info.height, channels: 4 } as const;
  return { type: 'image/png', bytes: await sharp(data, { raw }).png().toBuffer() };
}

const videos = new Map<string, Promise<Buffer>>();

const framesPerSecond = 6;

async function encodeVideo(size: Size, seconds: number): Promise<Buffer> {
  const encoder = await encoding.createH264MP4Encoder();
  try {
    Object.assign(encoder, { ...size, frameRate: framesPerSecond, speed: 10 });
    encoder.initialize();
    const frame = new Uint8Array(size.width * size.height * 4).fill(128);
    for (let at = 0; at < framesPerSecond * seconds; at++) encoder.addFrameRgba(frame);
    encoder.finalize();
    return Buffer.from(encoder.FS.readFile(encoder.outputFilename));
  } finally {
    encoder.delete();
  }
}

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
