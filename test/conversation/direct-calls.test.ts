import { afterAll, beforeAll, beforeEach, describe, expect, test } from '@jest/globals';
import { Client, Connection } from '@temporalio/client';
import { messageJob } from '../../src/conversation/job.ts';
import { answerOf } from '../../src/conversation/messages.ts';
import { Scope } from '../../src/platform/database/scope.ts';
import { newId } from '../../src/platform/ids.ts';
import { ProviderFailure } from '../../src/platform/provider-failure.ts';
import { messageContract } from '../../src/temporal/contracts/conversation.ts';
import { jobWorkflowId } from '../../src/temporal/contracts/jobs.ts';
import { organizationIds } from '../../src/tenancy/core/ids.ts';
import { type ApiClient, apiClient } from '../api-client.ts';
import { startFakeGoogle } from '../fakes/google.ts';
import type { FakeProvider } from '../fakes/wire-server.ts';
import { secrets } from '../operator.ts';
import { openProduct, type Product } from '../product.ts';
import type { ProductProcess } from '../product-process.ts';
import { runningServers } from '../servers.ts';
import { creditsOf } from '../studio/files.ts';
import { until } from '../until.ts';
import { creditsIn, directCalls, never, nothing, openMessage, type Scene } from './message-scene.ts';
import { joined, type Sender, streamReply } from './reply-events.ts';

let product: Product;
let scope: Scope;
let gemini: FakeProvider;
let running: ProductProcess;
let near: ApiClient;
let sender: Sender;
beforeAll(async () => {
  gemini = await startFakeGoogle();
  const google = { GOOGLE_API_KEY: gemini.apiKey, GOOGLE_BASE_URL: gemini.baseUrl };
  product = await openProduct({ env: { ...secrets, ...google, EGRESS_ALLOW_CIDRS: '127.0.0.1/32' } });
  // Nothing drains the outbox.
  running = await product.start(['api', 'generation']);
  const { api } = running;
  const { organizationId, liveKey } = await product.createTenant({ plan: 'enterprise' });
  const tenant = { organizationId: organizationIds.parse(organizationId)!, environment: 'live' } as const;
  scope = new Scope(product.database, tenant, 'direct-calls');
  near = apiClient(api, liveKey);
  sender = { api, key: liveKey };
});
beforeEach(() => gemini.reset());
afterAll(async () => {
  await product.close();
  await gemini.close();
});

const chatBody = (content: string) => ({ messages: [{ role: 'user', content }] });
const open = (scene: Scene, servers?: string[]) => openMessage(product, scope, scene, servers);
const credits = () => creditsIn(product);

