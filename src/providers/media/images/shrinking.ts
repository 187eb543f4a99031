import type { BoundedTask } from '../../../platform/bounded-work/task.ts';
import type { Shrinking } from './shrink-image.ts';

/** Makes an image file smaller. For the pool of renderings. */
export const shrinkImage: BoundedTask<Shrinking, boolean> = {
  module: new URL('./shrink-image.ts', import.meta.url).href,
  limitMs: 60_000,
  memoryMb: 700,
};
