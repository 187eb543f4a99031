import { Waiters } from '../platform/concurrency/waiters.ts';
import type { Notifications } from '../platform/database/notifications.ts';
import type { OutboxHandlers } from '../platform/outbox/outbox.ts';
import type { Declarations } from '../platform/parts/part.ts';
import type { TemporalClient } from '../temporal/client.ts';
import { creditKey, jobWorkflowId, storedName } from './core/names.ts';
import { jobCreation } from './create-job.ts';
import type { JobDeclaration, JobTypes } from './declaration.ts';
import { jobEnd } from './end-job.ts';
import { jobFailPoints } from './fail-points.ts';
import { jobGauges } from './gauges.ts';
import { jobStart } from './start-job.ts';
import { jobSweeps } from './sweeps.ts';

/** Defines a job with its whole lifecycle. The feature provides columns, the work itself, and errors. */
export function defineJob<Of extends JobTypes>(declaration: JobDeclaration<Of>) {
  const { contract, failPoints = [] } = declaration;
  const { name } = contract;
  const stored = storedName(contract);
  const { failPoint, names } = jobFailPoints(name);
  const workflowId = (id: string) => jobWorkflowId(contract, id);
  const starting = jobStart(declaration, failPoint);
  const ending = jobEnd(declaration, failPoint);
  return {
    contract,
    workflowId,
    creditKey: (id: string) => creditKey(contract, id),
    ...jobCreation(declaration, failPoint),
    ...starting,
    ...ending,
    ...jobSweeps(declaration, ending),
    ...jobGauges(declaration),

    /** What its feature's part declares of it. */
    declarations: {
      failPoints: [...names, ...failPoints],
      promptKinds: [`${stored}.start`],
    } satisfies Partial<Declarations>,

    /** The requests of this process that wait for such jobs. */
    openWaiters(notifications: Notifications): Waiters {
      const waiters = new Waiters(name);
      notifications.on(waiters.channel, (id) => waiters.notifyLocal(id));
      return waiters;
    },

    outbox: (services: Of['services'] & { temporal: TemporalClient }): OutboxHandlers => ({
      [`${stored}.start`]: (scope, id, hint?: Of['hint']) => starting.start(services, scope, id, hint),
      [`${stored}.cancel`]: (_, id) => services.temporal.cancel(workflowId(id)),
    }),
  };
}

/** A kind of job. */
export type Job<Of extends JobTypes> = ReturnType<typeof defineJob<Of>>;
