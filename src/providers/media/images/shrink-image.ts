// Runs in a process of the pool.
import { rename, stat } from 'node:fs/promises';
import sharp, { type Sharp } from 'sharp';
import { decoding, ImageRefused, openImage } from './open-image.ts';

/** An image that is too large for a provider, and where the smaller one is written. */
export interface Shrinking {
  path: string;
  output: string;
  maxPixels: number;
  maxBytes: number;
}

/** Each is tried until the file is small enough. Models work on smaller pictures than the first of them. */
const tries = [
  { side: 2_048, quality: 92 },
  { side: 1_536, quality: 85 },
  { side: 1_024, quality: 75 },
] as const;

const inside = (image: Sharp, side: number): Sharp =>
  image.resize({ width: side, height: side, fit: 'inside', withoutEnlargement: true });

/** Makes a JPEG of an image, smaller until its file is. @returns whether it succeeded */
export async function perform({ path, output, maxPixels, maxBytes }: Shrinking): Promise<boolean> {
  try {
    const image = await openImage(path, maxPixels);
    const [{ side: largest }] = tries;
    const { data, info } = await decoding(
      inside(image.open().flatten({ background: '#fff' }), largest)
        .raw()
        .toBuffer({ resolveWithObject: true }),
    );
    for (const { side, quality } of tries) {
      const written = `${output}.${side}`;
      await inside(sharp(data, { raw: info }), side)
        .jpeg({ quality })
        .toFile(written);
      if ((await stat(written)).size > maxBytes) continue;
      await rename(written, output);
      return true;
    }
    return false;
  } catch (error) {
    if (error instanceof ImageRefused) return false;
    throw error;
  }
}
