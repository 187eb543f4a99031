import { aacMeasure, byContent, type Measure, mpeg, opusSeconds, plain, steady } from './measures.ts';
import { short, uint } from './mp4-boxes.ts';

/** What a track of a WebM or Matroska file says about its sound. */
export interface Sound {
  codec: string;
  /** What decoders read before the sound. */
  config: Buffer;
  hertz: number;
  channels: number;
  bits: number;
}

const plainCodecs = ['A_PCM/INT/LIT', 'A_PCM/INT/BIG', 'A_PCM/FLOAT/IEEE'];
const mpegCodecs = ['A_MPEG/L1', 'A_MPEG/L2', 'A_MPEG/L3'];

/**
 * How the sound of a track is measured.
 * @returns undefined for a format that cannot be measured. The blocks of Vorbis have one of two lengths, and do not say which.
 */
export function measureOf({ codec, config, hertz, channels, bits }: Sound): Measure | undefined {
  if (codec === 'A_OPUS') return byContent(opusSeconds);
  if (codec === 'A_AAC') return aacMeasure(config);
  if (mpegCodecs.includes(codec)) return mpeg;
  if (plainCodecs.includes(codec)) {
    const isPlain = hertz > 0 && channels > 0 && bits > 0 && bits <= 64;
    return isPlain ? plain(channels * Math.ceil(bits / 8), hertz) : undefined;
  }
  // Frames are of one length: that of the longest one.
  if (codec === 'A_ALAC' && uint(config, 20) > 0) return steady(uint(config, 0) / uint(config, 20));
  const flacHertz = uint(config, 18) >>> 12;
  const isFlac = codec === 'A_FLAC' && config.toString('latin1', 0, 4) === 'fLaC' && flacHertz > 0;
  return isFlac ? steady(short(config, 10) / flacHertz) : undefined;
}
