import { afterAll, beforeAll, beforeEach, describe, expect, test } from '@jest/globals';
import { z } from 'zod';
import { liveIntegrations } from '../../test/fakes/live-integrations.ts';
import type { AppBehaviour, FakeApp } from '../../test/fakes/oauth/oauth-app.ts';
import type { WireAnswer } from '../../test/fakes/wire-server.ts';
import { until } from '../../test/until.ts';
import { AccessTokenRefused, AuthExpired } from '../connections/failures.ts';
import { Egress } from '../platform/egress/egress.ts';
import { egressRules } from '../platform/egress/egress-destination.ts';
import { IntegrationFailure } from './calls/failures.ts';
import { providerCall, type TokenAccess } from './calls/provider-http.ts';
import { catalog } from './catalog.ts';
import type { IntegrationClient } from './definition/integration.ts';

// Guarded as in production, with the loopback fakes opened.
const egress = new Egress(egressRules({ NODE_ENV: 'test', EGRESS_ALLOW_CIDRS: ['127.0.0.1/32'] }));
afterAll(() => egress.close());

const busy: WireAnswer = { status: 503, headers: { 'retry-after': '1' }, body: {} };
const answered = (answer: WireAnswer): AppBehaviour => ({ fail: answer });

/** With all three, for a row that lacks one is given `done` in its place. */
const whole = <A, B, C>(rows: [A, B, C?][]) => rows.map(([a, b, c]) => [a, b, c] as const);

interface How {
  timeoutMs?: number;
  signal?: AbortSignal;
  /** One after another, as refreshes give them. */
  tokens?: string[];
}

/** Access that is refreshed once, as a connection's. */
const accessOf =
  ([first, second]: string[]): TokenAccess =>
  async (work) => {
    for (const token of [first!, second ?? first!]) {
      try {
        return await work(token);
      } catch (error) {
        if (!(error instanceof AccessTokenRefused)) throw error;
      }
    }
    throw new AuthExpired();
  };

/** What became of an action: its answer, or what kind of failure with which facts. */
const outcome = (work: Promise<unknown>): Promise<object> =>
  work.then(
    (answer) => ({ answer }),
    (error) => {
      if (error instanceof AuthExpired) return { kind: 'auth_expired' };
      if (!(error instanceof IntegrationFailure)) throw error;
      const { kind, providerCode: code, retryAfterSeconds: seconds, errors } = error;
      return { kind, ...(code && { code }), ...(seconds && { seconds }), paths: errors.map(({ path }) => path) };
    },
  );

test('every integration is here', () => {
  expect(liveIntegrations.map(({ integration }) => integration)).toEqual(catalog);
});

