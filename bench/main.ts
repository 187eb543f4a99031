import { cpus, loadavg } from 'node:os';
import { parseArgs } from 'node:util';
import pg from 'pg';
import { Cleanup } from './cleanup.ts';
import type { Choice, Finding, Item } from './item.ts';
import { badNeighbour } from './items/bad-neighbour.ts';
import { besideFailures } from './items/beside-failures.ts';
import { chatTurns } from './items/chat-messages.ts';
import { creditPairs } from './items/credit-pairs.ts';
import { deliverWebhooks } from './items/deliver-webhooks.ts';
import { executeAsynchronous } from './items/execute-asynchronous.ts';
import { executeSynchronous } from './items/execute-synchronous.ts';
import { fairShare } from './items/fair-share.ts';
import { inboundEvents } from './items/inbound-events.ts';
import { integrationActions } from './items/integration-actions.ts';
import { listDeliveries } from './items/list-deliveries.ts';
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
import { syncCalendar } from './items/sync-calendar.ts';
import { toolCalls } from './items/tool-calls.ts';
import { uploadRecordings } from './items/upload-recordings.ts';
import { upscaleMemory } from './items/upscale-memory.ts';
import { waitingVideos } from './items/waiting-videos.ts';
import { webhookIsolation } from './items/webhook-isolation.ts';
import { describeFindings, findingsJson } from './report.ts';
import { removeWebhooks, untilSettled } from './settled.ts';
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
  chatTurns,
  toolCalls,
  uploadRecordings,
  integrationActions,
  listSlotsItem,
  syncCalendar,
  makeBookings,
  inboundEvents,
  localStack,
];

const say = (line: string) => process.stdout.write(`${line}\n`);

function chosenItems(names: string[]): Item[] {
  const unknown = names.filter((name) => !items.some((item) => item.name === name));
  if (unknown.length > 0) {
    console.error(`Unknown items: ${unknown.join(', ')}. Available: ${items.map((item) => item.name).join(', ')}.`);
    process.exit(2);
  }
  return names.length === 0 ? items : items.filter((item) => names.includes(item.name));
}

async function runItems(chosen: Item[], choice: Choice, cleanup: Cleanup): Promise<void> {
  const found: [Item, Finding[]][] = [];
  const keep = (item: Item, findings: Finding[]) => {
    found.push([item, findings]);
    for (const line of describeFindings(item, findings)) say(line);
  };
  const onStand = chosen.filter((item) => item.needs === 'stand');
  if (onStand.length > 0) {
    const stand = await openStand(cleanup, say);
    const pool = new pg.Pool({ connectionString: stand.databaseUrl, max: 1 });
    cleanup.add(() => pool.end());
    for (const item of onStand) {
      keep(item, await item.run(stand, cleanup, choice));
      await removeWebhooks(pool);
      await untilSettled(pool);
    }
    await cleanup.run();
  }
  for (const item of chosen) if (item.needs === 'nothing') keep(item, await item.run(cleanup));
  for (const [item, findings] of found) say(findingsJson(item, findings));
}

/** Time for the cleanup after a signal. Interrupted measurements fail within seconds because their servers have stopped. */
const patienceMs = 60_000;

const { positionals, values: choice } = parseArgs({ allowPositionals: true, options: { attack: { type: 'string' } } });
const chosen = chosenItems(positionals);
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
try {
  await runItems(chosen, choice, cleanup);
} catch (error) {
  if (!interrupted) console.error(error);
  process.exitCode = 1;
}
await cleanup.run();
process.exit();
