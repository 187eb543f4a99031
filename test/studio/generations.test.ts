import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { parseBuffer } from 'music-metadata';
import sharp from 'sharp';
import { reserveCredits } from '../../src/credits/reservations.ts';
import { BoundedWork } from '../../src/platform/bounded-work/bounded-work.ts';
import { Scope } from '../../src/platform/database/scope.ts';
import { openLog } from '../../src/platform/observability/log.ts';
import { mediaRegistry } from '../../src/providers/media/media-registry.ts';
import { sandboxMediaModel } from '../../src/providers/sandbox/media-model.ts';
import { SignedUrls } from '../../src/storage/signed-urls.ts';
import { createGeneration } from '../../src/studio/create-generation.ts';
import { defaultGenerationPolicy } from '../../src/temporal/contracts/studio.ts';
import { organizationIds } from '../../src/tenancy/core/ids.ts';
import { type ApiClient, apiClient } from '../api-client.ts';
import { newHold } from '../hold.ts';
import { sharedProduct } from '../product.ts';
import { until } from '../until.ts';
import { creditsOf, fileAt, sha256 } from './files.ts';

let product: Awaited<ReturnType<typeof sharedProduct>>;
let api: ApiClient;
beforeAll(async () => {
  product = await sharedProduct();
  ({ api } = product);
});
afterAll(() => product.close());

const generate = (body: object, headers?: Record<string, string>, on = api) =>
  on.post('/api/studio/generate', body, headers);

const newTenant = async () => apiClient(product.process.api, (await product.createTenant({ plan: 'pro' })).testKey);

