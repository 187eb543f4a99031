import { createHash } from 'node:crypto';
import { beforeAll, describe, expect, test } from '@jest/globals';
import { type OpenAI, toFile } from 'openai';
import { organizationIds } from '../../src/tenancy/core/ids.ts';
import type { ApiClient } from '../api-client.ts';
import { openOpenaiScene, refusalOf } from './scene.ts';

const scene = openOpenaiScene();
let client: OpenAI;
let api: ApiClient;
beforeAll(() => {
  ({ client, api } = scene);
});

const refusedWith = (param: string | null) => ({
  status: 400,
  code: 'validation_error',
  param,
  type: 'invalid_request_error',
});
const creditsLeft = async () => (await api.get('/api/v1/credits')).body.data.balance as number;
const onceWith = (key: string) => ({ headers: { 'Idempotency-Key': key } });

describe('the door', () => {
  const statusOf = async (path: string, init: RequestInit = {}) => {
    const response = await fetch(`${scene.base}/openai/v1${path}`, init);
    return { status: response.status, body: (await response.json()) as { error: object } };
  };
  const posts = [
    '/chat/completions',
    '/responses',
    '/responses/resp_1/cancel',
    '/images/generations',
    '/audio/speech',
    '/audio/transcriptions',
  ];

  test('refuses who has no key, before it looks at anything else, in the shape of OpenAI', async () => {
    const token = await api.post('/api/v1/tokens', { scopes: ['chat'] });
    expect(token.status).toBe(201);
    const credentials = [undefined, 'Bearer sk_test_nonsense', `Bearer ${token.body.data.token}`];
    for (const authorization of credentials) {
      for (const path of ['/models', '/models/gpt-4o', '/responses/resp_1', ...posts]) {
        const headers = { 'content-type': 'application/json', ...(authorization && { authorization }) };
        const init = !posts.includes(path) ? { headers } : { method: 'POST', headers, body: '{not json' };
        expect(await statusOf(path, init)).toMatchObject({
          status: 401,
          body: { error: { type: 'authentication_error', code: 'unauthorized', param: null } },
        });
      }
    }
  });

  test('asks for the scope of each feature', async () => {
    const other = scene.clientOf(await scene.keyWith('webhooks'));
    const forbidden = { status: 403, code: 'forbidden', param: null, type: 'permission_error' };
    const file = await toFile(Buffer.from('no'), 'a.mp3');
    const requests = [
      other.chat.completions.create({ model: 'gpt-4o', messages: [{ role: 'user', content: 'Hi' }] }),
      other.responses.create({ model: 'gpt-4o', input: 'Hi' }),
      other.images.generate({ prompt: 'A boat' }),
      other.audio.speech.create({ model: 'tts-1', input: 'Hi', voice: 'alloy' }),
      other.audio.transcriptions.create({ model: 'whisper-1', file }),
    ];
    for (const request of requests) expect(await refusalOf(request)).toEqual(forbidden);
    expect((await other.models.list()).data.length).toBeGreaterThan(0);
  });

  test('answers what it does not have in the shape of OpenAI', async () => {
    expect(await refusalOf(client.embeddings.create({ model: 'gpt-4o', input: 'Hi' }))).toMatchObject({
      status: 404,
      code: 'not_found',
      type: 'invalid_request_error',
    });
    const headers = { authorization: `Bearer ${scene.key}`, 'content-type': 'application/json' };
    const broken = await statusOf('/chat/completions', { method: 'POST', headers, body: '{not json' });
    expect(broken).toMatchObject({ status: 400, body: { error: { code: 'validation_error', param: null } } });
    expect((await statusOf('/chat/completions', { headers })).status).toBe(405);
  });
});

test('models are those that can be named', async () => {
  const { data } = await client.models.list();
  expect(await client.models.retrieve('gpt-4o')).toMatchObject(data.find(({ id }) => id === 'gpt-4o')!);
  expect(await refusalOf(client.models.retrieve('gpt-none'))).toMatchObject({ status: 404, code: 'not_found' });
  const ids = data.map(({ id }) => id);
  expect(ids).toEqual(expect.arrayContaining(['gpt-4o', 'gemini-2.0-flash', 'flux-pro-1.1', 'tts-1', 'whisper-1']));
  expect(new Set(ids).size).toBe(ids.length);
  expect(data[0]).toEqual({ id: ids[0], object: 'model', created: 0, owned_by: expect.any(String) });
});

