import { isDeepStrictEqual } from 'node:util';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import pg from 'pg';
import { forgetEvents } from '../../src/automation/events/forget-events.ts';
import { type ApiClient, apiClient } from '../api-client.ts';
import { type StartedProduct, startProduct } from '../product.ts';
import { until } from '../until.ts';
import { makeFlow } from './make-flow.ts';
import { endOf } from './make-workflow.ts';

/*
 * What happens at the same time to a step that waits, in each order. The first of the two stands at its commit, holding
 * what it wrote, until the second waits for it.
 */

const commitLock = 4_711;
const inA = { 'x-api-variant': 'A' };

// A product of its own: triggers hold the commits of all tenants.
let product: StartedProduct;
let api: ApiClient;
/** The owner of the tables: the product's own roles may add no triggers. */
let owner: pg.Client;
beforeAll(async () => {
  product = await startProduct();
  api = apiClient(product.process.api, product.tenant.testKey);
  owner = new pg.Client({ connectionString: product.ownerUrl });
  await owner.connect();
  // Without a limit of its own: a transaction that gave up on a busy machine would let the second one be first.
  await owner.query(`
    create function hold_commit() returns trigger language plpgsql set lock_timeout = 0 as $$
      begin perform pg_advisory_xact_lock_shared(${commitLock}); return null; end $$`);
});
afterAll(async () => {
  await owner.end();
  await product.close();
});

/** How many sessions stand at their commit, or wait for one that does, be it behind others: no others count. */
const countBlocked = `with recursive waiting as (
    select a.pid, pg_blocking_pids(a.pid) as blockers from pg_stat_activity a
     where a.datname = current_database() and a.wait_event_type = 'Lock'),
  blocked as (
    select l.pid from pg_locks l join pg_database d on d.oid = l.database and d.datname = current_database()
     where l.locktype = 'advisory' and l.objid = ${commitLock} and not l.granted
    union
    select w.pid from blocked b join waiting w on b.pid = any(w.blockers))
  select count(*)::int as sessions from blocked`;

const untilOneStands = () =>
  until('a session stands at its commit', async () => (await owner.query(countBlocked)).rows[0].sessions > 0);

/**
 * Lets the first one commit once the second waits. PostgreSQL looks by itself: the second gives up after five seconds, which
 * this process may stall for on a busy machine.
 */
const commitOnceTwoWait = () =>
  owner.query(`do $$
    begin
      for look in 1..2000 loop
        perform pg_stat_clear_snapshot();
        if (${countBlocked}) >= 2 then
          perform pg_advisory_unlock(${commitLock});
          return;
        end if;
        perform pg_sleep(0.05);
      end loop;
      raise 'The second does not wait for the first.';
    end $$`);

/** When a change of a row is the one that stands at its commit. */
interface Change {
  change: string;
  when?: string;
}

/** Has one stand at its commit until other work is done. @returns what both resolve with */
async function atCommit<One, Meanwhile>(
  at: Change,
  one: () => Promise<One>,
  meanwhile: () => Promise<Meanwhile>,
): Promise<[One, Meanwhile]> {
  await owner.query(`
    create constraint trigger hold_commit after ${at.change} deferrable initially deferred
      for each row when (${at.when ?? 'true'}) execute function hold_commit();
    select pg_advisory_lock(${commitLock})`);
  try {
    const begun = one();
    await untilOneStands();
    const done = await meanwhile();
    await owner.query('select pg_advisory_unlock_all()');
    return [await begun, done];
  } finally {
    await owner.query('select pg_advisory_unlock_all()');
    await owner.query(`drop trigger hold_commit on ${at.change.split(' ').at(-1)}`);
  }
}

/** Has the first one stand at its commit until the second one waits too. */
async function inOrder<First, Second>(
  at: Change,
  first: () => Promise<First>,
  second: () => Promise<Second>,
): Promise<[First, Second]> {
  const [begun, { follows }] = await atCommit(at, first, async () => {
    const follows = second();
    await commitOnceTwoWait();
    return { follows };
  });
  return [begun, await follows];
}

async function start(...steps: Record<string, unknown>[]): Promise<string> {
  const id = await makeFlow(product, api, steps);
  return (await api.post(`/api/v1/workflows/${id}/execute`, { input: 1, async: true }, inA)).body.data.runId;
}
const untilWaiting = (runId: string) =>
  until('the run waits', async () => {
    const { rows } = await owner.query('select from run where id = $1 and waiting_since is not null', [runId]);
    return rows.length > 0;
  });
const awaiting = (event: string, more = {}) => ({ id: 'wait', type: 'event', event, ...more });
const send = async (name: string) => (await api.post('/api/v1/events', { name })).body.data;

