import { parseBuffer } from 'music-metadata';
import { createMp3Encoder } from 'wasm-media-encoders';

type Mp3Encoder = Awaited<ReturnType<typeof createMp3Encoder>>;
/** Rates that MP3 has for every sample rate that is used here. */
type Kilobits = 48 | 64 | 128;

const musicKilobits = 128;

/** An MP3 file with a constant bit rate, encoded piece by piece. */
export class Mp3File {
  readonly #encoder: Mp3Encoder;
  readonly #sampleRate: number;
  readonly #parts: Buffer[];

  private constructor(encoder: Mp3Encoder, sampleRate: number, tag: Buffer | undefined) {
    this.#encoder = encoder;
    this.#sampleRate = sampleRate;
    this.#parts = tag ? [tag] : [];
  }

  /** @param tag stands before the sound */
  static async begin(sampleRate: number, bitrate: Kilobits, tag?: Buffer, channels: 1 | 2 = 1): Promise<Mp3File> {
    const encoder = await createMp3Encoder();
    encoder.configure({ sampleRate, channels, bitrate });
    return new Mp3File(encoder, sampleRate, tag);
  }

  /** @param channels as many as the file has, of one length, -1 to 1 */
  add(channels: readonly Float32Array[]): void {
    const size = this.#sampleRate;
    // The encoder gives views of its own memory, which the next call overwrites.
    for (let at = 0; at < channels[0]!.length; at += size) {
      this.#parts.push(Buffer.from(this.#encoder.encode(channels.map((channel) => channel.subarray(at, at + size)))));
    }
  }

  /** The whole file. It can no longer be extended. */
  end(): Buffer {
    return Buffer.concat([...this.#parts, Buffer.from(this.#encoder.finalize())]);
  }
}

/**
 * Encodes samples as an MP3 file with a constant bit rate.
 * @param channels one for mono or two for stereo, of one length, -1 to 1
 * @param tag stands before the sound
 */
export async function encodeMp3(channels: readonly Float32Array[], sampleRate: number, tag?: Buffer): Promise<Buffer> {
  const file = await Mp3File.begin(sampleRate, musicKilobits, tag, channels.length === 1 ? 1 : 2);
  file.add(channels);
  return file.end();
}

/** The length of an MP3 file, padding of its encoder included. */
export async function mp3Seconds(file: Uint8Array): Promise<number> {
  const { format } = await parseBuffer(file, { mimeType: 'audio/mpeg' }, { duration: true });
  if (format.duration === undefined) throw new Error('An MP3 file has no length.');
  return format.duration;
}
