import type { MediaProvider } from '../../core/media/models.ts';
import type { UpstreamRequest } from '../../core/media/upstream-request.ts';
import type { MediaStatus } from '../media-ports.ts';

/** A job as a provider's API knows it. */
export interface HostJob {
  /** UUID of the generation. */
  generationId: string;
  /** The published name of the model. */
  model: string;
  /** The provider's name of the model. */
  upstream: string;
}

/**
 * One provider's API of jobs. An adapter speaks its wire format and names its failures; files, images and the model
 * table are common to all. Each call is made once: the workflow decides about others.
 */
export interface MediaHost {
  provider: MediaProvider;
  /** Whether `look` reports fractions. */
  reportsProgress: boolean;
  /** The longest `data:` URI that it takes for an image, in characters. */
  maxImageCharacters: number;

  /**
   * @returns the provider's id of the job
   * @throws ProviderFailure when the job was certainly not accepted; SubmissionLost when it is not known
   */
  submit(job: HostJob, input: UpstreamRequest['input'], signal: AbortSignal): Promise<string>;

  /** @throws ProviderFailure, not retryable once the job has failed */
  look(job: HostJob, upstreamId: string, signal: AbortSignal): Promise<MediaStatus>;

  /** The address of a finished job's file. @throws ProviderFailure, not retryable once the job has failed */
  findOutput(job: HostJob, upstreamId: string, signal: AbortSignal): Promise<string>;

  /** A job that is over, or that cannot be stopped, is no failure. @throws ProviderFailure */
  cancel(job: HostJob, upstreamId: string, signal: AbortSignal): Promise<void>;
}

export interface HostOptions {
  apiKey: string;
  baseUrl: string;
  /** Time limit of one call, until the response is read. */
  timeoutMs: number;
}

/** The expected form of every id of a provider: it becomes a part of addresses. */
export const upstreamIdPattern = /^[A-Za-z0-9_-]{1,200}$/;
