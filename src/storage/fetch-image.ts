import { open } from 'node:fs/promises';
import type { Egress } from '../platform/egress/egress.ts';
import { EgressFailure } from '../platform/egress/egress-failure.ts';
import { type AppError, invalid } from '../platform/errors.ts';
import { Arrival } from './core/arrival.ts';
import { type ImageHeader, readImageHeader } from './core/image-header.ts';
import type { Files } from './files.ts';
import type { SignedUrls } from './signed-urls.ts';

export interface FetchImageOptions {
  egress: Pick<Egress, 'request'>;
  files: Pick<Files, 'find' | 'copyTo'>;
  signedUrls: Pick<SignedUrls, 'read'>;
}

export interface FetchTimes {
  signal?: AbortSignal;
  deadlineMs?: number;
  /** Milliseconds in a second of the rate limit: tests do not wait that long. */
  secondMs?: number;
}

export const imageLimits = { bytes: 25 * 1024 * 1024, pixels: 40_000_000, redirects: 3, deadlineMs: 30_000 } as const;

/** What is wrong with an image that a caller named. */
export const imageRefused = (message: string): AppError => invalid([{ path: 'imageUrl', message }]);

/** A server that takes its time holds a place that other images of the organization wait for. */
const pace = { silentSeconds: 10, windowSeconds: 5, bytesPerSecond: 16 * 1024 } as const;
const tooSlow = {
  silent: `The server of the image sent nothing for ${pace.silentSeconds} seconds.`,
  slow: `The server of the image sent less than ${pace.bytesPerSecond} bytes a second for ${pace.windowSeconds} seconds.`,
} as const;

const redirecting = new Set([301, 302, 303, 307, 308]);
const tooLarge = `The image is larger than ${imageLimits.bytes} bytes.`;

/**
 * Fetches an image from an address that a caller gave into a new file: at most 25 MiB in 30 seconds over 3 redirects, each
 * address checked anew by the egress guard. Its first byte must come within 10 seconds, and after that 16 KiB a second. An
 * address of our own is read from the storage, without a request. Memory is bounded by a piece of it while it arrives.
 * Nothing is decoded: type and number of pixels are read from the first bytes.
 * @param path of the file; what is left there after a failure is the caller's to remove
 * @returns what its header says; the rest of it may still be cut or damaged
 * @throws AppError validation_error with the path `imageUrl`, whatever is wrong with the image or its server; StorageFailure;
 *   the reason of `signal`
 */
export async function fetchImage(
  options: FetchImageOptions,
  url: string,
  path: string,
  { signal, deadlineMs = imageLimits.deadlineMs, secondMs = 1_000 }: FetchTimes = {},
): Promise<ImageHeader> {
  const arrival = new Arrival({
    silentLooks: pace.silentSeconds,
    window: pace.windowSeconds,
    bytes: pace.bytesPerSecond * pace.windowSeconds,
  });
  const slow = new AbortController();
  const looking = setInterval(() => {
    const problem = arrival.look();
    if (problem) slow.abort(imageRefused(tooSlow[problem]));
  }, secondMs);
  const ends = performance.now() + deadlineMs;
  try {
    await follow(options, url, path, {
      ends,
      arrival,
      signal: AbortSignal.any([slow.signal, ...(signal ? [signal] : [])]),
    });
  } finally {
    clearInterval(looking);
  }
  return checked(path);
}

/** Conditions that all requests for one image share. */
interface Conditions {
  /** By the clock of `performance`. */
  ends: number;
  signal: AbortSignal;
  arrival: Arrival;
}

async function follow(
  { egress, files, signedUrls }: FetchImageOptions,
  url: string,
  path: string,
  under: Conditions,
): Promise<void> {
  let at = url;
  for (let redirects = 0; ; redirects++) {
    const own = signedUrls.read(at);
    if (own === 'refused') throw imageRefused('The address of the file is not valid, or not any more.');
    if (own === 'elsewhere') {
      const next = await download(egress, at, path, under);
      if (next === undefined) return;
      if (redirects === imageLimits.redirects) throw imageRefused(`More than ${imageLimits.redirects} redirects.`);
      at = next;
    } else return copyOwn(files, own.name, path);
  }
}

/** @returns the address that it leads to instead, if any */
async function download(
  egress: FetchImageOptions['egress'],
  url: string,
  path: string,
  { ends, signal, arrival }: Conditions,
): Promise<string | undefined> {
  const file = await open(path, 'w', 0o600);
  try {
    const { status, headers, truncated } = await egress.request({
      url,
      method: 'GET',
      headers: { accept: 'image/png,image/jpeg,image/webp' },
      deadlineMs: Math.max(1, Math.ceil(ends - performance.now())),
      maxResponseBytes: imageLimits.bytes,
      signal,
      write: async (piece) => {
        arrival.add(piece.length);
        await file.writeFile(piece);
      },
    });
    const next = redirecting.has(status) ? headers.location : undefined;
    if (next !== undefined) return targetOf(next, url);
    if (status !== 200) throw imageRefused(`The server of the image answered ${status}.`);
    if (truncated) throw imageRefused(tooLarge);
    return undefined;
  } catch (error) {
    throw error instanceof EgressFailure ? imageRefused(error.message) : error;
  } finally {
    await file.close();
  }
}

function targetOf(location: string, from: string): string {
  const target = URL.parse(location, from);
  if (!target) throw imageRefused('A redirect leads to an invalid URL.');
  return target.href;
}

async function copyOwn(files: FetchImageOptions['files'], name: string, path: string): Promise<void> {
  const file = await files.find(name);
  if (!file) throw imageRefused('The file does not exist any more.');
  if (file.bytes > imageLimits.bytes) throw imageRefused(tooLarge);
  await files.copyTo(name, path);
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
      // Other data may stand before the picture of a JPEG, as much as it likes.
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
