// The program of the pool's processes. It imports hardly anything of the product but the modules of tasks, so that it starts soon.
import { flushCompileCache } from 'node:module';
import { Script } from 'node:vm';
import { JsonBounds } from '../core/bounded-json.ts';
import { type Answer, type Assignment, maxResult, ready, type TaskModule } from './task.ts';

const modules = new Map<string, TaskModule>();

async function load(url: string): Promise<TaskModule> {
  const module = modules.get(url) ?? ((await import(url)) as TaskModule);
  modules.set(url, module);
  return module;
}

const scope: { perform?: () => unknown } = globalThis as never;
const script = new Script('perform()');

/** Performs synchronous code, and cuts it short after `timeout` milliseconds. Also ends it when the parent is gone. */
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

/** What a result may have: its depth is that of what the task was given. */
const bounds = {
  maxBytes: Number.POSITIVE_INFINITY,
  maxDepth: Number.POSITIVE_INFINITY,
  maxCommas: maxResult.characters,
};

/** A short expression can make a value of many megabytes, in which the same one stands often. */
function done(result: string): Answer {
  const { characters, structures: maxStructures } = maxResult;
  // Only what is long can have many of them.
  const hasMany = () =>
    result.length > maxStructures &&
    new JsonBounds({ ...bounds, maxStructures }).add(Buffer.from(result)) !== undefined;
  const isTooLarge = result.length > characters || hasMany();
  return isTooLarge ? { kind: 'too_large', spent: false } : { kind: 'done', result, spent: false };
}

/** What is cut short leaves the libraries in an unknown state: the process is not used again. */
async function answer({ perform }: TaskModule, assignment: Assignment): Promise<Answer> {
  const { args, limitMs, clockMs, memoryMb } = assignment;
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
    if (result instanceof Promise) return done(JSON.stringify((await result) ?? null));
    // A task that was starved has more time by the clock, and no more of the processor.
    if (clockMs > limitMs && usedMs() > limitMs * 1.25) return { kind: 'too_costly', spent: false };
    return done(result as string);
  } catch (error) {
    if (isEndlessRecursion(error)) return { kind: 'too_costly', spent: true };
    if (!isTimeOut(error)) return { kind: 'failed', message: String(error), spent: false };
    return { kind: usedMs() < limitMs * 0.9 ? 'starved' : 'too_costly', spent: true };
  } finally {
    clearInterval(watch);
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
