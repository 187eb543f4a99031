import { readdirSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { beforeAll, describe, expect, test } from '@jest/globals';
import { bundleWorkflowCode, DefaultLogger, type ReplayWorkerOptions, Runtime, Worker } from '@temporalio/worker';
import { workflowTypes } from '../test/histories/workflow-types.ts';
import { runningServers } from '../test/servers.ts';
import { prepareBundle } from '../workers/bundle.ts';
import { traceSinks } from '../workers/trace-work.ts';

// Recorded by test/histories/record.ts. They stand for runs that are in flight when this code takes over.
const folder = new URL('../test/histories/', import.meta.url);
const types = await workflowTypes();
const histories = types.flatMap((type) =>
  readdirSync(new URL(`${type}/`, folder)).map((file) => ({ type, scenario: file.replace(/\.json$/, '') })),
);
const logger = new DefaultLogger('ERROR');

function replay(workflowBundle: ReplayWorkerOptions['workflowBundle'], { type, scenario }: (typeof histories)[number]) {
  const history = JSON.parse(readFileSync(new URL(`${type}/${scenario}.json`, folder), 'utf8'));
  return Worker.runReplayHistory({ workflowBundle: workflowBundle!, sinks: traceSinks(undefined) }, history);
}

beforeAll(() => {
  // Violations are what some of these tests expect: the test says so, the log need not.
  Runtime.install({ logger, telemetryOptions: { logging: { filter: 'OFF' } } });
});

describe('the present code', () => {
  let codePath: string;
  beforeAll(async () => {
    ({ path: codePath } = await prepareBundle(runningServers().bundles));
  });

  test.each(histories)('goes the way of $type, $scenario', (history) => replay({ codePath }, history));
});

describe('code that was changed without care', () => {
  let code: string;
  beforeAll(async () => {
    const workflowsPath = fileURLToPath(new URL('changed-workflows.ts', folder));
    ({ code } = await bundleWorkflowCode({ workflowsPath, logger }));
  });

  test.each(histories)('is found out by $type, $scenario', async (history) => {
    await expect(replay({ code }, history)).rejects.toMatchObject({ name: 'DeterminismViolationError' });
  });
});
