// The program of the pool's processes. It imports nothing of the product but the modules of tasks, so that it starts soon.
import { Script } from 'node:vm';
import { type Answer, type Assignment, ready, type TaskModule } from './task.ts';

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

/** What is cut short leaves the libraries in a state that nobody knows: the process is spent. */
function answer({ perform }: TaskModule, { args, limitMs, clockMs }: Assignment): Answer {
  const before = process.cpuUsage();
  try {
    const result = performWithin(clockMs, () => JSON.stringify(perform(JSON.parse(args)) ?? null));
    return { kind: 'done', result: result as string, spent: false };
  } catch (error) {
    if (!isTimeOut(error)) return { kind: 'failed', message: String(error), spent: false };
    const { user, system } = process.cpuUsage(before);
    return { kind: (user + system) / 1_000 < limitMs * 0.9 ? 'starved' : 'too_costly', spent: true };
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
process.send?.(ready);
