import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { organizationIds } from '../../src/tenancy/core/ids.ts';
import { createKey } from '../../src/tenancy/keys.ts';
import { createOrganization, updateOrganization } from '../../src/tenancy/organizations.ts';
import { type ApiClient, apiClient } from '../api-client.ts';
import { type StartedProduct, sharedProduct } from '../product.ts';
import { untilDayHasRoom } from '../tenancy/rate-windows.ts';
import { until } from '../until.ts';
import { endOf, makeWorkflow } from './make-workflow.ts';

let product: StartedProduct;
let api: ApiClient;
beforeAll(async () => {
  product = await sharedProduct();
  api = product.api;
});
afterAll(() => product.close());

const echo = [{ id: 'echo', type: 'transform', expression: '{"input": input, "variables": variables}' }];

/** A name that no other test uses. */
const aName = () => `t_${randomUUID().replaceAll('-', '').slice(0, 12)}.happened`;
const send = (body: object, client = api) => client.post('/api/v1/events', body);
const put = (id: string, triggers: object[], client = api) =>
  client.request('PUT', `/api/v1/workflows/${id}/triggers`, { triggers });
const triggersOf = async (id: string) => (await api.get(`/api/v1/workflows/${id}/triggers`)).body.data.triggers;
const workflowOn = async (triggers: object[], workflow: object = { steps: echo }) => {
  const { id } = await makeWorkflow(api, workflow);
  expect((await put(id, triggers)).status).toBe(200);
  return id as string;
};
const runsOf = async (id: string) => {
  const { body } = await api.get(`/api/v1/workflows/${id}/runs`);
  return body.data.runs as { id: string; status: string }[];
};
const hasRuns = (id: string, count: number) =>
  until(`${count} runs`, async () => {
    const runs = await runsOf(id);
    return runs.length === count && runs.every(({ status }) => status === 'COMPLETED') && runs;
  });
const resultOf = async (runId: string) => (await api.get(`/api/v1/runs/${runId}`)).body.data.output.result;

