import { open } from 'node:fs/promises';
import { join } from 'node:path';
import type { Egress } from '../../../platform/egress/egress.ts';
import { EgressFailure } from '../../../platform/egress/egress-failure.ts';
import { ProviderFailure } from '../../../platform/provider-failure.ts';
import { openWorkFolder } from '../../../platform/work-folder.ts';

/** An unexamined file of a provider, on the local disk. */
interface OutputFile {
  /** A folder of its own, for files derived from the file. */
  folder: string;
  path: string;
  /** Removes the folder. */
  discard(): Promise<void>;
}

interface FetchOutput {
  /** The provider's display name. */
  title: string;
  url: string;
  maxBytes: number;
  /** For the file as a whole, redirects included. */
  deadlineMs: number;
  /** Whether it is not tried again. */
  isLast: boolean;
  signal: AbortSignal;
}

const maxRedirects = 3;
const redirecting = new Set([301, 302, 303, 307, 308]);

/** Statuses that say that there is no such file. It may still be on its way to where it is read. */
const isAbsent = (status: number) => status >= 400 && status < 500 && ![408, 425, 429].includes(status);

type Download = Omit<FetchOutput, 'url' | 'deadlineMs'> & { ends: number };

/** Reads the file at an address into another. @returns the address that it leads to instead, if any */
async function download(
  egress: Pick<Egress, 'request'>,
  url: string,
  path: string,
  { title, maxBytes, ends, isLast, signal }: Download,
): Promise<string | undefined> {
  const file = await open(path, 'w', 0o600);
  try {
    const { status, headers, truncated } = await egress.request({
      url,
      method: 'GET',
      maxResponseBytes: maxBytes,
      signal,
      deadlineMs: Math.max(1, Math.ceil(ends - performance.now())),
      write: async (piece) => {
        await file.writeFile(piece);
      },
    });
    const next = redirecting.has(status) ? URL.parse(headers.location ?? '', url)?.href : undefined;
    if (next !== undefined) return next;
    if (status !== 200) {
      const message = `The file that ${title} made cannot be fetched (HTTP ${status}).`;
      if (isAbsent(status)) throw new ProviderFailure('malformed_answer', message, { status, retryable: false });
      throw new ProviderFailure('unavailable', message, { status, retryable: !isLast });
    }
    if (truncated) throw unacceptable(title, 'is too large');
    return undefined;
  } catch (error) {
    if (!(error instanceof EgressFailure)) throw error;
    const retryable = !isLast && error.errorClass !== 'forbidden_destination';
    // Its message names no address.
    throw new ProviderFailure('connection', `The file that ${title} made cannot be fetched: ${error.message}`, {
      retryable,
    });
  } finally {
    await file.close();
  }
}

/** A finished job whose file is not the expected one, perhaps because it is still being written. */
export const unusable = (title: string, why: string) =>
  new ProviderFailure('malformed_answer', `The file that ${title} made ${why}.`, { retryable: false });

/** A file that is whole and is not accepted: it would be the same if it were fetched again. */
export const unacceptable = (title: string, why: string) =>
  new ProviderFailure('unavailable', `The file that ${title} made ${why}.`, { retryable: false });

/**
 * Fetches a file from an address of a provider's answer. Every address passes the egress guard, as those of callers do.
 * Memory is bounded by one piece of the file.
 * @throws ProviderFailure; the reason of `signal`
 */
export async function fetchOutput(
  egress: Pick<Egress, 'request'>,
  { url, deadlineMs, ...rest }: FetchOutput,
): Promise<OutputFile> {
  const ends = performance.now() + deadlineMs;
  const { path: folder, discard } = await openWorkFolder();
  const path = join(folder, 'fetched');
  try {
    let at: string | undefined = url;
    for (let hops = 0; at !== undefined; hops++) {
      if (hops > maxRedirects) throw unacceptable(rest.title, `is behind more than ${maxRedirects} redirects`);
      at = await download(egress, at, path, { ...rest, ends });
    }
    return { folder, path, discard };
  } catch (error) {
    await discard();
    throw isFull(error) ? new ProviderFailure('unavailable', 'The disk is full.') : error;
  }
}

const isFull = (error: unknown) => ['ENOSPC', 'EDQUOT'].includes((error as NodeJS.ErrnoException).code ?? '');
