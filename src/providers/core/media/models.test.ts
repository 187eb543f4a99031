import { describe, expect, test } from '@jest/globals';
import { aspectRatios, sizes } from './aspect-ratios.ts';
import { defaultModels, findModel, mediaModels, mediaProviders, modelNames, qualities, toolModels } from './models.ts';
import type { ImageRequest, VideoRequest } from './requests.ts';
import { imageUpstream, musicUpstream, offeredSeconds, toolUpstream, videoUpstream } from './upstream-request.ts';

const image: ImageRequest = {
  kind: 'image',
  prompt: 'a red bicycle',
  negativePrompt: 'people',
  model: 'flux-pro-1.1',
  aspectRatio: '21:9',
  quality: 'standard',
  seed: null,
};
const video: VideoRequest = {
  kind: 'video',
  prompt: 'waves',
  model: 'kling-1.5-pro',
  duration: 7,
  aspectRatio: '16:9',
};

const imageModel = (name: string) => findModel(mediaModels, 'image', name)!;
const videoModel = (name: string) => findModel(mediaModels, 'video', name)!;

describe('the table of media models', () => {
  test('has every published name with its published limits', () => {
    expect(modelNames(mediaModels, 'image')).toEqual([
      'flux-pro-1.1',
      'flux-dev',
      'flux-pro-ultra',
      'recraft-v3',
      'stable-diffusion-3.5',
      'ideogram-v2',
    ]);
    const maxOf = (kind: 'video' | 'music') =>
      modelNames(mediaModels, kind).map((name) => [name, findModel(mediaModels, kind, name)?.maxSeconds]);
    expect(maxOf('video')).toEqual([
      ['runway-gen3', 10],
      ['kling-1.5-pro', 10],
      ['minimax-video', 6],
      ['luma-dream-machine', 5],
    ]);
    expect(maxOf('music')).toEqual([
      ['musicgen', 30],
      ['stable-audio', 60],
    ]);
    for (const [kind, name] of Object.entries({ ...defaultModels, ...toolModels })) {
      expect(mediaModels.get(name)?.kind).toBe(kind);
    }
  });

  test('gives every model a provider, an upstream name and a way to say what it is asked', () => {
    for (const [name, model] of mediaModels) {
      expect([name, Object.keys(mediaProviders)]).toEqual([name, expect.arrayContaining([model.provider])]);
      expect(model.upstream).toMatch(/^[a-z0-9./_-]+$/);
      expect(model.input.prompt ?? model.input.image).toBeDefined();
    }
  });

  test('finds no model under the kind of another, or under a name of every object', () => {
    expect(findModel(mediaModels, 'video', 'flux-dev')).toBeUndefined();
    expect(findModel(mediaModels, 'image', 'constructor')).toBeUndefined();
    expect(findModel(mediaModels, 'image', 'FLUX-DEV')).toBeUndefined();
  });

  test.each([
    ['runway-gen3', ['16:9', '9:16']],
    ['kling-1.5-pro', ['16:9', '9:16', '1:1']],
    ['minimax-video', ['16:9']],
    ['luma-dream-machine', ['16:9', '9:16', '4:3', '21:9']],
  ])('%s makes %j', (name, ratios) => {
    expect(videoModel(name).ratios).toEqual(ratios);
  });
});

describe('what a provider is sent', () => {
  test('an image has the pixels of its ratio, its seed, and what is unwanted where the model has a field for it', () => {
    expect(imageUpstream(imageModel('flux-pro-1.1'), image, 0)).toEqual({
      upstream: 'fal-ai/flux-pro/v1.1',
      input: { prompt: 'a red bicycle\nAvoid: people', image_size: sizes['21:9'], seed: 0 },
    });
    expect(imageUpstream(imageModel('stable-diffusion-3.5'), { ...image, quality: 'high' }, 7).input).toEqual({
      prompt: 'a red bicycle',
      negative_prompt: 'people',
      image_size: sizes['21:9'],
      seed: 7,
      num_inference_steps: 40,
    });
    expect(imageUpstream(imageModel('recraft-v3'), image, 7).input).not.toHaveProperty('seed');
    const { input } = imageUpstream(imageModel('ideogram-v2'), { ...image, negativePrompt: null }, 7);
    expect(input).toEqual({ prompt: 'a red bicycle', aspect_ratio: '21:9', seed: 7 });
  });

  test('ultra goes to the larger model, and no quality changes the size', () => {
    expect(imageUpstream(imageModel('flux-pro-1.1'), { ...image, quality: 'ultra' }, 7).upstream).toBe(
      'fal-ai/flux-pro/v1.1-ultra',
    );
    for (const name of modelNames(mediaModels, 'image')) {
      for (const aspectRatio of aspectRatios) {
        const said = qualities.map((quality) => {
          const { input } = imageUpstream(imageModel(name), { ...image, aspectRatio, quality }, 1);
          return input.aspect_ratio ?? input.image_size;
        });
        for (const size of said) expect([aspectRatio, sizes[aspectRatio]]).toContainEqual(size);
      }
    }
  });

  test.each([
    ['kling-1.5-pro', 5, 5],
    ['kling-1.5-pro', 5.1, 10],
    ['kling-1.5-pro', 7, 10],
    ['minimax-video', 5, 6],
    ['luma-dream-machine', 5, 5],
    ['runway-gen3', 5, 5],
    ['runway-gen3', 7.2, 8],
    ['runway-gen3', 10, 10],
  ] as [string, number, number][])('%s is asked for %d s as %d s', (name, asked, offered) => {
    expect(offeredSeconds(videoModel(name), asked)).toBe(offered);
  });

  test('a video has the words of its provider', () => {
    expect(videoUpstream(videoModel('kling-1.5-pro'), video, 3, null)).toEqual({
      upstream: 'fal-ai/kling-video/v1.5/pro/text-to-video',
      input: { prompt: 'waves', aspect_ratio: '16:9', duration: '10' },
    });
    expect(videoUpstream(videoModel('luma-dream-machine'), { ...video, duration: 5 }, 3, null).input.duration).toBe(
      '5s',
    );
    expect(videoUpstream(videoModel('runway-gen3'), { ...video, aspectRatio: '9:16' }, 3, 'https://a/b')).toEqual({
      upstream: 'image_to_video',
      input: {
        promptText: 'waves',
        ratio: '720:1280',
        duration: 7,
        seed: 3,
        promptImage: 'https://a/b',
        model: 'gen4.5',
      },
    });
  });

  test('music has its tempo in the prompt, and work on an image its address', () => {
    const music = findModel(mediaModels, 'music', 'musicgen')!;
    const asked = { kind: 'music', prompt: 'a waltz', model: 'musicgen', duration: 12.5, bpm: 90 } as const;
    expect(musicUpstream(music, asked, 4).input).toEqual({ prompt: 'a waltz\nAt 90 BPM.', seconds_total: 13, seed: 4 });
    const upscale = findModel(mediaModels, 'upscale', 'upscale')!;
    expect(toolUpstream(upscale, { kind: 'upscale', scale: 4 }, 'https://a/b').input).toEqual({
      image_url: 'https://a/b',
      scale: 4,
      output_format: 'png',
    });
  });
});
