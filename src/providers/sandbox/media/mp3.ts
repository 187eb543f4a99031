import { parseBuffer } from 'music-metadata';
import { createMp3Encoder } from 'wasm-media-encoders';
import { id3Tag } from './id3.ts';

const kilobits = 128;

/**
 * Encodes samples as an MP3 file with a constant bit rate.
 * @param channels one for mono or two for stereo, of one length, -1 to 1
 * @param texts written into the file's tag
 */
export async function encodeMp3(
  channels: readonly Float32Array[],
  sampleRate: number,
  texts?: Readonly<Record<string, string>>,
): Promise<Buffer> {
  const encoder = await createMp3Encoder();
  encoder.configure({ sampleRate, channels: channels.length === 1 ? 1 : 2, bitrate: kilobits });
  const parts: Buffer[] = [id3Tag('sandbox', texts)];
  // The encoder gives views of its own memory, which the next call overwrites.
  for (let at = 0; at < channels[0]!.length; at += sampleRate) {
    parts.push(Buffer.from(encoder.encode(channels.map((channel) => channel.subarray(at, at + sampleRate)))));
  }
  parts.push(Buffer.from(encoder.finalize()));
  return Buffer.concat(parts);
}

/** The length of an MP3 file, padding of its encoder included. */
export async function mp3Seconds(file: Uint8Array): Promise<number> {
  const { format } = await parseBuffer(file, { mimeType: 'audio/mpeg' }, { duration: true });
  if (format.duration === undefined) throw new Error('An MP3 file has no length.');
  return format.duration;
}
