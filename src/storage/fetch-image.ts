import type { Egress, EgressResponse } from '../platform/egress.ts';
import { EgressFailure } from '../platform/egress-failure.ts';
import { type AppError, invalid } from '../platform/errors.ts';
import { type ImageHeader, readImageHeader } from './core/image-header.ts';
import type { Files } from './files.ts';
import type { SignedUrls } from './signed-urls.ts';

/** An image that a caller named. Its header is good; the rest of it may still be cut or damaged. */
export interface FetchedImage extends ImageHeader {
  bytes: Buffer;
}

export interface FetchImageOptions {
  egress: Pick<Egress, 'request'>;
  files: Pick<Files, 'find' | 'open'>;
  signedUrls: Pick<SignedUrls, 'read'>;
}

export const imageLimits = { bytes: 25 * 1024 * 1024, pixels: 40_000_000, redirects: 3, deadlineMs: 30_000 } as const;

/** What is wrong with an image that a caller named. */
export const imageRefused = (message: string): AppError => invalid([{ path: 'imageUrl', message }]);

const redirecting = new Set([301, 302, 303, 307, 308]);
const tooLarge = `The image is larger than ${imageLimits.bytes} bytes.`;

/**
 * Fetches an image from an address that a caller gave: at most 25 MiB in 30 seconds over 3 redirects, each address checked
 * anew by the egress guard. An address of our own is read from the storage, without a request. Nothing is decoded: type and
 * number of pixels are read from the first bytes.
 * @throws AppError validation_error with the path `imageUrl`, whatever is wrong with the image or its server; StorageFailure;
 *   the reason of `signal`
 */
export async function fetchImage(
  { egress, files, signedUrls }: FetchImageOptions,
  url: string,
  { signal, deadlineMs = imageLimits.deadlineMs }: { signal?: AbortSignal; deadlineMs?: number } = {},
): Promise<FetchedImage> {
  const ends = performance.now() + deadlineMs;
  let at = url;
  for (let redirects = 0; ; redirects++) {
    const own = signedUrls.read(at);
    if (own === 'refused') throw imageRefused('The address of the file is not valid, or not any more.');
    if (own !== 'elsewhere') return checked(await readOwn(files, own.name));
    const left = Math.max(1, Math.ceil(ends - performance.now()));
    const response = await egress
      .request({
        ...{ url: at, method: 'GET', headers: { accept: 'image/png,image/jpeg,image/webp' } },
        ...{ deadlineMs: left, maxResponseBytes: imageLimits.bytes },
        ...(signal && { signal }),
      })
      .catch((error: unknown) => {
        throw error instanceof EgressFailure ? imageRefused(error.message) : error;
      });
    const next = redirecting.has(response.status) ? response.headers.location : undefined;
    if (next === undefined) return checked(bodyOf(response));
    if (redirects === imageLimits.redirects) throw imageRefused(`More than ${imageLimits.redirects} redirects.`);
    const target = URL.parse(next, at);
    if (!target) throw imageRefused('A redirect leads to what is no address.');
    at = target.href;
  }
}

function bodyOf({ status, body, truncated }: EgressResponse): Buffer {
  if (status !== 200) throw imageRefused(`The server of the image answered ${status}.`);
  if (truncated) throw imageRefused(tooLarge);
  return body;
}

async function readOwn(files: FetchImageOptions['files'], name: string): Promise<Buffer> {
  const file = await files.find(name);
  const stream = file && (await files.open(name));
  if (!file || !stream) throw imageRefused('The file does not exist any more.');
  if (file.bytes > imageLimits.bytes) {
    stream.destroy();
    throw imageRefused(tooLarge);
  }
  return Buffer.concat(await stream.toArray());
}

function checked(bytes: Buffer): FetchedImage {
  if (bytes.length === 0) throw imageRefused('The image is empty.');
  const header = readImageHeader(bytes);
  if (!header) throw imageRefused('Expected a PNG, JPEG or WebP image.');
  const pixels = header.width * header.height;
  if (pixels > imageLimits.pixels) {
    throw imageRefused(`The image has ${pixels} pixels; the limit is ${imageLimits.pixels}.`);
  }
  return { ...header, bytes };
}
