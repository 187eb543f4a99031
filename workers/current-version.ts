import { setTimeout as sleep } from 'node:timers/promises';
import type { Services } from '../src/services.ts';
import type { Queue } from '../src/temporal/contracts/queues.ts';
import type { VersionRef } from './deployment.ts';

/** Carries `<deployment>:<build id>` when a version became the current one. */
const channel = 'worker_promoted';
const labelOf = ({ deploymentName, buildId }: VersionRef) => `${deploymentName}:${buildId}`;

/** A promotion that sent no notification, an operator's for example, is noticed within this time. */
const lookEveryMs = 10_000;

type CurrentVersionServices = Pick<Services, 'temporal' | 'notifications' | 'log'>;

/** Lets processes of other versions know at once that they are no longer current. */
export const announcePromotion = ({ notifications }: CurrentVersionServices, version: VersionRef): Promise<void> =>
  notifications.send(channel, labelOf(version));

/**
 * Allows eager starts on the queue in this process for as long as its version is the current one. An eager start uses
 * the worker on the same connection whatever its version: without this, an API process that still runs after a
 * promotion would start all of its workflows on the previous version.
 * @returns resolves when `stopping` is aborted
 */
export async function followCurrentVersion(
  { temporal, notifications, log }: CurrentVersionServices,
  queue: Queue,
  version: VersionRef,
  stopping: AbortSignal,
): Promise<void> {
  const { workflowService, options } = temporal.client;
  let changes = 0;
  const look = async () => {
    const asOf = ++changes;
    const { workerDeploymentInfo } = await workflowService.describeWorkerDeployment({
      namespace: options.namespace,
      deploymentName: version.deploymentName,
    });
    const current = workerDeploymentInfo?.routingConfig?.currentDeploymentVersion?.buildId;
    // An answer to an earlier question may be outdated.
    if (asOf === changes && !stopping.aborted) temporal.allowEagerStarts(queue, current === version.buildId);
  };
  const lookSafely = () =>
    look().catch((error) => log.warn({ err: error }, 'the current worker version could not be read'));

  await notifications.on(channel, (promoted) => {
    // The roles of a process follow deployments of their own.
    if (!promoted.startsWith(`${version.deploymentName}:`)) return;
    changes++;
    if (promoted !== labelOf(version)) temporal.allowEagerStarts(queue, false);
    void lookSafely();
  });
  while (!stopping.aborted) {
    await lookSafely();
    await sleep(lookEveryMs, undefined, { signal: stopping }).catch(() => {});
  }
  temporal.allowEagerStarts(queue, false);
}
