import { describe, expect, test } from '@jest/globals';
import fc from 'fast-check';
import type {
  GenerationRequest,
  ImageRequest,
  MusicRequest,
  VideoRequest,
} from '../../providers/core/media/requests.ts';
import { generationPrice, settledCredits } from './prices.ts';
import { estimatedSeconds, progressOf, progressOfFraction, progressOfTime } from './progress.ts';

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

describe('credits', () => {
  test.each<[GenerationRequest, number]>([
    [image, 1],
    [{ ...image, quality: 'high' }, 2],
    [{ ...image, quality: 'ultra' }, 5],
    [video, 25],
    [{ ...video, duration: 0 }, 0],
    [{ ...video, duration: 4.2 }, 25],
    [{ ...video, duration: 5.2 }, 30],
    [music, 3],
    [{ ...music, duration: 11 }, 6],
    [{ ...music, duration: 25 }, 9],
    [{ ...music, duration: 30 }, 9],
    [{ kind: 'upscale', scale: 2 }, 1],
    [{ kind: 'upscale', scale: 4 }, 2],
    [{ kind: 'background_removal' }, 1],
  ])('%j costs %d, as published', (request, credits) => {
    expect(generationPrice(request)).toBe(credits);
  });

  test('a video costs its started seconds, never more than was reserved', () => {
    const asked = { ...video, duration: 7 };
    expect([6.0004, 6.2, 7, 10].map((seconds) => settledCredits(asked, seconds))).toEqual([30, 35, 35, 35]);
    fc.assert(
      fc.property(
        fc.double({ min: 0, max: 100, noNaN: true }),
        fc.integer({ min: 5, max: 10 }),
        (seconds, duration) => {
          const settled = settledCredits({ ...video, duration }, seconds);
          expect(settled).toBeLessThanOrEqual(generationPrice({ ...video, duration }));
          expect(settled % 5).toBe(0);
        },
      ),
    );
    // Padding of an encoder costs nothing.
    expect(settledCredits({ ...music, duration: 20 }, 20.05)).toBe(6);
  });
});

describe('progress', () => {
  test('is 0 to 99 and never falls', () => {
    const ages = fc.array(fc.double({ min: 0, max: 10_000_000, noNaN: true }));
    fc.assert(
      fc.property(ages, fc.integer({ min: 0, max: 1_000_000 }), (all, expectedMs) => {
        let last = 0;
        for (const ageMs of all.sort((one, other) => one - other)) {
          const next = progressOf({ progress: null, expectedMs, ageMs });
          expect(Number.isInteger(next) && next >= last && next <= 99).toBe(true);
          last = next;
        }
      }),
    );
    expect(progressOf({ progress: 30, expectedMs: 1_000, ageMs: 900 })).toBe(30);
    for (const fraction of [Number.NaN, -1, 1.2]) expect([0, 99]).toContain(progressOfFraction(fraction));
  });

  test('comes from a figure or from time', () => {
    expect([0, 0.29, 0.5, 1].map(progressOfFraction)).toEqual([0, 29, 50, 99]);
    expect([-5, 0, 1_000, 2_000, 9_000].map((ms) => progressOfTime(ms, 2_000))).toEqual([0, 0, 50, 99, 99]);
    expect([0, 1, 1_000, 1_001].map(estimatedSeconds)).toEqual([1, 1, 1, 2]);
  });
});
