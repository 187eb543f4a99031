import type { BoundedTask } from '../../../platform/bounded-work/task.ts';
import type { Finished, Finishing } from './finish-output.ts';

/** Examines the file of a provider, and converts it if another format is wanted. For the pool of renderings. */
export const finishOutput: BoundedTask<Finishing, Finished> = {
  module: new URL('./finish-output.ts', import.meta.url).href,
  limitMs: 120_000,
  memoryMb: 700,
};