describe.each(liveIntegrations.map((one) => [one.integration.id, one] as const))('%s', (_, one) => {
  const { integration } = one;
  let fake: FakeApp;
  let client: IntegrationClient;
  let good: string;

  beforeAll(async () => {
    fake = await one.start();
    client = integration.client(z.object(integration.settings).parse(one.variables(fake)) as never)!;
  });
  afterAll(() => fake.close());
  beforeEach(() => {
    fake.reset();
    good = one.token(fake);
  });

  const callOf = ({ timeoutMs = 10_000, signal = new AbortController().signal, tokens = [good] }: How = {}) =>
    providerCall({
      integration,
      client,
      account: one.account(fake),
      egress: { named: egress, guarded: egress },
      access: accessOf(tokens),
      timeoutMs,
      signal,
      idempotencyKey: 'key',
    });

  test('test says whose the account is', async () => {
    expect(await integration.test(callOf())).toMatchObject(one.identity);
    expect(fake.journal).toHaveLength(1);
  });

  test('every action is here', () => {
    expect(Object.keys(one.actions).sort()).toEqual(Object.keys(integration.actions).sort());
  });

  describe.each(Object.entries(one.actions))('%s', (name, { payload, answer, before = 0, invalid, refused }) => {
    const action = integration.actions[name]!;
    const perform = (given: unknown, how?: How) =>
      outcome(action.perform(action.payload.parse(given), callOf(how)).then((said) => action.answer.parse(said)));
    /** How many requests did their work, without those before the one under test. */
    const worked = () => fake.journal.filter((request) => request.worked).length - before;
    /** Lets the requests before pass. */
    const next = (...faults: AppBehaviour[]) => fake.next(...Array(before).fill({ after: 0 }), ...faults);
    /** The failure of a request that did its work, or may have. */
    const lost = { kind: 'lost' };

    test('does it, and answers in its form', async () => {
      expect(await perform(payload())).toEqual({ answer: expect.objectContaining(answer) });
      expect([worked(), fake.journal.length]).toEqual([1, before + 1]);
    });

    test.each(invalid)('%j is refused at %s', (given, path) => {
      const { error } = action.payload.safeParse(given);
      expect(error?.issues.map((issue) => issue.path.join('.'))).toContain(path);
    });

    test.each(whole(refused))('%j is refused as %s', async (given, kind, path) => {
      expect(await perform(given)).toMatchObject({ kind, ...(path !== undefined && { paths: [path] }) });
    });

    test.each(whole(one.meanings))('%j means %s', async (said, kind, code) => {
      next(answered(said));
      const { code: given, ...became } = (await perform(payload())) as { code?: string };
      expect([became, given]).toEqual([expect.objectContaining({ kind }), code]);
    });

    test.each<[string, AppBehaviour]>([
      ['an answer that is lost', 'lose the answer'],
      ['the page of a gateway', 'page'],
      ['half an answer', 'truncate'],
      ['an answer without an end', 'endless'],
      ['an answer that is nested too deep', 'deep'],
    ])('after %s the outcome is unknown, and nothing is sent again', async (_, fault) => {
      next(fault);
      expect(await perform(payload())).toMatchObject(lost);
      expect([worked(), fake.journal.length]).toEqual([1, before + 1]);
    });

    test('one that never answers has its time', async () => {
      // Requests before it have to come through.
      let timeoutMs = before === 0 ? 150 : 3_000;
      const begin = (): Promise<{ kind?: string }> => {
        fake.reset();
        good = one.token(fake);
        next('silence');
        return perform(payload(), { timeoutMs });
      };
      let became = await begin();
      // On a busy machine the time may be over before the request is sent.
      while (became.kind === 'not_done' && timeoutMs < 9_000) {
        timeoutMs *= 4;
        became = await begin();
      }
      expect(became).toMatchObject(lost);
    });

    test('a slow one is waited for', async () => {
      next({ after: 50 });
      expect(await perform(payload())).toHaveProperty('answer');
    });

    test('an error of the server says nothing of what was done; one that is too busy says that nothing was', async () => {
      next(answered({ status: 500, body: {} }));
      expect(await perform(payload())).toMatchObject(lost);
      next(answered(busy));
      expect(await perform(payload())).toMatchObject({ kind: 'not_done', seconds: 1 });
    });

    test('before the request that matters nothing is done, whatever is lost', async () => {
      if (before === 0) return;
      fake.next('lose the answer');
      expect(await perform(payload())).toMatchObject({ kind: 'not_done' });
      expect(fake.journal).toHaveLength(1);
    });

    test.each([2, 7_200])('a limit of %i seconds is passed on', async (seconds) => {
      next(answered(one.rateLimited(seconds)));
      expect(await perform(payload())).toMatchObject({ kind: 'rate_limited', seconds });
      expect(worked()).toBe(0);
    });

    test('a token that is refused is exchanged, and the request made once more', async () => {
      expect(await perform(payload(), { tokens: ['old', good] })).toHaveProperty('answer');
      expect(worked()).toBe(1);
      expect(await perform(payload(), { tokens: ['old', 'older'] })).toEqual({ kind: 'auth_expired' });
    });

    test.each(one.expired)('%j is a token that is refused', async (said) => {
      next(answered(said), answered(said));
      expect(await perform(payload())).toEqual({ kind: 'auth_expired' });
    });

    test('a redirect is not followed', async () => {
      next(answered({ status: 307, headers: { location: `${fake.origin}/elsewhere` }, body: {} }));
      expect(await perform(payload())).toMatchObject({ kind: 'action_failed' });
      expect(fake.journal).toHaveLength(before + 1);
    });

    test('a waiting caller may stop', async () => {
      const stopped = new AbortController();
      next('silence');
      const became = expect(perform(payload(), { signal: stopped.signal })).rejects.toThrow('stopped');
      // A request that were stopped before it has come in could be counted by the next test.
      await until('it has come in', async () => fake.journal.length > before);
      stopped.abort(new Error('stopped'));
      await became;
    });
  });

  test('nothing was done if no server listens', async () => {
    const [name, { payload }] = Object.entries(one.actions)[0]!;
    const action = integration.actions[name]!;
    const gone = await one.start();
    await gone.close();
    const shape = z.object(integration.settings);
    const elsewhere = integration.client(shape.parse(one.variables(gone)) as never)!;
    const call = providerCall({
      integration,
      client: elsewhere,
      account: one.account(gone),
      egress: { named: egress, guarded: egress },
      access: accessOf(['good']),
      timeoutMs: 5_000,
      signal: new AbortController().signal,
      idempotencyKey: 'key',
    });
    expect(await outcome(action.perform(action.payload.parse(payload()), call))).toMatchObject({ kind: 'not_done' });
  });
});
