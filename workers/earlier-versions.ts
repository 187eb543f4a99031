import { setTimeout as sleep } from 'node:timers/promises';
import type { Log } from '../src/platform/log.ts';
import { type Bundle, removeBundle } from './bundle.ts';

export interface StartedWorker {
  /** Settles when it has ended, for whatever reason. */
  done: Promise<void>;
  /** Asks it to end: steps under way may. */
  shutdown(): void;
}

export interface EarlierVersionOptions {
  /** How many workflows are open that began with this version, as far as Temporal's visibility has heard. */
  countOpen(): Promise<number>;
  startWorker(): Promise<StartedWorker>;
  log: Log;
  /** Aborted when the process drains. */
  stopping: AbortSignal;
}

const lookEveryMs = 5_000;
/** Visibility lags: a version is over when it has shown nothing open for this many looks in a row. */
const quietLooks = 4;

/**
 * Runs are pinned to the code they began with: a version with open runs has a worker until they are over, and its bundle
 * is removed then. Whatever goes wrong is tried again at the next look.
 * @returns when the version is over, or the process drains and the worker has ended
 */
export async function serveEarlierVersion(bundle: Bundle, options: EarlierVersionOptions): Promise<void> {
  const { countOpen, startWorker, stopping } = options;
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
      .catch((error) => log.error({ err: error }, 'the worker of an earlier version failed'))
      .finally(() => {
        if (worker === started) worker = undefined;
      });
  };

  while (!stopping.aborted && quiet < quietLooks) {
    await look().catch((error) => log.warn({ err: error }, 'an earlier version cannot be looked after now'));
    if (quiet < quietLooks) await sleep(lookEveryMs, undefined, { signal: stopping }).catch(() => {});
  }
  const last = worker;
  last?.shutdown();
  await last?.done.catch(() => {});
  if (quiet < quietLooks) return;
  await removeBundle(bundle);
  log.info('an earlier version is over');
}