describe('triggers', () => {
  test('an event starts the workflows whose filter it matches, with the event as input and inputs as variables', async () => {
    const name = aName();
    const wanted = await workflowOn([
      { event: name, filter: 'event.data.total > 20', inputs: { order: 'event.data.order', kind: 'event.type' } },
    ]);
    const other = await workflowOn([{ event: name, filter: 'event.data.total > 90' }]);

    const sent = await send({ name, data: { order: 'o-1', total: 49.5 } });
    expect(sent).toMatchObject({ status: 202, body: { data: { resumed: 0, started: 1, complete: true } } });
    expect(sent.body.data.id).toMatch(/^evt_[0-9a-f]{32}$/);

    const [run] = await hasRuns(wanted, 1);
    const event = {
      id: sent.body.data.id,
      type: name,
      data: { order: 'o-1', total: 49.5 },
      receivedAt: expect.stringMatching(/^\d{4}-.*Z$/),
    };
    expect(await resultOf(run!.id)).toEqual({ input: event, variables: { order: 'o-1', kind: name } });
    await until('it is noted', async () => (await triggersOf(wanted))[0].lastFiredAt !== null);
    expect(await triggersOf(other)).toEqual([
      { event: name, filter: 'event.data.total > 90', inputs: null, lastFiredAt: null, lastSkipped: null },
    ]);
    expect(await runsOf(other)).toEqual([]);
  });

  test('several triggers of a workflow that match start one run, and an unchanged trigger keeps what is known of it', async () => {
    const name = aName();
    const id = await workflowOn([{ event: name }, { event: name, filter: 'true' }]);
    expect((await send({ name })).body.data).toMatchObject({ started: 1 });
    await hasRuns(id, 1);
    const fired = await until('it is noted', async () =>
      (await triggersOf(id)).find((one: { lastFiredAt: string | null }) => one.lastFiredAt),
    );
    const replaced = await put(id, [{ event: 'another.name' }, { event: name }, { event: name, filter: 'true' }]);
    expect(replaced.body.data.triggers[0]).toMatchObject({ event: 'another.name', lastFiredAt: null });
    expect(replaced.body.data.triggers).toContainEqual(fired);
  });

  test('events that start no run are recorded: failing filters and inputs, values that do not fit, and workflows that are not active', async () => {
    const name = aName();
    const inputs = [{ name: 'order', type: 'string', required: true }];
    const failing = await workflowOn([{ event: name, filter: 'event.data.missing.member == 1' }]);
    const unfit = await workflowOn([{ event: name, inputs: { order: 'event.data.n' } }], { steps: echo, inputs });
    const inactive = await workflowOn([{ event: name }]);
    await api.request('PATCH', `/api/v1/workflows/${inactive}`, { isActive: false });

    expect((await send({ name, data: { n: 1 } })).body.data).toMatchObject({ started: 0, complete: true });
    const reasonOf = async (id: string) => (await triggersOf(id))[0].lastSkipped;
    expect(await reasonOf(failing)).toEqual({ at: expect.any(String), reason: 'expression_error' });
    expect(await reasonOf(unfit)).toMatchObject({ reason: 'validation_error' });
    expect(await reasonOf(inactive)).toMatchObject({ reason: 'workflow_inactive' });
  });

  test('runs of a paused workflow are queued, and those that its concurrency skips are recorded', async () => {
    const name = aName();
    const slow = [{ id: 'nap', type: 'wait', for: 3_600 }];
    const id = await workflowOn([{ event: name }], { steps: slow, concurrency: { limit: 1, strategy: 'skip' } });
    const sent = (await send({ name })).body.data;
    const first = await until('the first one runs', async () => {
      const [run] = await runsOf(id);
      return run?.status === 'RUNNING' && run;
    });
    expect((await api.get(`/api/v1/runs/${first.id}`)).body.data).toMatchObject({
      triggeredBy: { type: 'event', eventId: sent.id, event: name },
    });
    await send({ name });
    await until(
      'the second one is skipped',
      async () => (await triggersOf(id))[0].lastSkipped?.reason === 'concurrency',
    );
    expect(await runsOf(id)).toHaveLength(1);
    await api.post(`/api/v1/workflows/${id}/pause`);
    await send({ name });
    const paused = await until('the third one is queued', async () =>
      (await runsOf(id)).find((run) => run.id !== first.id),
    );
    expect((await api.get(`/api/v1/runs/${paused.id}`)).body.data).toMatchObject({
      status: 'PENDING',
      queuedFor: 'paused',
    });
    for (const run of [first, paused]) await api.post(`/api/v1/runs/${run.id}/cancel`);
  });

  test('their runs count in the limit of the day, and are skipped when that is used up', async () => {
    await untilDayHasRoom(60);
    const plan = { name: 'Daily', plan: 'team', rateDay: 3 };
    const { id: organizationId } = await createOrganization(product.database, plan);
    const { key } = await createKey(product.database, { organizationId, environment: 'test' });
    const client = apiClient(product.process.api, key);
    const [name, { id }] = [aName(), await makeWorkflow(client, { steps: echo })];
    expect((await put(id, [{ event: name }], client)).status).toBe(200);
    // The third and last request of the day.
    expect((await send({ name }, client)).body.data).toMatchObject({ started: 0, complete: true });
    await updateOrganization(product.database, organizationId, { rateDay: 1_000 });
    const path = `/api/v1/workflows/${id}`;
    const [trigger] = (await client.get(`${path}/triggers`)).body.data.triggers;
    expect(trigger).toMatchObject({ lastFiredAt: null, lastSkipped: { reason: 'rate_limit_exceeded' } });
    expect((await client.get(`${path}/runs`)).body.data.runs).toEqual([]);
  });

  test('expressions, names and numbers are checked when they are written', async () => {
    const { id } = await makeWorkflow(api, { steps: echo });
    const many = Array.from({ length: 11 }, () => ({ event: 'a' }));
    const wrong: [object[], string][] = [
      [[{ event: 'Order.Paid' }], 'triggers.0.event'],
      [[{ event: 'atelier.thing' }], 'triggers.0.event'],
      [[{ event: 'a.b.c.d.e.f' }], 'triggers.0.event'],
      [[{ event: 'a' }, { event: 'b', filter: 'event.data.n +' }], 'triggers.1.filter'],
      [[{ event: 'b', filter: '1 + 1' }], 'triggers.0.filter'],
      [[{ event: 'b', filter: 'input.x == 1' }], 'triggers.0.filter'],
      [[{ event: 'b', inputs: { n: 'steps.a.output' } }], 'triggers.0.inputs.n'],
      [[{ event: 'b', inputs: { n: 5 } }], 'triggers.0.inputs.n'],
      [many, 'triggers'],
    ];
    for (const [triggers, path] of wrong) {
      const { status, body } = await put(id, triggers);
      expect({ status, path: body.error.details.errors[0].path }).toEqual({ status: 400, path });
    }
    expect(await triggersOf(id)).toEqual([]);
    expect((await put(randomUUID(), [])).body.error.code).toBe('workflow_not_found');
  });

  test('a plan includes so many triggers', async () => {
    const { testKey } = await product.createTenant({ plan: 'free' });
    const client = apiClient(product.process.api, testKey);
    const [first, second] = [await makeWorkflow(client), await makeWorkflow(client)];
    const ten = Array.from({ length: 10 }, (_, n) => ({ event: `e_${n}` }));
    expect((await put(first.id, ten, client)).status).toBe(200);
    expect(await put(second.id, [{ event: 'a' }], client)).toMatchObject({
      status: 403,
      body: { error: { code: 'forbidden', details: { limit: 10, plan: 'free' } } },
    });
    expect((await put(first.id, ten.slice(1), client)).status).toBe(200);
    expect((await put(second.id, [{ event: 'a' }], client)).status).toBe(200);
  });

  test('both scopes are needed to write them', async () => {
    const { id } = await makeWorkflow(api, { steps: echo });
    const { organizationId } = product.tenant;
    for (const scopes of [['workflows:write'], ['runs:execute']]) {
      const { key } = await createKey(product.database, { organizationId, environment: 'test', scopes });
      expect((await put(id, [], apiClient(product.process.api, key))).status).toBe(403);
    }
  });
});

