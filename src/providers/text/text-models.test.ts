import { afterAll, beforeAll, beforeEach, describe, expect, test } from '@jest/globals';
import { Ajv2020 } from 'ajv/dist/2020.js';
import { anthropicError } from '../../../test/fakes/anthropic.ts';
import { connect, liveAdapters } from '../../../test/fakes/live-adapters.ts';
import type { FakeProvider } from '../../../test/fakes/wire-server.ts';
import { openBoundedWork } from '../../../test/platform/open-bounded-work.ts';
import { tenantKeyOf } from '../../../test/platform/tenant-key.ts';
import { type FailureKind, failureKinds, ProviderFailure } from '../../platform/provider-failure.ts';
import type { TextModel, TextRequest } from '../ports.ts';
import { sandboxTextModel } from '../sandbox/text-model.ts';

/** The guarantees for a caller, with any provider. */
interface Subject {
  name: string;
  asked: Pick<TextRequest, 'provider' | 'model'>;
  open(): Promise<{ model: TextModel; fake?: FakeProvider }>;
}

const boundedWork = openBoundedWork();
afterAll(() => boundedWork.close());

const subjects: Subject[] = [
  {
    name: 'sandbox',
    asked: { provider: 'ANTHROPIC', model: 'claude-sonnet-4-20250514' },
    open: async () => ({ model: sandboxTextModel(boundedWork) }),
  },
  ...liveAdapters.map((adapter) => ({
    name: adapter.provider.toLowerCase(),
    asked: { provider: adapter.provider, model: adapter.model },
    async open() {
      const fake = await adapter.start();
      return { model: connect(adapter, fake), fake };
    },
  })),
];

const call = (signal = new AbortController().signal, attempt = 1) => ({
  tenantKey: tenantKeyOf('org'),
  attempt,
  signal,
});

const invoice = {
  type: 'object',
  properties: {
    number: { type: 'string', description: 'As printed.', minLength: 1 },
    total: { type: 'number', minimum: 0 },
    currency: { enum: ['EUR', 'USD'] },
    paidAt: { type: ['string', 'null'], format: 'date' },
    lines: {
      type: 'array',
      minItems: 1,
      items: {
        type: 'object',
        properties: { text: { type: 'string' }, amount: { $ref: '#/$defs/amount' } },
        required: ['text', 'amount'],
        additionalProperties: false,
      },
    },
  },
  required: ['number', 'total', 'lines'],
  additionalProperties: false,
  $defs: { amount: { type: 'integer' } },
};

describe('the sandbox', () => {
  const model = sandboxTextModel(boundedWork);
  const ask = (prompt: string, name = 'gpt-4o', attempt = 1) =>
    model
      .generate({ provider: 'OPENAI', model: name, prompt }, call(undefined, attempt))
      .catch(({ kind, retryable }) => ({ kind, retryable }));

  test.each<[string, object]>([
    ['sandbox:fail', { kind: 'unavailable', retryable: false }],
    ['sandbox:refuse', { kind: 'content_refused', retryable: false }],
    ['sandbox:timeout', { kind: 'timeout', retryable: false }],
    ['sandbox:overloaded', { kind: 'overloaded', retryable: true }],
    ['sandbox:fail@gpt-4o', { kind: 'unavailable', retryable: true }],
    ['First sandbox:fail@other, then sandbox:fail@gpt-4o.', { kind: 'unavailable', retryable: true }],
  ])('fails as the prompt %j asks', async (prompt, failure) => {
    expect(await ask(`Say: ${prompt}`)).toEqual(failure);
  });

  test.each(['sandbox:fail@other', 'sandbox:fail@gpt-4o-mini', 'sandbox:fail@gpt', 'sandbox:fail@', 'sandbox:refused'])(
    'answers the prompt %j, which is not meant for it',
    async (prompt) => {
      expect(await ask(prompt)).toMatchObject({ text: expect.stringContaining(prompt) });
    },
  );

  test('leaves to an activity what leads to a retry or a fallback', () => {
    const isInstant = (prompt: string) => model.isInstant({ provider: 'OPENAI', model: 'gpt-4o', prompt });
    expect(['sandbox:fail@x', 'sandbox:overloaded', 'sandbox:slow=1'].filter(isInstant)).toEqual([]);
    expect(['sandbox:fail', 'sandbox:refuse', 'sandbox:timeout'].filter(isInstant)).toHaveLength(3);
  });
});

