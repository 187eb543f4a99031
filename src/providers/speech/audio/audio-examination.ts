import type { BoundedTask } from '../../../platform/bounded-work/task.ts';
import type { ExaminedAudio } from './examine-audio.ts';

/**
 * Determines the format and the length of an untrusted file. For the pool of renderings; a file that reaches its limits
 * (`WorkTooCostly`) is no recording either.
 */
export const examineAudio: BoundedTask<{ path: string }, ExaminedAudio> = {
  module: new URL('./examine-audio.ts', import.meta.url).href,
  limitMs: 10_000,
  memoryMb: 400,
};
