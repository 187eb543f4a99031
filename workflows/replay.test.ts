import { readdirSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { beforeAll, describe, expect, test } from '@jest/globals';
import { bundleWorkflowCode, DefaultLogger, type ReplayWorkerOptions, Runtime, Worker } from '@temporalio/worker';
import { openLog } from '../src/platform/observability/log.ts';
import { workflowTypes } from '../test/histories/workflow-types.ts';
import { runningServers } from '../test/servers.ts';
import { prepareBundle } from '../workers/bundle.ts';
import { workLogSinks } from '../workers/log-work.ts';
import { traceSinks } from '../workers/trace-work.ts';

// Recorded by test/histories/record.ts. They stand for runs that are in flight when this code takes over.
const folder = new URL('../test/histories/', import.meta.url);
const types = await workflowTypes();
const histories = types.flatMap((type) =>
  readdirSync(new URL(`${type}/`, folder)).map((file) => ({ type, scenario: file.replace(/\.json$/, '') })),
);
const logger = new DefaultLogger('ERROR');
const silent = openLog('silent', 'replay');

type History = (typeof histories)[number];
const nameOf = ({ type, scenario }: History) => `${type}/${scenario}`;
const read = (one: History) => JSON.parse(readFileSync(new URL(`${nameOf(one)}.json`, folder), 'utf8'));

type Failure = Awaited<ReturnType<ReturnType<typeof Worker.runReplayHistories>['next']>>['value']['error'];

/** Replays all histories in one worker. @returns why each failed, or undefined */
async function replayAll(workflowBundle: ReplayWorkerOptions['workflowBundle']): Promise<Map<string, Failure>> {
  const all = histories.map((one) => ({ workflowId: nameOf(one), history: read(one) }));
  const failures = new Map<string, Failure>();
  const options = { workflowBundle: workflowBundle!, sinks: { ...traceSinks(undefined), ...workLogSinks(silent) } };
  for await (const { workflowId, error } of Worker.runReplayHistories(options, all)) failures.set(workflowId, error);
  return failures;
}

beforeAll(() => {
  // Violations are what some of these tests expect: the test says so, the log need not.
  Runtime.install({ logger, telemetryOptions: { logging: { filter: 'OFF' } } });
});

describe('the present code', () => {
  let failures: Map<string, Failure>;
  beforeAll(async () => {
    const { path: codePath } = await prepareBundle(runningServers().bundles);
    failures = await replayAll({ codePath });
  });

  test.each(histories)('goes the way of $type, $scenario', (history) => {
    expect([...failures].find(([name]) => name === nameOf(history))).toEqual([nameOf(history), undefined]);
  });
});

describe('code that was changed without care', () => {
  let failures: Map<string, Failure>;
  beforeAll(async () => {
    const workflowsPath = fileURLToPath(new URL('changed-workflows.ts', folder));
    const { code } = await bundleWorkflowCode({ workflowsPath, logger });
    failures = await replayAll({ code });
  });

  test.each(histories)('is found out by $type, $scenario', (history) => {
    expect(failures.get(nameOf(history))).toMatchObject({ name: 'DeterminismViolationError' });
  });
});
