import { writeFile } from 'node:fs/promises';
import encoding from 'h264-mp4-encoder';
import { type GivenImage, ImageRefused, type Size } from '../../media/images/open-image.ts';
import { drawing } from './images.ts';
import { fastStart, retimed } from './mp4.ts';
import { type Random, randomFrom } from './random.ts';

/** Ticks of the encoder's time scale. */
const ticksPerSecond = 90_000;

/**
 * Both divide 90, and with it any length in ticks that is given in milliseconds: so the file has exactly the requested
 * length.
 */
const frameCounts = { short: 45, long: 90 };
const shortSeconds = 6;

const shapesOfVideo = 10;

/** A disc that moves through the picture on an orbit that closes at the end. */
function disc({ width, height }: Size, random: Random) {
  const unit = Math.min(width, height);
  const radius = random.whole(unit / 12, unit / 7);
  const reach = { x: width / 2 - radius * 1.5, y: height / 2 - radius * 1.5 };
  const phase = random.between(0, 2 * Math.PI);
  const laps = random.whole(1, 2);
  const colour = [random.whole(160, 255), random.whole(160, 255), random.whole(0, 120)] as const;
  return {
    radius,
    colour,
    at(part: number) {
      const angle = phase + part * laps * 2 * Math.PI;
      return {
        x: Math.round(width / 2 + Math.cos(angle) * reach.x),
        y: Math.round(height / 2 + Math.sin(angle) * reach.y),
      };
    },
  };
}

function drawDisc(frame: Uint8Array, { width, height }: Size, of: ReturnType<typeof disc>, part: number): void {
  const { radius, colour } = of;
  const centre = of.at(part);
  for (let y = Math.max(0, centre.y - radius); y < Math.min(height, centre.y + radius); y++) {
    const half = Math.floor(Math.sqrt(radius ** 2 - (y - centre.y) ** 2));
    const last = Math.min(width, centre.x + half);
    for (let x = Math.max(0, centre.x - half); x < last; x++) frame.set(colour, (y * width + x) * 4);
  }
}

async function firstFrame(digest: string, size: Size, image: GivenImage | undefined): Promise<Uint8Array> {
  const picture = image
    ? image
        .open()
        .flatten({ background: '#fff' })
        .resize({ ...size, fit: 'cover' })
    : drawing(digest, size, shapesOfVideo);
  return picture
    .ensureAlpha()
    .raw()
    .toBuffer()
    .catch((error) => {
      throw image ? new ImageRefused('undecodable') : error;
    });
}

/**
 * Makes a video without sound: the picture of a canonical request, or the given image, and a disc that moves over it.
 * @param digest SHA-256 of the canonical request, in hex
 * @returns its length in seconds
 * @throws ImageRefused
 */
export async function makeVideo(
  digest: string,
  { size, seconds, image }: { size: Size; seconds: number; image: GivenImage | undefined },
  output: string,
): Promise<number> {
  const base = await firstFrame(digest, size, image);
  const frame = new Uint8Array(base);
  const moving = disc(size, randomFrom(digest));
  const frames = seconds > shortSeconds ? frameCounts.long : frameCounts.short;
  const encoder = await encoding.createH264MP4Encoder();
  try {
    Object.assign(encoder, { ...size, frameRate: Math.ceil(frames / seconds), speed: 10, quantizationParameter: 33 });
    encoder.initialize();
    for (let at = 0; at < frames; at++) {
      frame.set(base);
      drawDisc(frame, size, moving, at / frames);
      encoder.addFrameRgba(frame);
    }
    encoder.finalize();
    const ticksPerFrame = Math.round((seconds * ticksPerSecond) / frames);
    const file = Buffer.from(encoder.FS.readFile(encoder.outputFilename));
    await writeFile(output, fastStart(retimed(file, frames, ticksPerFrame)));
    return (frames * ticksPerFrame) / ticksPerSecond;
  } finally {
    encoder.delete();
  }
}
