import { expect, test } from '@jest/globals';
import { startFakeFal } from '../../../../test/fakes/fal.ts';
import { openBoundedWork } from '../../../../test/platform/open-bounded-work.ts';
import { tenantKeyOf } from '../../../../test/platform/tenant-key.ts';
import { Egress } from '../../../platform/egress/egress.ts';
import { egressRules } from '../../../platform/egress/egress-destination.ts';
import { readEnv } from '../../../platform/env.ts';
import { mediaModels } from '../../core/media/models.ts';
import { providerSettings } from '../../settings.ts';
import type { MediaModel } from '../media-ports.ts';
import { mediaRegistry } from '../media-registry.ts';
import { openLiveMedia } from './open-media.ts';

const base = { DATABASE_URL: 'postgres://x@127.0.0.1/x', TEMPORAL_ADDRESS: '127.0.0.1:7233' };
const options = {
  models: mediaModels,
  egress: new Egress(egressRules({ NODE_ENV: 'test', EGRESS_ALLOW_CIDRS: [] })),
  work: openBoundedWork(),
};
const open = (variables: Record<string, string>) =>
  openLiveMedia(readEnv([providerSettings], { ...base, ...variables }), options);

test('a provider is there when its key is, and no other takes its place', () => {
  expect([...open({}).keys()]).toEqual([]);
  expect([...open({ FAL_KEY: 'a:b', RUNWAY_API_KEY: '' }).keys()]).toEqual(['FAL']);
  expect([...open({ FAL_KEY: 'a:b', RUNWAY_API_KEY: 'key_1' }).keys()]).toEqual(['FAL', 'RUNWAY']);
  const media = mediaRegistry({} as MediaModel, open({ FAL_KEY: 'a:b' }));
  expect(media.mediaModel('live', 'FAL')).toBeDefined();
  expect(() => media.mediaModel('live', 'RUNWAY')).toThrow(
    expect.objectContaining({ code: 'provider_not_configured', facts: { provider: 'RUNWAY' } }),
  );
});

test('fal is asked for reports where it can reach us, and not on this machine', async () => {
  const fal = await startFakeFal();
  const id = '0199aaaa-bbbb-7ccc-8ddd-eeeeffff0000';
  const job = { id, request: { kind: 'music', prompt: 'x', model: 'musicgen', duration: 10, bpm: null } as const };
  for (const [publicUrl, webhook] of [
    ['https://us.example/', `https://us.example/hooks/fal/${id}`],
    ['https://us.example/below/', `https://us.example/below/hooks/fal/${id}`],
    ['http://127.0.0.1:3000', null],
    ['http://localhost:3000', null],
    ['http://[::1]:3000', null],
    ['http://api.localhost', null],
  ] as const) {
    const env = { FAL_KEY: fal.apiKey, FAL_QUEUE_URL: `${fal.origin}/`, PUBLIC_URL: publicUrl };
    const call = { tenantKey: tenantKeyOf('one'), attempt: 1, signal: new AbortController().signal };
    await open(env)
      .get('FAL')!
      .submit({ ...job, image: null, seed: 1, ageMs: 0 }, call);
    expect({ publicUrl, webhook: fal.jobs.at(-1)!.webhook }).toEqual({ publicUrl, webhook });
  }
  await fal.close();
});

test.each([
  ['FAL_KEY', 'with space'],
  ['FAL_QUEUE_URL', 'queue.fal.run'],
  ['FAL_JWKS_URL', 'ftp://keys'],
  ['RUNWAY_API_KEY', 'line\nbreak'],
  ['RUNWAY_BASE_URL', 'x'],
])('%s=%j stops the start', (name, value) => {
  expect(() => open({ [name]: value })).toThrow(new RegExp(name));
});
