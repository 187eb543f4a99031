import type { BoundedTask } from '../../../platform/bounded-work/task.ts';
import type { perform } from './examine-image.ts';

type Examine = typeof perform;

/**
 * Decodes an image file to its end, so that a truncated or damaged file is detected before it is used or shown, and
 * measures it. For the pool of renderings: files of callers and providers are never decoded in a process that serves
 * others.
 */
export const examineImage: BoundedTask<Parameters<Examine>[0], Awaited<ReturnType<Examine>>> = {
  module: new URL('./examine-image.ts', import.meta.url).href,
  limitMs: 60_000,
  memoryMb: 700,
};
