import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { runIds } from '../../src/automation/core/ids.ts';
import { runWorkflowId } from '../../src/temporal/contracts/automation.ts';
import { type ApiClient, apiClient } from '../api-client.ts';
import { inB, makeWorkflow } from '../automation/make-workflow.ts';
import { until } from '../until.ts';
import { allGone, type Ready, StackFolder, type Start } from './stack-folder.ts';

interface Scene {
  start: Start;
  ready: Ready;
  api: ApiClient;
}

let folder: StackFolder;
/** The stack that runs; each test leaves one, after the kill that it is about. */
let scene: Scene;

async function begin(): Promise<Scene> {
  const start = folder.start();
  const ready = await start.ready();
  return { start, ready, api: apiClient(ready.api, ready.testKey) };
}

beforeAll(async () => {
  folder = new StackFolder();
  folder.takeBuiltBundle();
  scene = await begin();
});

afterAll(() => folder.close());

const read = async (runId: string) => (await scene.api.get(`/api/v1/runs/${runId}`, inB)).body.data;

async function execute(wf: string, input: string): Promise<string> {
  const { status, body } = await scene.api.post(`/api/v1/workflows/${wf}/execute`, { input, async: true }, inB);
  expect(status).toBe(200);
  return body.data.runId;
}

/** A workflow, and a run in the middle of its one step. One that a busy machine did not meet there is followed by another. */
const runInFlight = (): Promise<{ wf: string; inFlight: string }> =>
  until('a run is met in the middle', async () => {
    const { wf } = await makeWorkflow(scene.api, 'sandbox:slow=3 {{input}}');
    const inFlight = await execute(wf, 'in flight');
    const status = await until('the run has begun', async () => {
      const found = (await read(inFlight)).status;
      return found !== 'queued' && found;
    });
    return status === 'running' && { wf, inFlight };
  });

/** How Temporal's own web interface shows the executions of a run. */
async function executions(runId: string): Promise<string[]> {
  const query = encodeURIComponent(`WorkflowId = "${runWorkflowId(runIds.parse(runId)!)}"`);
  const answer = await fetch(`${scene.ready.temporalUi}/api/v1/namespaces/default/workflows?query=${query}`);
  const found = (await answer.json()) as { executions?: { status: string }[] };
  return (found.executions ?? []).map(({ status }) => status);
}

/** The workflow has these runs and no others; each of them ends well, with one result of its step, as one execution. */
async function expectEachDoneOnce(wf: string, runIds: string[]): Promise<void> {
  for (const runId of runIds) {
    const run = await until(`run ${runId} is over`, async () => {
      const found = await read(runId);
      return ['queued', 'running'].includes(found.status) ? undefined : found;
    });
    expect(run).toMatchObject({ status: 'completed', progress: 100, stepResults: [{ status: 'completed' }] });
    expect(run.stepResults).toHaveLength(1);
    // Temporal lists an execution some time after its start, and its end some time after that.
    const listed = await until('its execution is over', async () => {
      const found = await executions(runId);
      return found.length > 0 && found.every((one) => !one.endsWith('RUNNING')) && found;
    });
    expect(listed).toEqual(['WORKFLOW_EXECUTION_STATUS_COMPLETED']);
  }
  const { body } = await scene.api.get(`/api/v1/workflows/${wf}/runs`, inB);
  expect(body.data.runs.map(({ runId }: { runId: string }) => runId).sort()).toEqual([...runIds].sort());
}

test('the starter killed with -9: the next start takes over what it left, and every run ends once', async () => {
  const { wf, inFlight } = await runInFlight();
  const next = await execute(wf, 'next');
  const before = folder.processes();
  process.kill(before.starter.pid, 'SIGKILL');
  scene = await begin();
  await allGone(before);
  await expectEachDoneOnce(wf, [inFlight, next]);
}, 180_000);

test('everything killed with -9: the next start recovers, and every run ends once', async () => {
  const before = folder.processes();
  const { wf, inFlight, queued } = await until('a run is owed while another one is in the middle', async () => {
    const { wf, inFlight } = await runInFlight();
    // A run that Temporal does not know yet: committed, answered, and owed.
    process.kill(before.temporal.pid, 'SIGSTOP');
    const queued = await execute(wf, 'queued');
    expect((await read(queued)).status).toBe('queued');
    if ((await read(inFlight)).status === 'running') return { wf, inFlight, queued };
    process.kill(before.temporal.pid, 'SIGCONT');
    return false;
  });
  for (const { pid } of Object.values(before)) process.kill(pid, 'SIGKILL');
  await allGone(before);
  scene = await begin();
  await expectEachDoneOnce(wf, [inFlight, queued]);
}, 180_000);

test('SIGTERM after all that: everything drains, nothing is left', async () => {
  const last = folder.processes();
  process.kill(last.starter.pid, 'SIGTERM');
  expect(await scene.start.ended).toBe(0);
  await allGone(last);
});
