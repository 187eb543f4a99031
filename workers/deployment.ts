import { setTimeout as sleep } from 'node:timers/promises';
import type { Client } from '@temporalio/client';
import type { Log } from '../src/platform/log.ts';

/** All workers of one installation form one deployment; each bundle is a version of it. */
export const deploymentName = (taskQueuePrefix: string) => `${taskQueuePrefix}atelier`;

export interface VersionRef {
  deploymentName: string;
  buildId: string;
}

const retryMs = 200;
const patienceMs = 30_000;

/**
 * Makes a version the one that new runs start with. The server knows a version only after its worker has polled, so
 * this is tried again for a while.
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
      log.info(version, 'workers of this version take new runs');
      return;
    } catch (error) {
      if (performance.now() > deadline) throw error;
      await sleep(retryMs);
    }
  }
}

/** How many workflows are still open that only this version can go on with. */
export async function countOpen(client: Client, { deploymentName: name, buildId }: VersionRef): Promise<number> {
  const { count } = await client.workflow.count(
    `TemporalWorkerDeploymentVersion = '${name}:${buildId}' AND ExecutionStatus = 'Running'
     AND TemporalWorkflowVersioningBehavior != 'AutoUpgrade'`,
  );
  return Number(count);
}
