import { Client, Connection, WorkflowNotFoundError } from '@temporalio/client';
import { defineSearchAttributeKey, SearchAttributeType } from '@temporalio/common';
import type { Database } from '../../src/platform/database/database.ts';
import { searchAttributes } from '../../src/temporal/contracts/search-attributes.ts';
import { deliveryWorkflowId, webhookWorkflowId } from '../../src/temporal/contracts/webhooks.ts';
import { deliveryIds, eventIds } from '../../src/webhooks/core/ids.ts';
import { runningServers } from '../servers.ts';
import { until } from '../until.ts';
import { type DeliveryScene, deliveryPolicy } from './delivery-scene.ts';

export interface DeliveryEvidence extends Pick<DeliveryScene, 'product' | 'requests'> {
  temporalAddress?: string;
  /** Requests that were under way in processes when they were killed: so many may have no record. */
  cutOff?: number;
  /** How long everything may take to arrive or to be given up. */
  withinMs?: number;
}

/**
 * Waits until everything has arrived or is a dead letter, and then looks for what was lost, sent twice or forgotten.
 * @returns one line per finding
 */
export async function findDeliveryViolations(evidence: DeliveryEvidence): Promise<string[]> {
  const { product, withinMs = 120_000 } = evidence;
  const left = async () => {
    const { rows } = await product.database.pool.query(`
      select to_jsonb(d) as left from delivery d where status in ('pending', 'retrying')
      union all select to_jsonb(o) from outbox o`);
    return rows;
  };
  await until('all deliveries end', async () => (await left()).length === 0, withinMs).catch(async ({ message }) => {
    const some = (await left()).slice(0, 5).map((row) => JSON.stringify(row.left));
    const logs = product.processes.flatMap(({ pid, log }) => log.slice(-5).map((line) => ({ pid, ...line })));
    throw new Error([message, ...some, ...logs.map((line) => JSON.stringify(line))].join('\n'));
  });
  return findDeliveryViolationsNow(evidence);
}

/** The same without waiting for an end: what must hold at any time. */
async function findDeliveryViolationsNow(evidence: DeliveryEvidence): Promise<string[]> {
  const { database } = evidence.product;
  return [
    ...(await findWrongStates(database)),
    ...(await findWrongAttempts(database)),
    ...(await findWrongEvents(database)),
    ...(await findWrongRequests(evidence)),
    ...(await findWrongWorkflows(evidence)),
  ];
}

/** What is open is due at some time, what is over is not, and no process holds anything for long. */
async function findWrongStates({ pool }: Database): Promise<string[]> {
  const { rows } = await pool.query(
    `select to_jsonb(d) as row from delivery d
      where case when status in ('pending', 'retrying') then next_attempt_at is null or finished_at is not null
                 else next_attempt_at is not null or finished_at is null end
         or status not in ('pending', 'retrying', 'delivered', 'failed', 'dead_lettered')
         or leased_until > clock_timestamp() + make_interval(secs => $1::float8 / 1000)`,
    [deliveryPolicy.leaseMs],
  );
  return rows.map(({ row }) => `a delivery is in no state: ${JSON.stringify(row)}`);
}

/** Attempts are numbered 1, 2, 3 …; the last one of what is delivered succeeded, and no other. */
async function findWrongAttempts({ pool }: Database): Promise<string[]> {
  const { rows } = await pool.query(`
    select d.id, d.status, d.attempts, d.schedule_attempts as "ofSchedule", s.max_attempts as most, a.*
      from delivery d join webhook_subscription s on s.id = d.subscription_id cross join lateral (
        select count(*)::int as rows, coalesce(max(number), 0) as last,
               coalesce(array_agg(number order by number) filter (where status_code between 200 and 299), '{}') as successes
          from delivery_attempt where delivery_id = d.id) a
     where a.rows <> d.attempts or a.last <> d.attempts or d.schedule_attempts > d.attempts
        or d.schedule_attempts > s.max_attempts
        or a.successes <> case when d.status = 'delivered' then array[d.attempts] else '{}' end`);
  return rows.map((row) => `a delivery and its attempts disagree: ${JSON.stringify(row)}`);
}

/** Each run that has ended has one start event and one end event, and each subscription a delivery of both. */
async function findWrongEvents({ pool }: Database): Promise<string[]> {
  const { rows: untold } = await pool.query(`
    select r.id, r.status, array_agg(e.type) as told from run r left join event e on e.subject_id = r.id
     where r.finished_at is not null
       and exists (select from webhook_subscription s where s.organization_id = r.organization_id
                      and s.environment = r.environment and s.created_at < r.created_at)
     group by r.id, r.status
    having count(*) filter (where e.type = 'workflow.run.started') <> case when r.status = 'cancelled' then
             least(1, count(*) filter (where e.type = 'workflow.run.started')) else 1 end
        or count(*) filter (where e.type = 'workflow.run.' || r.status) <> 1
        or count(*) filter (where e.type <> 'workflow.run.started') <> 1`);
  const { rows: unheard } = await pool.query(`
    select e.id, e.type, s.id as subscription from event e
      join webhook_subscription s on s.organization_id = e.organization_id and s.environment = e.environment
       and s.is_active and s.created_at < e.created_at and (s.events ? e.type or s.events ? '*')
     where e.type <> 'test.webhook'
       and not exists (select from delivery d where d.event_id = e.id and d.subscription_id = s.id)`);
  return [
    ...untold.map((row) => `a run was told wrongly: ${JSON.stringify(row)}`),
    ...unheard.map((row) => `an event has no delivery: ${JSON.stringify(row)}`),
  ];
}