describe('images', () => {
  test('have an address, or come with the answer, and cost what Studio costs', async () => {
    const { data: bySelf } = (await api.post('/api/studio/generate', { prompt: 'A boat' })).body;
    const before = await creditsLeft();
    const asked = { prompt: 'A boat', size: '1024x576' as never, n: 1 };
    const { data, created } = await client.images.generate(asked, onceWith('an-image'));
    expect(Math.abs(created - Date.now() / 1000)).toBeLessThan(120);
    const { pathname, search } = new URL(data![0]!.url!);
    const file = await fetch(`${scene.base}${pathname}${search}`);
    expect(file.status).toBe(200);
    const bytes = Buffer.from(await file.arrayBuffer());
    expect(await creditsLeft()).toBe(before - bySelf.creditsUsed);
    const again = await client.images.generate(asked, onceWith('an-image')).withResponse();
    expect(again.response.headers.get('idempotent-replayed')).toBe('true');
    expect(await creditsLeft()).toBe(before - bySelf.creditsUsed);
    const inline = await client.images.generate({ ...asked, response_format: 'b64_json' });
    expect(Buffer.from(inline.data![0]!.b64_json!, 'base64').subarray(0, 4)).toEqual(bytes.subarray(0, 4));
  });

  test('come with the answer two at a time, and with an address alone when they are large', async () => {
    const inline = { prompt: 'A ship', response_format: 'b64_json' } as const;
    const ask = () => client.images.generate(inline, onceWith('a-ship')).then(({ data }) => data![0]!.b64_json!);
    const first = await ask();
    const others = await Promise.all(Array.from({ length: 6 }, ask));
    expect(new Set([...others, await ask()])).toEqual(new Set([first]));
    const hash = createHash('sha256').update(Buffer.from(first, 'base64')).digest();
    const { database, tenant } = scene.product;
    const { rowCount } = await database.pool.query(
      'update file set bytes = $3 where organization_id = $1 and sha256 = $2',
      [organizationIds.parse(tenant.organizationId), hash, 16 * 1024 * 1024 + 1],
    );
    expect(rowCount).toBe(1);
    expect(await refusalOf(client.images.generate(inline, onceWith('a-ship')))).toEqual(refusedWith('response_format'));
  });

  test('refuse by its name what is not supported', async () => {
    const cases: [object, string][] = [
      [{ size: '1x1' }, 'size'],
      [{ n: 2 }, 'n'],
      [{ model: 'dall-e-3' }, 'model'],
      [{ background: 'transparent' }, 'background'],
      [{ prompt: '' }, 'prompt'],
    ];
    for (const [more, param] of cases) {
      const body = Object.assign({ prompt: 'A boat' }, more);
      expect(await refusalOf(client.images.generate(body))).toEqual(refusedWith(param));
    }
  });
});

describe('audio', () => {
  const speak = (more: object = {}, key?: string) =>
    client.audio.speech.create(
      { model: 'tts-1', input: 'Hello, Ada.', voice: 'alloy', ...more } as OpenAI.Audio.SpeechCreateParams,
      key === undefined ? {} : onceWith(key),
    );

  test('is spoken, and transcribed', async () => {
    const before = await creditsLeft();
    const answer = await speak({ speed: 1.25, response_format: 'mp3' }, 'a-speech');
    expect(answer.headers.get('content-type')).toBe('audio/mpeg');
    const speech = Buffer.from(await answer.arrayBuffer());
    const again = await speak({ speed: 1.25, response_format: 'mp3' }, 'a-speech');
    expect(Buffer.from(await again.arrayBuffer())).toEqual(speech);
    expect(await creditsLeft()).toBe(before - 1);

    const file = await toFile(speech, 'speech.mp3');
    const transcribe = (more: object = {}) =>
      client.audio.transcriptions.create({ model: 'whisper-1', file, language: 'en', ...more });
    const { text, usage } = await transcribe({ prompt: 'Ada' });
    expect(text).not.toBe('');
    expect(usage).toEqual({ type: 'duration', seconds: expect.any(Number) });
    expect(await creditsLeft()).toBe(before - 3);
    expect(await transcribe({ response_format: 'text' })).toBe(`${text}\n`);
    const cases: [object, string | null][] = [
      [{ model: 'gpt-4o' }, 'model'],
      [{ response_format: 'srt' }, 'response_format'],
      [{ temperature: 0.2 }, 'temperature'],
      [{ prompt: 'a'.repeat(1_001) }, 'prompt'],
      [{ timestamp_granularities: ['word'] }, 'timestamp_granularities[]'],
    ];
    for (const [more, param] of cases) expect(await refusalOf(transcribe(more))).toEqual(refusedWith(param));
  });

  test('refuses by its name what is not supported', async () => {
    const cases: [object, string][] = [
      [{ model: 'gpt-4o' }, 'model'],
      [{ voice: 'nobody' }, 'voice'],
      [{ speed: 9 }, 'speed'],
      [{ input: ' ' }, 'input'],
      [{ response_format: 'opus' }, 'response_format'],
      [{ instructions: 'Whisper.' }, 'instructions'],
    ];
    for (const [more, param] of cases) expect(await refusalOf(speak(more))).toEqual(refusedWith(param));
  });
});
