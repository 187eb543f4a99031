import { afterAll, beforeAll, beforeEach, describe, expect, jest, test } from '@jest/globals';
import { anthropicError } from '../../test/fakes/anthropic.ts';
import { googleError, quotaFailure, retryInfo } from '../../test/fakes/google.ts';
import { connect, type LiveAdapter, liveAdapters } from '../../test/fakes/live-adapters.ts';
import { openaiError } from '../../test/fakes/openai.ts';
import type { Behaviour, FakeProvider, WireAnswer } from '../../test/fakes/wire-server.ts';
import { tenantKeyOf } from '../../test/platform/tenant-key.ts';
import { type FailureKind, failureKinds, ProviderFailure } from '../platform/provider-failure.ts';
import type { TextRequest } from './ports.ts';
import type { LiveOptions } from './text/live-model.ts';

/** What a failure is expected to be; retryable is as its kind has it unless it is said. */
type Expected = { kind: FailureKind; retryable?: boolean; retryAfterMs?: number };
type Case = [string, Behaviour, Expected];

const later = (seconds: string) => ({ 'retry-after': seconds });
const kind = (name: FailureKind, more: Partial<Expected> = {}): Expected => ({ kind: name, ...more });

/** Every provider fails like this. */
const everywhere: Case[] = [
  ['a dropped connection', 'hang up', kind('connection')],
  ['an answer that was lost after the work', 'lose the answer', kind('connection')],
  ['half an answer', 'cut the answer', kind('connection')],
  ['JSON that ends in the middle', 'truncate', kind('malformed_answer')],
  ['the page of a gateway', 'page', kind('malformed_answer')],
  ['a refusal in place of an answer', { say: { end: 'refused' } }, kind('content_refused')],
  ['no room to say anything', { say: { text: '', end: 'limit' } }, kind('invalid_request')],
  ['a gateway that is out of order', { fail: { status: 502, body: 'Bad gateway' } }, kind('unavailable')],
  ['a gateway that gave up waiting', { fail: { status: 504, body: 'Timeout' } }, kind('timeout')],
  ['an answer without its content', { fail: { status: 200, body: {} } }, kind('malformed_answer')],
  ['an answer of another kind', { fail: { status: 200, body: { choices: [], content: 7 } } }, kind('malformed_answer')],
  ['an empty answer', { fail: { status: 200, body: null } }, kind('malformed_answer')],
];

const anthropic = (...error: Parameters<typeof anthropicError>): Behaviour => ({ fail: anthropicError(...error) });
const spendLimit = { details: { error_code: 'enforced_spend_limit_reached' } };
const ramp = { details: { error_code: 'ramp_limit_exceeded' }, headers: later('2') };

const ofAnthropic: Case[] = [
  [
    '429',
    anthropic(429, 'rate_limit_error', 'x', { headers: later('7') }),
    kind('rate_limited', { retryAfterMs: 7000 }),
  ],
  ['429 without a time', anthropic(429, 'rate_limit_error', 'x'), kind('rate_limited')],
  ['429, ramping up', anthropic(429, 'rate_limit_error', 'x', ramp), kind('rate_limited', { retryAfterMs: 2000 })],
  ['429, all spent', anthropic(429, 'rate_limit_error', 'x', spendLimit), kind('quota')],
  ['529', anthropic(529, 'overloaded_error', 'Overloaded'), kind('overloaded')],
  ['503', anthropic(503, 'api_error', 'x', { headers: later('1.5') }), kind('overloaded', { retryAfterMs: 1500 })],
  ['500', anthropic(500, 'api_error', 'x'), kind('unavailable')],
  ['409', anthropic(409, 'conflict_error', 'x'), kind('unavailable')],
  ['408', anthropic(408, 'timeout_error', 'x'), kind('timeout')],
  ['504', anthropic(504, 'timeout_error', 'x'), kind('timeout')],
  ['400', anthropic(400, 'invalid_request_error', 'prompt is too long'), kind('invalid_request')],
  ['400, out of credit', anthropic(400, 'invalid_request_error', 'Your credit balance is too low …'), kind('quota')],
  ['401', anthropic(401, 'authentication_error', 'x'), kind('auth')],
  ['402', anthropic(402, 'billing_error', 'x'), kind('quota')],
  ['403', anthropic(403, 'permission_error', 'x'), kind('auth')],
  ['404', anthropic(404, 'not_found_error', 'model: x'), kind('retired_model')],
  ['413', anthropic(413, 'invalid_request_error', 'x'), kind('invalid_request')],
  [
    '500 that is not to be tried again',
    anthropic(500, 'api_error', 'x', { headers: { 'x-should-retry': 'false', ...later('3') } }),
    kind('unavailable', { retryable: false }),
  ],
];

