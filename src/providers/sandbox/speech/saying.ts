import type { BoundedTask } from '../../../platform/bounded-work/task.ts';
import type { Saying } from './say.ts';

/** Says a text. The longest of all takes a few seconds, and a fifth of the memory. */
export const sayText: BoundedTask<Saying, { seconds: number }> = {
  module: new URL('./say.ts', import.meta.url).href,
  limitMs: 120_000,
  memoryMb: 1_000,
};
