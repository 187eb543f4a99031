import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import sharp from 'sharp';
import { reserveCredits } from '../../src/credits/reservations.ts';
import { Scope } from '../../src/platform/database/scope.ts';
import { organizationIds } from '../../src/tenancy/core/ids.ts';
import { type ApiClient, apiClient } from '../api-client.ts';
import { newHold } from '../hold.ts';
import { sharedProduct, type Tenant } from '../product.ts';
import { until } from '../until.ts';
import { creditsOf, fileAt, sha256 } from './files.ts';
import { type ImageServer, openImageServer } from './image-server.ts';
import { blank, noise, square, textBomb } from './pictures.ts';

let product: Awaited<ReturnType<typeof sharedProduct>>;
let api: ApiClient;
let images: ImageServer;
const letGo = Promise.withResolvers<void>();
beforeAll(async () => {
  const png = await square(60, 40).png().toBuffer();
  const large = await blank(2_001, 2_000).png().toBuffer();
  const huge = Buffer.from(png);
  huge.writeUInt32BE(100_000, 16);
  huge.writeUInt32BE(100_000, 20);
  const redirectTo = (location: string) => (_: unknown, response: import('node:http').ServerResponse) =>
    void response.writeHead(302, { location }).end();
  images = await openImageServer({
    '/square.png': png,
    '/counted.png': png,
    '/unpaid.png': png,
    '/upright.jpg': await square(60, 40).withMetadata({ orientation: 6 }).jpeg().toBuffer(),
    '/noise.webp': await noise(64, 64).webp({ lossless: true }).toBuffer(),
    '/moved': redirectTo('/square.png'),
    '/inside': redirectTo('http://10.0.0.1/secret.png'),
    '/endless': redirectTo('/endless'),
    '/large.png': large,
    '/huge.png': huge,
    '/text.png': textBomb(png),
    '/cut.png': large.subarray(0, Math.floor(large.length / 2)),
    '/cut.jpg': (await noise(200, 200).jpeg().toBuffer()).subarray(0, 4_000),
    '/empty.png': Buffer.alloc(0),
    '/a.svg': Buffer.from('<svg xmlns="http://www.w3.org/2000/svg" width="9" height="9"/>'),
    '/a.gif': await blank(9, 9).gif().toBuffer(),
    '/a.avif': Buffer.from('\0\0\0\x20ftypavif\0\0\0\0avifmif1'),
    '/long.png': (_, response) => void response.writeHead(200).end(Buffer.alloc(26 * 1024 * 1024)),
    '/hanging': (_, response) => void letGo.promise.then(() => response.destroy()),
    '/broken.png': (_, response) =>
      void response.writeHead(200, { 'content-length': 9_999 }).write(png, () => response.destroy()),
  });
  product = await sharedProduct('webhooks');
  ({ api } = product);
});
afterAll(async () => {
  await images.close();
  await product.close();
});

const upscale = (imageUrl: string, { scale, on = api, key }: { scale?: number; on?: ApiClient; key?: string } = {}) =>
  on.post('/api/studio/upscale', { imageUrl, scale }, key === undefined ? {} : { 'idempotency-key': key });
const removeBackground = (imageUrl: string, on = api) => on.post('/api/studio/remove-bg', { imageUrl });

async function newTenant(): Promise<Tenant & { client: ApiClient }> {
  const tenant = await product.createTenant({ plan: 'pro' });
  return { ...tenant, client: apiClient(product.process.api, tenant.testKey) };
}
const scopeOf = ({ organizationId }: Tenant) =>
  new Scope(
    product.database,
    { organizationId: organizationIds.parse(organizationId)!, environment: 'test' },
    'images-test',
  );

/** Images of a tenant that could still be read. */
async function keptInputs({ organizationId }: Tenant): Promise<number> {
  const { rows } = await product.database.pool.query(
    `select count(*)::int as kept from file
      where organization_id = $1 and kind = 'input' and (remove_at is null or remove_at > clock_timestamp())`,
    [organizationIds.parse(organizationId)],
  );
  return rows[0].kept;
}