const openai = (status: number, code: string | null, headers?: Record<string, string>): Behaviour => ({
  fail: openaiError(status, { message: 'x', type: 'invalid_request_error', code }, headers),
});

const ofOpenai: Case[] = [
  ['429', openai(429, 'rate_limit_exceeded', later('20')), kind('rate_limited', { retryAfterMs: 20_000 })],
  [
    '429 to the millisecond',
    openai(429, null, { 'retry-after-ms': '120' }),
    kind('rate_limited', { retryAfterMs: 120 }),
  ],
  ['429, all spent', openai(429, 'insufficient_quota'), kind('quota')],
  ['429, not paid', openai(429, 'billing_not_active'), kind('quota')],
  ['400, hard limit', openai(400, 'billing_hard_limit_reached'), kind('quota')],
  ['500', openai(500, null), kind('unavailable')],
  ['503', openai(503, null), kind('overloaded')],
  ['409', openai(409, null), kind('unavailable')],
  ['400', openai(400, 'context_length_exceeded'), kind('invalid_request')],
  ['400, flagged', openai(400, 'content_policy_violation'), kind('content_refused')],
  ['400, filtered', openai(400, 'content_filter'), kind('content_refused')],
  ['400, flagged for thinking', openai(400, 'invalid_prompt'), kind('content_refused')],
  ['401', openai(401, 'invalid_api_key'), kind('auth')],
  ['403', openai(403, 'unsupported_country_region_territory'), kind('auth')],
  ['403, no access to the model', openai(403, 'model_not_found'), kind('retired_model')],
  ['404', openai(404, 'model_not_found'), kind('retired_model')],
  ['422', openai(422, null), kind('invalid_request')],
  [
    '500 that is not to be tried again',
    openai(500, null, { 'x-should-retry': 'false' }),
    kind('unavailable', { retryable: false }),
  ],
];

const google = (...error: Parameters<typeof googleError>): Behaviour => ({ fail: googleError(...error) });
const perMinute = quotaFailure('GenerateRequestsPerMinutePerProjectPerModel-FreeTier');
const perDay = quotaFailure('GenerateRequestsPerDayPerProjectPerModel-FreeTier');
const reason = (name: string) => ({ '@type': 'type.googleapis.com/google.rpc.ErrorInfo', reason: name });
const said = (body: object): Behaviour => ({ fail: { status: 200, body } });
/** An error that came through a proxy which wrapped it as text. */
const wrapped: WireAnswer = { status: 429, headers: { 'content-type': 'text/plain', ...later('4') }, body: 'no JSON' };

