import { open } from 'node:fs/promises';
import { type AppError, invalid } from '../platform/errors.ts';
import { type ImageHeader, readImageHeader } from './core/image-header.ts';
import { type FetchOptions, type FetchTimes, fetchFile, fetchLimits } from './fetch-file.ts';

export const imageLimits = { bytes: 25 * 1024 * 1024, pixels: 40_000_000, ...fetchLimits } as const;

/** The problem of an image that a caller named. */
export const imageRefused = (message: string): AppError => invalid([{ path: 'imageUrl', message }]);

const fetchedImage = {
  noun: 'image',
  path: 'imageUrl',
  accept: 'image/png,image/jpeg,image/webp',
  maxBytes: imageLimits.bytes,
};

/**
 * Fetches an image as `fetchFile` does: at most 25 MiB. Nothing is decoded: type and number of pixels are read from the
 * first bytes.
 * @returns what its header says; the rest of it may still be cut or damaged
 * @throws AppError validation_error with the path `imageUrl`, whatever is wrong with the image or its server; StorageFailure;
 *   the reason of `signal`
 */
export async function fetchImage(
  options: FetchOptions,
  url: string,
  path: string,
  times?: FetchTimes,
): Promise<ImageHeader> {
  await fetchFile(options, fetchedImage, url, path, times);
  return checked(path);
}

/** Enough for every PNG and WebP, and for a JPEG that has little before its picture. */
const firstBytes = 64 * 1024;

async function readHeader(path: string): Promise<ImageHeader | undefined> {
  const file = await open(path);
  try {
    const { size } = await file.stat();
    if (size === 0) throw imageRefused('The image is empty.');
    for (const length of [firstBytes, size]) {
      const { buffer, bytesRead } = await file.read(Buffer.alloc(Math.min(length, size)), { position: 0 });
      const header = readImageHeader(buffer.subarray(0, bytesRead));
      // Any amount of other data may precede the picture of a JPEG.
      if (header || length >= size || buffer[0] !== 0xff) return header;
    }
    return undefined;
  } finally {
    await file.close();
  }
}

async function checked(path: string): Promise<ImageHeader> {
  const header = await readHeader(path);
  if (!header) throw imageRefused('Expected a PNG, JPEG or WebP image.');
  const pixels = header.width * header.height;
  if (pixels > imageLimits.pixels) {
    throw imageRefused(`The image has ${pixels} pixels; the limit is ${imageLimits.pixels}.`);
  }
  return header;
}
