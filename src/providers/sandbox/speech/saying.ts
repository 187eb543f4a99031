import type { BoundedTask } from '../../../platform/bounded-work/task.ts';
import type { Saying } from './say.ts';

/** Says a text. The one with the most sound takes less than a minute, most take less than a second. */
export const sayText: BoundedTask<Saying, { seconds: number }> = {
  module: new URL('./say.ts', import.meta.url).href,
  limitMs: 120_000,
  memoryMb: 1_000,
  isLengthy: true,
};