describe('an image', () => {
  test('is a file of the size that was asked for, paid for once, and the same for the same request', async () => {
    const tenant = await newTenant();
    const { balance } = await creditsOf(tenant);
    const asked = { prompt: 'A red bicycle', aspectRatio: '21:9', quality: 'high' };
    const { status, body } = await generate(asked, undefined, tenant);
    expect(status).toBe(200);
    const { id, url, seed, createdAt, ...rest } = body.data;
    expect(rest).toEqual({
      prompt: asked.prompt,
      model: 'flux-pro-1.1',
      aspectRatio: '21:9',
      width: 1344,
      height: 576,
      creditsUsed: 2,
    });
    expect(id).toMatch(/^gen_[0-9a-f]{32}$/);
    expect(Date.parse(createdAt)).toBeLessThanOrEqual(Date.now() + 1_000);
    expect(await creditsOf(tenant)).toEqual({ balance: balance - 2, reserved: 0 });
    const png = await fileAt(url);
    expect(await sharp(png).metadata()).toMatchObject({ format: 'png', width: 1344, height: 576 });

    // Another tenant, an explicit default, and the returned seed: the same picture.
    for (const [body, on] of [
      [{ ...asked, model: 'flux-pro-1.1' }, await newTenant()] as const,
      [{ ...asked, seed }, tenant] as const,
    ]) {
      const again = (await generate(body, undefined, on)).body.data;
      expect([again.seed, sha256(await fileAt(again.url))]).toEqual([seed, sha256(png)]);
    }
  });

  test('is read again with everything that is known of it', async () => {
    const { data } = (await generate({ prompt: 'A lighthouse', seed: 5 })).body;
    const read = (await api.get(`/api/studio/generations/${data.id}`)).body.data;
    expect(read).toMatchObject({ ...data, url: expect.any(String), type: 'image', status: 'completed', error: null });
    const uuid = data.id.slice(4).replace(/(.{8})(.{4})(.{4})(.{4})(.{12})/, '$1-$2-$3-$4-$5');
    expect((await api.get(`/api/studio/generations/${uuid}`)).body.data.id).toBe(data.id);
    const stranger = await (await newTenant()).get(`/api/studio/generations/${data.id}`);
    expect(stranger).toMatchObject({ status: 404, body: { error: { details: { generationId: data.id } } } });
  });

  test.each([
    ['sandbox:fail', 'provider_error'],
    ['sandbox:refuse', 'content_policy'],
    ['sandbox:timeout', 'timeout'],
    ['sandbox:fail@flux-dev', 'provider_error'],
  ])('that fails (%s) costs nothing, and says why: %s', async (prompt, reason) => {
    const tenant = await newTenant();
    const before = await creditsOf(tenant);
    const { status, body } = await generate({ prompt, model: 'flux-dev' }, undefined, tenant);
    expect({ status, code: body.error.code, reason: body.error.details.reason }).toEqual({
      status: 500,
      code: 'ai_provider_error',
      reason,
    });
    const { generationId } = body.error.details;
    const failed = (await tenant.get(`/api/studio/generations/${generationId}`)).body.data;
    expect(failed).toMatchObject({
      status: 'failed',
      error: { code: reason },
      completedAt: null,
      failedAt: expect.any(String),
    });
    expect(failed).not.toHaveProperty('creditsUsed');
    expect(await creditsOf(tenant)).toEqual(before);
  });

  test('of a model that another is named to fail, and of one that is overloaded at first, is made and paid once', async () => {
    const tenant = await newTenant();
    const { balance } = await creditsOf(tenant);
    for (const prompt of ['sandbox:fail@recraft-v3', 'sandbox:overloaded']) {
      expect((await generate({ prompt, model: 'flux-dev' }, undefined, tenant)).status).toBe(200);
    }
    expect(await creditsOf(tenant)).toEqual({ balance: balance - 2, reserved: 0 });
  });

  test('is refused without enough credits, and nothing is done', async () => {
    const { organizationId, testKey } = await product.createTenant({ plan: 'pro' });
    const poor = apiClient(product.process.api, testKey);
    await creditsOf(poor);
    const scope = new Scope(
      product.database,
      { organizationId: organizationIds.parse(organizationId)!, environment: 'test' },
      'studio-test',
    );
    const rest = { operation: 'image', key: 'everything else', amount: 9_995 } as const;
    await reserveCredits(scope, { ...rest, expiresInMs: 3_600_000 });
    const asked = { prompt: 'A crowd', quality: 'standard' };
    const answers = await Promise.all(Array.from({ length: 20 }, () => generate(asked, undefined, poor)));
    const paid = answers.filter(({ status }) => status === 200);
    const refused = answers.filter(({ status }) => status === 402);
    expect([paid.length, refused.length]).toEqual([5, 15]);
    expect(refused[0]!.body.error).toMatchObject({
      code: 'insufficient_credits',
      details: { required: 1, available: expect.any(Number) },
    });
    expect(await creditsOf(poor)).toEqual({ balance: 9_995, reserved: 9_995 });
    expect((await poor.get('/api/studio/history')).body.data.total).toBe(5);
  });

  test('is made once for one Idempotency-Key', async () => {
    const tenant = await newTenant();
    const { balance } = await creditsOf(tenant);
    const hold = newHold(product.database);
    const slow = { prompt: hold.word };
    const key = { 'idempotency-key': 'one' };
    const first = generate(slow, key, tenant);
    await until('the first is under way', async () => (await creditsOf(tenant)).reserved === 1);
    const during = await generate(slow, key, tenant);
    await hold.release();
    const { data } = (await first).body;
    expect(during.body.error.code).toBe('idempotency_in_progress');
    expect((await generate({ prompt: 'Another' }, key, tenant)).status).toBe(422);
    const replay = await generate(slow, key, tenant);
    expect(replay.headers.get('idempotent-replayed')).toBe('true');
    expect({ ...replay.body.data, url: '' }).toEqual({ ...data, url: '' });
    expect(await creditsOf(tenant)).toEqual({ balance: balance - 1, reserved: 0 });

    const failing = { 'idempotency-key': 'two' };
    const [one, other] = [
      await generate({ prompt: 'sandbox:fail' }, failing),
      await generate({ prompt: 'sandbox:fail' }, failing),
    ];
    expect([one.status, other.status]).toEqual([500, 500]);
    expect(other.body.error.details).toEqual(one.body.error.details);
  });

  test.each([
    [{ prompt: '' }, 'prompt'],
    [{ prompt: 'é'.repeat(4_001) }, 'prompt'],
    [{ prompt: 'x', seed: 4_294_967_296 }, 'seed'],
    [{ prompt: 'x', seed: '5' }, 'seed'],
    [{ prompt: 'x', negativePrompt: null }, 'negativePrompt'],
    [{ prompt: 'x', model: 'stable-audio' }, 'model'],
    [{ prompt: 'x', model: 'ideogram-v2', aspectRatio: '21:9' }, 'aspectRatio'],
    [{ prompt: 'x', quality: 'HIGH' }, 'quality'],
  ])('is refused where the request is wrong: %j', async (body, path) => {
    const { status, body: answer } = await generate(body);
    expect([status, answer.error.details.errors.map((one: { path: string }) => one.path)]).toEqual([400, [path]]);
  });

  test('reports an unknown model, and the limits of its model, together with all other problems', async () => {
    const errorsOf = async (path: string, body: object) =>
      (await api.post(`/api/studio/${path}`, body)).body.error.details.errors as { path: string; message: string }[];
    const unknown = await errorsOf('generate', { prompt: '', model: 'dall-e-3', quality: 'best' });
    expect(unknown.map(({ path }) => path)).toEqual(['prompt', 'quality', 'model']);
    expect(unknown.at(-1)!.message).toMatch(/^Must be one of .*flux-pro-1\.1/);
    const ofModel = await errorsOf('generate', { prompt: 'x', seed: -1, model: 'ideogram-v2', aspectRatio: '21:9' });
    expect(ofModel).toEqual([
      { path: 'seed', message: expect.any(String) },
      { path: 'aspectRatio', message: 'Must be one of 1:1, 16:9, 9:16, 4:3, 3:2 for the model ideogram-v2.' },
    ]);
    const video = await errorsOf('generate-video', { model: 'minimax-video', aspectRatio: '5:4', duration: 60 });
    expect(video.map(({ path }) => path)).toEqual(['prompt', 'aspectRatio', 'duration']);
    expect(video[2]!.message).toMatch(/ 5 to \d+ seconds for the model minimax-video\.$/);
    expect(await errorsOf('generate-music', { prompt: '', model: 'nothing' })).toHaveLength(2);
  });

  test('is refused before anything is reserved where its file would have no address', async () => {
    const { organizationId, testKey } = await product.createTenant({ plan: 'pro' });
    const tenant = apiClient(product.process.api, testKey);
    const before = await creditsOf(tenant);
    const scope = new Scope(
      product.database,
      { organizationId: organizationIds.parse(organizationId)!, environment: 'test' },
      'studio-test',
    );
    const services = {
      media: mediaRegistry(sandboxMediaModel(new BoundedWork({ log: openLog('error', 'test'), tasks: [] }))),
      egress: { checkDestination: () => undefined },
      signedUrls: new SignedUrls({ key: undefined, baseUrl: product.process.api, seconds: 60 }),
      temporal: { startsEagerly: () => false },
      generationPolicy: defaultGenerationPolicy,
    };
    const request = { kind: 'music', prompt: 'A waltz', model: 'musicgen', duration: 10, bpm: null } as const;
    const refused = createGeneration(services, scope, { request, imageUrl: null, waiter: null });
    await expect(refused).rejects.toMatchObject({ code: 'service_unavailable' });
    expect(await creditsOf(tenant)).toEqual(before);
  });

  test('needs a provider with a live key', async () => {
    const { liveKey } = await product.createTenant();
    const live = apiClient(product.process.api, liveKey);
    expect((await generate({ prompt: 'x' }, undefined, live)).body.error).toMatchObject({
      code: 'provider_not_configured',
      details: { provider: 'FAL' },
    });
    const { models } = (await live.get('/api/studio/models')).body.data;
    expect(models.some(({ available }: { available: boolean }) => available)).toBe(false);
  });
});

