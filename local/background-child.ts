import type { ChildProcess } from 'node:child_process';
import { recordProcess, type StopOptions, stopProcess } from './processes.ts';

/** A child process that does not keep its parent alive and whose end can be awaited at any time. */
export interface BackgroundChild {
  /** 0 when it could not be spawned. */
  pid: number;
  /** Resolves when it has ended, for any reason. Awaiting it does not keep this process alive. */
  ended: Promise<void>;
  hasEnded(): boolean;
  /** Why it could not be spawned. */
  problem(): Error | undefined;
  /** Stops it with the signals of `options`; resolves when it has exited. */
  stop(options: StopOptions): Promise<void>;
}

/** Watches a child that was just spawned with `detached: true`, and therefore leads a process group of its own. */
export function followInBackground(child: ChildProcess): BackgroundChild {
  const { promise: ended, resolve } = Promise.withResolvers<void>();
  let problem: Error | undefined;
  child.once('error', (error) => {
    problem = error;
    resolve();
  });
  child.once('exit', () => resolve());
  child.unref();
  const record = child.pid === undefined ? undefined : recordProcess(child.pid);
  return {
    pid: child.pid ?? 0,
    ended,
    hasEnded: () => problem !== undefined || child.exitCode !== null || child.signalCode !== null,
    problem: () => problem,
    async stop(options) {
      if (record === undefined) return;
      child.ref();
      await stopProcess(record, options);
      await ended;
    },
  };
}
