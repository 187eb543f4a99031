import { existsSync, renameSync } from 'node:fs';
import { EnvError } from '../src/platform/env.ts';
import { openDataFolder } from './data-folder.ts';
import { holdDataFolder } from './holding.ts';

interface ResetOptions {
  /** Asks a person a question; undefined where there is no terminal. */
  ask: ((question: string) => Promise<string>) | undefined;
  /** Whether the answer was given on the command line. */
  isConfirmed: boolean;
  log: (line: string) => void;
  now: Date;
}

/** Next to the folder, and named after the time in UTC, to the second. */
const asideOf = (path: string, now: Date): string =>
  `${path}-until-${now.toISOString().slice(0, 19).replaceAll(':', '')}`;

/**
 * Moves the data folder aside, so that the next start begins with empty data. Nothing in it is deleted.
 * @returns false when it was not confirmed
 * @throws EnvError without a terminal; Error while a stack uses the folder
 */
export async function resetDataFolder(path: string, { ask, isConfirmed, log, now }: ResetOptions): Promise<boolean> {
  if (!existsSync(path)) return true;
  if (!ask && !isConfirmed) throw new EnvError('Without a terminal, confirm with --yes.');
  // Ends the remaining processes of a stack that was killed.
  const hold = await holdDataFolder(openDataFolder(path), { log });
  try {
    const aside = asideOf(path, now);
    const answer = isConfirmed ? 'y' : await ask?.(`Move ${path} to ${aside} and begin anew? [y/N] `);
    if (!/^y(es)?$/i.test(answer?.trim() ?? '')) {
      log('Nothing was changed.');
      return false;
    }
    renameSync(path, aside);
    log(`The data so far is in ${aside}.`);
    return true;
  } finally {
    hold.release();
  }
}