test('music is an MP3 of the length that was asked for, paid by the seconds asked', async () => {
  const { status, body } = await api.post('/api/studio/generate-music', { prompt: 'A waltz', duration: 12, bpm: 90 });
  expect(status).toBe(200);
  expect(body.data).toMatchObject({ format: 'mp3', creditsUsed: 6 });
  const { format } = await parseBuffer(await fileAt(body.data.url), { mimeType: 'audio/mpeg' }, { duration: true });
  expect(Math.round(format.duration! * 100) / 100).toBe(body.data.duration);
  expect(Math.abs(body.data.duration - 12)).toBeLessThan(0.1);
  const tooLong = await api.post('/api/studio/generate-music', { prompt: 'A waltz', duration: 31 });
  expect(tooLong.body.error.details.errors).toEqual([expect.objectContaining({ path: 'duration' })]);
});

test('the history has what was completed, newest first, by type and page', async () => {
  const tenant = await newTenant();
  const ids: string[] = [];
  for (const prompt of ['One', 'Two', 'sandbox:fail', 'Three']) {
    const { body } = await generate({ prompt }, undefined, tenant);
    if (body.success) ids.unshift(body.data.id);
  }
  const music = (await tenant.post('/api/studio/generate-music', { prompt: 'Four' })).body.data.id;
  const page = async (query = '') => {
    const { items, ...rest } = (await tenant.get(`/api/studio/history${query}`)).body.data;
    return { ids: items.map(({ id }: { id: string }) => id), ...rest };
  };
  expect(await page()).toEqual({ ids: [music, ...ids], total: 4, limit: 20, offset: 0 });
  expect(await page('?type=image&limit=2')).toEqual({ ids: ids.slice(0, 2), total: 3, limit: 2, offset: 0 });
  expect(await page('?limit=2&offset=1')).toEqual({ ids: ids.slice(0, 2), total: 4, limit: 2, offset: 1 });
  expect(await page('?type=video')).toMatchObject({ ids: [], total: 0 });
  expect(await page('?offset=99')).toMatchObject({ ids: [], total: 4 });
  for (const query of ['?type=', '?type=speech', '?limit=0', '?limit=101', '?type=image&type=video']) {
    expect((await tenant.get(`/api/studio/history${query}`)).status).toBe(400);
  }
});