describe('a message whose model is asked by the process that took it', () => {
  const answer = { ...nothing, text: 'Here I am.', calls: [] };

  test('is charged once, and its workflow asks nothing when the reply is there', async () => {
    const before = await credits();
    const message = await open({ reply: async () => answer, asksFirst: true, deadlineMs: 20_000 });
    await message.settled();
    expect(await message.starts()).toBe(1);
    expect(answerOf(await message.find())!.reply.content).toBe('Here I am.');
    expect(await credits()).toEqual({ ...before, spent: before.spent + 1 });
    expect(await message.ask()).toEqual({ kind: 'ended' });
  });

  test('is waited for by its workflow, which asks nothing', async () => {
    let asked = 0;
    const { promise, resolve } = Promise.withResolvers<typeof answer>();
    const reply = () => {
      asked++;
      return promise;
    };
    const message = await open({ reply, asksFirst: true, deadlineMs: 20_000 });
    const waiting = message.ask();
    const { rows } = await until('the mark was renewed', async () => {
      const found = await product.database.pool.query(
        `select 1 from conversation_message
          where id = $1 and asked_until > created_at + make_interval(secs => $2::float8 / 1000)`,
        [message.messageId, directCalls.policy.leaseMs + directCalls.policy.renewEveryMs / 2],
      );
      return found.rows.length > 0 && found;
    });
    resolve(answer);
    await message.settled();
    expect([rows.length, await waiting, asked]).toEqual([1, { kind: 'ended' }, 1]);
  });

  test('is asked about again by its workflow when the process stops', async () => {
    const before = await credits();
    let asked = 0;
    const message = await open({
      reply: (_, { signal }) => (++asked === 1 ? never(signal) : Promise.resolve(answer)),
      asksFirst: true,
      deadlineMs: 20_000,
    });
    message.services.draining.abort();
    await message.settled();
    expect(await message.starts()).toBe(1);
    expect(await message.ask()).toEqual({ kind: 'ended' });
    expect([asked, await credits()]).toEqual([2, { ...before, spent: before.spent + 1 }]);
  });

  test('is asked about four times in all, and not before the time that its provider names', async () => {
    const times: number[] = [];
    const message = await open({
      async reply() {
        times.push(performance.now());
        throw new ProviderFailure('rate_limited', 'Slow down.', { retryAfterMs: 300 });
      },
      asksFirst: true,
      deadlineMs: 20_000,
    });
    await message.settled();
    expect([await message.starts(), times.length]).toEqual([1, 1]);
    await expect(message.ask(1, 1)).rejects.toThrow('Slow down.');
    expect(times[1]! - times[0]!).toBeGreaterThan(290);
    await expect(message.ask(1, 2)).rejects.toThrow('Slow down.');
    expect(await message.ask(1, 3)).toEqual({ kind: 'failed', code: 'provider_error' });
    expect(times).toHaveLength(4);
  });

  test('fails its workflow too when it fails for good, and is not charged', async () => {
    const before = await credits();
    const message = await open({
      reply: async () => {
        throw new ProviderFailure('content_refused', 'Not this.');
      },
      asksFirst: true,
    });
    await message.settled();
    expect([await message.starts(), await message.ask()]).toEqual([1, { kind: 'failed', code: 'provider_error' }]);
    expect(await credits()).toEqual(before);
  });

  test('is not asked any more when it has ended otherwise', async () => {
    let aborted = false;
    const message = await open({
      reply: (_, { signal }) => never(signal).finally(() => (aborted = signal.aborted)),
      asksFirst: true,
      deadlineMs: 20_000,
    });
    await messageJob.stop(message.services, scope, { id: message.messageId, waiter: null }, 'cancelled');
    await message.settled();
    expect([aborted, (await message.find()).status]).toEqual([true, 'cancelled']);
  });

  test('has a place among few, of its organization and in all', async () => {
    const leave = [directCalls.enter(scope.tenant), directCalls.enter(scope.tenant)];
    expect(directCalls.enter(scope.tenant)).toBeUndefined();
    const other = directCalls.enter({ organizationId: newId() });
    expect([other !== undefined, directCalls.enter({ organizationId: newId() })]).toEqual([true, undefined]);
    const message = await open({ reply: async () => answer, asksFirst: true, deadlineMs: 20_000 });
    // The workflow asks at once: nothing says that it should wait.
    expect(await message.starts()).toBe(1);
    expect(await message.ask()).toEqual({ kind: 'ended' });
    for (const one of [...leave, other]) one!();
    expect(directCalls.size).toBe(0);
  });
});

