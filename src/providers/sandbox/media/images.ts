import sharp, { type Sharp } from 'sharp';
import { decoding, type GivenImage, type Size } from '../../media/images/open-image.ts';
import { cutOutMask } from './cut-out.ts';
import { pictureSvg } from './picture.ts';
import { randomFrom } from './random.ts';

// Our own drawings are SVG. An image that a caller gave is opened as a file, for which there is no such loader.
sharp.unblock({ operation: ['VipsForeignLoadSvgBuffer'] });

/** Records in the file alone that it comes from the sandbox. */
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
  const { data, info } = await decoding(input.open().ensureAlpha().raw().toBuffer({ resolveWithObject: true }));
  const small = await sharp(data, { raw: info })
    .resize({ width: workingSize, height: workingSize, fit: 'inside', withoutEnlargement: true })
    .raw()
    .toBuffer({ resolveWithObject: true });
  const mask = cutOutMask(small.data, small.info);
  const alpha = mask && (await enlarged(mask, small.info, input.size));
  let hasTransparency = false;
  // Transparency that the image has of its own stays.
  for (let at = 3; at < data.length; at += 4) {
    if (alpha) data[at] = Math.min(alpha[(at - 3) / 4]!, data[at]!);
    hasTransparency ||= data[at]! < 255;
  }
  return { ...(await write(sharp(data, { raw: info }), output)), hasTransparency };
}

const enlarged = (mask: Uint8Array, { width, height }: Size, size: Size): Promise<Buffer> =>
  sharp(mask, { raw: { width, height, channels: 1 } })
    .resize({ ...size, fit: 'fill', kernel: 'linear' })
    .extractChannel(0)
    .raw()
    .toBuffer();
