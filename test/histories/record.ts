/**
 * Records the histories that `workflows/replay.test.ts` replays:
 *
 *     node_modules/.bin/node test/histories/record.ts
 *
 * Run by hand when workflow code gains a path that no history shows yet. Histories that are there already stay as they
 * are, because they stand for runs that began before a change: to record one again, delete it first.
 */

import { existsSync, mkdirSync, writeFileSync } from 'node:fs';
import { dirname } from 'node:path';
import { kill } from 'node:process';
import { fileURLToPath } from 'node:url';
import { Client, Connection } from '@temporalio/client';
import { historyToJSON } from '@temporalio/common/lib/proto-utils.js';
import { runIds } from '../../src/automation/core/ids.ts';
import { automationLimits } from '../../src/automation/core/limits.ts';
import { generationIds, videoIds } from '../../src/studio/core/ids.ts';
import { purgeWorkflowId, runWorkflowId, scheduleId } from '../../src/temporal/contracts/automation.ts';
import { housekeepingWorkflows } from '../../src/temporal/contracts/housekeeping.ts';
import { jobWorkflowId } from '../../src/temporal/contracts/jobs.ts';
import { queues, taskQueueName } from '../../src/temporal/contracts/queues.ts';
import { generationContract, generationMessages } from '../../src/temporal/contracts/studio.ts';
import { type ApiClient, apiClient } from '../api-client.ts';
import setUp from '../global-setup.ts';
import tearDown from '../global-teardown.ts';
import { secrets } from '../operator.ts';
import { openProduct, startProduct } from '../product.ts';
import { runningServers } from '../servers.ts';
import { until } from '../until.ts';
import { recordActions } from './record-actions.ts';
import { recordBookings } from './record-bookings.ts';
import { recordBulkActions } from './record-bulk-actions.ts';
import { recordCalendars } from './record-calendars.ts';
import { recordDeliveries } from './record-deliveries.ts';
import { recordEvents } from './record-events.ts';
import { recordFlows } from './record-flows.ts';
import { recordFollowed } from './record-followed.ts';
import { recordMessages } from './record-messages.ts';
import { recordVoice } from './record-voice.ts';

/** What tells of the machine or of a moment's source files is left out; replay does not look at it. */
const worker = /^\d+@[\w.]+/;

function anonymize(value: unknown): unknown {
  if (typeof value === 'string') return value.replace(worker, 'recorder');
  if (Array.isArray(value)) return value.map(anonymize);
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(
    Object.entries(value).map(([name, of]) => [name, name === 'stackTrace' ? '' : anonymize(of)]),
  );
}

const fileOf = (name: string) => fileURLToPath(new URL(`${name}.json`, import.meta.url));

