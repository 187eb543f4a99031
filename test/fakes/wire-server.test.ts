import { expect, test } from '@jest/globals';
import { startFakeAnthropic } from './anthropic.ts';
import { startFakeGoogle } from './google.ts';
import { startFakeOpenai } from './openai.ts';
import type { FakeProvider } from './wire-server.ts';

const hello = [{ role: 'user', content: 'Hello' }];
const version = { 'anthropic-version': '2026-10-21' };

async function post(fake: FakeProvider, path: string, headers: Record<string, string>, body: unknown) {
  const response = await fetch(fake.origin + path, {
    method: 'POST',
    headers: { 'content-type': 'application/json', ...headers },
    body: typeof body === 'string' ? body : JSON.stringify(body),
  });
  // biome-ignore lint/suspicious/noExplicitAny: whatever came
  return { status: response.status, body: (await response.json()) as any };
}

test('the fakes take a key in every way that their originals do, and no other key', async () => {
  const [claude, gpt, gemini] = await Promise.all([
    startFakeAnthropic('k1'),
    startFakeOpenai('k2'),
    startFakeGoogle('k3'),
  ]);
  const message = { model: 'claude-haiku-5-5', max_tokens: 9, messages: hello };
  for (const headers of [{ 'x-api-key': 'k1' }, { authorization: 'Bearer k1' }]) {
    expect(await post(claude, '/v1/messages', { ...version, ...headers }, message)).toMatchObject({
      status: 200,
      body: { type: 'message', content: [{ text: 'Claude read: Hello' }] },
    });
  }
  expect(await post(claude, '/v1/messages', { ...version, 'x-api-key': 'k2' }, message)).toMatchObject({
    status: 401,
    body: { type: 'error', error: { type: 'authentication_error' } },
  });

  const completion = { model: 'gpt-4.1', messages: hello };
  const path = '/v1/chat/completions';
  expect(await post(gpt, path, { authorization: 'Bearer k2' }, completion)).toMatchObject({ status: 200 });
  expect(await post(gpt, path, { 'x-api-key': 'k2' }, completion)).toMatchObject({ status: 401 });

  const generate = '/v1beta/models/gemini-3.8-flash:generateContent';
  const contents = { contents: [{ parts: [{ text: 'Hello' }] }] };
  for (const [query, headers] of [
    ['', { 'x-goog-api-key': 'k3' }],
    ['?key=k3', {}],
  ] as const) {
    expect(await post(gemini, generate + query, headers as Record<string, string>, contents)).toMatchObject({
      status: 200,
    });
  }
  expect(await post(gemini, generate, {}, contents)).toMatchObject({ status: 400, body: { error: { code: 400 } } });
  await Promise.all([claude, gpt, gemini].map((fake) => fake.close()));
});

test('the fakes refuse what their originals refuse, and remember it', async () => {
  const [claude, gpt, gemini] = await Promise.all([
    startFakeAnthropic('k'),
    startFakeOpenai('k'),
    startFakeGoogle('k'),
  ]);
  const auth = { authorization: 'Bearer k' };
  const ask = (body: object, headers = {}) =>
    post(claude, '/v1/messages', { ...auth, ...version, ...headers }, { max_tokens: 9, messages: hello, ...body });
  expect((await ask({ model: 'claude-sonnet-4-6', temperature: 1 })).body.error.message).toMatch(/^temperature: Extra/);
  const old = { 'anthropic-version': '2023-06-01' };
  expect((await ask({ model: 'claude-sonnet-4-6', temperature: 1 }, old)).status).toBe(200);
  expect((await ask({ model: 'claude-sonnet-5-5', temperature: 1 }, old)).status).toBe(400);
  expect((await ask({ model: 'claude-sonnet-5-5', thinking: { type: 'disabled' } })).status).toBe(400);
  expect((await ask({ model: 'claude-sonnet-4-20250514' })).status).toBe(404);
  expect(claude.journal.map(({ worked }) => worked)).toEqual([false, true, false, false, false]);

  const thinking = { model: 'gpt-6-luna', messages: hello, temperature: 0 };
  expect((await post(gpt, '/v1/chat/completions', auth, thinking)).body.error.param).toBe('temperature');
  expect((await post(gpt, '/v1/chat/completions', auth, 'no JSON')).status).toBe(400);
  expect((await post(gpt, '/v1/responses', auth, {})).status).toBe(404);
  expect(gpt.journal.at(-1)).toMatchObject({ method: 'POST', path: '/v1/responses', key: 'k' });

  const path = '/v1/models/gemini-3.8-flash:generateContent';
  const misspelt = { contents: [{ parts: [{ text: 'x' }] }], generation_config: {} };
  expect((await post(gemini, path, { 'x-goog-api-key': 'k' }, misspelt)).body.error.message).toMatch(/Unknown name/);
  await Promise.all([claude, gpt, gemini].map((fake) => fake.close()));
});
