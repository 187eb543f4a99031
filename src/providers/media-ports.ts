import type { PromptedRequest } from './core/media/requests.ts';
import type { Call } from './ports.ts';

/** A generation as its provider is asked about it. */
export interface MediaJob {
  /** UUID of the generation. */
  id: string;
  request: PromptedRequest;
  /** The seed that was told, or chosen when the request named none. */
  seed: number;
  /** Milliseconds since the generation was created. */
  ageMs: number;
}

/** A finished file on the local disk. */
export interface MadeMedia {
  type: 'png' | 'mp4' | 'mp3';
  path: string;
  /** Of pictures and videos, in pixels. */
  size: { width: number; height: number } | null;
  /** The length of videos and music, as it is in the file. */
  seconds: number | null;
  /** Removes the file. To be called whatever became of it. */
  discard(): Promise<void>;
}

/** Where a job stands. `wait`: ask again after so many milliseconds. */
export type MediaProgress = { kind: 'wait'; ms: number } | { kind: 'made'; made: MadeMedia };

export interface MediaModel {
  /**
   * Brings a job forward and says where it stands. Harmless when it is called again for the same job.
   * @throws ProviderFailure; WorkQueueFull when the machine is busy; the signal's reason once it is aborted
   */
  advance(job: MediaJob, call: Call): Promise<MediaProgress>;
}
