import { open } from 'node:fs/promises';
import { CollectedBytes } from '../platform/egress/collected-bytes.ts';
import type { Egress } from '../platform/egress/egress.ts';
import { EgressFailure } from '../platform/egress/egress-failure.ts';
import { type AppError, invalid } from '../platform/errors.ts';
import { Arrival } from './core/arrival.ts';
import type { Files } from './files.ts';
import type { SignedUrls } from './signed-urls.ts';

export interface FetchOptions {
  egress: Pick<Egress, 'request'>;
  files: Pick<Files, 'find' | 'copyTo'>;
  signedUrls: Pick<SignedUrls, 'read'>;
}

export interface FetchTimes {
  signal?: AbortSignal | undefined;
  deadlineMs?: number;
  /** Milliseconds in a second of the rate limit: tests do not wait that long. */
  secondMs?: number;
}

/** The kind of file to fetch. */
interface FetchedKind {
  /** In messages: `image`. */
  noun: string;
  /** The field of the request that has the address. */
  path: string;
  /** The header `Accept`. */
  accept: string;
  maxBytes: number;
}

export const fetchLimits = { redirects: 3, deadlineMs: 30_000 } as const;

/** A server that takes its time holds a place that other files of the organization wait for. */
const pace = { silentSeconds: 10, windowSeconds: 5, bytesPerSecond: 16 * 1024 } as const;
const tooSlow = {
  silent: `sent nothing for ${pace.silentSeconds} seconds`,
  slow: `sent less than ${pace.bytesPerSecond} bytes a second for ${pace.windowSeconds} seconds`,
} as const;

/** Bytes that are written together: a write of its own for each small piece would cost most of what the file costs. */
const writtenTogether = 64 * 1024;

const redirecting = new Set([301, 302, 303, 307, 308]);

/** Conditions that all requests for one file share. */
interface Conditions {
  kind: FetchedKind;
  /** By the clock of `performance`. */
  ends: number;
  signal: AbortSignal;
  arrival: Arrival;
}

/** The problem of a file that a caller named. */
const refused = ({ path }: FetchedKind, message: string): AppError => invalid([{ path, message }]);
const tooLarge = (kind: FetchedKind) => refused(kind, `The ${kind.noun} is larger than ${kind.maxBytes} bytes.`);

/**
 * Fetches a file from an address that a caller gave into a new file, in 30 seconds over 3 redirects, each address checked anew by
 * the egress guard. Its first byte must come within 10 seconds, and after that 16 KiB a second. An address of our own is read
 * from the storage, without a request. Memory is bounded by a piece of it while it arrives.
 * @param path of the new file; what is left there after a failure is the caller's to remove
 * @throws AppError validation_error with the path of `kind`, whatever is wrong with the file or its server; StorageFailure;
 *   the reason of `signal`
 */
export async function fetchFile(
  options: FetchOptions,
  kind: FetchedKind,
  url: string,
  path: string,
  { signal, deadlineMs = fetchLimits.deadlineMs, secondMs = 1_000 }: FetchTimes = {},
): Promise<void> {
  const arrival = new Arrival({
    silentLooks: pace.silentSeconds,
    window: pace.windowSeconds,
    bytes: pace.bytesPerSecond * pace.windowSeconds,
  });
  const slow = new AbortController();
  const looking = setInterval(() => {
    const problem = arrival.look();
    if (problem) slow.abort(refused(kind, `The server of the ${kind.noun} ${tooSlow[problem]}.`));
  }, secondMs);
  const ends = performance.now() + deadlineMs;
  try {
    await follow(options, url, path, {
      kind,
      ends,
      arrival,
      signal: AbortSignal.any([slow.signal, ...(signal ? [signal] : [])]),
    });
  } finally {
    clearInterval(looking);
  }
}

async function follow(
  { egress, files, signedUrls }: FetchOptions,
  url: string,
  path: string,
  under: Conditions,
): Promise<void> {
  const { kind } = under;
  let at = url;
  for (let redirects = 0; ; redirects++) {
    const own = signedUrls.read(at);
    if (own === 'refused') throw refused(kind, 'The address of the file is not valid, or has expired.');
    if (own === 'elsewhere') {
      const next = await download(egress, at, path, under);
      if (next === undefined) return;
      if (redirects === fetchLimits.redirects) throw refused(kind, `More than ${fetchLimits.redirects} redirects.`);
      at = next;
    } else return copyOwn(files, kind, own.name, path);
  }
}

/** @returns the address that it leads to instead, if any */
async function download(
  egress: FetchOptions['egress'],
  url: string,
  path: string,
  { kind, ends, signal, arrival }: Conditions,
): Promise<string | undefined> {
  const file = await open(path, 'w', 0o600);
  let collected = new CollectedBytes();
  const writeCollected = () => {
    const bytes = collected.bytes();
    collected = new CollectedBytes();
    return file.writeFile(bytes);
  };
  try {
    const { status, headers, truncated } = await egress.request({
      url,
      method: 'GET',
      headers: { accept: kind.accept },
      deadlineMs: Math.max(1, Math.ceil(ends - performance.now())),
      maxResponseBytes: kind.maxBytes,
      signal,
      write: (piece) => {
        arrival.add(piece.length);
        collected.add(piece);
        return collected.size < writtenTogether ? undefined : writeCollected();
      },
    });
    await writeCollected();
    const next = redirecting.has(status) ? headers.location : undefined;
    if (next !== undefined) return targetOf(kind, next, url);
    if (status !== 200) throw refused(kind, `The server of the ${kind.noun} answered ${status}.`);
    if (truncated) throw tooLarge(kind);
    return undefined;
  } catch (error) {
    throw error instanceof EgressFailure ? refused(kind, error.message) : error;
  } finally {
    await file.close();
  }
}

function targetOf(kind: FetchedKind, location: string, from: string): string {
  const target = URL.parse(location, from);
  if (!target) throw refused(kind, 'A redirect leads to an invalid URL.');
  return target.href;
}

async function copyOwn(files: FetchOptions['files'], kind: FetchedKind, name: string, path: string): Promise<void> {
  const file = await files.find(name);
  if (!file) throw refused(kind, 'The file no longer exists.');
  if (file.bytes > kind.maxBytes) throw tooLarge(kind);
  await files.copyTo(name, path);
}