async function record(): Promise<void> {
  const signing = { URL_SIGNING_KEY: secrets.URL_SIGNING_KEY };
  const { api, process: product, ...rest } = await startProduct(signing);
  await rest.start(['generation'], signing);
  const connection = await Connection.connect({ address: runningServers().temporalAddress });
  const { workflow, schedule } = new Client({ connection });

  /** Waits until it is closed. */
  const keep = async (name: string, workflowId: string) => {
    const handle = workflow.getHandle(workflowId);
    const isClosed = async () => (await handle.describe()).status.name !== 'RUNNING';
    // It may not have been started yet.
    await until(`${name} ends`, () => isClosed().catch(() => false));
    const history = historyToJSON(await handle.fetchHistory());
    mkdirSync(dirname(fileOf(name)), { recursive: true });
    if (existsSync(fileOf(name))) return;
    writeFileSync(fileOf(name), `${JSON.stringify(anonymize(JSON.parse(history)), null, 1)}\n`);
    console.log(`recorded ${name}`);
  };
  const createOn = async (on: ApiClient, prompts: string[]): Promise<string> => {
    const steps = prompts.map((prompt, index) => ({ id: `step${index + 1}`, type: 'prompt', prompt }));
    return (await on.post('/api/v1/workflows', { name: 'Recorded', steps })).body.data.id;
  };
  const create = (...prompts: string[]) => createOn(api, prompts);
  const execute = async (id: string, on = api): Promise<string> => {
    const { body } = await on.post(`/api/v1/workflows/${id}/execute`, { inputs: {}, async: true });
    return runIds.parse(body.data.runId)!;
  };
  const called = (runId: string) =>
    until('the model is called', async () =>
      product.log.some((line) => line.msg === 'model called' && line.runId === runId),
    );

  await recordFlows(api, rest.database, keep);
  await recordBulkActions(api, workflow, keep);

  await keep('executeRun/three-instant-steps', runWorkflowId(await execute(await create('One', 'Two', 'Three'))));
  await keep('executeRun/no-steps', runWorkflowId(await execute(await create())));
  await keep(
    'executeRun/slow-step',
    runWorkflowId(await execute(await create('One', 'sandbox:slow=0.2 Two', 'Three'))),
  );
  const calls = ['sandbox:slow=0.2 One', 'sandbox:slow=0.2 Two'];
  await keep('executeRun/two-calls-in-one-activity', runWorkflowId(await execute(await create(...calls))));
  await keep('executeRun/retried-step', runWorkflowId(await execute(await create('sandbox:overloaded'))));
  await keep('executeRun/failed-step', runWorkflowId(await execute(await create('One', 'sandbox:fail', 'Three'))));

  const ofTools = ['sandbox:tool=memory_create_entities {"entities":[]}', 'sandbox:tool=memory_read_graph Done'];
  const withTools = [{ id: 'use', type: 'prompt', prompt: ofTools.join(' '), tools: ['memory'] }];
  const using = (await api.post('/api/v1/workflows', { name: 'Recorded', steps: withTools })).body.data.id;
  await keep('executeRun/with-tools', runWorkflowId(await execute(using)));

  // A place for each of the others, and none for the last one until one of them is cancelled.
  const crowded = apiClient(product.api, (await rest.createTenant({ plan: 'free' })).testKey);
  const endless = await createOn(crowded, ['sandbox:slow=600 One']);
  const others: string[] = [];
  while (others.length < automationLimits.callingRuns.of('free')) others.push(await execute(endless, crowded));
  for (const runId of others) await called(runId);
  const last = await execute(await createOn(crowded, ['sandbox:slow=0.2 One']), crowded);
  await until('the last one waits', async () => {
    const { rows } = await rest.database.pool.query('select from calling_run where leased_until is null');
    return rows.length === 1;
  });
  for (const runId of others) await crowded.post(`/api/v1/runs/${runId}/cancel`);
  await keep('executeRun/waits-for-its-turn', runWorkflowId(last));

  // The trace that a start carries goes on to the activities.
  const traced = await startProduct({ OTEL_EXPORTER_OTLP_ENDPOINT: 'http://127.0.0.1:9' });
  const inTrace = await createOn(traced.api, ['One', 'sandbox:slow=0.2 Two', 'sandbox:fail']);
  await keep('executeRun/traced', runWorkflowId(await execute(inTrace, traced.api)));
  await traced.close();
  const decisions = [
    { id: 'a', type: 'condition', expression: 'true', then: 'c' },
    { id: 'b', type: 'prompt', prompt: 'never' },
    { id: 'c', type: 'transform', expression: '1' },
  ];
  const deciding = (await api.post('/api/v1/workflows', { name: 'Recorded', steps: decisions })).body.data.id;
  await keep('executeRun/no-prompt', runWorkflowId(await execute(deciding)));

  const cancelled = await execute(await create('sandbox:slow=600 One'));
  await called(cancelled);
  await api.post(`/api/v1/runs/${cancelled}/cancel`);
  await keep('executeRun/cancelled', runWorkflowId(cancelled));

  // executeRun/instant-step-fails.json is of an earlier version, in which the step after a call was a local activity.

  const deleted = await create('sandbox:slow=600 One');
  const inFlight = await execute(deleted);
  await called(inFlight);
  await api.delete(`/api/v1/workflows/${deleted}`);
  await keep('executeRun/deleted-in-flight', runWorkflowId(inFlight));
  await keep('purgeAutomation/with-a-run-in-flight', purgeWorkflowId(deleted));

  // purgeAutomation/without-runs.json is of an earlier version: now what is purged at once needs no workflow.

  const generation = async (prompt: string) => {
    const { body } = await api.post('/api/studio/generate', { prompt });
    const id = body.success ? body.data.id : body.error.details.generationId;
    return jobWorkflowId(generationContract, generationIds.parse(id)!);
  };
  // `an-image` stands for those that were started before there were instant ones.
  await keep('makeGeneration/an-instant-image', await generation('A lighthouse'));
  // Its disk fails at first, so that it is made as any other.
  const broken = await openProduct({ env: { URL_SIGNING_KEY: secrets.URL_SIGNING_KEY } });
  const entryPoint = fileURLToPath(new URL('../storage/failing-disk.ts', import.meta.url));
  const failing = await broken.start(['api', 'generation'], {}, entryPoint);
  const isLogged = (line: string) => until(line, async () => failing.log.some(({ msg }) => msg === line));
  const next = async (state: string) => {
    kill(failing.pid, 'SIGUSR2');
    await isLogged(`the disk ${state}`);
  };
  await next('is full');
  await next('is broken');
  const onIt = apiClient(failing.api, (await broken.createTenant()).testKey);
  const made = onIt.post('/api/studio/generate', { prompt: 'A lighthouse' });
  await isLogged('the file storage failed');
  await next('works');
  await keep(
    'makeGeneration/an-instant-image-later',
    jobWorkflowId(generationContract, generationIds.parse((await made).body.data.id)!),
  );
  await broken.close();
  await keep('makeGeneration/waits-and-retries', await generation('sandbox:slow=0.5 sandbox:overloaded'));
  await keep('makeGeneration/failed', await generation('sandbox:fail'));

  /** A video whose workflow waits for its provider. */
  const waitingVideo = async (prompt: string) => {
    const { id } = (await api.post('/api/studio/generate-video', { prompt })).body.data;
    const workflowId = jobWorkflowId(generationContract, videoIds.parse(id)!);
    const waits = async () => {
      const { events } = await workflow.getHandle(workflowId).fetchHistory();
      return events?.some(({ timerStartedEventAttributes }) => timerStartedEventAttributes);
    };
    await until('it waits', () => waits().catch(() => false));
    return { id, workflowId };
  };
  const reported = await waitingVideo('sandbox:slow=4 Waves');
  await workflow.getHandle(reported.workflowId).signal(generationMessages.providerReported);
  await keep('makeGeneration/reported', reported.workflowId);
  const stopped = await waitingVideo('sandbox:slow=600 Waves');
  await api.post(`/api/studio/generate-video/${stopped.id}/cancel`);
  await keep('makeGeneration/cancelled', stopped.workflowId);

  await recordMessages(api, rest.database, (id) => workflow.getHandle(id).cancel(), keep);
  await recordVoice(api, rest.database, (id) => workflow.getHandle(id).cancel(), keep);

  const integrations = await rest.start(['api', 'integrations'], {
    ...signing,
    TEAMS_CLIENT_ID: 'recorded',
    TEAMS_CLIENT_SECRET: 'recorded',
  });
  await recordEvents(integrations.api, rest.database, await rest.createTenant(), keep);
  const asked = { api: integrations.api, database: rest.database, schedule };
  await recordFollowed(asked, await rest.createTenant(), keep);

  const scheduled = await create('One');
  await api.request('PUT', `/api/v1/workflows/${scheduled}/schedule`, { cron: '@yearly', timezone: 'UTC' });
  const handle = schedule.getHandle(scheduleId(scheduled));
  await handle.trigger();
  const firing = await until('it fires', async () => (await handle.describe()).info.recentActions[0]?.action);
  await keep('startScheduledRun/a-run', firing.workflow.workflowId);

  const taskQueue = taskQueueName(rest.taskQueuePrefix, queues.runs);
  const args = [{ queue: taskQueueName(rest.taskQueuePrefix, queues.housekeeping), tickMs: 60_000 }];
  await workflow.start(housekeepingWorkflows.housekeeping, { workflowId: 'housekeeping', taskQueue, args });
  await keep('housekeeping/started-by-hand', 'housekeeping');
  const ticks = schedule.getHandle(taskQueueName(rest.taskQueuePrefix, queues.housekeeping));
  const dueAt = new Date(Math.floor(Date.now() / 60_000) * 60_000);
  await ticks.backfill([{ start: dueAt, end: dueAt, overlap: 'BUFFER_ALL' }]);
  const tick = await until('the tick starts', async () =>
    (await ticks.describe()).info.recentActions.find(({ scheduledAt }) => scheduledAt.getTime() === dueAt.getTime()),
  );
  await keep('housekeeping/tick', tick.action.workflow.workflowId);
  await rest.close();

  await recordActions(workflow, keep);
  await recordBookings(workflow, keep);
  await recordDeliveries(workflow, keep);
  await recordCalendars({ schedule }, keep);
  await connection.close();
}

await setUp();
try {
  await record();
} catch (error) {
  // Before the servers end, of which those that still have connections complain.
  console.error(error);
  throw error;
} finally {
  await tearDown();
}
