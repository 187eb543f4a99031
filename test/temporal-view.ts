import { Client, Connection, WorkflowNotFoundError } from '@temporalio/client';
import { defaultPayloadConverter } from '@temporalio/common';
import { tsToMs } from '@temporalio/common/lib/time.js';
import { runWorkflowId } from '../src/temporal/contracts/automation.ts';
import { searchAttributes as attributeNames } from '../src/temporal/contracts/search-attributes.ts';
import { deliveryWorkflowId } from '../src/temporal/contracts/webhooks.ts';
import { runningServers } from './servers.ts';

/** Temporal as an operator sees it, who knows nothing of the product's processes. */
export interface TemporalView {
  /** As Temporal names it, RUNNING or CANCELLED for example; undefined for a run that it does not know. */
  statusOf(runId: string): Promise<string | undefined>;
  cancel(runId: string): Promise<void>;
  /** The activities of a run so far, local ones left out, by type; an attempt that is retried is not another one. */
  activitiesOf(runId: string): Promise<string[]>;
  /** How long each timer of a run was to take, in ms. */
  timersOf(runId: string): Promise<number[]>;
  /** What the open activity of a run reported last; undefined while there is none. */
  heartbeatOf(runId: string): Promise<unknown>;
  /** Why the workflow of a failed run failed, and what it is called in the list. */
  failureOf(runId: string): Promise<{ failure: unknown; summary: string | undefined; stepsNamed: string[] }>;
  /** The search attribute of a delivery's workflow; undefined while there is none. */
  deliveryStatus(deliveryId: string): Promise<string | undefined>;
  close(): Promise<void>;
}

export async function viewTemporal(): Promise<TemporalView> {
  const connection = await Connection.connect({ address: runningServers().temporalAddress });
  const { workflow } = new Client({ connection });
  const handleOf = (runId: string) => workflow.getHandle(runWorkflowId(runId));
  return {
    async statusOf(runId) {
      try {
        return (await handleOf(runId).describe()).status.name;
      } catch (error) {
        if (error instanceof WorkflowNotFoundError) return undefined;
        throw error;
      }
    },
    cancel: async (runId) => {
      await handleOf(runId).cancel();
    },
    async activitiesOf(runId) {
      const { events } = await handleOf(runId).fetchHistory();
      const scheduled = (events ?? []).map((event) => event.activityTaskScheduledEventAttributes?.activityType?.name);
      return scheduled.filter((type) => typeof type === 'string');
    },
    async timersOf(runId) {
      const { events } = await handleOf(runId).fetchHistory();
      const started = (events ?? []).map(({ timerStartedEventAttributes }) => timerStartedEventAttributes);
      return started.flatMap((timer) => (timer?.startToFireTimeout ? [tsToMs(timer.startToFireTimeout)] : []));
    },
    async heartbeatOf(runId) {
      const { raw } = await handleOf(runId).describe();
      const [details] = raw.pendingActivities?.[0]?.heartbeatDetails?.payloads ?? [];
      return details && defaultPayloadConverter.fromPayload(details);
    },
    async failureOf(runId) {
      const handle = handleOf(runId);
      const failure = await handle.result().catch(({ cause }) => ({ ...cause, message: cause.message }));
      const { events } = await handle.fetchHistory();
      const texts = events?.map(({ userMetadata }) => userMetadata?.summary?.data && String(userMetadata.summary.data));
      const stepsNamed = (texts ?? []).filter(Boolean).map((text) => JSON.parse(text!) as string);
      return { failure, summary: await (await handle.describe()).staticSummary(), stepsNamed };
    },
    async deliveryStatus(deliveryId) {
      try {
        const { searchAttributes } = await workflow.getHandle(deliveryWorkflowId(deliveryId)).describe();
        return String(searchAttributes[attributeNames.deliveryStatus]);
      } catch (error) {
        if (error instanceof WorkflowNotFoundError) return undefined;
        throw error;
      }
    },
    close: () => connection.close(),
  };
}
