import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { type ApiClient, apiClient } from '../api-client.ts';
import { followEvents, type StreamedEvent } from '../event-stream.ts';
import { newHold } from '../hold.ts';
import { sharedProduct } from '../product.ts';
import { until } from '../until.ts';
import { inB, makeWorkflow } from './make-workflow.ts';

let product: Awaited<ReturnType<typeof sharedProduct>>;
let api: ApiClient;
/** An API process that performs no steps: it hears of them from PostgreSQL alone. */
let elsewhere: string;
beforeAll(async () => {
  product = await sharedProduct();
  ({ api } = product);
  elsewhere = (await product.serve()).api;
});
afterAll(() => product.close());

const prompt = (id: string, text: string) => ({ id, type: 'prompt', prompt: text });

async function start(steps: object[]): Promise<string> {
  const { id } = await makeWorkflow(api, { steps });
  const { body } = await api.post(`/v1/workflows/${id}/execute`, { async: true }, { 'x-api-variant': 'A' });
  return body.data.runId;
}

const follow = (runId: string, after?: number, base = product.process.api) =>
  followEvents(`${base}/v1/runs/${runId}/events`, product.tenant.testKey, after);

async function all(events: AsyncIterable<StreamedEvent>): Promise<StreamedEvent[]> {
  const found: StreamedEvent[] = [];
  for await (const event of events) found.push(event);
  return found;
}

const named = (events: StreamedEvent[]) => events.map(({ id, name }) => `${id} ${name}`);
const complete = [
  '1 run.started',
  '2 step.started',
  '3 step.completed',
  '4 step.started',
  '5 step.completed',
  '6 step.started',
  '7 step.completed',
  '8 run.completed',
];
const threeSteps = (slow: string) => [prompt('first', 'x'), prompt('slow', slow), prompt('last', 'y')];

describe('the events of a run', () => {
  test.each(['the process that works on it', 'another process'])('come while it runs, from %s', async (where) => {
    const hold = newHold(product.database);
    const runId = await start(threeSteps(hold.word));
    const stream = await follow(runId, undefined, where === 'another process' ? elsewhere : undefined);
    expect(stream).toMatchObject({ status: 200, contentType: expect.stringMatching(/^text\/event-stream/) });
    const seen: StreamedEvent[] = [];
    for await (const event of stream.events) {
      seen.push(event);
      if (event.name === 'step.started' && event.data.stepId === 'slow') {
        expect((await api.get(`/v1/runs/${runId}`)).body.data.status).toBe('RUNNING');
        await hold.release();
      }
    }
    expect(named(seen)).toEqual(complete);
    const run = (await api.get(`/v1/runs/${runId}`)).body.data;
    expect(seen.at(-1)!.data).toMatchObject({
      runId,
      status: 'COMPLETED',
      output: run.output,
      tokensUsed: run.tokensUsed,
    });
    expect(seen[2]!.data).toMatchObject({ stepId: 'first', status: 'completed', output: run.output.steps.first });
  });

  test('go on where they were left, without a gap and without repetition', async () => {
    const hold = newHold(product.database);
    const runId = await start(threeSteps(hold.word));
    const first = await follow(runId);
    const seen: StreamedEvent[] = [];
    for await (const event of first.events) {
      seen.push(event);
      if (seen.length === 3) break;
    }
    first.close();
    await hold.release();
    seen.push(...(await all((await follow(runId, seen.at(-1)!.id, elsewhere)).events)));
    expect(named(seen)).toEqual(complete);
  });

  test('are there after the end, with the same numbers and the same words', async () => {
    const runId = await start(threeSteps('sandbox:slow=0.5'));
    const live = await all((await follow(runId)).events);
    expect(await all((await follow(runId)).events)).toEqual(live);
    expect(await all((await follow(runId, 5)).events)).toEqual(live.slice(5));
  });

  test('are over for who has seen the last one: an EventSource stops at 204', async () => {
    const runId = await start([prompt('a', 'x')]);
    const seen = await all((await follow(runId)).events);
    expect(named(seen).at(-1)).toBe('4 run.completed');
    for (const after of ['4', '999999']) {
      const answer = await api.get(`/v1/runs/${runId}/events`, { 'last-event-id': after });
      expect(answer).toMatchObject({ status: 204, body: '' });
    }
    expect(await all((await follow(runId, 3)).events)).toEqual(seen.slice(3));
  });

  test('include failure and cancellation', async () => {
    const failed = await start([prompt('a', 'sandbox:fail')]);
    const ofFailed = await all((await follow(failed)).events);
    expect(named(ofFailed)).toEqual(['1 run.started', '2 step.started', '3 step.failed', '4 run.failed']);
    const cancelled = await start([prompt('a', 'sandbox:slow=600')]);
    const following = all((await follow(cancelled)).events);
    await until('it runs', async () => (await api.get(`/v1/runs/${cancelled}`)).body.data.status === 'RUNNING');
    await api.post(`/v1/runs/${cancelled}/cancel`);
    expect(named(await following)).toEqual(['1 run.started', '2 step.started', '3 run.cancelled']);
  });

  test('have the dialect of the caller', async () => {
    const runId = await start([prompt('a', 'sandbox:fail')]);
    await all((await follow(runId)).events);
    const { body } = await api.get(`/v1/runs/${runId}/events`, inB);
    expect(body).toContain(`"runId":"run_${runId.replaceAll('-', '')}"`);
    expect(body).toContain('"status":"failed"');
    expect(body).toContain('"code":"service_unavailable"');
    const good = await start([prompt('a', 'x')]);
    expect((await all((await follow(good)).events)).at(-1)!.data).toHaveProperty('tokensUsed');
    expect((await api.get(`/v1/runs/${good}/events`, inB)).body).not.toContain('tokensUsed');
  });

  test('are not visible to others', async () => {
    const runId = await start([prompt('a', 'x')]);
    const stranger = apiClient(product.process.api, (await product.createTenant()).testKey);
    const answer = await stranger.get(`/v1/runs/${runId}/events`, { 'last-event-id': '2' });
    expect(answer).toMatchObject({ status: 404, body: { error: { code: 'run_not_found' } } });
    expect(await api.get(`/v1/runs/${runId}/events`, { 'last-event-id': 'two' })).toMatchObject({ status: 400 });
  });

  // The others go on while it waits.
  test.concurrent('keep the connection alive while nothing happens', async () => {
    const runId = await start([prompt('a', 'sandbox:slow=600')]);
    const stream = await follow(runId);
    const following = all(stream.events);
    await until('a ping has come', async () => stream.comments.length > 0);
    await api.post(`/v1/runs/${runId}/cancel`);
    expect(named(await following).at(-1)).toBe('3 run.cancelled');
  });
});
