import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { afterEach, describe, expect, test } from '@jest/globals';
import { isRunning, recordProcess, stopProcess, termThenKill } from './processes.ts';

const children: ChildProcess[] = [];

/** A child that says when it is up; `code` runs before that. */
async function start(code = ''): Promise<{ child: ChildProcess; pid: number }> {
  const script = `${code}; setInterval(() => {}, 1000); console.log('up')`;
  const child = spawn(process.execPath, ['-e', script], { detached: true, stdio: ['ignore', 'pipe', 'ignore'] });
  children.push(child);
  await once(child.stdout!, 'data');
  return { child, pid: child.pid! };
}

afterEach(() => {
  for (const child of children.splice(0)) child.kill('SIGKILL');
});

describe('a process record', () => {
  test('is of the process while it runs, and of none afterwards', async () => {
    const { child, pid } = await start();
    const record = recordProcess(pid)!;
    expect(isRunning(record)).toBe(true);
    child.kill('SIGKILL');
    await once(child, 'exit');
    expect(isRunning(record)).toBe(false);
    expect(recordProcess(pid)).toBeUndefined();
  });

  test('does not mean another process that got the same pid', async () => {
    const { child, pid } = await start();
    const earlier = { pid, startedAt: 'another start' };
    expect(isRunning(earlier)).toBe(false);
    await stopProcess(earlier, termThenKill(0));
    expect(child.exitCode ?? child.signalCode).toBeNull();
    expect(isRunning(recordProcess(pid)!)).toBe(true);
  });
});

describe('stopProcess', () => {
  test('asks first', async () => {
    const { child, pid } = await start();
    const ended = once(child, 'exit');
    await stopProcess(recordProcess(pid)!, termThenKill(10_000));
    expect(await ended).toEqual([null, 'SIGTERM']);
  });

  test('forces one that does not listen, with its group', async () => {
    const { child, pid } = await start("process.on('SIGTERM', () => {})");
    const ended = once(child, 'exit');
    await stopProcess(recordProcess(pid)!, termThenKill(50));
    expect(await ended).toEqual([null, 'SIGKILL']);
  });

  test('takes a process that is gone already as done', async () => {
    const { child, pid } = await start();
    const record = recordProcess(pid)!;
    child.kill('SIGKILL');
    await once(child, 'exit');
    await expect(stopProcess(record, termThenKill(0))).resolves.toBeUndefined();
  });
});
