/** Sound as samples, -1 to 1, one array for each channel. */
interface Samples {
  sampleRate: number;
  channels: Float32Array[];
}

/** Format tags of a WAV file: whole numbers, floating point, and one that refers to a later tag. */
const formats = { whole: 1, float: 3, extensible: 0xfffe } as const;

/** Formats that MP3 has too. */
const sampleRates = [8_000, 11_025, 12_000, 16_000, 22_050, 24_000, 32_000, 44_100, 48_000];

interface Format {
  isFloat: boolean;
  channels: number;
  sampleRate: number;
  bits: number;
}

function readFormat(chunk: Buffer): Format | undefined {
  if (chunk.length < 16) return undefined;
  const tag = chunk.readUInt16LE(0);
  const named = tag === formats.extensible && chunk.length >= 26 ? chunk.readUInt16LE(24) : tag;
  const [channels, sampleRate, bits] = [chunk.readUInt16LE(2), chunk.readUInt32LE(4), chunk.readUInt16LE(14)];
  const isFloat = named === formats.float;
  const isKnown = isFloat ? bits === 32 : named === formats.whole && [8, 16, 24, 32].includes(bits);
  const isUsable = isKnown && channels >= 1 && channels <= 8 && sampleRates.includes(sampleRate);
  return isUsable ? { isFloat, channels, sampleRate, bits } : undefined;
}

type ReadSample = (data: Buffer, at: number) => number;

function sampleReader({ isFloat, bits }: Format): ReadSample {
  if (isFloat) return (data, at) => Math.max(-1, Math.min(1, data.readFloatLE(at) || 0));
  // Samples of 8 bits have no sign.
  if (bits === 8) return (data, at) => (data[at]! - 128) / 128;
  const [bytes, scale] = [bits / 8, 2 ** (bits - 1)];
  return (data, at) => data.readIntLE(at, bytes) / scale;
}

/**
 * Reads a WAV file (RIFF WAVE) with uncompressed sound.
 * @returns undefined for any other file, and for one without sound
 */
export function readWav(file: Buffer): Samples | undefined {
  if (file.toString('latin1', 0, 4) !== 'RIFF' || file.toString('latin1', 8, 12) !== 'WAVE') return undefined;
  let format: Format | undefined;
  for (let at = 12; at + 8 <= file.length; ) {
    const type = file.toString('latin1', at, at + 4);
    // The header of a streamed file says 0xffffffff, or 0: it extends to the end of the file.
    const declared = file.readUInt32LE(at + 4);
    const start = at + 8;
    if (type === 'fmt ') format = readFormat(file.subarray(start, start + declared));
    if (type === 'data')
      return format && samplesOf(file.subarray(start, declared === 0 ? undefined : start + declared), format);
    at = start + declared + (declared % 2);
  }
  return undefined;
}

function samplesOf(data: Buffer, format: Format): Samples | undefined {
  const { channels: count, sampleRate, bits } = format;
  const frameBytes = (count * bits) / 8;
  const frames = Math.floor(data.length / frameBytes);
  if (frames === 0) return undefined;
  const read = sampleReader(format);
  // With more than two channels, the first two are left and right.
  const channels = Array.from({ length: Math.min(2, count) }, (_, channel) => {
    const samples = new Float32Array(frames);
    for (let frame = 0; frame < frames; frame++) samples[frame] = read(data, frame * frameBytes + (channel * bits) / 8);
    return samples;
  });
  return { sampleRate, channels };
}
