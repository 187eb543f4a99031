import { open } from 'node:fs/promises';
import sharp, { type Sharp } from 'sharp';
import { cutOutMask } from './cut-out.ts';
import { pictureSvg } from './picture.ts';
import { randomFrom } from './random.ts';

// One thread for each picture and nothing kept: the pool decides how many are worked on, and what they may occupy.
sharp.concurrency(1);
sharp.cache(false);
// Loaders of formats that are refused cannot be reached, whatever a file pretends to be. Our own drawings are SVG.
sharp.block({ operation: ['VipsForeignLoad'] });
sharp.unblock({
  operation: [
    ...['VipsForeignLoadPngFile', 'VipsForeignLoadJpegFile', 'VipsForeignLoadWebpFile', 'VipsForeignLoadSvgBuffer'],
  ],
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

/** Says in the file alone that it is the sandbox's. */
const mark = { IFD0: { Software: 'sandbox' } };

/** Only metadata: the file is 8-bit, not interlaced, and its colours are sRGB. */
const asPng = (image: Sharp): Sharp =>
  image.toColourspace('srgb').withExif(mark).png({ compressionLevel: 6, progressive: false, palette: false });

const write = async (image: Sharp, path: string): Promise<Size> => {
  const { width, height } = await asPng(image).toFile(path);
  return { width, height };
};

/** Draws the picture of a canonical request. @param digest SHA-256 of the request, in hex */
export const drawing = (digest: string, size: Size, shapes: number): Sharp =>
  sharp(Buffer.from(pictureSvg(size, randomFrom(digest), shapes))).removeAlpha();

export const drawImage = (digest: string, size: Size, shapes: number, output: string): Promise<Size> =>
  write(drawing(digest, size, shapes), output);

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

/** @throws ImageRefused */
export async function openImage(path: string, maxPixels: number): Promise<GivenImage> {
  const head = await firstBytes(path);
  if (!signatures.some((fits) => fits(head))) throw new ImageRefused('format');
  const read = () => sharp(path, { limitInputPixels: false, failOn: 'error', sequentialRead: true });
  const header = await read()
    .metadata()
    .catch(() => {
      throw new ImageRefused('undecodable');
    });
  const { autoOrient: size, hasAlpha } = header;
  if (size.width * size.height > maxPixels) throw new ImageRefused('pixels');
  return { size, hasAlpha, open: () => read().autoOrient().toColourspace('srgb') };
}

/** @throws ImageRefused for an image that turns out to be damaged */
const decoding = <Result>(work: Promise<Result>): Promise<Result> =>
  work.catch(() => {
    throw new ImageRefused('undecodable');
  });

/** Enlarges an image. @throws ImageRefused */
export async function upscaleImage(input: GivenImage, scale: number, output: string): Promise<Size> {
  const size = { width: input.size.width * scale, height: input.size.height * scale };
  return decoding(write(input.open().resize({ ...size, kernel: 'lanczos3', fit: 'fill' }), output));
}

/** The background is looked for in a copy of at most this width and height, as segmentation models do. */
const workingSize = 1024;

/**
 * Makes an image's background transparent.
 * @returns whether any pixel of the result is not opaque
 * @throws ImageRefused
 */
export async function removeBackground(
  input: GivenImage,
  output: string,
): Promise<Size & { hasTransparency: boolean }> {
  const small = await decoding(
    input
      .open()
      .ensureAlpha()
      .resize({ width: workingSize, height: workingSize, fit: 'inside', withoutEnlargement: true })
      .raw()
      .toBuffer({ resolveWithObject: true }),
  );
  const mask = cutOutMask(small.data, small.info);
  const { width, height } = input.size;
  const alpha = mask ? await enlarged(mask, small.info, input.size) : Buffer.alloc(width * height, 255);
  const cut = input.hasAlpha ? await withLessAlpha(input, alpha) : withAlpha(input, alpha);
  return { ...(await decoding(write(cut, output))), hasTransparency: alpha.some((value) => value < 255) };
}

const enlarged = (mask: Uint8Array, { width, height }: Size, size: Size): Promise<Buffer> =>
  sharp(mask, { raw: { width, height, channels: 1 } })
    .resize({ ...size, fit: 'fill', kernel: 'linear' })
    .extractChannel(0)
    .raw()
    .toBuffer();

const withAlpha = (input: GivenImage, alpha: Buffer): Sharp =>
  input.open().joinChannel(alpha, { raw: { ...input.size, channels: 1 } });

/** Of an image with transparency of its own, which stays. `alpha` becomes that of the result. */
async function withLessAlpha(input: GivenImage, alpha: Buffer): Promise<Sharp> {
  const pixels = await decoding(input.open().ensureAlpha().raw().toBuffer());
  for (let at = 0; at < alpha.length; at++) {
    alpha[at] = Math.min(alpha[at]!, pixels[at * 4 + 3]!);
    pixels[at * 4 + 3] = alpha[at]!;
  }
  return sharp(pixels, { raw: { ...input.size, channels: 4 } });
}
