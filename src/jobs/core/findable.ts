import { creditKey, jobWorkflowId } from './names.ts';

/** How operators find a job. The parts of SQL name the row `r`, and show nothing that a tenant wrote. */
export const findableJob = <Rows extends object>({ name, isFree }: { name: string; isFree?: boolean }, rows: Rows) => ({
  state: 'r.status',
  reason: `(r.error->>'code') || ': ' || (r.error->>'message')`,
  workflowId: (id: string) => jobWorkflowId(name, id),
  ...(!isFree && { creditKey: (id: string) => creditKey(name, id) }),
  ...rows,
});
