import { setTimeout as sleep } from 'node:timers/promises';
import type { Client } from '@temporalio/client';
import type { Log } from '../src/platform/observability/log.ts';
import { type Queue, queues } from '../src/temporal/contracts/queues.ts';

/**
 * The workers of one installation that serve a queue form one deployment, so that any role can be rolled out first; each
 * bundle is a version of it.
 */
export const deploymentOf = (taskQueuePrefix: string, queue: Queue): string =>
  queue.name === queues.runs.name ? `${taskQueuePrefix}atelier` : `${taskQueuePrefix}atelier-${queue.name}`;

export interface VersionRef {
  deploymentName: string;
  buildId: string;
}

const retryMs = 200;
const patienceMs = 30_000;

/**
 * Promotes a version: what starts from now on starts on it. Retried for a while, because the server knows a version only after its worker
 * has polled. @throws the reason of `stopping` when it is aborted before
 */
export async function promoteVersion(
  client: Client,
  version: VersionRef,
  { log, stopping }: { log: Log; stopping: AbortSignal },
): Promise<void> {
  const deadline = performance.now() + patienceMs;
  for (;;) {
    stopping.throwIfAborted();
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
      await sleep(retryMs, undefined, { signal: stopping });
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
