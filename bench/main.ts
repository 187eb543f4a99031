import { mkdirSync } from 'node:fs';
import { cpus, loadavg } from 'node:os';
import { dirname } from 'node:path';
import { parseArgs } from 'node:util';
import pg from 'pg';
import { Cleanup } from './cleanup.ts';
import { measureQuickly } from './effort.ts';
import type { Item } from './item.ts';
import { assistantCalls } from './items/assistant-calls.ts';
import { badNeighbour } from './items/bad-neighbour.ts';
import { besideFailures } from './items/beside-failures.ts';
import { chatTurns } from './items/chat-messages.ts';
import { clientReads } from './items/client-reads.ts';
import { consoleItem, runsPageItem } from './items/console-pages.ts';
import { creditPairs } from './items/credit-pairs.ts';
import { deliverWebhooks } from './items/deliver-webhooks.ts';
import { executeAsynchronous } from './items/execute-asynchronous.ts';
import { executeSynchronous } from './items/execute-synchronous.ts';
import { fairShare } from './items/fair-share.ts';
import { firstDeltas } from './items/first-deltas.ts';
import { mapOfPrompts, mapOfTransforms } from './items/flow-maps.ts';
import { inboundEvents } from './items/inbound-events.ts';
import { integrationActions } from './items/integration-actions.ts';
import { listDeliveries } from './items/list-deliveries.ts';
import { listEvents } from './items/list-events.ts';
import { listGenerations } from './items/list-generations.ts';
import { listRuns } from './items/list-runs.ts';
import { listSlotsItem } from './items/list-slots.ts';
import { liveRuns } from './items/live-runs.ts';
import { localStack } from './items/local-stack.ts';
import { makeBookings } from './items/make-bookings.ts';
import { readWorkflow } from './items/read-workflow.ts';
import { refuseRequests } from './items/refuse-requests.ts';
import { retryRate } from './items/retry-rate.ts';
import { runThroughput } from './items/run-throughput.ts';
import { sandboxImages } from './items/sandbox-images.ts';
import { searchRunsItem } from './items/search-runs.ts';
import { startBatches } from './items/start-batches.ts';
import { syncCalendar } from './items/sync-calendar.ts';
import { toolCalls } from './items/tool-calls.ts';
import { uploadRecordings } from './items/upload-recordings.ts';
import { upscaleMemory } from './items/upscale-memory.ts';
import { eventsBesideWaits, waitingRuns } from './items/waiting-runs.ts';
import { waitingVideos } from './items/waiting-videos.ts';
import { webhookIsolation } from './items/webhook-isolation.ts';
import { appendResult, describeOutcome } from './report.ts';
import { runItems } from './run-items.ts';
import { settle } from './settled.ts';
import { openStand } from './stand.ts';

/** In the order in which they run. */
const items: Item[] = [
  readWorkflow,
  refuseRequests,
  executeAsynchronous,
  executeSynchronous,
  runThroughput,
  deliverWebhooks,
  creditPairs,
  listRuns,
  listDeliveries,
  listGenerations,
  sandboxImages,
  waitingVideos,
  upscaleMemory,
  fairShare,
  webhookIsolation,
  badNeighbour,
  retryRate,
  besideFailures,
  liveRuns,
  mapOfTransforms,
  mapOfPrompts,
  waitingRuns,
  eventsBesideWaits,
  startBatches,
  searchRunsItem,
  listEvents,
  chatTurns,
  toolCalls,
  uploadRecordings,
  integrationActions,
  listSlotsItem,
  syncCalendar,
  makeBookings,
  inboundEvents,
  clientReads,
  assistantCalls,
  firstDeltas,
  consoleItem,
  runsPageItem,
  localStack,
];

/**
 * The items of `--quick`: together they take less than the limit below, and cover requests, runs, deliveries, credits,
 * bookings, messages, tools and events. Items that fill tables with a million rows or wait for retries are left to the
 * whole bench.
 */
const quickItems = [
  readWorkflow,
  refuseRequests,
  executeAsynchronous,
  executeSynchronous,
  runThroughput,
  deliverWebhooks,
  creditPairs,
  sandboxImages,
  chatTurns,
  toolCalls,
  integrationActions,
  listSlotsItem,
  syncCalendar,
  makeBookings,
  inboundEvents,
];
/** An item that would begin later is left out, so that a quick bench ends within six minutes also on a busy machine. */
const quickLimitMs = 5 * 60_000;

const say = (line: string) => process.stdout.write(`${line}\n`);

function chosenItems(names: string[], isQuick: boolean): Item[] {
  const unknown = names.filter((name) => !items.some((item) => item.name === name));
  if (unknown.length > 0) {
    console.error(`Unknown items: ${unknown.join(', ')}. Available: ${items.map((item) => item.name).join(', ')}.`);
    process.exit(2);
  }
  if (names.length > 0) return items.filter((item) => names.includes(item.name));
  return isQuick ? quickItems : items;
}

/** Time for the cleanup after a signal. Interrupted measurements fail within seconds because their servers have stopped. */
const patienceMs = 60_000;

const { positionals, values } = parseArgs({
  allowPositionals: true,
  options: { attack: { type: 'string' }, quick: { type: 'boolean', default: false }, results: { type: 'string' } },
});
const chosen = chosenItems(positionals, values.quick);
if (values.quick) measureQuickly();
const resultsFile = values.results ?? `.bench/${new Date().toISOString().replaceAll(':', '-')}.jsonl`;
mkdirSync(dirname(resultsFile), { recursive: true });
const cleanup = new Cleanup();
let interrupted = false;
const interrupt = () => {
  interrupted = true;
  cleanup.interrupt();
  setTimeout(() => process.exit(1), patienceMs);
};
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, interrupt);
process.on('uncaughtException', (error) => {
  console.error(error);
  interrupt();
});
// Children do not keep this process alive, so a timer does.
setInterval(() => {}, 60_000);
const [load = 0] = loadavg();
say(`${cpus().length} cores, load ${load.toFixed(2)} before we begin${load > 1 ? ': others are at work here' : ''}`);
say(`Results are appended to ${resultsFile}\n`);
try {
  const haveAllSucceeded = await runItems({
    chosen,
    choice: { attack: values.attack },
    cleanup,
    async openStand() {
      const stand = await openStand(cleanup, say);
      const pool = new pg.Pool({ connectionString: stand.databaseUrl, max: 1 });
      cleanup.add(() => pool.end());
      return { stand, pool };
    },
    settle,
    report(outcome) {
      if (interrupted) return;
      for (const line of describeOutcome(outcome)) say(line);
      appendResult(resultsFile, outcome);
    },
    leaveOut: ({ name }) =>
      say(`${name}  left out: ${interrupted ? 'interrupted' : 'the time of a quick bench is over'}`),
    hasTime: () => !interrupted && (!values.quick || performance.now() < quickLimitMs),
  });
  if (!haveAllSucceeded || interrupted) process.exitCode = 1;
  await cleanup.run();
} catch (error) {
  if (!interrupted) console.error(error);
  process.exitCode = 1;
}
process.exit();
