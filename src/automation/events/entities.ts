import { defineEntity, type InferEntity, p } from '@mikro-orm/core';
import { tenantFilter } from '../../platform/database/database.ts';

const tenant = { organizationId: p.uuid(), environment: p.string().length(4) };

/**
 * An event that is matched with triggers and waiting steps of workflows: every event of a caller, and those platform
 * events that a trigger or step names. Written only by SQL statements, here and in the publication of events.
 */
export const WorkflowEvent = defineEntity({
  name: 'WorkflowEvent',
  tableName: 'workflow_event',
  filters: { tenant: tenantFilter },
  properties: {
    /** The same as that of the event that webhooks get. */
    id: p.uuid().primary(),
    ...tenant,
    type: p.string().length(128),
    /** As callers see it. */
    externalId: p.string().length(255),
    /** The subject of a published event. */
    subjectId: p.uuid().nullable(),
    /** Whether the platform published it: then its content are the facts of its type, and otherwise the caller's data. */
    isOwn: p.boolean(),
    /** Null once it is too old to be matched. */
    content: p.json<Record<string, unknown>>().columnType('json').nullable(),
    /** The workflows whose runs led to it; null until that was looked up. */
    chain: p.json<string[]>().columnType('json').nullable(),
    correlationId: p.string().length(128),
    receivedAt: p.datetime(),
    /** The last wait or trigger that was decided, in the order of their ids. */
    afterId: p.uuid().nullable(),
    /** The number of decided waits and triggers, and their results. Only for events whose answer counts them. */
    lookedAt: p.integer(),
    resumed: p.integer(),
    started: p.integer(),
    /** Whether those that the answer counts are decided. */
    isAnswered: p.boolean(),
    /** Whether all were decided before the answer, which says so. */
    wasComplete: p.boolean().nullable(),
    /** Whether all are decided. */
    isComplete: p.boolean(),
    /** The lease of the process that decides. */
    lease: p.uuid().nullable(),
    leasedUntil: p.datetime().nullable(),
  },
  indexes: [
    {
      name: 'workflow_event_name_index',
      properties: ['organizationId', 'environment', 'type', 'receivedAt', 'id'],
    },
    {
      name: 'workflow_event_open_index',
      properties: ['organizationId', 'environment', 'type', 'receivedAt', 'id'],
      where: 'not is_complete',
    },
    { name: 'workflow_event_received_index', properties: ['receivedAt'], where: 'is_complete' },
  ],
  uniques: [
    { name: 'workflow_event_subject_index', properties: ['subjectId', 'type'], where: 'subject_id is not null' },
  ],
});

/** Starts runs of a workflow by events. */
export const EventTrigger = defineEntity({
  name: 'EventTrigger',
  tableName: 'event_trigger',
  filters: { tenant: tenantFilter },
  properties: {
    id: p.uuid().primary(),
    ...tenant,
    automationId: p.uuid(),
    /** Among the triggers of its workflow. */
    position: p.smallint(),
    event: p.string().length(128),
    /** A CEL expression over the event. */
    filter: p.text().nullable(),
    /** CEL expressions over the event, by the name of the variable. */
    inputs: p.json<Record<string, string>>().columnType('json').nullable(),
    lastFiredAt: p.datetime().nullable(),
    /** The last time at which a matching event started no run, and why. */
    lastSkippedAt: p.datetime().nullable(),
    lastSkippedReason: p.string().length(60).nullable(),
    createdAt: p.datetime(),
  },
  indexes: [
    { name: 'event_trigger_event_index', properties: ['organizationId', 'environment', 'event', 'id'] },
    { name: 'event_trigger_automation_index', properties: ['automationId', 'position'] },
  ],
});
export type EventTrigger = InferEntity<typeof EventTrigger>;

/** A run that an event is to start. Written only by SQL statements. */
export const EventStart = defineEntity({
  name: 'EventStart',
  tableName: 'event_start',
  filters: { tenant: tenantFilter },
  properties: {
    eventId: p.uuid().primary(),
    automationId: p.uuid().primary(),
    ...tenant,
    triggerId: p.uuid(),
    variables: p.json<Record<string, unknown>>().columnType('json'),
  },
  indexes: [
    { name: 'event_start_tenant_index', properties: ['organizationId', 'environment', 'eventId'] },
    { name: 'event_start_trigger_index', properties: ['triggerId'] },
  ],
});
