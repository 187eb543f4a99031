import { creditKey, type JobName, jobWorkflowId } from './names.ts';

/** How operators find a job. The parts of SQL name the row `r`, and show no text of a tenant. */
export const findableJob = <Rows extends object>(job: JobName & { isFree?: boolean }, rows: Rows) => ({
  state: 'r.status',
  reason: `(r.error->>'code') || ': ' || (r.error->>'message')`,
  workflowId: (id: string) => jobWorkflowId(job, id),
  ...(!job.isFree && { creditKey: (id: string) => creditKey(job, id) }),
  ...rows,
});
