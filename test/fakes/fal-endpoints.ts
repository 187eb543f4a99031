import {
  cutOutFile,
  type FakeFile,
  pictureFile,
  type Size,
  soundFile,
  upscaledFile,
  videoFile,
} from './media-files.ts';

// biome-ignore lint/suspicious/noExplicitAny: inputs of every model
type Input = any;
type IsValid = (value: unknown) => boolean;

/** A model as fal serves it: the fields that it knows, after the types of its client, and its output. */
interface FalEndpoint {
  required: string[];
  fields: Record<string, IsValid>;
  output(input: Input, url: string): unknown;
  makeFile(input: Input): Promise<FakeFile>;
}

const text: IsValid = (value) => typeof value === 'string' && value.length > 0;
const whole: IsValid = (value) => Number.isInteger(value) && (value as number) >= 0;
const oneOf =
  (...values: unknown[]): IsValid =>
  (value) =>
    values.includes(value);
const dataUri: IsValid = (value) => {
  const [head, encoded = ''] = String(value).split(',', 2);
  // A pattern over millions of characters may run out of its stack.
  const isEncoded = encoded !== '' && Buffer.from(encoded, 'base64').toString('base64') === encoded;
  return isEncoded && /^data:image\/(png|jpeg|webp);base64$/.test(head!);
};
const pixels: IsValid = (value) => {
  const { width, height } = value as Partial<Size>;
  return [width, height].every((side) => Number.isInteger(side) && side! % 32 === 0 && side! > 0 && side! <= 14_142);
};

const ratios: Record<string, Size> = {
  '1:1': { width: 1_024, height: 1_024 },
  '16:9': { width: 1_024, height: 576 },
  '9:16': { width: 576, height: 1_024 },
  '4:3': { width: 1_024, height: 768 },
  '3:2': { width: 1_152, height: 768 },
  '21:9': { width: 1_344, height: 576 },
};
const ratio = (...names: string[]) => oneOf(...(names.length > 0 ? names : Object.keys(ratios)));
const sizeOf = ({ image_size, aspect_ratio }: Input): Size =>
  image_size ?? ratios[aspect_ratio] ?? { width: 1_024, height: 768 };

const format = { output_format: oneOf('jpeg', 'png') };

/** An endpoint for images. Only some models report the size and the seed. */
const image = (fields: Record<string, IsValid>, says: 'everything' | 'the seed' | 'nothing'): FalEndpoint => ({
  required: ['prompt'],
  fields: { prompt: text, ...fields },
  output: (input, url) => ({
    images: [{ url, content_type: 'image/jpeg', ...(says === 'everything' && sizeOf(input)) }],
    ...(says !== 'nothing' && { seed: input.seed ?? 1 }),
    ...(says === 'everything' && { prompt: input.prompt, has_nsfw_concepts: [false], timings: {} }),
  }),
  makeFile: (input) => pictureFile(sizeOf(input), input.output_format ?? 'jpeg'),
});

const small = { width: 320, height: 192 };

const video = (
  fields: Record<string, IsValid>,
  secondsOf: (input: Input) => number,
  more: string[] = [],
): FalEndpoint => ({
  required: ['prompt', ...more],
  fields: { prompt: text, ...fields },
  output: (_, url) => ({ video: { url, content_type: 'video/mp4', file_name: 'output.mp4' } }),
  makeFile: (input) => videoFile(small, secondsOf(input)),
});

const withImage = { image_url: dataUri };
const kling = { duration: oneOf('5', '10'), aspect_ratio: ratio('16:9', '9:16', '1:1'), negative_prompt: text };
const luma = { duration: oneOf('5s', '9s'), aspect_ratio: ratio('16:9', '9:16', '4:3', '3:4', '21:9', '9:21') };
const seconds = ({ duration = '5' }: Input) => Number.parseInt(duration, 10);

const tool = (fields: Record<string, IsValid>, makeFile: FalEndpoint['makeFile']): FalEndpoint => ({
  required: ['image_url'],
  fields: { ...withImage, ...fields },
  output: (_, url) => ({ image: { url, content_type: 'image/png' } }),
  makeFile,
});

const steps = { num_inference_steps: whole };
const flux = { image_size: pixels, seed: whole };

export const falEndpoints: Record<string, FalEndpoint> = {
  'fal-ai/flux-pro/v1.1': image({ ...flux, ...format }, 'everything'),
  'fal-ai/flux-pro/v1.1-ultra': image({ aspect_ratio: ratio(), seed: whole, ...format }, 'everything'),
  'fal-ai/flux/dev': image({ ...flux, ...steps }, 'everything'),
  'fal-ai/recraft/v3/text-to-image': image({ image_size: pixels }, 'nothing'),
  'fal-ai/stable-diffusion-v35-large': image({ ...flux, ...steps, negative_prompt: text }, 'everything'),
  'fal-ai/ideogram/v2': image(
    { aspect_ratio: ratio('1:1', '16:9', '9:16', '4:3', '3:2'), seed: whole, negative_prompt: text },
    'the seed',
  ),
  'fal-ai/kling-video/v1.5/pro/text-to-video': video(kling, seconds),
  'fal-ai/kling-video/v1.5/pro/image-to-video': video({ ...kling, ...withImage }, seconds, ['image_url']),
  'fal-ai/minimax/video-01': video({}, () => 6),
  'fal-ai/minimax/video-01/image-to-video': video(withImage, () => 6, ['image_url']),
  'fal-ai/luma-dream-machine/ray-2': video(luma, seconds),
  'fal-ai/luma-dream-machine/ray-2/image-to-video': video({ ...luma, ...withImage }, seconds, ['image_url']),
  'fal-ai/stable-audio-25/text-to-audio': {
    required: ['prompt'],
    fields: { prompt: text, seconds_total: (value) => whole(value) && (value as number) <= 190, seed: whole },
    output: ({ seed }, url) => ({ audio: { url, content_type: 'audio/wav' }, seed }),
    makeFile: async ({ seconds_total = 190 }) => soundFile(seconds_total),
  },
  'fal-ai/esrgan': tool({ scale: oneOf(2, 4), ...format }, ({ image_url, scale = 2 }) =>
    upscaledFile(image_url, scale),
  ),
  'fal-ai/birefnet/v2': tool({ output_format: oneOf('png', 'webp', 'gif') }, ({ image_url }) => cutOutFile(image_url)),
};
