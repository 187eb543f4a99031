import { mpegSeconds } from './mpeg.ts';
import type { Samples } from './samples.ts';

/** @returns the seconds of sound in samples, by what they are and not by what the tables of the file say */
export type Measure = (samples: Samples, file: Buffer) => number;

/** Samples may name the same bytes again: as much of them as no recording has is not read. */
const maxBytes = 64 * 1024 * 1024;

/** Encoders fill their last samples up by at most this, and the tables of a file say what of them counts. */
const paddingSeconds = 0.12;

/** Every sample has a frame of one length. The last one may be shorter, which the tables of the file say. */
export const steady =
  (frameSeconds: number, framesIn: (size: number) => number = () => 1): Measure =>
  (samples) => {
    let frames = 0;
    for (const { size } of samples) frames += framesIn(size);
    return Math.max(0, frames - 1) * frameSeconds;
  };

/** The samples begin with what says how long they are. */
export const byContent =
  (secondsOf: (sample: Buffer) => number): Measure =>
  (samples, file) => {
    if (samples.bytes > maxBytes) return Number.POSITIVE_INFINITY;
    let seconds = 0;
    for (const { at, size } of samples) seconds += secondsOf(file.subarray(at, at + size));
    return Math.max(0, seconds - paddingSeconds);
  };

export const mpeg: Measure = (samples, file) => {
  if (samples.bytes > maxBytes) return Number.POSITIVE_INFINITY;
  const sound = Buffer.concat(Array.from(samples, ({ at, size }) => file.subarray(at, at + size)));
  return Math.max(0, mpegSeconds(sound) - paddingSeconds);
};

/** Not compressed. */
export const plain =
  (bytesPerFrame: number, hertz: number): Measure =>
  ({ bytes, count }) =>
    Math.max(bytes / bytesPerFrame, count) / hertz;

/** Reads numbers of some bits, one after the other. Behind the end there are zeros. */
function bitReader(bytes: Buffer): (count: number) => number {
  let at = 0;
  return (count) => {
    let value = 0;
    for (let left = count; left > 0; left--, at++) value = value * 2 + (((bytes[at >> 3] ?? 0) >> (7 - (at & 7))) & 1);
    return value;
  };
}

const aacRates = [96_000, 88_200, 64_000, 48_000, 44_100, 32_000, 24_000, 22_050, 16_000, 12_000, 11_025, 8_000, 7_350];
const aac = { spectralBands: 5, parametricStereo: 29 };
/** Kinds of AAC by their numbers: those with 1,024 values in a frame, and those with 512. */
const longFrames: readonly number[] = [1, 2, 3, 4, 17, 19, 20];
const shortFrames: readonly number[] = [23, 39];
/** Bits of a frame for each channel. */
const maxAacBits = 6_144;

/**
 * @param config what decoders read of AAC
 * @returns undefined for a kind of AAC that cannot be measured
 */
export function aacMeasure(config: Buffer): Measure | undefined {
  const read = bitReader(config);
  const readKind = () => {
    const kind = read(5);
    return kind === 31 ? 32 + read(6) : kind;
  };
  const readRate = () => {
    const index = read(4);
    return index === 15 ? read(24) : (aacRates[index] ?? 0);
  };
  let kind = readKind();
  const hertz = readRate();
  const channels = read(4);
  const isExtended = kind === aac.spectralBands || kind === aac.parametricStereo;
  // The extension doubles the values of a frame as well as the rate.
  if (isExtended) {
    readRate();
    kind = readKind();
  }
  const values = longFrames.includes(kind) ? 1_024 : shortFrames.includes(kind) ? 512 : 0;
  if (values === 0 || hertz === 0) return undefined;
  const frameBits = maxAacBits * (channels === 0 || channels > 6 ? 8 : channels);
  const isShorter = read(1) === 1;
  // A decoder finds several frames in a sample, too.
  return steady((isShorter ? (values * 15) / 16 : values) / hertz, (size) => Math.ceil((size * 8) / frameBits));
}

/** Milliseconds of a frame of Opus by the number of its configuration, which is the first five bits of a packet. */
function opusFrameMs(configuration: number): number {
  if (configuration < 12) return [10, 20, 40, 60][configuration % 4]!;
  if (configuration < 16) return [10, 20][configuration % 2]!;
  return [2.5, 5, 10, 20][configuration % 4]!;
}

/** @returns the seconds of a packet of Opus, which its first bytes say */
export function opusSeconds(packet: Buffer): number {
  const [first, second = 0] = packet;
  if (first === undefined) return 0;
  const frames = [1, 2, 2, second & 0x3f][first & 3]!;
  return (opusFrameMs(first >> 3) * frames) / 1_000;
}