const ofGoogle: Case[] = [
  [
    '429',
    google(429, 'RESOURCE_EXHAUSTED', 'x', { details: [perMinute, retryInfo(7.5)] }),
    kind('rate_limited', { retryAfterMs: 7_500 }),
  ],
  [
    '429 with a header',
    google(429, 'RESOURCE_EXHAUSTED', 'x', { headers: later('3') }),
    kind('rate_limited', { retryAfterMs: 3000 }),
  ],
  ['429 as text', { fail: wrapped }, kind('rate_limited', { retryAfterMs: 4000 })],
  ['429, a day spent', google(429, 'RESOURCE_EXHAUSTED', 'x', { details: [perDay, retryInfo(30)] }), kind('quota')],
  ['500', google(500, 'INTERNAL', 'x'), kind('unavailable')],
  ['503', google(503, 'UNAVAILABLE', 'The model is overloaded.'), kind('overloaded')],
  ['504', google(504, 'DEADLINE_EXCEEDED', 'x'), kind('timeout')],
  ['400', google(400, 'INVALID_ARGUMENT', 'x'), kind('invalid_request')],
  ['400, wrong key', google(400, 'INVALID_ARGUMENT', 'x', { details: [reason('API_KEY_INVALID')] }), kind('auth')],
  ['400, not paid', google(400, 'FAILED_PRECONDITION', 'Please enable billing.'), kind('quota')],
  ['403', google(403, 'PERMISSION_DENIED', 'x'), kind('auth')],
  ['404', google(404, 'NOT_FOUND', 'models/x is not found'), kind('retired_model')],
  ['a blocked prompt', said({ promptFeedback: { blockReason: 'PROHIBITED_CONTENT' } }), kind('content_refused')],
  ['recitation', said({ candidates: [{ finishReason: 'RECITATION' }] }), kind('content_refused')],
  ['a mishap', said({ candidates: [{ finishReason: 'MALFORMED_RESPONSE' }] }), kind('malformed_answer')],
  ['no reason', said({ candidates: [{ content: { parts: [{ text: 'x' }] } }] }), kind('malformed_answer')],
];

const tables: Record<string, Case[]> = { ANTHROPIC: ofAnthropic, OPENAI: ofOpenai, GOOGLE: ofGoogle };

async function failureOf(
  adapter: LiveAdapter,
  fake: FakeProvider,
  { request, options }: { request?: Partial<TextRequest>; options?: Partial<LiveOptions> } = {},
): Promise<ProviderFailure> {
  const asked = { provider: adapter.provider, model: adapter.model, prompt: 'Hello', ...request };
  const call = { tenantKey: tenantKeyOf('org'), attempt: 1, signal: new AbortController().signal };
  const failure = await connect(adapter, fake, options)
    .generate(asked, call)
    .catch((error) => error);
  expect(failure).toBeInstanceOf(ProviderFailure);
  return failure;
}

