import { open, readFile, writeFile } from 'node:fs/promises';
import sharp, { type Sharp } from 'sharp';
import { plainImage } from './plain-image.ts';

// Only the pool's processes load it, because these settings apply to a whole process. One thread for each picture and
// no cache: the pool decides how many are processed, and how much memory they may use.
sharp.concurrency(1);
sharp.cache(false);
// Loaders of formats that are refused cannot be reached, whatever a file pretends to be.
sharp.block({ operation: ['VipsForeignLoad'] });
sharp.unblock({
  operation: ['VipsForeignLoadPngFile', 'VipsForeignLoadJpegFile', 'VipsForeignLoadWebpFile'],
});

export interface Size {
  width: number;
  height: number;
}

/** Why an image cannot be worked on: no PNG, JPEG or WebP; too many pixels; cut or damaged. */
export type ImageProblem = 'format' | 'pixels' | 'undecodable';

export class ImageRefused extends Error {
  override name = 'ImageRefused';
  readonly problem: ImageProblem;

  constructor(problem: ImageProblem) {
    super(`The image is refused: ${problem}.`);
    this.problem = problem;
  }
}

const signatures: readonly ((head: Buffer) => boolean)[] = [
  (head) => head.subarray(0, 8).equals(Buffer.from('\x89PNG\r\n\x1a\n', 'latin1')),
  (head) => head.subarray(0, 3).equals(Buffer.from([0xff, 0xd8, 0xff])),
  (head) => head.toString('latin1', 0, 4) === 'RIFF' && head.toString('latin1', 8, 12) === 'WEBP',
];

async function firstBytes(path: string): Promise<Buffer> {
  const file = await open(path);
  try {
    const { buffer, bytesRead } = await file.read(Buffer.alloc(12), 0, 12, 0);
    return buffer.subarray(0, bytesRead);
  } finally {
    await file.close();
  }
}

/** An image that a caller gave: upright, in sRGB, its size known from its header before any pixel is decoded. */
export interface GivenImage {
  size: Size;
  hasAlpha: boolean;
  /** A new pipeline over it. */
  open(): Sharp;
}

/**
 * Writes the needed parts of the image's file to a new file beside it. A file and not a buffer, because buffers also
 * reach the loaders of drawings.
 */
async function writePlain(path: string): Promise<string> {
  const parts = plainImage(await readFile(path));
  if (!parts) throw new ImageRefused('undecodable');
  const plain = `${path}.plain`;
  await writeFile(plain, parts);
  return plain;
}

/**
 * @param path in a folder that is discarded, because another file is written beside it
 * @throws ImageRefused
 */
export async function openImage(path: string, maxPixels: number): Promise<GivenImage> {
  const head = await firstBytes(path);
  if (!signatures.some((fits) => fits(head))) throw new ImageRefused('format');
  const plain = await writePlain(path);
  const read = () => sharp(plain, { limitInputPixels: false, failOn: 'error', sequentialRead: true });
  const header = await decoding(read().metadata());
  const { autoOrient: size, hasAlpha } = header;
  if (size.width * size.height > maxPixels) throw new ImageRefused('pixels');
  return { size, hasAlpha, open: () => read().autoOrient().toColourspace('srgb') };
}

/** @throws ImageRefused for an image that turns out to be damaged */
export const decoding = <Result>(work: Promise<Result>): Promise<Result> =>
  work.catch(() => {
    throw new ImageRefused('undecodable');
  });
