import { afterAll, beforeAll, expect, jest, test } from '@jest/globals';
import { runIds } from '../../src/automation/core/ids.ts';
import { followRuns } from '../../src/automation/run-streams/follow-runs.ts';
import { StreamReads } from '../../src/automation/run-streams/stream-reads.ts';
import { DeltaReader, withDeltas } from '../../src/automation/step-texts/delta-reader.ts';
import type { StepTexts } from '../../src/automation/step-texts/step-texts.ts';
import { Scope } from '../../src/platform/database/scope.ts';
import { organizationIds } from '../../src/tenancy/core/ids.ts';
import type { ApiClient } from '../api-client.ts';
import { apiClient } from '../api-client.ts';
import { followEvents, type StreamedEvent } from '../event-stream.ts';
import { type StartedProduct, sharedProduct } from '../product.ts';
import { until } from '../until.ts';
import { endOf, makeWorkflow } from './make-workflow.ts';

let product: StartedProduct;
let api: ApiClient;
let workflowId: string;

beforeAll(async () => {
  product = await sharedProduct();
  ({ api } = product);
  ({ id: workflowId } = await makeWorkflow(api));
});
afterAll(() => product.close());

const urlOf = (query: string) => `${product.process.api}/api/v1/runs/events?${query}`;

async function execute(body: object = {}, id = workflowId): Promise<string> {
  const answer = await api.post(`/api/v1/workflows/${id}/execute`, { input: 'x', async: true, ...body });
  return answer.body.data.runId;
}

/** Follows a stream that never closes, until it is closed here. */
async function open(query: string, { key = product.tenant.testKey, after }: { key?: string; after?: string } = {}) {
  const stream = await followEvents(urlOf(query), key, after);
  const events: StreamedEvent[] = [];
  const reading = (async () => {
    for await (const event of stream.events) events.push(event);
  })().catch(() => {});
  const of = (runId: string) => events.filter(({ data }) => data.runId === runId).map(({ name }) => name);
  const ended = (runIds: string[]) =>
    until('the runs have ended in the stream', async () => runIds.every((id) => of(id).includes('run.completed')));
  return {
    stream,
    events,
    of,
    ended,
    async close() {
      stream.close();
      await reading;
    },
  };
}

const whole = ['run.started', 'step.started', 'step.completed', 'run.completed'];

test('has the events of all runs of a filter, each once and in order, and none of others', async () => {
  const tag = 'stream-1';
  const byTag = await open(`tag=${tag}`);
  const byWorkflow = await open(`workflowId=${workflowId}`);
  expect(byTag.stream.contentType).toMatch(/^text\/event-stream/);
  const tagged = await Promise.all(Array.from({ length: 20 }, () => execute({ tags: [tag] })));
  const other = await execute();
  await Promise.all([byTag.ended(tagged), byWorkflow.ended([...tagged, other])]);
  for (const id of tagged) expect([byTag.of(id), byWorkflow.of(id)]).toEqual([whole, whole]);
  expect(byTag.of(other)).toEqual([]);
  expect(byWorkflow.of(other)).toEqual(whole);
  await Promise.all([byTag.close(), byWorkflow.close()]);
});

test('goes on behind any event, as if it had not been interrupted', async () => {
  const tag = 'stream-2';
  const first = await open(`tag=${tag}`);
  const before = await Promise.all(Array.from({ length: 5 }, () => execute({ tags: [tag] })));
  await first.ended(before);
  await first.close();
  const meanwhile = await Promise.all(Array.from({ length: 5 }, () => execute({ tags: [tag] })));
  for (const id of meanwhile) await endOf(api, id);
  for (const at of [0, 7, first.events.length - 1]) {
    const resumed = await open(`tag=${tag}`, { after: first.events[at]!.cursor! });
    await resumed.ended(meanwhile);
    const later = await execute({ tags: [tag] });
    await resumed.ended([later]);
    const seen = [...first.events.slice(0, at + 1), ...resumed.events];
    for (const id of [...before, ...meanwhile, later]) {
      expect(seen.filter(({ data }) => data.runId === id).map(({ name }) => name)).toEqual(whole);
    }
    await resumed.close();
  }
  for (const after of ['x', '12', 'AAAAAAAA', Buffer.alloc(7).toString('base64url')]) {
    expect((await followEvents(urlOf(`tag=${tag}`), product.tenant.testKey, after)).status).toBe(400);
  }
});

