import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import { type DataFolder, openDataFolder } from './data-folder.ts';
import { type Holding, holdDataFolder } from './holding.ts';
import { readJson, writePrivateJson } from './private-file.ts';
import { isRunning, recordProcess } from './processes.ts';

let folder: DataFolder;
const children: ChildProcess[] = [];

beforeEach(() => {
  folder = openDataFolder(mkdtempSync(join(tmpdir(), 'atelier-hold-')));
});

afterEach(() => {
  for (const child of children.splice(0)) child.kill('SIGKILL');
  rmSync(folder.path, { recursive: true, force: true });
});

/** Another process that holds the folder; it drains on SIGTERM until its standard input is closed. */
async function startHolder(): Promise<ChildProcess> {
  const script = `
    const { holdDataFolder } = await import(${JSON.stringify(new URL('./holding.ts', import.meta.url).href)});
    const { openDataFolder } = await import(${JSON.stringify(new URL('./data-folder.ts', import.meta.url).href)});
    const hold = await holdDataFolder(openDataFolder(${JSON.stringify(folder.path)}), { log() {} });
    process.stdin.resume().on('end', () => { hold.release(); process.exit(0); });
    process.on('SIGTERM', () => { hold.setDraining(); console.log('draining'); });
    console.log('holds');`;
  const child = spawn(process.execPath, ['--input-type=module', '-e', script], { stdio: ['pipe', 'pipe', 'inherit'] });
  children.push(child);
  await once(child.stdout!, 'data');
  return child;
}

async function startLeftover(): Promise<ChildProcess> {
  const child = spawn(process.execPath, ['-e', "setInterval(() => {}, 1000); console.log('up')"], { detached: true });
  children.push(child);
  await once(child.stdout, 'data');
  return child;
}

describe('holding a data folder', () => {
  test('a second start is refused while the first one runs, with the id of its process', async () => {
    const holder = await startHolder();
    await expect(holdDataFolder(folder, { log() {} })).rejects.toThrow(`process ${holder.pid}`);
  });

  test('a predecessor that drains is waited for', async () => {
    const holder = await startHolder();
    holder.kill('SIGTERM');
    await once(holder.stdout!, 'data');
    const lines: string[] = [];
    const waiting = Promise.withResolvers<void>();
    const next = holdDataFolder(folder, { log: (line) => waiting.resolve(void lines.push(line)) });
    await waiting.promise;
    expect(lines).toEqual([`Waiting for process ${holder.pid}, which is still stopping`]);
    holder.stdin!.end();
    (await next).release();
  });

  test('waiting has an end', async () => {
    const holder = await startHolder();
    holder.kill('SIGTERM');
    await once(holder.stdout!, 'data');
    await expect(holdDataFolder(folder, { log() {}, waitMs: 100 })).rejects.toThrow('still has not stopped');
  });

  test('after a kill -9 the next start takes the folder and stops what was left, app first', async () => {
    const holder = await startHolder();
    const [postgres, app] = [await startLeftover(), await startLeftover()];
    const holding = readJson(folder.holding) as Holding;
    const processes = { postgres: recordProcess(postgres.pid!)!, app: recordProcess(app.pid!)! };
    writePrivateJson(folder.holding, { ...holding, processes });
    holder.kill('SIGKILL');
    await once(holder, 'exit');

    const lines: string[] = [];
    const hold = await holdDataFolder(folder, { log: (line) => lines.push(line) });
    expect(lines.map((line) => line.split(',')[0])).toEqual(['Stopping app', 'Stopping postgres']);
    expect([isRunning(processes.app), isRunning(processes.postgres)]).toEqual([false, false]);
    hold.release();
  });

  test('a hold that was given back can be taken again', async () => {
    (await holdDataFolder(folder, { log() {} })).release();
    (await holdDataFolder(folder, { log() {} })).release();
    expect(readJson(folder.holding)).toBeUndefined();
  });
});
