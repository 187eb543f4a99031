import { defineEntity, type InferEntity, p } from '@mikro-orm/core';
import { tenantFilter } from '../../platform/database/database.ts';
import type { StoredOutcome, WaitState, WaitType } from '../core/waits.ts';

const tenant = { organizationId: p.uuid(), environment: p.string().length(4) };

/** Something that a step of a run waits for. Written only by SQL statements. */
export const RunWait = defineEntity({
  name: 'RunWait',
  tableName: 'run_wait',
  filters: { tenant: tenantFilter },
  properties: {
    id: p.uuid().primary(),
    runId: p.uuid(),
    /** The path of the step, as in `RunStep`. */
    path: p.text(),
    ...tenant,
    type: p.string().length(10).$type<WaitType>(),
    stepId: p.string().length(64),
    since: p.datetime(),
    /** When it ends by itself. */
    until: p.datetime().nullable(),
    /** The name of the event that it waits for. */
    event: p.string().length(128).nullable(),
    /** A CEL expression that the event has to satisfy. */
    match: p.text().nullable(),
    /** Seconds before it began in which the event may have arrived; null once that was looked at. */
    lookBack: p.integer().nullable(),
    state: p.string().length(8).$type<WaitState>(),
    /** Null while it is open, after its run has ended, and once the step has it. */
    outcome: p.json<StoredOutcome>().columnType('json').nullable(),
    resolvedAt: p.datetime().nullable(),
    /** The run or the job that it waits for. */
    subjectId: p.uuid().nullable(),
    /** The event that ended it. */
    eventId: p.uuid().nullable(),
  },
  uniques: [{ properties: ['runId', 'path'] }],
  indexes: [
    {
      name: 'run_wait_event_index',
      properties: ['organizationId', 'environment', 'event', 'id'],
      where: `state = 'open' and event is not null`,
    },
    { name: 'run_wait_subject_index', properties: ['subjectId'], where: `state = 'open' and subject_id is not null` },
    { name: 'run_wait_resumed_index', properties: ['eventId'], where: 'event_id is not null' },
  ],
});
export type RunWait = InferEntity<typeof RunWait>;

/** How many runs of a tenant wait. Kept by a trigger of the runs. */
export const WaitingTotal = defineEntity({
  name: 'WaitingTotal',
  tableName: 'waiting_total',
  filters: { tenant: tenantFilter },
  properties: {
    organizationId: p.uuid().primary(),
    environment: p.string().length(4).primary(),
    runs: p.integer(),
  },
});
