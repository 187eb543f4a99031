import { expect, jest, test } from '@jest/globals';
import { startFakeOpenai } from '../../test/fakes/openai.ts';
import { openBoundedWork } from '../../test/platform/open-bounded-work.ts';
import { tenantKeyOf } from '../../test/platform/tenant-key.ts';
import { readEnv } from '../platform/env.ts';
import type { Log } from '../platform/observability/log.ts';
import { openProviders } from './registry.ts';
import { providerSettings } from './settings.ts';

const warn = jest.fn();
const log = { warn } as unknown as Log;
const base = { DATABASE_URL: 'postgres://x@127.0.0.1/x', TEMPORAL_ADDRESS: '127.0.0.1:7233' };
/** None of these tests gives it anything to do. */
const boundedWork = openBoundedWork();
const open = (variables: Record<string, string>) =>
  openProviders(readEnv([providerSettings], { ...base, ...variables }), log, boundedWork);
const notConfigured = (provider: string) =>
  expect.objectContaining({ code: 'provider_not_configured', facts: { provider } });

test('test keys have the sandbox, whatever is configured', () => {
  const providers = open({ OPENAI_API_KEY: 'sk-1' });
  const sandbox = providers.textModel('test', 'ANTHROPIC', 'claude-sonnet-4-20250514');
  expect(sandbox.isInstant({ provider: 'ANTHROPIC', model: 'x', prompt: '' })).toBe(true);
  expect(providers.textModel('test', 'NOBODY')).toBe(sandbox);
});

test('a provider is there when its key is', () => {
  const providers = open({ OPENAI_API_KEY: 'sk-1', ANTHROPIC_API_KEY: '', GOOGLE_BASE_URL: 'http://127.0.0.1:1' });
  expect(providers.textModel('live', 'OPENAI').isInstant({ provider: 'OPENAI', model: 'x', prompt: '' })).toBe(false);
  expect(() => providers.textModel('live', 'ANTHROPIC')).toThrow(notConfigured('ANTHROPIC'));
  expect(() => providers.textModel('live', 'GOOGLE', 'gemini-2.0-flash')).toThrow(notConfigured('GOOGLE'));
});

test('a listed name is served by the provider that the list names', () => {
  const aliases = { 'claude-sonnet-4-20250514': 'gpt-6-luna' };
  const providers = open({ OPENAI_API_KEY: 'sk-1', MODEL_ALIASES: JSON.stringify(aliases) });
  const openai = providers.textModel('live', 'OPENAI');
  expect(providers.textModel('live', 'ANTHROPIC', 'gpt-4o')).toBe(openai);
  expect(providers.textModel('live', 'ANTHROPIC', 'claude-sonnet-4-20250514')).toBe(openai);
  expect(() => providers.textModel('live', 'ANTHROPIC', 'claude-of-tomorrow')).toThrow(notConfigured('ANTHROPIC'));
});

test('conversations have the models of single prompts, if a list names them', async () => {
  const providers = open({ GOOGLE_API_KEY: 'g-1', MODEL_ALIASES: '{"house-model": "gpt-6-luna"}' });
  expect(providers.chatModel('live', 'GOOGLE', 'gemini-1.5-pro')).toBe(providers.textModel('live', 'GOOGLE'));
  expect(() => providers.chatModel('live', 'GOOGLE', 'house-model')).toThrow(notConfigured('OPENAI'));
  const names = ['gemini-2.0-flash', 'gemini-1.5-pro', 'claude-sonnet-4-20250514', 'house-model', 'gemini-of-tomorrow'];
  expect(names.filter(providers.isChatModel)).toEqual(names.slice(0, 4));
  const messages = [{ role: 'user' as const, text: 'Hello' }];
  const call = { tenantKey: tenantKeyOf('org'), attempt: 1, signal: new AbortController().signal };
  const asked = { provider: 'GOOGLE', model: 'gemini-2.0-flash', messages };
  expect((await providers.chatModel('test', 'NOBODY').reply(asked, call)).text).toContain('[sandbox gemini-2.0-flash');
});

test('key, base URL, aliases and time limit come from the environment', async () => {
  const fake = await startFakeOpenai('sk-env-0123456789');
  const ask = (variables: Record<string, string> = {}) =>
    open({
      OPENAI_API_KEY: fake.apiKey,
      OPENAI_BASE_URL: `${fake.baseUrl}/`,
      MODEL_ALIASES: '{"house-model": "gpt-6-luna"}',
      ...variables,
    })
      .textModel('live', 'ANTHROPIC', 'house-model')
      .generate(
        { provider: 'OPENAI', model: 'house-model', prompt: 'Hello' },
        { tenantKey: tenantKeyOf('org'), attempt: 1, signal: new AbortController().signal },
      );
  expect(await ask()).toMatchObject({ served: { provider: 'OPENAI', model: 'gpt-6-luna' } });
  expect(fake.journal[0]).toMatchObject({ path: '/v1/chat/completions', key: fake.apiKey });
  fake.next('silence');
  const hasty = ask({ MODEL_TIMEOUT_SECONDS: '2' });
  await expect(hasty).rejects.toMatchObject({ kind: 'timeout', message: 'OpenAI did not answer in 2 s.' });
  await fake.close();
});

test('says at start which names are about to end, where their provider is configured', () => {
  const sunsetAt = new Date(Date.now() + 86_400_000).toISOString().slice(0, 10);
  const entry = (provider: string) => ({ provider, upstream: 'old-model', sunsetAt });
  const MODEL_ALIASES = JSON.stringify({ ending: entry('OPENAI'), elsewhere: entry('GOOGLE') });
  warn.mockClear();
  open({ OPENAI_API_KEY: 'sk-1', MODEL_ALIASES });
  expect(warn.mock.calls.map(([fields]) => fields)).toEqual([
    { name: 'ending', provider: 'OPENAI', upstream: 'old-model', sunsetAt },
  ]);
});

test.each(['with space', 'line\nbreak', 'schlüssel'])('a key that no header could carry stops the start: %j', (key) => {
  expect(() => open({ OPENAI_API_KEY: key })).toThrow(/OPENAI_API_KEY/);
});
