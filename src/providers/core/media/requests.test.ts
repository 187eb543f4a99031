import { describe, expect, test } from '@jest/globals';
import { mediaModels } from './models.ts';
import {
  canonicalRequest,
  codePoints,
  type GenerationRequest,
  type ImageRequest,
  type MusicRequest,
  problemsOf,
  seedOf,
  upscaledSize,
  type VideoRequest,
} from './requests.ts';

const image: ImageRequest = {
  kind: 'image',
  prompt: 'a boat',
  negativePrompt: null,
  model: 'flux-dev',
  aspectRatio: '1:1',
  quality: 'standard',
  seed: null,
};
const video: VideoRequest = { kind: 'video', prompt: 'a boat', model: 'runway-gen3', duration: 5, aspectRatio: '16:9' };
const music: MusicRequest = { kind: 'music', prompt: 'a boat', model: 'musicgen', duration: 10, bpm: null };

const paths = (request: GenerationRequest) => problemsOf(request, mediaModels).map(({ path }) => path);

describe('a request', () => {
  test.each<[GenerationRequest, string[]]>([
    [image, []],
    [{ ...image, model: 'ideogram-v2', aspectRatio: '21:9' }, ['aspectRatio']],
    [{ ...image, model: 'ideogram-v2', aspectRatio: '3:2' }, []],
    [{ ...image, model: 'runway-gen3' }, ['model']],
    [{ ...image, model: 'toString' }, ['model']],
    [video, []],
    [{ ...video, duration: 10.001 }, ['duration']],
    [{ ...video, model: 'minimax-video', duration: 6.5, aspectRatio: '9:16' }, ['duration', 'aspectRatio']],
    [{ ...video, model: 'luma-dream-machine', duration: 5.5 }, ['duration']],
    [{ ...video, prompt: 'é'.repeat(1_001) }, ['prompt']],
    [{ ...video, prompt: '🛶'.repeat(1_000) }, []],
    [{ ...video, prompt: 'é'.repeat(1_001), model: 'kling-1.5-pro' }, []],
    [{ ...video, duration: Number.NaN }, ['duration']],
    [{ ...music, duration: 30.1 }, ['duration']],
    [{ ...music, duration: 60, model: 'stable-audio' }, []],
    [{ ...music, duration: 9.9 }, ['duration']],
    [{ kind: 'upscale', scale: 4 }, []],
  ])('%j has problems at %j', (request, expected) => {
    expect(paths(request)).toEqual(expected);
  });

  test('characters are code points', () => {
    expect(codePoints('a🛶é')).toBe(3);
  });

  test('an upscaled image has at most 64 megapixels', () => {
    expect(upscaledSize({ width: 4_000, height: 4_000 }, 2)).toEqual({ width: 8_000, height: 8_000 });
    expect(upscaledSize({ width: 4_001, height: 4_000 }, 2)).toMatchObject({ path: 'scale' });
    expect(upscaledSize({ width: 2_000, height: 2_000 }, 4)).toEqual({ width: 8_000, height: 8_000 });
  });

  test('is canonical whatever the order of its fields, and differs by each of them', () => {
    const swapped = Object.fromEntries(Object.entries(image).toReversed()) as unknown as ImageRequest;
    expect(canonicalRequest(swapped)).toBe(canonicalRequest(image));
    const others: GenerationRequest[] = [
      { ...image, prompt: 'a boat ' },
      { ...image, negativePrompt: 'rain' },
      { ...image, quality: 'high' },
      { ...image, seed: 0 },
      { ...music, prompt: 'a boat' },
      video,
    ];
    expect(new Set([image, ...others].map((one) => canonicalRequest(one))).size).toBe(others.length + 1);
    const upscale = { kind: 'upscale', scale: 2 } as const;
    expect(canonicalRequest(upscale, 'aa')).not.toBe(canonicalRequest(upscale, 'bb'));
  });

  test('a seed is the first 32 bits of a digest, wherever it lies in its buffer', () => {
    expect(seedOf(Uint8Array.of(0xff, 0xff, 0xff, 0xff, 1))).toBe(4_294_967_295);
    expect(seedOf(Uint8Array.of(9, 0, 0, 0, 5, 1).subarray(1))).toBe(5);
  });
});
