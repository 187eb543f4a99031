import type { GenerationRequest } from '../core/media/requests.ts';
import type { Call } from '../ports.ts';

/** The image that a generation works on. It was decoded to its end: it is none that is cut or too large. */
export interface JobImage {
  type: 'png' | 'jpg' | 'webp';
  /** Pixels of the upright image. */
  width: number;
  height: number;
  /** In hex. */
  sha256: string;
  /** The decoded query of the address that the caller gave, where the sandbox looks for its words. */
  query: string;
  /** Writes the image, at most 25 MiB, to a new file of the local disk. @throws StorageFailure */
  copyTo(path: string): Promise<void>;
}

/** A provider cannot work on the image that it was given: the fault of the caller's image, and not of the provider. */
export class ImageUnusable extends Error {
  override name = 'ImageUnusable';
}

/** A generation, as the calls to its provider need it. */
export interface MediaJob {
  /** UUID of the generation. */
  id: string;
  request: GenerationRequest;
  /** The image that the request works on; null where there is none. */
  image: JobImage | null;
  /** The seed of the request, or the chosen one when it named none. */
  seed: number;
  /** Milliseconds since the generation was created. */
  ageMs: number;
}

/** A finished file on the local disk. */
export interface MadeMedia {
  type: 'png' | 'jpg' | 'webp' | 'mp4' | 'mp3';
  path: string;
  /** Pixels of images and videos; null for music. */
  size: { width: number; height: number } | null;
  /** For a background removal: whether any pixel is not opaque. */
  hasTransparency: boolean | null;
  /** The length of videos and music, as it is in the file. */
  seconds: number | null;
  /** Removes the file. To be called whatever became of it. */
  discard(): Promise<void>;
}

/** Facts about a job before it begins. */
interface Expectation {
  /** How long such a job usually takes. */
  ms: number;
  /** Whether `poll` reports fractions. Without them progress is estimated from the time. */
  reportsProgress: boolean;
  /** Whether the job takes only a moment, and `submit`, `poll` and `fetchFile` are called at once. */
  isInstant: boolean;
}

/**
 * The state of a submitted job. Without `askAfterMs` the caller decides when it polls again. `ready`: the provider has
 * finished; sometimes only the file shows whether it succeeded.
 */
export type MediaStatus =
  | { kind: 'working' /** 0 to 1. */; fraction?: number; askAfterMs?: number }
  | { kind: 'ready' };

/**
 * A job was submitted, and it is not known whether it was accepted: the connection broke, or the provider answered what may be
 * said before or after it took the job. It is never submitted again, because it may have been charged.
 */
export class SubmissionLost extends Error {
  override name = 'SubmissionLost';
}

/**
 * Makes files in jobs: `submit`, then `poll` until it is ready, then `fetchFile`. All calls but `submit` are harmless
 * to repeat. A retryable ProviderFailure of `submit` says that the job was certainly not taken, as with 429 or a
 * refused connection; one of `poll` or `fetchFile` says that the job may still succeed.
 */
export interface MediaModel {
  /** Whether repeating `submit` is harmless too. Then a submission is not recorded. */
  readonly repeatable: boolean;

  expectation(request: GenerationRequest): Expectation;

  /**
   * Submits a job to the provider, once. Only a time limit aborts its signal: a cancelled job is submitted to its end,
   * so that the provider can be asked to cancel it.
   * @returns the provider's id of the job, at most 200 characters
   * @throws ProviderFailure; SubmissionLost; ImageUnusable
   */
  submit(job: MediaJob, call: Call): Promise<string>;

  /**
   * Begins an instant job that is about to be submitted in this process. The result waits for `fetchFile`, and is
   * discarded if that is not called soon. Never fails.
   */
  begin?(job: MediaJob, call: Pick<Call, 'tenantKey'>): void;

  /**
   * @param upstreamId what `submit` returned, or what the provider's webhook reported
   * @throws ProviderFailure; the signal's reason once it is aborted
   */
  poll(job: MediaJob, upstreamId: string, call: Call): Promise<MediaStatus>;

  /**
   * Fetches the file of a job that is ready.
   * @throws ProviderFailure, of kind `malformed_answer` when there is no usable file, which may change within seconds; ImageUnusable; WorkQueueFull when the machine is busy; the signal's reason once it is aborted
   */
  fetchFile(job: MediaJob, upstreamId: string, call: Call): Promise<MadeMedia>;

  /** Asks the provider to cancel the job. A provider that cannot is no failure. @throws ProviderFailure */
  cancel(job: MediaJob, upstreamId: string, call: Call): Promise<void>;
}
