import { aacMeasure, byContent, type Measure, mpeg, opusSeconds, plain, steady } from './measures.ts';
import { allBoxes, short, uint } from './mp4-boxes.ts';

/** The part with this tag of a description, and where it ends. Parts stand one after the other. */
function descriptor(bytes: Buffer, tag: number): Buffer | undefined {
  for (let at = 0; at < bytes.length; ) {
    const found = bytes[at++];
    let size = 0;
    for (let count = 0; count < 4; count++) {
      const byte = bytes[at++] ?? 0;
      size = size * 128 + (byte & 0x7f);
      if ((byte & 0x80) === 0) break;
    }
    if (found === tag) return bytes.subarray(at, at + size);
    at += size;
  }
  return undefined;
}

const objectTypes = { aac: [0x40, 0x66, 0x67, 0x68], mpeg: [0x69, 0x6b] };

function esdsMeasure(esds: Buffer): Measure | undefined {
  const stream = descriptor(esds.subarray(4), 0x03);
  if (!stream) return undefined;
  const flags = stream[2] ?? 0;
  const address = (flags & 0x40) === 0 ? 0 : 1 + (stream[(flags & 0x80) === 0 ? 3 : 5] ?? 0);
  const before = 3 + ((flags & 0x80) === 0 ? 0 : 2) + address + ((flags & 0x20) === 0 ? 0 : 2);
  const decoder = descriptor(stream.subarray(before), 0x04);
  const objectType = decoder?.[0] ?? 0;
  if (objectTypes.mpeg.includes(objectType)) return mpeg;
  const config = decoder && objectTypes.aac.includes(objectType) ? descriptor(decoder.subarray(13), 0x05) : undefined;
  return config && aacMeasure(config);
}

/** Bytes of a frame of AMR by the number of its mode. */
const amrSizes = {
  samr: [13, 14, 16, 18, 20, 21, 27, 32, 6, 1, 1, 1, 1, 1, 1, 1],
  sawb: [18, 24, 33, 37, 41, 47, 51, 59, 61, 6, 1, 1, 1, 1, 1, 1],
};
const amrFrameSeconds = 0.02;

function amrSeconds(sizes: readonly number[], sample: Buffer): number {
  let frames = 0;
  for (let at = 0; at < sample.length; at += sizes[(sample[at]! >> 3) & 15]!) frames++;
  return frames * amrFrameSeconds;
}

const whole = (value: number) => (Number.isSafeInteger(value) && value > 0 ? value : 0);

function plainMeasure(entry: Buffer, fixedBits: number | undefined): Measure | undefined {
  const isSecond = short(entry, 8) === 2 && entry.length >= 52;
  const hertz = whole(isSecond ? entry.readDoubleBE(32) : short(entry, 24));
  const channels = isSecond ? uint(entry, 40) : short(entry, 16);
  const bits = fixedBits ?? (isSecond ? uint(entry, 48) : short(entry, 18));
  const bytesPerFrame = channels * Math.ceil(bits / 8);
  return hertz > 0 && bytesPerFrame > 0 ? plain(bytesPerFrame, hertz) : undefined;
}

/** Bits of a value of formats that are not compressed; undefined where the entry says it. */
const plainFormats = new Map<string, number | undefined>([
  ['sowt', undefined],
  ['twos', undefined],
  ['lpcm', undefined],
  ['ipcm', undefined],
  ['fpcm', undefined],
  ['raw ', undefined],
  ['NONE', undefined],
  ['ulaw', 8],
  ['alaw', 8],
  ['in24', 24],
  ['in32', 32],
  ['fl32', 32],
  ['fl64', 64],
]);

/** Bytes of an entry before its boxes, by its version. Descriptions of version 1 are not QuickTime's: there it changes nothing. */
const entryBytes = [28, 44, 64];

/**
 * How the sound of a track is measured.
 * @param stsd the description of its samples
 * @returns undefined for a format that cannot be measured, and for a description that contradicts itself
 */
export function measureOf(stsd: Buffer): Measure | undefined {
  const size = uint(stsd, 8);
  if (uint(stsd, 4) !== 1 || size < 36) return undefined;
  const type = stsd.toString('latin1', 12, 16);
  const entry = stsd.subarray(16, 8 + size);
  if (plainFormats.has(type)) return plainMeasure(entry, plainFormats.get(type));
  if (type === '.mp3' || type === 'ms\0\x55') return mpeg;
  if (type === 'samr' || type === 'sawb') return byContent((sample) => amrSeconds(amrSizes[type], sample));
  if (type === 'Opus') return byContent(opusSeconds);
  const isQuickTime = stsd[0] === 0;
  const before = isQuickTime ? entryBytes[short(entry, 8)] : entryBytes[0];
  const inner = [...allBoxes(entry.subarray(before ?? entry.length))];
  const only = (name: string) => {
    const found = inner.filter((box) => box.type === name);
    return found.length === 1 ? found[0]!.content : undefined;
  };
  const [esds, alac, flac] = [only('esds'), only('alac'), only('dfLa')];
  if (type === 'mp4a') return esds && esdsMeasure(esds);
  // Frames are of one length: that of the longest one, where a description knows it.
  if (type === 'alac' && uint(alac, 24) > 0) return steady(uint(alac, 4) / uint(alac, 24));
  const flacHertz = uint(flac, 18) >>> 12;
  if (type === 'fLaC' && flac && flacHertz > 0) return steady(short(flac, 10) / flacHertz);
  return undefined;
}
