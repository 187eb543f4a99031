// The program of the pool's processes. It imports nothing of the product but the modules of tasks, so that it starts soon.
import { Script } from 'node:vm';
import { type Answer, type Assignment, ready, type TaskModule } from './task.ts';

/**
 * Multiples of the limit by the clock, tried in turn: on a busy machine a task may not get a processor at once, so one
 * that was cut short before it had its time is performed once more.
 */
const clockLimits = [1, 3];

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

function answer({ perform }: TaskModule, { args, limitMs }: Assignment): Answer {
  let spent = false;
  for (const times of clockLimits) {
    const before = process.cpuUsage();
    try {
      const result = performWithin(limitMs * times, () => JSON.stringify(perform(JSON.parse(args)) ?? null));
      return { kind: 'done', result: result as string, spent };
    } catch (error) {
      if (!isTimeOut(error)) return { kind: 'failed', message: String(error), spent };
      spent = true;
      const { user, system } = process.cpuUsage(before);
      if ((user + system) / 1_000 >= limitMs * 0.9) break;
    }
  }
  return { kind: 'too_costly', spent };
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
process.send?.(ready);