describe('an event and a wait', () => {
  test('a wait that is committed first is resumed', async () => {
    const at = { change: 'insert on run_wait', when: `new.event = 'wait_first'` };
    const [runId, event] = await inOrder(
      at,
      () => start(awaiting('wait_first')),
      () => send('wait_first'),
    );
    expect(event).toMatchObject({ resumed: 1, complete: true });
    expect((await endOf(api, runId)).output.result).toMatchObject({ id: event.id });
  });

  test.each([false, true])(
    'an event that is committed first is only seen by looking back (with an id: %s)',
    async (hasId) => {
      const name = `event_first_${hasId}`;
      const at = { change: 'insert on workflow_event', when: `new.type = '${name}'` };
      const body = { name, ...(hasId && { id: name }) };
      const [{ body: sent }, [runId, looking]] = await inOrder(
        at,
        () => api.post('/api/v1/events', body),
        () => Promise.all([start(awaiting(name)), start(awaiting(name, { lookBack: 600 }))]),
      );
      expect(sent.data).toMatchObject({ started: 0, complete: true });
      expect((await endOf(api, looking)).output.result).toMatchObject({ id: sent.data.id });
      await untilWaiting(runId);
      const next = await send(name);
      expect(next).toMatchObject({ resumed: 1 });
      expect((await endOf(api, runId)).output.result).toMatchObject({ id: next.id });
    },
  );
});

test('the waits of a run look back together, each for the first event that fits it', async () => {
  const send = async (n: number) => (await api.post('/api/v1/events', { name: 'looked_for', data: { n } })).body.data;
  // More than are read at a time; the last one comes twice.
  for (const n of [...Array.from({ length: 25 }, (_, n) => n), 24]) await send(n);
  const steps = [
    { id: 'n', type: 'transform', expression: 'item' },
    awaiting('looked_for', { match: 'event.data.n == steps.n.output', lookBack: 600 }),
  ];
  const runId = await start({ id: 'each', type: 'map', items: '[3, 22, 24, 99, 3]', steps });
  const isLooking =
    "select from run_wait where run_id = $1 and (outcome is not null or (state = 'open' and look_back is not null))";
  await untilWaiting(runId);
  await until('all have looked', async () => (await owner.query(isLooking, [runId])).rows.length === 0);
  expect(await send(99)).toMatchObject({ resumed: 1 });
  const { outputs } = (await endOf(api, runId)).output.steps.each;
  expect(outputs.map((event: { data: { n: number } }) => event.data.n)).toEqual([3, 22, 24, 99, 3]);
});

test('a run that is deleted while a retry of it is created leaves the retry the files of both', async () => {
  const id = await makeFlow(product, api, [
    { id: 'copy', type: 'transform', expression: 'input' },
    { id: 'last', type: 'transform', expression: '1' },
  ]);
  const input = 'x'.repeat(300_000);
  const asked = await api.post(`/api/v1/workflows/${id}/execute`, { input, async: true }, inA);
  const { runId } = asked.body.data;
  await endOf(api, runId);
  const [retried, deleted] = await inOrder(
    { change: 'insert on run', when: `new.retry_of = '${runId}'` },
    () => api.post(`/api/v1/runs/${runId}/retry`, { fromStep: 'last' }, inA),
    () => api.delete(`/api/v1/runs/${runId}`, inA),
  );
  expect([retried.status, deleted.status]).toEqual([200, 200]);
  const retry = retried.body.data.runId;
  await endOf(api, retry);
  const { rows } = await owner.query(
    `select f.remove_at from run_step s left join file f on f.name = s.output_file
      where s.run_id = $1 and s.step_id = 'copy'`,
    [retry],
  );
  expect(rows).toEqual([{ remove_at: null }]);
  expect((await api.get(`/api/v1/runs/${retry}/outputs/copy`)).body.data.output).toBe(input);
});

