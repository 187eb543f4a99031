import type { InjectedSinks } from '@temporalio/worker';
import type { WorkflowInfo } from '@temporalio/workflow';
import type { Log } from '../src/platform/observability/log.ts';
import { searchAttributes } from '../src/temporal/contracts/search-attributes.ts';
import type { WorkLogSinks } from '../src/temporal/contracts/work-log.ts';

const attributeOf = ({ searchAttributes: attributes }: WorkflowInfo, name: string) => attributes[name]?.[0];

/** What identifies the work of a workflow. Undefined for work of no tenant, such as the sweeps. */
function factsOf(info: WorkflowInfo) {
  const organizationId = attributeOf(info, searchAttributes.organization);
  if (organizationId === undefined) return undefined;
  return {
    workflow: info.workflowType,
    workflowId: info.workflowId,
    correlationId: attributeOf(info, searchAttributes.correlation),
    organizationId,
  };
}

/** Writes a line when a tenant's workflow begins and one when it ends. The id of a workflow contains that of its row. */
export const workLogSinks = (log: Log): InjectedSinks<WorkLogSinks> => ({
  workLog: {
    started: {
      fn(info) {
        const facts = factsOf(info);
        if (facts) log.info(facts, 'workflow started');
      },
    },
    ended: {
      fn(info, failure) {
        const facts = factsOf(info);
        if (facts) log.info({ ...facts, ...(failure && { failure }) }, 'workflow ended');
      },
    },
  },
});
