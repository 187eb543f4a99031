import type { BoundedTask } from '../../../platform/bounded-work/task.ts';
import type { Rendered, Rendering } from './render-media.ts';

/**
 * Makes a file of the sandbox. The process that does it is ended when it takes longer or more memory than the largest
 * work that is accepted: an upscale to 64 megapixels.
 */
export const renderMedia: BoundedTask<Rendering, Rendered> = {
  module: new URL('./render-media.ts', import.meta.url).href,
  limitMs: 120_000,
  memoryMb: 700,
};