describe.each(subjects)('$name', ({ asked, open }) => {
  let model: TextModel;
  let fake: FakeProvider | undefined;
  beforeAll(async () => {
    ({ model, fake } = await open());
  });
  beforeEach(() => fake?.reset());
  afterAll(() => fake?.close());

  const ask = (more: Partial<TextRequest> & { prompt: string }) => model.generate({ ...asked, ...more }, call());

  test('says at once whether it takes time', () => {
    expect(model.isInstant({ ...asked, prompt: 'Hello' })).toBe(fake === undefined);
  });

  test('answers what it was asked, and counts tokens', async () => {
    const answer = await ask({ prompt: 'What is a workflow?' });
    expect(answer.text).toContain('What is a workflow?');
    for (const count of [answer.inputTokens, answer.outputTokens]) {
      expect(Number.isSafeInteger(count) && count > 0).toBe(true);
    }
    const longer = await ask({ prompt: 'What is a workflow?', system: 'Be brief, be kind and be right. '.repeat(9) });
    expect(longer.inputTokens).toBeGreaterThan(answer.inputTokens);
  });

  test('takes a system prompt, a temperature and a limit', async () => {
    const answer = await ask({ prompt: 'Hello', system: 'Be brief.', temperature: 0.2, maxTokens: 500 });
    expect(answer.text).toContain('Hello');
  });

  test.each([0, 1])('takes a temperature of %d', async (temperature) => {
    expect((await ask({ prompt: 'Hello', temperature })).text).toContain('Hello');
  });

  test('hands over long texts and every character whole', async () => {
    const prompt = `${'Zwölf Boxkämpfer 🥊 \u202e "quoted" \\ back\n'.repeat(4000)}end`;
    expect((await ask({ prompt })).text).toContain(prompt);
  });

  test('answers many at once, each its own', async () => {
    const prompts = Array.from({ length: 20 }, (_, n) => `question ${n}.`);
    const answers = await Promise.all(prompts.map((prompt) => ask({ prompt })));
    answers.forEach(({ text }, n) => {
      expect(text).toContain(prompts[n]);
    });
  });

  test('answers in the form of a schema', async () => {
    const { text } = await ask({ prompt: 'Read this invoice.', outputSchema: invoice });
    const accepts = new Ajv2020({ strict: false, logger: false }).compile(invoice);
    expect([accepts(JSON.parse(text)), accepts.errors]).toEqual([true, null]);
    expect(text).toContain('Read this invoice.');
  });

  test('fails with a failure that may be tried again', async () => {
    fake?.next({ fail: anthropicError(529, 'overloaded_error', 'Overloaded') });
    const failure = await ask({ prompt: 'sandbox:overloaded' }).catch((error) => error);
    expect(failure).toBeInstanceOf(ProviderFailure);
    expect(failure).toMatchObject({
      kind: 'overloaded',
      retryable: true,
      message: expect.stringContaining('overloaded'),
    });
  });

  test('fails with a failure that is final', async () => {
    fake?.next({ fail: anthropicError(400, 'invalid_request_error', 'No.') });
    const failure = await ask({ prompt: 'sandbox:fail' }).catch((error) => error);
    expect(failure).toBeInstanceOf(ProviderFailure);
    expect(failure.retryable).toBe(false);
    expect(Object.keys(failureKinds)).toContain(failure.kind satisfies FailureKind);
  });

  test('ends with the signal, and for its reason', async () => {
    fake?.next('silence');
    const controller = new AbortController();
    const reason = new Error('The run was cancelled.');
    setTimeout(() => controller.abort(reason), 100);
    const started = Date.now();
    const waiting = model.generate({ ...asked, prompt: 'sandbox:slow=30' }, call(controller.signal));
    await expect(waiting).rejects.toBe(reason);
    // Long before its answer.
    expect(Date.now() - started).toBeLessThan(25_000);
  });

  test('does not begin when the signal is aborted already', async () => {
    const reason = new Error('Too late.');
    const waiting = model.generate({ ...asked, prompt: 'Hello' }, call(AbortSignal.abort(reason)));
    await expect(waiting).rejects.toBe(reason);
    expect(fake?.journal ?? []).toEqual([]);
  });
});
