import { keyIds } from '../tenancy/core/ids.ts';
import type { EventType } from './core/events.ts';
import { eventIds, webhookIds } from './core/ids.ts';

/** What is known of a run when one of its events is written. Ids are uuids. */
export interface RunFacts {
  runId: string;
  automationId: string;
  name: string;
  status: string;
  durationMs: number;
  tokensUsed: number;
}

/** What an event of each type is written with. */
export interface EventFacts {
  'workflow.run.started': RunFacts;
  'workflow.run.completed': RunFacts;
  'workflow.run.failed': RunFacts;
  'workflow.run.cancelled': RunFacts;
  'api_key.expiring': { keyId: string; name: string; lastFour: string; expiresAt: string };
  'test.webhook': { webhookId: string; message: string };
}

/** Ids and statuses as dialect A shows them, whichever dialect the tenant's keys speak. */
const runData = ({ runId, automationId, name, status, durationMs, tokensUsed }: RunFacts) => ({
  id: runId,
  workflowId: automationId,
  workflowName: name,
  status: status.toUpperCase(),
  durationMs,
  tokensUsed,
});

/** How the data of each type is told. */
const dataOf: { [Type in EventType]: (facts: EventFacts[Type]) => object } = {
  'workflow.run.started': runData,
  'workflow.run.completed': runData,
  'workflow.run.failed': runData,
  'workflow.run.cancelled': runData,
  'api_key.expiring': ({ keyId, ...facts }) => ({ id: keyIds.format(keyId), ...facts }),
  'test.webhook': ({ webhookId, message }) => ({ webhookId: webhookIds.format(webhookId), message }),
};

export interface ToldEvent {
  id: string;
  type: EventType;
  facts: unknown;
  createdAt: Date;
}

/** The body that an event is sent with: the same bytes on every attempt. */
export function payloadOf({ id, type, facts, createdAt }: ToldEvent): string {
  const data = (dataOf[type] as (facts: unknown) => object)(facts);
  return JSON.stringify({ id: eventIds.format(id), type, createdAt: createdAt.toISOString(), data });
}
