import type { BoundedTask } from '../../../platform/bounded-work/task.ts';
import type { ExaminedAudio } from './examine-audio.ts';

/**
 * Tells the format and the length of a file of anyone's. For the pool of renderings; a file that reaches its limits
 * (`WorkTooCostly`) is no recording either.
 */
export const examineAudio: BoundedTask<{ path: string }, ExaminedAudio> = {
  module: new URL('./examine-audio.ts', import.meta.url).href,
  limitMs: 10_000,
  memoryMb: 400,
};