describe('an enlarged image', () => {
  test('has twice or four times the size, is paid for by the scale, and is the same for the same image', async () => {
    const { client, ...tenant } = await newTenant();
    const { balance } = await creditsOf(client);
    const { status, body } = await upscale(images.at('/square.png'), { on: client });
    expect({ status, data: body.data }).toEqual({
      status: 200,
      data: {
        id: expect.stringMatching(/^gen_[0-9a-f]{32}$/),
        url: expect.any(String),
        originalWidth: 60,
        originalHeight: 40,
        newWidth: 120,
        newHeight: 80,
        scale: 2,
        creditsUsed: 1,
      },
    });
    const png = await fileAt(body.data.url);
    expect(await sharp(png).metadata()).toMatchObject({ format: 'png', width: 120, height: 80, space: 'srgb' });
    const { id, url: _, ...rest } = body.data;
    const read = (await client.get(`/api/studio/generations/${id}`)).body.data;
    const nothing = { prompt: null, model: null, error: null };
    expect(read).toMatchObject({ ...rest, ...nothing, id, type: 'upscale', status: 'completed' });
    expect(read).not.toHaveProperty('width');
    expect((await client.get('/api/studio/history')).body.data.total).toBe(0);
    const larger = (await upscale(images.at('/moved'), { scale: 4, on: client })).body.data;
    expect(larger).toMatchObject({ newWidth: 240, newHeight: 160, scale: 4, creditsUsed: 2 });
    expect(await creditsOf(client)).toEqual({ balance: balance - 3, reserved: 0 });
    expect(await keptInputs(tenant)).toBe(0);

    const again = (await upscale(images.at('/moved', 'of=another'))).body.data;
    expect(sha256(await fileAt(again.url))).toBe(sha256(png));
  });

  test('stands upright, and its sizes are those of the image when it does', async () => {
    const { data } = (await upscale(images.at('/upright.jpg'))).body;
    expect(data).toMatchObject({ originalWidth: 40, originalHeight: 60, newWidth: 80, newHeight: 120 });
    expect(await sharp(await fileAt(data.url)).metadata()).toMatchObject({ width: 80, height: 120 });
  });

  test('is refused where it would be too large, or its scale is none', async () => {
    const tooLarge = await upscale(images.at('/large.png'), { scale: 4 });
    expect([tooLarge.status, tooLarge.body.error.details.errors[0].path]).toEqual([400, 'scale']);
    for (const scale of [3, 0, '2', null]) {
      const { status, body } = await upscale(images.at('/square.png'), { scale: scale as number });
      expect([status, body.error.details.errors[0].path]).toEqual([400, 'scale']);
    }
  });
});

describe('a background', () => {
  test('is removed, and the pixels say so', async () => {
    const { status, body } = await removeBackground(images.at('/square.png'));
    expect(status).toBe(200);
    expect(body.data).toMatchObject({ format: 'png', hasTransparency: true, creditsUsed: 1 });
    const cutOut = sharp(await fileAt(body.data.url));
    expect(await cutOut.metadata()).toMatchObject({ format: 'png', width: 60, height: 40, hasAlpha: true });
    const alpha = await cutOut.extractChannel('alpha').raw().toBuffer();
    expect([alpha[0], alpha[20 * 60 + 30]]).toEqual([0, 255]);
    const again = (await removeBackground(images.at('/square.png'))).body.data;
    expect(sha256(await fileAt(again.url))).toBe(sha256(await fileAt(body.data.url)));
    const read = (await api.get(`/api/studio/generations/${again.id}`)).body.data;
    expect(read).toMatchObject({ type: 'background_removal', format: 'png', hasTransparency: true });
  });

  test('that cannot be found leaves the image as it is, and it is charged', async () => {
    const { data } = (await removeBackground(images.at('/noise.webp'))).body;
    expect(data).toMatchObject({ hasTransparency: false, creditsUsed: 1 });
    expect((await sharp(await fileAt(data.url)).stats()).isOpaque).toBe(true);
  });
});

test('an image that was generated here is worked on without a request, while its address holds', async () => {
  const { url } = (await api.post('/api/studio/generate', { prompt: 'A boat', aspectRatio: '16:9' })).body.data;
  const { data } = (await upscale(url)).body;
  expect(data).toMatchObject({ originalWidth: 1024, originalHeight: 576, newWidth: 2048, newHeight: 1152 });
  expect((await removeBackground(data.url)).status).toBe(200);
  for (const bad of [`${url}x`, url.replace(/expires=\d/, 'expires=9'), url.split('?')[0]]) {
    const { status, body } = await upscale(bad);
    expect([status, body.error.details.errors[0]]).toEqual([400, expect.objectContaining({ path: 'imageUrl' })]);
  }
});

