import { once } from 'node:events';
import { readFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';
import { Client, Connection } from '@temporalio/client';
import { grantCredits } from '../../src/credits/grants.ts';
import { BoundedWork } from '../../src/platform/bounded-work/bounded-work.ts';
import { openLog } from '../../src/platform/observability/log.ts';
import { renderMedia } from '../../src/providers/sandbox/media/rendering.ts';
import { openProductDatabase } from '../../src/services.ts';
import { videoIds } from '../../src/studio/core/ids.ts';
import { jobWorkflowId } from '../../src/temporal/contracts/jobs.ts';
import { generationContract } from '../../src/temporal/contracts/studio.ts';
import { tenantKeyOf } from '../../test/platform/tenant-key.ts';
import type { Item } from '../item.ts';
import { memoryBelow } from '../memory.ts';
import type { Stand } from '../stand.ts';
import { percentile } from '../statistics.ts';

const jobs = 1_000;
const takesMs = 60_000;
/** Started at the same time, of one organization. */
const concurrency = 20;
const images = 40;
const sampled = 20;

/** A short video, as a provider would have made it. */
async function makeVideo(stand: Stand): Promise<Buffer> {
  const pool = new BoundedWork({ log: openLog('error', 'bench'), tasks: [renderMedia.video] });
  try {
    const output = stand.file('video.mp4');
    const size = { width: 320, height: 192 };
    const rendering = { kind: 'video' as const, digest: 'b'.repeat(64), size, seconds: 5, input: null, output };
    await pool.run(renderMedia.video, tenantKeyOf('bench'), { ...rendering, maxPixels: 1_000_000 }, { waitMs: 60_000 });
    return await readFile(output);
  } finally {
    pool.close();
  }
}

/** Runway, whose tasks all take as long. */
async function startRunway(port: number, video: Buffer) {
  const begun = new Map<string, number>();
  let asked = 0;
  const server = createServer((request, response) => {
    const answer = (body: object) =>
      response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(body));
    const [, id = ''] = /^\/v1\/tasks\/([\w-]+)$/.exec(request.url!) ?? [];
    request.resume();
    if (request.method === 'POST') {
      const created = crypto.randomUUID();
      begun.set(created, Date.now());
      answer({ id: created });
    } else if (id !== '') {
      asked++;
      const progress = (Date.now() - begun.get(id)!) / takesMs;
      const task = { id, createdAt: new Date(begun.get(id)!).toISOString() };
      if (progress < 1) answer({ ...task, status: 'RUNNING', progress });
      else answer({ ...task, status: 'SUCCEEDED', output: [`http://127.0.0.1:${port}/video.mp4`] });
    } else response.writeHead(200, { 'content-type': 'video/mp4', 'content-length': video.length }).end(video);
  }).listen(port, '127.0.0.1');
  await once(server, 'listening');
  return { begun, asked: () => asked, close: () => server.close() };
}

/** In MB, of the product with its pools, pages that processes share counted once. */
const megabytesOf = (pid: number) => memoryBelow(pid).reduce((sum, { proportional }) => sum + proportional, 0);

async function imageTimes({ client }: Stand, name: string): Promise<number[]> {
  const times: number[] = [];
  for (let count = 0; count < images; count++) {
    const begun = performance.now();
    await client.post('/api/studio/generate', { prompt: `An image ${name} ${count}` });
    times.push(performance.now() - begun);
  }
  return times;
}

/** Tasks of workflows and activities that Temporal handed out. */
async function tasksOf({ temporal }: Stand, ids: string[]): Promise<number[]> {
  const connection = await Connection.connect({ address: temporal.address });
  const { workflow } = new Client({ connection });
  try {
    const histories = ids.map(async (id) => {
      const { events } = await workflow
        .getHandle(jobWorkflowId(generationContract, videoIds.parse(id)!))
        .fetchHistory();
      const started = (events ?? []).filter(
        (event) => event.workflowTaskStartedEventAttributes ?? event.activityTaskStartedEventAttributes,
      );
      return started.length;
    });
    return await Promise.all(histories);
  } finally {
    await connection.close();
  }
}

/** P13: what videos cost while their provider works, and what they cost others. */
export const waitingVideos: Item = {
  name: 'P13',
  title: `${jobs} videos of a live key on a loopback Runway that takes ${takesMs / 1000} s; images of the same organization beside them`,
  needs: 'stand',
  async run(stand, cleanup) {
    const runway = await startRunway(stand.runwayPort, await makeVideo(stand));
    cleanup.add(() => void runway.close());
    const database = await openProductDatabase(stand.databaseUrl, 1);
    const { organizationId } = stand;
    await grantCredits(database, { organizationId, environment: 'live', amount: jobs * 25 });
    await grantCredits(database, { organizationId, environment: 'test', amount: images * 3 });
    await database.close();

    await imageTimes(stand, 'to warm up');
    const quiet = await imageTimes(stand, 'alone');
    const atRest = megabytesOf(stand.productPid);
    const ids: string[] = [];
    const begun = performance.now();
    const starter = async () => {
      while (ids.length < jobs) {
        const at = ids.push('') - 1;
        const video = { prompt: `Waves ${at}` };
        ids[at] = (await stand.liveClient.post<{ id: string }>('/api/studio/generate-video', video)).id;
      }
    };
    await Promise.all(Array.from({ length: concurrency }, starter));
    const startedIn = performance.now() - begun;
    while (runway.begun.size < jobs) await sleep(100);
    const submittedIn = performance.now() - begun;

    const beside = await imageTimes(stand, 'beside them');
    const waiting = megabytesOf(stand.productPid);
    const isOver = async (id: string) => {
      const { status } = await stand.liveClient.get<{ status: string }>(`/api/studio/generate-video?id=${id}`);
      if (status === 'failed' || status === 'cancelled') throw new Error(`The video ${id} is ${status}.`);
      return status === 'completed';
    };
    for (const id of ids) while (!(await isOver(id))) await sleep(250);
    const endedIn = performance.now() - begun;
    const tasks = await tasksOf(stand, ids.slice(-sampled));
    runway.close();
    const p95 = (times: number[]) => percentile(times, 0.95);
    return [
      {
        rows: [
          { name: 'an image alone, p95', unit: 'ms', values: [p95(quiet)] },
          { name: `an image beside ${jobs} videos, p95`, unit: 'ms', values: [p95(beside)] },
          { name: 'until all videos were started', unit: 'ms', values: [startedIn] },
          { name: 'until the provider had all of them', unit: 'ms', values: [submittedIn] },
          { name: 'until all of them were completed', unit: 'ms', values: [endedIn] },
          {
            name: 'memory of the product for each waiting video',
            unit: 'KB',
            values: [((waiting - atRest) * 1_024) / jobs],
          },
          { name: 'tasks of workflow and activities for each video', unit: 'tasks', values: tasks },
          { name: 'questions to the provider for each video', unit: 'requests', values: [runway.asked() / jobs] },
        ],
        verdicts: [
          {
            name: 'p95 of an image: beside waiting videos / alone',
            values: [p95(beside) / p95(quiet)],
            aim: { atMost: 1.5 },
          },
        ],
      },
    ];
  },
};
