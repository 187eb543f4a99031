import type { BoundedTask } from '../../../platform/bounded-work/task.ts';
import type { perform } from './examine-image.ts';

type Examine = typeof perform;

/**
 * Decodes an image file to its end, so that one that is cut or damaged is known before anybody works on it or sees it, and
 * measures it. For the pool of renderings: what callers and providers give is never decoded in a process that serves others.
 */
export const examineImage: BoundedTask<Parameters<Examine>[0], Awaited<ReturnType<Examine>>> = {
  module: new URL('./examine-image.ts', import.meta.url).href,
  limitMs: 60_000,
  memoryMb: 700,
};