describe('a process that does the work too', () => {
  const stateOf = async (id: string) => {
    const connection = await Connection.connect({ address: runningServers().temporalAddress });
    const handle = new Client({ connection }).workflow.getHandle(jobWorkflowId(messageContract, id));
    const state = await handle.describe().then(
      ({ status }) => status.name,
      () => 'missing',
    );
    await connection.close();
    return state;
  };
  const newest = async () => {
    const { rows } = await product.database.pool.query(
      'select id, asked_until is not null as "isFirst" from conversation_message order by created_at desc limit 1',
    );
    return rows[0];
  };
  beforeAll(async () => {
    await until('it asks models by itself', async () => {
      await near.post('/api/chat', chatBody('Hello'));
      return (await newest()).isFirst;
    });
  });

  test('starts the workflow of a message meanwhile, which asks nothing', async () => {
    const { promise: after, resolve: answer } = Promise.withResolvers<void>();
    gemini.next({ after });
    const asked = near.post('/api/chat', chatBody('Hello'));
    await until('the model is asked', async () => gemini.journal.length === 1);
    const { id } = await newest();
    await until('the workflow has begun', async () => (await stateOf(id)) === 'RUNNING');
    answer();
    expect((await asked).status).toBe(200);
    await until('the workflow has ended', async () => (await stateOf(id)) === 'COMPLETED');
    expect(gemini.journal).toHaveLength(1);
  });

  test('leaves a reply that broke off to the workflow', async () => {
    gemini.next('cut the answer');
    const stream = await streamReply(sender, '/api/chat', chatBody('Say this, please, in full.'));
    const events = await stream.all();
    expect(events.at(-1)!.name).toBe('reply');
    expect(joined(events)).toBe(events.at(-1)!.data.content);
    expect(gemini.journal).toHaveLength(2);
  });

  test('asks sixteen questions of an organization at once, and leaves the others to their workflows', async () => {
    const { promise: after, resolve: answerAll } = Promise.withResolvers<void>();
    gemini.next(...Array.from({ length: 24 }, () => ({ after })));
    const before = await creditsOf(near);
    const ask = (at: number) =>
      until('it is answered', async () => {
        const answer = await near.post('/api/chat', chatBody('Hello'), { 'idempotency-key': `one of many: ${at}` });
        // On a busy machine a request may find no connection in time: its caller asks again, until the first has ended.
        return ![409, 503].includes(answer.status) && answer;
      });
    const asked = Promise.all(Array.from({ length: 24 }, (_, at) => ask(at)));
    await until('all are asked at the same time', async () => gemini.journal.length === 24);
    answerAll();
    const answers = await asked;
    expect(new Set(answers.map(({ status }) => status))).toEqual(new Set([200]));
    const { rows } = await product.database.pool.query(
      'select asked_until is not null as first from conversation_message order by created_at desc limit 24',
    );
    expect(rows.filter(({ first }) => first).length).toBe(16);
    expect(gemini.journal).toHaveLength(24);
    expect(await creditsOf(near)).toEqual({ ...before, balance: before.balance - 24 });
  });

  test('asks once for requests with one Idempotency-Key, and keeps no place for the others', async () => {
    const { promise: after, resolve: answer } = Promise.withResolvers<void>();
    gemini.next({ after });
    const key = { 'idempotency-key': 'at the same time' };
    let answered = 0;
    const asked = Array.from({ length: 24 }, async () => {
      const got = await near.post('/api/chat', chatBody('Once'), key);
      answered++;
      return got;
    });
    await until('the others are answered', async () => answered === 23);
    answer();
    const answers = await Promise.all(asked);
    const count = (wanted: number) => answers.filter(({ status }) => status === wanted).length;
    expect([count(200), count(409), gemini.journal.length]).toEqual([1, 23, 1]);
    const { metrics } = await until('it serves metrics', async () => running.log.find((line) => line.metrics));
    await until('no place is taken', async () =>
      /^atelier_messages_asked_at_once 0$/m.test(await (await fetch(metrics as string)).text()),
    );
  });

  test('has the workflow of a message fail that its provider refuses', async () => {
    const before = await creditsOf(near);
    gemini.next({ say: { end: 'refused' } });
    expect((await near.post('/api/chat', chatBody('Hello'))).status).toBe(500);
    const { id } = await newest();
    await until('the workflow has failed', async () => (await stateOf(id)) === 'FAILED');
    expect(gemini.journal).toHaveLength(1);
    expect(await creditsOf(near)).toEqual(before);
  });
});
