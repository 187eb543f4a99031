import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, openSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { followInBackground } from '../local/background-child.ts';
import { lastLines } from '../local/log-file.ts';
import { termThenKill } from '../local/processes.ts';

export interface ChildProgram {
  pid: number;
  /** The message it sent when it was ready. */
  ready: Record<string, unknown>;
  /** Sends a message and returns the next reply. */
  ask<Answer>(message: object): Promise<Answer>;
  stop(): Promise<void>;
}

export interface ChildOptions {
  /** Below `bench/programs`. */
  program: string;
  args: string[];
  logFile: string;
}

/** Starts a program in a process of its own. It reports over its IPC channel when it is ready, and ends with this process. */
export async function startChildProgram({ program, args, logFile }: ChildOptions): Promise<ChildProgram> {
  const log = openSync(logFile, 'a', 0o600);
  const path = fileURLToPath(new URL(`programs/${program}`, import.meta.url));
  const child = spawn(process.execPath, [path, ...args], { detached: true, stdio: ['ignore', log, log, 'ipc'] });
  closeSync(log);
  const following = followInBackground(child);
  const stop = () => following.stop(termThenKill(5_000));
  const ended = following.ended.then((): never => {
    const lines = lastLines(logFile, 15).join('\n');
    throw new Error(`${program} ended unexpectedly:\n${following.problem()?.message ?? lines}`);
  });
  ended.catch(() => {});
  const nextMessage = () => Promise.race([once(child, 'message').then(([message]) => message), ended]);
  try {
    const ready = await nextMessage();
    return {
      pid: following.pid,
      ready,
      ask: (message) => {
        const answer = nextMessage();
        child.send(message);
        return answer;
      },
      stop,
    };
  } catch (error) {
    await stop();
    throw error;
  }
}