describe.each(liveAdapters)('$provider', (adapter) => {
  let fake: FakeProvider;
  const printed = (['log', 'info', 'warn', 'error', 'debug'] as const).map((level) => jest.spyOn(console, level));
  beforeAll(async () => {
    fake = await adapter.start();
  });
  beforeEach(() => fake.reset());
  afterAll(async () => {
    await fake.close();
    for (const spy of printed) spy.mockRestore();
  });

  test.each([...everywhere, ...tables[adapter.provider]!])('%s', async (_, behaviour, expected) => {
    fake.always(behaviour);
    const failure = await failureOf(adapter, fake);
    expect(failure).toMatchObject({
      kind: expected.kind,
      retryable: expected.retryable ?? failureKinds[expected.kind],
      retryAfterMs: expected.retryAfterMs,
    });
    // Only the caller tries again, and no SDK writes to the console.
    expect(fake.journal).toHaveLength(1);
    for (const spy of printed) expect(spy).not.toHaveBeenCalled();
  });

  test('waits until a date as well', async () => {
    const date = Math.ceil(Date.now() / 1000) * 1000 + 60_000;
    fake.next({ fail: { status: 429, headers: { 'retry-after': new Date(date).toUTCString() }, body: {} } });
    const { retryAfterMs } = await failureOf(adapter, fake);
    expect(retryAfterMs).toBeGreaterThanOrEqual(date - Date.now());
    expect(retryAfterMs).toBeLessThanOrEqual(61_000);
  });

  test.each([
    ['soon', undefined],
    ['-5', undefined],
    ['9'.repeat(30), 24 * 3_600_000],
    ['Wed, 21 Oct 2015 07:28:00 GMT', undefined],
    ['0', undefined],
  ])('makes the best of Retry-After: %s', async (header, expected) => {
    fake.next({ fail: { status: 503, headers: { 'retry-after': header }, body: {} } });
    expect((await failureOf(adapter, fake)).retryAfterMs).toBe(expected);
  });

  test('with a wrong key it is about credentials, and does not say which', async () => {
    const failure = await failureOf(adapter, fake, { options: { apiKey: 'sk-wrong-0123456789-key' } });
    expect(failure).toMatchObject({ kind: 'auth', retryable: false });
    expect(failure.message).toBe(`${adapter.title} rejected this installation's credentials (HTTP ${failure.status}).`);
  });

  test('without a listening server it is about the connection', async () => {
    const gone = await adapter.start();
    await gone.close();
    const failure = await failureOf(adapter, gone);
    expect(failure).toMatchObject({ kind: 'connection', retryable: true });
    expect(failure.message).toBe(`The connection to ${adapter.title} failed.`);
  });

  test('a retired model is named, and what to do about it', async () => {
    const retired = { ANTHROPIC: 'claude-3-opus-20240229', OPENAI: 'gpt-3.5-turbo', GOOGLE: 'gemini-1.0-pro' };
    const failure = await failureOf(adapter, fake, { request: { model: retired[adapter.provider] } });
    expect(failure).toMatchObject({ kind: 'retired_model', retryable: false });
    expect(failure.message).toContain(retired[adapter.provider]);
    expect(failure.message).toContain('can map the name to another model');
  });

  test('says why a request is invalid, without anything that is secret', async () => {
    const secrets = [
      fake.apiKey,
      'sk-proj-abcdef****wxyz',
      'org-AbCdEf123456',
      'https://10.0.0.7/internal',
      'AIzaSyA1234567',
    ];
    const message = `max_tokens: too many\n for ${secrets.join(' and ')}`;
    const answers: Record<string, WireAnswer> = {
      ANTHROPIC: anthropicError(400, 'invalid_request_error', message),
      OPENAI: openaiError(400, { message, type: 'invalid_request_error' }),
      GOOGLE: googleError(400, 'INVALID_ARGUMENT', message),
    };
    fake.next({ fail: answers[adapter.provider]! });
    const failure = await failureOf(adapter, fake);
    expect(failure.message).toContain('(HTTP 400): max_tokens: too many for […] and […]');
    for (const secret of secrets) expect(failure.message).not.toContain(secret);
    expect(failure.cause).toBeUndefined();
  });

  test.each([
    ['one word', 'x'.repeat(200_000)],
    ['schemes of addresses', 'a://'.repeat(50_000)],
    ['spaces', ' '.repeat(200_000)],
    ['half a secret at the end of what is read', `${' '.repeat(3_990)}sk-proj-${'s'.repeat(200_000)}`],
  ])('a message of 200,000 characters costs little: %s', async (_, message) => {
    const refusals: Record<string, WireAnswer> = {
      ANTHROPIC: anthropicError(400, 'invalid_request_error', message),
      OPENAI: openaiError(400, { message, type: 'invalid_request_error' }),
      GOOGLE: googleError(400, 'INVALID_ARGUMENT', message),
    };
    fake.next({ fail: refusals[adapter.provider]! });
    const before = process.cpuUsage();
    const failure = await failureOf(adapter, fake);
    const { user } = process.cpuUsage(before);
    expect(failure.message.length).toBeLessThan(400);
    expect(failure.message).not.toMatch(/sk-proj-s/);
    // The fake is in this process too. It was more than ten seconds.
    expect(user / 1_000_000).toBeLessThan(1);
  });

  test('nothing but a bad request passes on what the provider wrote', async () => {
    const statuses = [401, 402, 403, 404, 408, 409, 429, 500, 502, 503, 504, 529];
    for (const status of statuses) {
      fake.next({ fail: { status, body: { error: { message: 'hush-hush', type: 'x', status: 'NOT_FOUND' } } } });
      expect((await failureOf(adapter, fake)).message).not.toContain('hush');
    }
    expect(fake.journal).toHaveLength(statuses.length);
  });

  test('keeps the id of the request for the support of the provider', async () => {
    fake.next({ fail: { status: 500, headers: { 'request-id': 'req_42' }, body: {} } });
    expect((await failureOf(adapter, fake)).requestId).toBe('req_42');
    fake.next({ fail: { status: 500, headers: { 'x-request-id': 'a b<c>' }, body: {} } });
    expect((await failureOf(adapter, fake)).requestId).toBeUndefined();
  });
});