describe('an event with much data', () => {
  const text = 'x'.repeat(10_000);
  const sendText = async (name: string) => (await api.post('/api/v1/events', { name, data: { text } })).body.data;
  const age = (name: string, by: string) =>
    owner.query(`update workflow_event set received_at = received_at - $2::interval where type = $1`, [name, by]);
  const left = async (name: string) =>
    (await owner.query('select content is not null as "hasData" from workflow_event where type = $1', [name])).rows;
  // An event that a step is looking at is left for later.
  const untilLeft = (name: string, rows: object[]) =>
    until('it is forgotten', async () => {
      await forgetEvents(product.database);
      return isDeepStrictEqual(await left(name), rows);
    });

  test('is stored once, however many steps it resumes', async () => {
    await owner.query(`
      create table seen_outcome (bytes int);
      create function see_outcome() returns trigger language plpgsql security definer as $$
        begin insert into seen_outcome values (octet_length(new.outcome::text)); return null; end $$;
      create trigger see_outcome after update on run_wait for each row
        when (new.event = 'much_data' and old.state <> new.state) execute function see_outcome()`);
    const runId = await start({ id: 'each', type: 'map', items: '[1, 2, 3, 4, 5]', steps: [awaiting('much_data')] });
    await untilWaiting(runId);
    expect(await sendText('much_data')).toMatchObject({ resumed: 5, complete: true });
    const { outputs } = (await endOf(api, runId)).output.steps.each;
    expect(outputs.map((event: { data: object }) => event.data)).toEqual(Array.from({ length: 5 }, () => ({ text })));
    const { rows } = await owner.query('select count(*)::int as waits, sum(bytes)::int as bytes from seen_outcome');
    expect(rows[0].waits).toBe(5);
    expect(rows[0].bytes).toBeLessThan(1_000);
    // What a step has is not needed any more.
    await age('much_data', '70 minutes');
    await untilLeft('much_data', [{ hasData: false }]);
  });

  /** Resumes a step whose run cannot go on until other work is done. @returns the run */
  async function whileResumed(name: string, work: (client: pg.Client, runId: string) => Promise<unknown>) {
    const runId = await start(awaiting(name));
    await untilWaiting(runId);
    const holder = new pg.Client({ connectionString: product.ownerUrl });
    await holder.connect();
    try {
      await holder.query('begin');
      await holder.query('select from run where id = $1 for update', [runId]);
      expect(await sendText(name)).toMatchObject({ resumed: 1 });
      await work(holder, runId);
      await holder.query('commit');
    } finally {
      await holder.end();
    }
    return runId;
  }

  test('is kept until the steps that it resumed have it', async () => {
    const runId = await whileResumed('kept', async () => {
      for (const by of ['70 minutes', '25 hours']) {
        await age('kept', by);
        await forgetEvents(product.database);
        expect(await left('kept')).toEqual([{ hasData: true }]);
      }
    });
    expect((await endOf(api, runId)).output.result.data).toEqual({ text });
    await untilLeft('kept', []);
  });

  test('is not kept for a run that ended before it had it', async () => {
    await whileResumed('ended', (client, runId) =>
      client.query(`update run set status = 'cancelled', waiting_since = null, finished_at = now() where id = $1`, [
        runId,
      ]),
    );
    await age('ended', '70 minutes');
    await untilLeft('ended', [{ hasData: false }]);
  });

  test('is kept when a step finds it while it becomes too old', async () => {
    await sendText('found');
    const [runId] = await atCommit(
      { change: 'update on run_wait', when: `new.event = 'found' and new.state = 'resolved'` },
      () => start(awaiting('found', { lookBack: 600 })),
      async () => {
        await age('found', '70 minutes');
        await forgetEvents(product.database);
      },
    );
    expect((await endOf(api, runId)).output.result.data).toEqual({ text });
  });
});

test('each wait is matched with what its own run has and its own place sees', async () => {
  const branch = (id: string, value: number) => ({
    id,
    steps: [
      { id: `of_${id}`, type: 'transform', expression: `${value} + input` },
      awaiting('placed', { id: `wait_${id}`, match: `event.data.sum == steps.of_${id}.output + steps.base.output` }),
    ],
  });
  const base = { id: 'base', type: 'transform', expression: '10' };
  const steps = [base, { id: 'both', type: 'parallel', branches: [branch('left', 100), branch('right', 200)] }];
  const other = { ...awaiting('placed', { match: 'event.data.sum == input' }) };
  const [runId, plain] = [await start(...steps), await start(other)];
  for (const one of [runId, plain]) await untilWaiting(one);
  const sum = async (value: number) =>
    (await api.post('/api/v1/events', { name: 'placed', data: { sum: value } })).body.data.resumed;
  expect([await sum(5), await sum(111), await sum(1), await sum(111), await sum(211)]).toEqual([0, 1, 1, 0, 1]);
  const { results } = (await endOf(api, runId)).output.result;
  expect([results.left.output.data.sum, results.right.output.data.sum]).toEqual([111, 211]);
  expect((await endOf(api, plain)).output.result.data.sum).toBe(1);
});

const ask = async (step = {}) => {
  const runId = await start({ id: 'ask', type: 'approval', message: 'Go on?', ...step });
  await untilWaiting(runId);
  const { approvals } = (await api.get('/api/v1/approvals?limit=100')).body.data;
  const { id } = approvals.find((one: { runId: string }) => one.runId === runId);
  const respond = (action: string) => api.post(`/api/v1/approvals/${id}/respond`, { action });
  const read = async () => (await api.get(`/api/v1/approvals/${id}`)).body.data;
  return { runId, respond, read };
};
const becomes = (status: string) => ({ change: 'update on approval', when: `new.status = '${status}'` });