interface Recorded {
  id: string;
  eventId: string;
  status: string;
  attempts: number;
  answered: number;
  /** Ms since the epoch. */
  finishedAt: number | null;
}

/** Every attempt arrived, under the same ids, and nothing arrived after it had been delivered. */
async function findWrongRequests({ product, requests, cutOff = 0 }: DeliveryEvidence): Promise<string[]> {
  const { rows } = await product.database.pool.query<Recorded>(`
    select d.id, coalesce(d.resent_event_id, d.event_id) as "eventId", d.status, d.attempts,
           (extract(epoch from d.finished_at) * 1000)::float8 as "finishedAt",
           (select count(*)::int from delivery_attempt a where a.delivery_id = d.id and a.status_code is not null) as answered
      from delivery d`);
  const arrived = Map.groupBy(requests(), ({ headers }) => String(headers['x-service-delivery']));
  const found: string[] = [];
  let unrecorded = 0;
  for (const { id, eventId, status, attempts, answered, finishedAt } of rows) {
    const name = deliveryIds.format(id);
    const ofIt = arrived.get(name) ?? [];
    arrived.delete(name);
    unrecorded += Math.max(0, ofIt.length - attempts);
    if (ofIt.length < answered) found.push(`${name} has ${answered} answers to ${ofIt.length} requests`);
    const keys = ['x-service-idempotency-key', 'webhook-id', 'x-webhook-id'];
    const ids = new Set(ofIt.flatMap(({ headers }) => keys.map((key) => headers[key])));
    ids.delete(eventIds.format(eventId));
    if (ids.size > 0) found.push(`${name} was sent as ${[...ids].join(', ')}`);
    if (new Set(ofIt.map(({ body }) => body)).size > 1) found.push(`${name} had several bodies`);
    const late = ofIt.filter(({ at }) => status === 'delivered' && at > finishedAt!);
    if (late.length > 0) found.push(`${name} was delivered and sent again`);
  }
  for (const name of arrived.keys()) found.push(`${name} was sent and is not known`);
  if (unrecorded > cutOff) found.push(`${unrecorded} requests have no record, ${cutOff} were cut off`);
  return found;
}

const deliveryStatus = defineSearchAttributeKey(searchAttributes.deliveryStatus, SearchAttributeType.KEYWORD);

interface Followed {
  id: string;
  subscriptionId: string;
  status: string;
  isLeft: boolean;
}

/**
 * Retries that wait have a clock and its workflow, and a webhook without any has neither; a dead letter has a workflow that
 * is parked, and what is over has none.
 */
async function findWrongWorkflows({ product, temporalAddress }: DeliveryEvidence): Promise<string[]> {
  const connection = await Connection.connect({ address: temporalAddress ?? runningServers().temporalAddress });
  const { workflow } = new Client({ connection });
  const stateOf = async (workflowId: string): Promise<string> => {
    try {
      const { status, typedSearchAttributes } = await workflow.getHandle(workflowId).describe();
      return status.name === 'RUNNING' ? `open as ${typedSearchAttributes.get(deliveryStatus)}` : status.name;
    } catch (error) {
      if (error instanceof WorkflowNotFoundError) return 'none';
      throw error;
    }
  };
  const ofDeliveries = async () => {
    const { rows } = await product.database.pool.query<Followed>(`
      select id, subscription_id as "subscriptionId", status, coalesce(parked_at = '-infinity', false) as "isLeft"
        from delivery where attempts > 0`);
    const wrong = await Promise.all(
      rows.map(async (row) => {
        const state = await stateOf(deliveryWorkflowId(row.id));
        const isParked = state === 'open as dead_lettered';
        const fits = row.status === 'dead_lettered' && !row.isLeft ? isParked : !state.startsWith('open');
        return fits ? [] : [`a delivery and its workflow, ${state}, disagree: ${JSON.stringify(row)}`];
      }),
    );
    return wrong.flat();
  };
  const ofSubscriptions = async () => {
    const { rows } = await product.database.pool.query(`
      select s.id, c.subscription_id is not null as clock, exists (select from delivery d
               where d.subscription_id = s.id and d.status in ('pending', 'retrying') and d.attempts > 0) as waits
        from webhook_subscription s left join retry_release c on c.subscription_id = s.id`);
    const wrong = await Promise.all(
      rows.map(async (row) => {
        const state = await stateOf(webhookWorkflowId(row.id));
        const fits = row.clock === row.waits && row.waits === state.startsWith('open');
        return fits ? [] : [`a webhook and its workflow, ${state}, disagree: ${JSON.stringify(row)}`];
      }),
    );
    return wrong.flat();
  };
  try {
    // Their ends come after the records.
    const all = async () => [...(await ofDeliveries()), ...(await ofSubscriptions())];
    await until('workflows fit', async () => (await all()).length === 0).catch(() => {});
    return await all();
  } finally {
    await connection.close();
  }
}