test('whatever is wrong with an image or its server is 400 imageUrl, and free', async () => {
  const { client, ...tenant } = await newTenant();
  const before = await creditsOf(client);
  const faults: [string, RegExp][] = [
    ['http://10.0.0.1/x.png', /not allowed/],
    ['data:image/png;base64,AAAA', /not allowed/],
    ['nonsense', /not allowed/],
    ['http://images.invalid/x.png', /could not be resolved/],
    ['http://127.0.0.1:1/x.png', /could not be established/],
    [images.at('/nothing.png'), /answered 404/],
    [images.at('/inside'), /not allowed/],
    [images.at('/endless'), /More than 3 redirects/],
    [images.at('/empty.png'), /empty/],
    [images.at('/broken.png'), /closed before/],
    [images.at('/long.png'), /larger than 26214400 bytes/],
    [images.at('/a.svg'), /Expected a PNG/],
    [images.at('/a.gif'), /Expected a PNG/],
    [images.at('/a.avif'), /Expected a PNG/],
    [images.at('/huge.png'), /10000000000 pixels/],
    [images.at('/cut.png'), /incomplete or damaged/],
    [images.at('/cut.jpg'), /incomplete or damaged/],
  ];
  const answers = await Promise.all(faults.map(([imageUrl]) => upscale(imageUrl, { on: client })));
  for (const [index, { status, body }] of answers.entries()) {
    const [imageUrl, message] = faults[index]!;
    expect({ imageUrl, status, errors: body.error?.details.errors }).toEqual({
      imageUrl,
      status: 400,
      errors: [{ path: 'imageUrl', message: expect.stringMatching(message) }],
    });
  }
  // What an image carries beside its pixels is not unpacked.
  expect((await upscale(images.at('/text.png'))).status).toBe(200);
  for (const imageUrl of ['', 7, null, undefined]) {
    expect((await removeBackground(imageUrl as string, client)).body.error.details.errors[0].path).toBe('imageUrl');
  }
  expect(await creditsOf(client)).toEqual(before);
  expect(await keptInputs(tenant)).toBe(0);
});

test('words in the query of the address fail the request or let it wait, as in a prompt', async () => {
  const { client, ...tenant } = await newTenant();
  const { balance } = await creditsOf(client);
  const ask = (words: string) => upscale(images.at('/square.png', `words=${words}`), { on: client });
  for (const [words, reason] of [
    ['sandbox:fail', 'provider_error'],
    ['sandbox%3Arefuse', 'content_policy'],
    ['sandbox:timeout', 'timeout'],
    ['sandbox:fail@upscale', 'provider_error'],
  ] as const) {
    const { status, body } = await ask(words);
    expect([words, status, body.error.code, body.error.details.reason]).toEqual([
      words,
      500,
      'ai_provider_error',
      reason,
    ]);
    const failed = (await client.get(`/api/studio/generations/${body.error.details.generationId}`)).body.data;
    expect(failed).toMatchObject({ type: 'upscale', status: 'failed', error: { code: reason } });
  }
  expect(await creditsOf(client)).toEqual({ balance, reserved: 0 });
  const others = await Promise.all(['sandbox:fail@remove-bg', 'sandbox:overloaded', 'sandbox:slow=1'].map(ask));
  expect(others.map(({ status }) => status)).toEqual([200, 200, 200]);
  expect(await creditsOf(client)).toEqual({ balance: balance - 3, reserved: 0 });
  expect(await keptInputs(tenant)).toBe(0);
});

