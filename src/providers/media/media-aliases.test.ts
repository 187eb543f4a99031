import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, test } from '@jest/globals';
import { EnvError } from '../../platform/env.ts';
import { mediaModels } from '../core/media/models.ts';
import { withMediaAliases } from './media-aliases.ts';

const folder = mkdtempSync(join(tmpdir(), 'atelier-media-aliases-'));
afterAll(() => rmSync(folder, { recursive: true }));

const image = { provider: 'FAL', upstream: 'fal-ai/flux-2', input: { prompt: 'prompt' } };
const withOne = (name: string, value: unknown) => withMediaAliases(JSON.stringify({ [name]: value }));

describe('MEDIA_ALIASES', () => {
  test('unset changes nothing', () => {
    expect(withMediaAliases(undefined)).toBe(mediaModels);
  });

  test('names a listed model for a name, new or old', () => {
    expect(withOne('flux-dev', 'flux-pro-1.1').get('flux-dev')).toBe(mediaModels.get('flux-pro-1.1'));
    expect(withOne('house-image', 'flux-dev').get('house-image')).toBe(mediaModels.get('flux-dev'));
    expect(mediaModels.has('house-image')).toBe(false);
  });

  test('replaces an entry as a whole, of the same kind, and adds entries that say theirs', () => {
    const flux = withOne('flux-dev', { ...image, sunsetAt: '2027-05-01' }).get('flux-dev');
    expect(flux).toEqual({
      ...image,
      kind: 'image',
      sunsetAt: '2027-05-01',
      typicalSeconds: 60,
      ratios: ['1:1', '16:9', '9:16', '4:3', '3:2', '21:9'],
    });
    const video = {
      kind: 'video',
      provider: 'RUNWAY',
      upstream: 'text_to_video',
      ratios: ['16:9'],
      maxSeconds: 8,
      fromImage: { upstream: 'image_to_video', image: 'promptImage' },
      input: { prompt: 'promptText', size: { field: 'ratio', as: { '16:9': '1280:720' } } },
    };
    expect(withOne('house-video', video).get('house-video')).toEqual({ ...video, offers: [], typicalSeconds: 60 });
  });

  test('is a file where it does not begin like JSON', () => {
    const path = join(folder, 'aliases.json');
    writeFileSync(path, JSON.stringify({ musicgen: 'stable-audio' }));
    expect(withMediaAliases(path).get('musicgen')).toMatchObject({ maxSeconds: 60 });
  });

  test.each([
    ['{"a"', /MEDIA_ALIASES: /],
    ['/nowhere/aliases.json', /ENOENT/],
    [{ 'house-image': 'flux-99' }, /house-image: "flux-99" is not a listed model/],
    [{ 'flux-dev': 'musicgen' }, /flux-dev: .* kind image .* kind music/],
    [{ 'flux-dev': { ...image, kind: 'music', maxSeconds: 30 } }, /flux-dev: .* kind image .* kind music/],
    [{ 'house-image': image }, /house-image\.kind/],
    [{ 'flux-dev': { ...image, provider: 'OPENAI' } }, /flux-dev\.provider/],
    [{ 'flux-dev': { ...image, upstream: 'fal-ai/../secret' } }, /flux-dev\.upstream/],
    [{ 'flux-dev': { ...image, upstream: 'fal-ai/flux?x=1' } }, /flux-dev\.upstream/],
    [{ 'flux-dev': { ...image, ratios: ['5:4'] } }, /flux-dev\.ratios\.0/],
    [{ 'flux-dev': { ...image, sunset: '2027-05-01' } }, /flux-dev/],
    [{ musicgen: { ...image, maxSeconds: 600 } }, /musicgen\.maxSeconds/],
  ])('is refused in words: %j', (setting, why) => {
    const text = typeof setting === 'string' ? setting : JSON.stringify(setting);
    expect(() => withMediaAliases(text)).toThrow(EnvError);
    expect(() => withMediaAliases(text)).toThrow(why);
  });
});