test('has runs of flows, what they start, and what their steps write', async () => {
  const { id } = await makeWorkflow(api, {
    steps: [
      {
        id: 'each',
        type: 'map',
        items: '[1, 2]',
        steps: [{ id: 'ask', type: 'prompt', prompt: 'sandbox:slow=3 {{item}}' }],
      },
      { id: 'child', type: 'workflow', workflowId, input: 'from the parent' },
    ],
  });
  const stream = await open(`workflowId=${id}&deltas=true`);
  const runId = await execute({}, id);
  const children = await open(`parentRunId=${runId}&deltas=true`);
  await stream.ended([runId]);
  const names = stream.of(runId).filter((name) => name !== 'step.delta');
  expect(names.filter((name) => name === 'step.completed')).toHaveLength(4);
  const texts: Record<string, string> = {};
  for (const { name, cursor, data } of stream.events) {
    if (name !== 'step.delta') continue;
    expect(cursor || undefined).toBeUndefined();
    const key = data.path.join('.');
    texts[key] = (texts[key] ?? '').slice(0, data.offset) + data.text;
  }
  const steps = (await api.get(`/api/v1/runs/${runId}/steps`)).body.data.steps;
  const asked = steps.filter(({ stepId }: { stepId: string }) => stepId === 'ask');
  expect(Object.values(texts).toSorted()).toEqual(asked.map(({ output }: { output: string }) => output).toSorted());
  const child = steps.find(({ stepId }: { stepId: string }) => stepId === 'child');
  expect(child).toBeDefined();
  await until('the child has ended in the stream', async () =>
    children.events.some(({ name }) => name === 'run.completed'),
  );
  await Promise.all([stream.close(), children.close()]);
});

test('looks at flows that wait together, however many there are, and sees the end of one', async () => {
  const { id } = await makeWorkflow(api, { steps: [{ id: 'nap', type: 'wait', for: 3_600 }] });
  const tag = 'naps';
  const runIds = await Promise.all(Array.from({ length: 15 }, () => execute({ tags: [tag] }, id)));
  await until('they wait', async () => {
    const sql = 'select count(*)::int as count from run where waiting_since is not null and id = any($1)';
    return (await product.database.pool.query(sql, [runIds])).rows[0].count === runIds.length;
  });
  const organizationId = organizationIds.parse(product.tenant.organizationId)!;
  const scope = new Scope(product.database, { organizationId, environment: 'test' }, 'test');
  const [rows, one] = [jest.spyOn(scope, 'rows'), jest.spyOn(scope, 'one')];
  const asked = (name: string) =>
    [rows, one].flatMap((spy) => spy.mock.calls).filter(([of]) => of.name === name).length;
  const stop = new AbortController();
  const seen: string[] = [];
  const events = await followRuns(scope, { tags: [tag] }, undefined, {
    reads: new StreamReads(),
    left: () => {},
    stop: stop.signal,
  });
  const reading = (async () => {
    for await (const { name } of events) seen.push(name);
  })();
  await until('they were looked at ten times', async () => asked('run.marks_of_many') >= 10);
  expect(Math.max(asked('flow.status'), asked('flow.step_times'))).toBeLessThan(3 * runIds.length);
  await api.post(`/api/v1/runs/${runIds[0]}/cancel`, {});
  await until('the end is seen', async () => seen.includes('run.cancelled'));
  expect(asked('flow.status')).toBeLessThan(4 * runIds.length);
  stop.abort();
  await reading;
});

test('lets go of the texts of a run that was deleted, which is no event', async () => {
  const { id } = await makeWorkflow(api, { steps: [{ id: 'nap', type: 'wait', for: 3_600 }] });
  const tag = 'deleted';
  const runId = await execute({ tags: [tag] }, id);
  const organizationId = organizationIds.parse(product.tenant.organizationId)!;
  const scope = new Scope(product.database, { organizationId, environment: 'test' }, 'test');
  const open = new Set<string>();
  const stepTexts = {
    follow(_: unknown, followed: string) {
      open.add(followed);
      return { texts: new Map(), close: () => open.delete(followed) };
    },
  };
  const reader = new DeltaReader(stepTexts as unknown as StepTexts, scope.tenant, false);
  const stop = new AbortController();
  const left = (of: string) => reader.leave(of);
  const events = await followRuns(scope, { tags: [tag] }, undefined, {
    reads: new StreamReads(),
    left,
    stop: stop.signal,
  });
  const seen: string[] = [];
  const reading = (async () => {
    for await (const { name } of withDeltas(reader, events)) seen.push(name);
  })();
  await until('it waits', async () => seen.includes('step.waiting'));
  expect([...open]).toEqual([runIds.parse(runId)]);
  await api.delete(`/api/v1/workflows/${id}`);
  await until('its texts are left', async () => open.size === 0);
  stop.abort();
  await reading;
});

test('needs exactly one filter, and shows a token what it names alone', async () => {
  for (const query of ['', `tag=a&workflowId=${workflowId}`]) {
    expect((await api.get(`/api/v1/runs/events?${query}`)).body.error.details.errors).toMatchObject([
      { path: 'workflowId' },
    ]);
  }
  const issued = await api.post('/api/v1/tokens', { scopes: ['runs:read'], tags: ['mine'] });
  const token = issued.body.data.token;
  const stream = await open(`workflowId=${workflowId}`, { key: token });
  const [mine, other] = [await execute({ tags: ['mine'] }), await execute()];
  await endOf(api, other);
  await stream.ended([mine]);
  const last = await execute({ tags: ['mine'] });
  await stream.ended([last]);
  expect(stream.of(other)).toEqual([]);
  await stream.close();
  const foreign = await product.createTenant();
  const nothing = await open(`workflowId=${workflowId}`, { key: foreign.testKey });
  await execute({ tags: ['mine'] });
  await until('a look', async () => nothing.stream.comments.length >= 0);
  expect(nothing.events).toEqual([]);
  await nothing.close();
  expect((await apiClient(product.process.api).get('/api/v1/runs/events?tag=x')).status).toBe(401);
});
