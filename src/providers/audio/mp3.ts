import { parseBuffer } from 'music-metadata';
import { createMp3Encoder } from 'wasm-media-encoders';

const kilobits = 128;

/**
 * Encodes samples as an MP3 file with a constant bit rate.
 * @param channels one for mono or two for stereo, of one length, -1 to 1
 * @param tag stands before the sound
 */
export async function encodeMp3(channels: readonly Float32Array[], sampleRate: number, tag?: Buffer): Promise<Buffer> {
  const encoder = await createMp3Encoder();
  encoder.configure({ sampleRate, channels: channels.length === 1 ? 1 : 2, bitrate: kilobits });
  const parts: Buffer[] = tag ? [tag] : [];
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
