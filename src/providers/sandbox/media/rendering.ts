import type { BoundedTask } from '../../../platform/bounded-work/task.ts';
import type { Rendered, Rendering } from './render-media.ts';

type Kind = Rendering['kind'];

const module = new URL('./render-media.ts', import.meta.url).href;

/**
 * In real time, several times the duration of the largest accepted work on an idle processor: an upscale to 64
 * megapixels, a video of ten seconds.
 */
const limitSeconds: Record<Kind, number> = { image: 20, upscale: 90, background_removal: 45, video: 90, music: 45 };

/** Makes a file of the sandbox. The process that does it is ended when it takes longer or more memory than it may. */
const taskOf = (kind: Kind): BoundedTask<Rendering, Rendered> => ({
  module,
  limitMs: limitSeconds[kind] * 1_000,
  isLengthy: kind !== 'image',
  memoryMb: 700,
});

export const renderMedia: Readonly<Record<Kind, BoundedTask<Rendering, Rendered>>> = {
  image: taskOf('image'),
  upscale: taskOf('upscale'),
  background_removal: taskOf('background_removal'),
  video: taskOf('video'),
  music: taskOf('music'),
};