describe('an approval', () => {
  test.each([
    ['approve', 'reject'],
    ['reject', 'approve'],
  ])('%s before %s: the second sees the first', async (one, other) => {
    const { runId, respond } = await ask();
    const [won, lost] = await inOrder(
      becomes('answered'),
      () => respond(one),
      () => respond(other),
    );
    expect(won).toMatchObject({ status: 200, body: { data: { response: { action: one } } } });
    const { respondedAt } = won.body.data.response;
    expect(lost).toMatchObject({ status: 409, body: { error: { details: { status: 'answered', respondedAt } } } });
    expect((await endOf(api, runId)).output.result).toMatchObject({ action: one, respondedAt });
  });

  test('an answer before the end of its time counts', async () => {
    // Early enough for the answer to be in time, and late enough for the worker to come before the answer is given up, ten
    // seconds after it stands at its commit. On a busy machine it may be too late: then another run asks.
    const { runId, respond, read } = await until('an approval has little time left', async () => {
      const asked = await ask({ timeout: 5, onTimeout: 'reject' });
      const { seconds } = await until('its time is nearly over', async () => {
        const { rows } = await owner.query(
          'select extract(epoch from expires_at - clock_timestamp())::float8 as seconds from approval where run_id = $1',
          [asked.runId],
        );
        return rows[0].seconds < 2.5 && rows[0];
      });
      return seconds > 1 && asked;
    });
    const [won] = await inOrder(
      becomes('answered'),
      () => respond('approve'),
      // The worker, whose time it is.
      async () => {},
    );
    expect(won.status).toBe(200);
    expect((await endOf(api, runId)).output.result).toMatchObject({ action: 'approve', channel: 'api' });
    expect((await read()).status).toBe('answered');
  });

  test('an answer after the end of its time is refused', async () => {
    // The worker stands at its commit, however late the approval is found on a busy machine.
    let asking: ReturnType<typeof ask> | undefined;
    const [, { answering }] = await atCommit(
      becomes('expired'),
      async () => {
        asking = ask({ timeout: 2, onTimeout: 'reject' });
      },
      async () => {
        const { respond } = await asking!;
        const answering = respond('approve');
        await commitOnceTwoWait();
        return { answering };
      },
    );
    const [lost, { runId, read }] = [await answering, await asking!];
    expect(lost).toMatchObject({ status: 409, body: { error: { details: { status: 'expired' } } } });
    expect((await endOf(api, runId)).output.result).toMatchObject({ action: 'reject', channel: 'timeout' });
    expect((await read()).status).toBe('expired');
  });
});

describe('a cancellation', () => {
  const cancel = (runId: string) => api.post(`/api/v1/runs/${runId}/cancel`, {});
  const isCancelled = { change: 'update on run', when: `new.status = 'cancelled'` };

  test('before an answer refuses it', async () => {
    const { runId, respond, read } = await ask();
    const [, lost] = await inOrder(
      isCancelled,
      () => cancel(runId),
      () => respond('approve'),
    );
    expect(lost).toMatchObject({ status: 409, body: { error: { details: { status: 'cancelled' } } } });
    expect([(await endOf(api, runId)).status, (await read()).status]).toEqual(['cancelled', 'cancelled']);
  });

  test('after an answer ends the run, and the answer stays', async () => {
    const { runId, respond, read } = await ask();
    const [won, cancelled] = await inOrder(
      becomes('answered'),
      () => respond('approve'),
      () => cancel(runId),
    );
    expect([won.status, cancelled.status]).toEqual([200, 200]);
    expect([(await endOf(api, runId)).status, (await read()).status]).toEqual(['cancelled', 'answered']);
  });

  test.each(['before', 'after'])('%s an event that resumes the run ends it', async (order) => {
    const name = `cancel_${order}`;
    const runId = await start(awaiting(name));
    await untilWaiting(runId);
    const [one, other] = [() => cancel(runId), () => send(name)] as const;
    const event =
      order === 'before'
        ? (await inOrder(isCancelled, one, other))[1]
        : (
            await inOrder(
              { change: 'update on run_wait', when: `new.event = '${name}' and new.state = 'resolved'` },
              other,
              one,
            )
          )[0];
    expect(event).toMatchObject({ resumed: order === 'before' ? 0 : 1, complete: true });
    expect((await endOf(api, runId)).status).toBe('cancelled');
  });
});
