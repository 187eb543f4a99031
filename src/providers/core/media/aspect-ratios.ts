/** Pixels of each aspect ratio, for images and for the sandbox's videos. Multiples of 32, as the models require. */
export const sizes = {
  '1:1': { width: 1024, height: 1024 },
  '16:9': { width: 1024, height: 576 },
  '9:16': { width: 576, height: 1024 },
  '4:3': { width: 1024, height: 768 },
  '3:2': { width: 1152, height: 768 },
  '21:9': { width: 1344, height: 576 },
} as const;

export type AspectRatio = keyof typeof sizes;
export const aspectRatios = Object.keys(sizes) as [AspectRatio, ...AspectRatio[]];
