import { setTimeout as sleep } from 'node:timers/promises';
import type { Client } from '@temporalio/client';
import type { Log } from '../src/platform/log.ts';

/** All workers of one installation that execute runs form one deployment; each bundle is a version of it. */
export const deploymentName = (taskQueuePrefix: string) => `${taskQueuePrefix}atelier`;
/** Those of webhooks form another one, so that either role can be rolled out first. */
export const webhooksDeploymentName = (taskQueuePrefix: string) => `${deploymentName(taskQueuePrefix)}-webhooks`;

/** And those of Studio, for the same reason. */
export const generationDeploymentName = (taskQueuePrefix: string) => `${deploymentName(taskQueuePrefix)}-generation`;

/** And those of bookings and calendars. */
export const calendarsDeploymentName = (taskQueuePrefix: string) => `${deploymentName(taskQueuePrefix)}-calendars`;

/** And those of integrations. */
export const integrationsDeploymentName = (taskQueuePrefix: string) =>
  `${deploymentName(taskQueuePrefix)}-integrations`;

export interface VersionRef {
  deploymentName: string;
  buildId: string;
}

const retryMs = 200;
const patienceMs = 30_000;

/**
 * Promotes a version: what starts from now on starts on it. Retried for a while, because the server knows a version only after its worker
 * has polled.
 */
export async function promoteVersion(client: Client, version: VersionRef, log: Log): Promise<void> {
  const deadline = performance.now() + patienceMs;
  for (;;) {
    try {
      await client.workflowService.setWorkerDeploymentCurrentVersion({
        namespace: client.options.namespace,
        deploymentName: version.deploymentName,
        buildId: version.buildId,
        identity: client.options.identity,
        ignoreMissingTaskQueues: true,
      });
      log.info(version, 'workers of this version take what starts from now on');
      return;
    } catch (error) {
      if (performance.now() > deadline) throw error;
      await sleep(retryMs);
    }
  }
}

/** How many open workflows only this version can continue. */
export async function countOpen(client: Client, { deploymentName: name, buildId }: VersionRef): Promise<number> {
  const { count } = await client.workflow.count(
    `TemporalWorkerDeploymentVersion = '${name}:${buildId}' AND ExecutionStatus = 'Running'
     AND TemporalWorkflowVersioningBehavior != 'AutoUpgrade'`,
  );
  return Number(count);
}