describe('events', () => {
  test('an id names an event for a day: the same again gets the same answer, and other content is refused', async () => {
    const name = aName();
    const id = await workflowOn([{ event: name }]);
    const event = { name, data: { n: 1 }, id: `sent-${randomUUID()}` };
    const [first, ...again] = await Promise.all([send(event), send(event), send(event)]);
    expect(first).toMatchObject({ status: 202, body: { data: { id: event.id, started: 1, complete: true } } });
    for (const one of again) expect(one.body).toEqual(first!.body);
    expect(await send({ ...event, data: { n: 2 } })).toMatchObject({
      status: 422,
      body: { error: { code: 'idempotency_key_reused' } },
    });
    await hasRuns(id, 1);
    // A key and an id, each by itself.
    const key = { 'idempotency-key': randomUUID() };
    const keyed = { name, data: { n: 3 }, id: `keyed-${randomUUID()}` };
    const once = await api.post('/api/v1/events', keyed, key);
    const twice = await api.post('/api/v1/events', keyed, key);
    expect(twice.body).toEqual(once.body);
    expect(twice.headers.get('idempotent-replayed')).toBe('true');
    expect((await send(keyed)).body).toEqual(once.body);
    await hasRuns(id, 2);
    // Each environment and organization has its own.
    const { testKey } = await product.createTenant();
    expect((await send({ ...event, data: {} }, apiClient(product.process.api, testKey))).status).toBe(202);
  });

  test("the platform's names are refused, and data that is too large", async () => {
    const names = [
      'workflow.run.completed',
      'test.webhook',
      'workflow.mine',
      'approval.x',
      'batch.completed',
      'studio.x',
    ];
    for (const name of [...names, 'booking.mine', 'api_key.x', 'slack.anything', 'atelier.x', 'Not', 'a..b']) {
      const { status, body } = await send({ name });
      expect({ name, status, path: body.error.details.errors[0].path }).toEqual({ name, status: 400, path: 'name' });
    }
    expect((await send({ name: 'workflow' })).status).toBe(202);
    expect((await send({ name: 'n'.repeat(128) })).status).toBe(202);
    expect((await send({ name: 'n'.repeat(129) })).status).toBe(400);
    const large = await send({ name: 'large', data: { text: 'x'.repeat(256 * 1024) } });
    expect(large.body.error.details.errors[0].path).toBe('data');
    expect((await send({ name: 'a', id: '' })).status).toBe(400);
    expect((await send({ name: 'a', id: 'i'.repeat(256) })).status).toBe(400);
    expect((await send({ name: 'a', data: [] })).status).toBe(400);
  });

  test('events that start nothing do not keep those of their name behind them waiting', async () => {
    const name = aName();
    const id = await workflowOn([{ event: name, filter: 'event.data.n == 60' }]);
    // Events that no request decides, as those of the platform are.
    await product.database.pool.query(
      `insert into workflow_event (id, organization_id, environment, type, external_id, is_own, content, chain, correlation_id,
                                   received_at, looked_at, resumed, started, is_answered, is_complete)
       select uuidv7(), $1, 'test', $2::text, $2::text || n, false, json_build_object('n', n), '[]', $2::text, clock_timestamp(), 0, 0, 0,
              true, false
         from generate_series(1, 60) n`,
      [organizationIds.parse(product.tenant.organizationId), name],
    );
    // A second for each of them would be too long.
    await until('the last one has started its run', async () => (await runsOf(id)).length === 1, 50_000);
  });

  test('one event starts more runs than the request waits for, and the rest is decided behind', async () => {
    const { testKey, organizationId } = await product.createTenant({ plan: 'enterprise' });
    const client = apiClient(product.process.api, testKey);
    const name = aName();
    const { id } = await makeWorkflow(client, { steps: echo });
    // 1,200 workflows with a trigger each.
    await product.database.pool.query(
      `with made as (
         insert into automation (id, organization_id, environment, name, description, state, definition_id, total_runs, created_at, updated_at)
         select uuidv7(), organization_id, environment, 'Many', null, 'active', definition_id, 0, now(), now()
           from automation, generate_series(1, 1200) where id = $1 returning id, organization_id, environment)
       insert into event_trigger (id, organization_id, environment, automation_id, position, event, created_at)
       select uuidv7(), organization_id, environment, id, 0, $2, now() from made`,
      [id, name],
    );
    const sent = await send({ name, id: 'many' }, client);
    expect(sent.body.data).toEqual({ id: 'many', resumed: 0, started: 1_000, complete: false });
    await until(
      'every workflow has its run',
      async () => {
        const { rows } = await product.database.pool.query(
          `select count(*)::int as runs, count(distinct automation_id)::int as workflows from run
            where organization_id = $1 and trigger_type = 'event'`,
          [organizationIds.parse(organizationId)],
        );
        return rows[0].runs === 1_200 && rows[0].workflows === 1_200;
      },
      240_000,
    );
    expect((await send({ name, id: 'many' }, client)).body).toEqual(sent.body);
  }, 300_000);
});