test('twenty at once with credits for five: five are made, and nothing is fetched for the others', async () => {
  const { client, ...tenant } = await newTenant();
  await creditsOf(client);
  const rest = { operation: 'image', key: 'everything else', amount: 9_995 } as const;
  await reserveCredits(scopeOf(tenant), { ...rest, expiresInMs: 3_600_000 });
  const answers = await Promise.all(
    Array.from({ length: 20 }, () => upscale(images.at('/counted.png'), { on: client })),
  );
  const ofStatus = (status: number) => answers.filter((one) => one.status === status);
  expect([ofStatus(200).length, ofStatus(402).length]).toEqual([5, 15]);
  expect(ofStatus(402)[0]!.body.error.details).toEqual({ required: 1, available: expect.any(Number) });
  expect(images.asked('/counted.png')).toBe(5);
  // Whatever the address says: without credits it is not fetched.
  expect((await upscale('http://10.0.0.1/x.png', { on: client })).status).toBe(402);
  expect(await creditsOf(client)).toEqual({ balance: 9_995, reserved: 9_995 });
});

test('one Idempotency-Key is one image, and a refused image does not use it up', async () => {
  const { client } = await newTenant();
  const { balance } = await creditsOf(client);
  const hold = newHold(product.database);
  const slow = images.at('/unpaid.png', hold.word);
  const key = 'one';
  const first = upscale(slow, { on: client, key });
  await until('the first is under way', async () => (await creditsOf(client)).reserved === 1);
  const during = await upscale(slow, { on: client, key });
  await hold.release();
  const { data } = (await first).body;
  expect(during.body.error.code).toBe('idempotency_in_progress');
  const replay = await upscale(slow, { on: client, key });
  expect(replay.headers.get('idempotent-replayed')).toBe('true');
  expect({ ...replay.body.data, url: '' }).toEqual({ ...data, url: '' });
  expect((await upscale(images.at('/square.png'), { on: client, key })).status).toBe(422);
  expect(images.asked('/unpaid.png')).toBe(1);

  // Found by its address alone, by its server, by its pixels; and by what would become of it.
  const refused: [string, string, number?][] = [
    ['http://10.0.0.1/x.png', 'imageUrl'],
    [images.at('/gone'), 'imageUrl'],
    [images.at('/gone'), 'imageUrl'],
    [images.at('/cut.png'), 'imageUrl'],
    [images.at('/large.png'), 'scale', 4],
  ];
  const start = (imageUrl: string) =>
    client.post('/api/studio/generate-video', { prompt: 'Waves', imageUrl }, { 'idempotency-key': 'three' });
  for (const [imageUrl, path, scale = 2] of refused) {
    const { status, body, headers } = await upscale(imageUrl, { scale, on: client, key: 'two' });
    expect([status, body.error.details.errors[0].path]).toEqual([400, path]);
    expect(headers.get('idempotent-replayed')).toBeNull();
    if (path !== 'imageUrl') continue;
    const started = await start(imageUrl);
    expect([started.status, started.body.error.details.errors[0].path]).toEqual([400, path]);
  }
  expect(images.asked('/gone')).toBe(4);
  expect(await creditsOf(client)).toEqual({ balance: balance - 1, reserved: 0 });
  const done = await upscale(images.at('/square.png'), { on: client, key: 'two' });
  expect([done.status, done.headers.get('idempotent-replayed')]).toEqual([200, null]);
  expect((await upscale(images.at('/gone'), { on: client, key: 'two' })).status).toBe(422);
  const video = await start(images.at('/square.png'));
  expect([video.status, (await start(images.at('/square.png'))).body]).toEqual([200, video.body]);
});

test('images of a server that hangs delay no other tenant, and only a few are fetched at the same time', async () => {
  const [attacker, victim] = [(await newTenant()).client, (await newTenant()).client];
  const hanging = Array.from({ length: 20 }, () => upscale(images.at('/hanging'), { on: attacker }));
  await until('some are being fetched', async () => images.asked('/hanging') >= 4);
  expect((await upscale(images.at('/square.png'), { on: victim })).status).toBe(200);
  expect(images.asked('/hanging')).toBe(4);
  letGo.resolve();
  const answers = await Promise.all(hanging);
  expect(new Set(answers.map(({ status }) => status))).toEqual(new Set([400]));
  expect(images.asked('/hanging')).toBe(20);
  expect((await creditsOf(attacker)).reserved).toBe(0);
});

test('a live key needs a provider, before credits and images are looked at', async () => {
  const live = apiClient(product.process.api, (await product.createTenant()).liveKey);
  for (const answer of [await upscale('nonsense', { on: live }), await removeBackground('nonsense', live)]) {
    expect(answer.body.error).toMatchObject({ code: 'provider_not_configured', details: { provider: 'FAL' } });
  }
});
