import { setTimeout as sleep } from 'node:timers/promises';
import type { Log } from '../src/platform/observability/log.ts';
import { type Bundle, removeBundle } from './bundle.ts';
import type { StartedWorker } from './workflow-worker.ts';

interface EarlierVersionOptions {
  /** How many open workflows began with this version, according to Temporal's visibility, which lags. */
  countOpen(): Promise<number>;
  startWorker(): Promise<StartedWorker>;
  log: Log;
  /** Aborted when the process drains. */
  stopping: AbortSignal;
  /** Between two looks: five seconds unless given. */
  lookEveryMs?: number;
}

/** A version is over when visibility, which lags, has shown nothing open this many times in a row. */
const quietLooks = 4;

/**
 * Keeps a worker for an earlier version while it has open runs, which are pinned to the code they began with, and removes
 * its bundle afterwards. Failures are retried at the next look; a bundle that cannot be removed is left to the next start.
 * @returns when the version is over, or the process drains and the worker has ended
 */
export async function serveEarlierVersion(bundle: Bundle, options: EarlierVersionOptions): Promise<void> {
  const { countOpen, startWorker, stopping, lookEveryMs = 5_000 } = options;
  const { version } = bundle;
  const log = options.log.child({ version });
  let worker: StartedWorker | undefined;
  let quiet = 0;

  const look = async () => {
    const open = await countOpen();
    quiet = open === 0 ? quiet + 1 : 0;
    if (open === 0 || worker) return;
    log.info({ open }, 'finishing runs of an earlier version');
    const started = await startWorker();
    worker = started;
    started.done
      .catch((error) => log.error({ err: error }, 'worker of an earlier version failed'))
      .finally(() => {
        if (worker === started) worker = undefined;
      });
  };

  while (!stopping.aborted && quiet < quietLooks) {
    await look().catch((error) => log.warn({ err: error }, 'open runs of an earlier version could not be served'));
    if (quiet < quietLooks) await sleep(lookEveryMs, undefined, { signal: stopping }).catch(() => {});
  }
  const last = worker;
  last?.shutdown();
  await last?.done.catch(() => {});
  if (quiet < quietLooks) return;
  try {
    await removeBundle(bundle);
    log.info('earlier version removed: it has no open runs');
  } catch (error) {
    // Nobody awaits this before the process stops, and the folder may be read-only.
    log.warn({ err: error }, 'the bundle of an earlier version could not be removed');
  }
}