describe('events of the platform', () => {
  test('the end of a run starts the workflow that awaits it, with the data that webhooks get', async () => {
    const first = await makeWorkflow(api, { name: 'First', steps: echo });
    const next = await workflowOn([
      {
        event: 'workflow.run.completed',
        filter: `event.data.workflowId == "${first.id}"`,
        inputs: { name: 'event.data.workflowName' },
      },
    ]);
    const { runId } = (await api.post(`/api/v1/workflows/${first.id}/execute`, { input: 1, async: false })).body.data;
    const [run] = await hasRuns(next, 1);
    expect(await resultOf(run!.id)).toMatchObject({
      input: { type: 'workflow.run.completed', data: { id: runId, workflowId: first.id, status: 'COMPLETED' } },
      variables: { name: 'First' },
    });
    // Nothing is left of it: later runs are awaited no more.
    await put(next, []);
  });

  test('there are no loops: not of one workflow, not of two, and chains end after five', async () => {
    const { testKey } = await product.createTenant({ plan: 'team' });
    const client = apiClient(product.process.api, testKey);
    const name = aName();
    const ids: string[] = [];
    for (let n = 0; n < 8; n++) ids.push((await makeWorkflow(client, { steps: echo })).id);
    await put(ids[0]!, [{ event: name }, { event: 'workflow.run.completed' }], client);
    for (const [n, id] of ids.entries()) {
      if (n > 0) {
        const filter = `event.data.workflowId == "${ids[n - 1]}"`;
        await put(id, [{ event: 'workflow.run.completed', filter }], client);
      }
    }
    await send({ name }, client);
    const triggers = async (n: number) =>
      (await client.get(`/api/v1/workflows/${ids[n]}/triggers`)).body.data.triggers as {
        event: string;
        lastSkipped: { reason: string } | null;
      }[];
    const reason = await until('the chain ends', async () => (await triggers(6))[0]!.lastSkipped?.reason);
    expect(reason).toBe('loop');
    const counts = await Promise.all(
      ids.map(async (id) => (await client.get(`/api/v1/workflows/${id}/runs`)).body.data.runs.length),
    );
    expect(counts).toEqual([1, 1, 1, 1, 1, 1, 0, 0]);
    // The first workflow hears of its own end, and of all that it caused.
    expect((await triggers(0))[1]!.lastSkipped?.reason).toBe('loop');
  });

  test('a run is not resumed by what its own workflow caused', async () => {
    const { testKey } = await product.createTenant({ plan: 'team' });
    const client = apiClient(product.process.api, testKey);
    const steps = [
      { id: 'waits', type: 'condition', expression: 'input == "wait"', then: 'ended', else: 'end' },
      { id: 'ended', type: 'event', event: 'workflow.run.completed' },
    ];
    const [{ id: own }, { id: other }] = [
      await makeWorkflow(client, { steps }),
      await makeWorkflow(client, { steps: echo }),
    ];
    const start = async (id: string, input: string) =>
      (await client.post(`/api/v1/workflows/${id}/execute`, { input, async: true })).body.data.runId;
    const waiting = await start(own, 'wait');
    const waits = async () => (await client.get(`/api/v1/runs/${waiting}`)).body.data.waitingFor?.[0]?.type === 'event';
    await until('it waits', waits);
    expect((await endOf(client, await start(own, 'go'))).status).toBe('completed');
    const decided = async () =>
      (
        await product.database.pool.query(
          `select from workflow_event e join automation a on a.organization_id = e.organization_id
            where a.id = $1 and e.type = 'workflow.run.completed' and e.is_complete`,
          [own],
        )
      ).rowCount;
    await until('its end is decided', async () => (await decided()) === 1);
    expect(await waits()).toBe(true);
    await start(other, 'go');
    const { output } = await endOf(client, waiting);
    expect(output.result).toMatchObject({ type: 'workflow.run.completed', data: { workflowId: other } });
  });
});
