import type { Scope } from '../../platform/database/scope.ts';
import { statement } from '../../platform/database/sql.ts';

const findTest = statement({
  name: 'run.is_test',
  parameters: { runId: 'uuid' },
  row: { isTest: 'boolean' },
  text: `select is_test as "isTest" from run
    where organization_id = :organizationId and environment = :environment and id = :runId`,
});

/** Whether a run is a test run; false if it was deleted. */
export const isTestRun = async (scope: Scope, runId: string): Promise<boolean> =>
  (await scope.one(findTest, { runId }))?.isTest === true;
