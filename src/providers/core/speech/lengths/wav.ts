import { mpegSeconds } from './mpeg.ts';
import { hasCompressedStream } from './wav-streams.ts';

/** Seconds of the sound in the data of a file. */
type Measure = (data: readonly Buffer[]) => number;

/** What a file says about its sound. */
interface Format {
  channels: number;
  hertz: number;
  /** Bytes of a block: of a value of each channel, or of what is compressed together. */
  blockBytes: number;
  bits: number;
}

const tags = {
  pcm: 1,
  msAdpcm: 2,
  float: 3,
  aLaw: 6,
  muLaw: 7,
  imaAdpcm: 0x11,
  gsm: 0x31,
  mp3: 0x55,
  extensible: 0xfffe,
};

const bytesOf = (data: readonly Buffer[]) => data.reduce((sum, { length }) => sum + length, 0);

/** Sound that has a fixed number of values in a block. */
const blocks =
  (bytes: number, values: number, hertz: number): Measure =>
  (data) =>
    (bytesOf(data) / bytes) * (values / hertz);

const mpeg: Measure = (data) => mpegSeconds(data.length === 1 ? data[0]! : Buffer.concat(data));

/** Not compressed. Some players look for compressed sound in it, too, and play that. */
function plain({ channels, hertz, blockBytes }: Format, bits: number): Measure | undefined {
  const valueBytes = channels * Math.ceil(bits / 8);
  if (bits < 1 || bits > 64 || valueBytes === 0) return undefined;
  const frames = blocks(blockBytes > 0 ? Math.min(blockBytes, valueBytes) : valueBytes, 1, hertz);
  return (data) => (data.some(hasCompressedStream) ? 0 : Math.max(frames(data), mpeg(data)));
}

/** ADPCM of 4 bits. @param headBytes bytes at the start of a block for each channel @param headValues values in them */
function adpcm({ channels, hertz, blockBytes, bits }: Format, headBytes: number, headValues: number) {
  const values = headValues + ((blockBytes - headBytes * channels) * 2) / channels;
  return bits === 4 && channels > 0 && values >= headValues ? blocks(blockBytes, values, hertz) : undefined;
}

/** GSM 6.10: two frames of 160 values. */
const gsm = { bytes: 65, values: 320 };

/**
 * @param format the description of the sound
 * @returns undefined for a format that cannot be measured. The declared rate of bytes is not used: the caller writes it.
 */
function measureOf(format: Buffer): Measure | undefined {
  if (format.length < 16) return undefined;
  const outer = format.readUInt16LE(0);
  if (outer === tags.extensible && format.length < 40) return undefined;
  const tag = outer === tags.extensible ? format.readUInt16LE(24) : outer;
  const [channels, hertz] = [format.readUInt16LE(2), format.readUInt32LE(4)];
  const sound = { channels, hertz, blockBytes: format.readUInt16LE(12), bits: format.readUInt16LE(14) };
  if (tag === tags.mp3) return mpeg;
  if (hertz === 0) return undefined;
  if (tag === tags.pcm || tag === tags.float) return plain(sound, sound.bits);
  if (tag === tags.aLaw || tag === tags.muLaw) return plain(sound, 8);
  if (tag === tags.msAdpcm) return adpcm(sound, 7, 2);
  if (tag === tags.imaAdpcm) return adpcm(sound, 4, 1);
  const isGsm = tag === tags.gsm && channels === 1 && sound.blockBytes === gsm.bytes;
  return isGsm ? blocks(gsm.bytes, gsm.values, hertz) : undefined;
}

/**
 * The length of a WAV file: that of its samples, whatever its header says about their number and their rate of bytes.
 * @returns seconds, 0 without sound, and for a file that describes its sound twice or has sound that cannot be measured
 */
export function wavSeconds(file: Buffer): number {
  const formats: Buffer[] = [];
  const data: Buffer[] = [];
  for (let at = 12; at + 8 <= file.length; ) {
    const declared = file.readUInt32LE(at + 4);
    const type = file.toString('latin1', at, at + 4);
    // A file that is written while it is recorded has no sizes.
    const left = file.length - at - 8;
    const size = type === 'data' && declared === 0 ? left : Math.min(declared, left);
    const content = file.subarray(at + 8, at + 8 + size);
    if (type === 'fmt ') formats.push(content);
    if (type === 'data') data.push(content);
    at += 8 + size + (size % 2);
  }
  const measure = formats.length === 1 ? measureOf(formats[0]!) : undefined;
  return measure ? measure(data) : 0;
}
