// The program of the pool's processes. It imports hardly anything of the product but the modules of tasks, so that it starts soon.
import { once } from 'node:events';
import { flushCompileCache } from 'node:module';
import { Script } from 'node:vm';
import { Worker } from 'node:worker_threads';
import { JsonBounds } from '../core/bounded-json.ts';
import { type Answer, type Assignment, awaits, maxResult, outOfTime, ready, type TaskModule } from './task.ts';

const modules = new Map<string, TaskModule>();

async function load(url: string): Promise<TaskModule> {
  const module = modules.get(url) ?? ((await import(url)) as TaskModule);
  modules.set(url, module);
  return module;
}

const scope: { perform?: () => unknown } = globalThis as never;
const script = new Script('perform()');

/**
 * Performs synchronous code, and interrupts it after `timeout` milliseconds. Also ends it after the end of the parent.
 */
function performWithin(timeout: number, perform: () => unknown): unknown {
  scope.perform = perform;
  try {
    return script.runInThisContext({ timeout });
  } finally {
    delete scope.perform;
  }
}

const isTimeOut = (error: unknown) =>
  error instanceof Error && 'code' in error && error.code === 'ERR_SCRIPT_EXECUTION_TIMEOUT';

/** Such as a schema that refers to itself before it looks at any value. */
const isEndlessRecursion = (error: unknown) => error instanceof RangeError && /call stack/i.test(error.message);

/** The exit code by which the parent knows that a task needed too much memory: that of a process killed for it. */
const outOfMemory = 137;
const watchEveryMs = 50;

/** Ends this process when it occupies more than a task may. Libraries with threads of their own leave the loop free for it. */
function watchMemory(megabytes: number): NodeJS.Timeout {
  const maxBytes = megabytes * 1024 * 1024;
  return setInterval(() => process.memoryUsage.rss() > maxBytes && process.exit(outOfMemory), watchEveryMs);
}

/**
 * Ends this process when it has had the processor for `limitMs` from now. A thread of its own: the event loop does not
 * turn while a task is performed.
 */
async function watchProcessor(limitMs: number): Promise<Worker> {
  const code = `const { limitMs, signal, everyMs } = require('node:worker_threads').workerData;
    const before = process.cpuUsage();
    setInterval(() => {
      const { user, system } = process.cpuUsage(before);
      if (user + system > limitMs * 1000) process.kill(process.pid, signal);
    }, everyMs);`;
  const worker = new Worker(code, { eval: true, workerData: { limitMs, signal: outOfTime, everyMs: watchEveryMs } });
  await once(worker, 'online');
  return worker;
}

/** The limits of a result: its depth is limited by that of the arguments. */
const bounds = {
  maxBytes: Number.POSITIVE_INFINITY,
  maxDepth: Number.POSITIVE_INFINITY,
  maxCommas: maxResult.characters,
};

/** A short expression can create a value of many megabytes that repeats one value often. */
function done(result: string, usedMs: number, resultAs: Assignment['resultAs']): Answer {
  const { characters, structures: maxStructures } = maxResult;
  // Only a long text can have many of them.
  const hasMany = () =>
    result.length > maxStructures &&
    new JsonBounds({ ...bounds, maxStructures }).add(Buffer.from(result)) !== undefined;
  const isTooLarge = result.length > characters || hasMany();
  if (isTooLarge) return { kind: 'too_large', spent: false };
  return { kind: 'done', result: resultAs === 'bytes' ? Buffer.from(result) : result, usedMs, spent: false };
}

/** An interruption leaves the libraries in an unknown state: the process is not used again. */
async function answer({ perform }: TaskModule, assignment: Assignment): Promise<Answer> {
  const { args, limitMs, clockMs, memoryMb, resultAs } = assignment;
  // A task that was starved has more time by the clock, and hardly more of the processor.
  const processor = clockMs > limitMs ? await watchProcessor(limitMs * 1.25) : undefined;
  const before = process.cpuUsage();
  const usedMs = () => {
    const { user, system } = process.cpuUsage(before);
    return (user + system) / 1_000;
  };
  const watch = memoryMb === undefined ? undefined : watchMemory(memoryMb);
  try {
    const result = performWithin(clockMs, () => {
      const given = perform(JSON.parse(args));
      return given instanceof Promise ? given : JSON.stringify(given ?? null);
    });
    if (result instanceof Promise) {
      process.send?.(awaits);
      return done(JSON.stringify((await result) ?? null), usedMs(), resultAs);
    }
    if (clockMs > limitMs && usedMs() > limitMs * 1.25) return { kind: 'too_costly', spent: false };
    return done(result as string, usedMs(), resultAs);
  } catch (error) {
    if (isEndlessRecursion(error)) return { kind: 'too_costly', spent: true };
    if (!isTimeOut(error)) return { kind: 'failed', message: String(error), spent: false };
    return { kind: usedMs() < limitMs * 0.9 ? 'starved' : 'too_costly', spent: true };
  } finally {
    clearInterval(watch);
    await processor?.terminate();
  }
}

process.on('disconnect', () => process.exit(0));
process.on('message', async (assignment: Assignment) => {
  const given = await load(assignment.module).then(
    (module) => answer(module, assignment),
    (error): Answer => ({ kind: 'failed', message: String(error), spent: true }),
  );
  process.send?.(given, () => given.spent && process.exit(0));
});
for (const url of process.argv.slice(2)) await load(url);
// It is ended by a kill, before which nothing would be kept.
flushCompileCache();
process.send?.(ready);
