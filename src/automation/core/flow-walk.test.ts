import { describe, expect, test } from '@jest/globals';
import * as fc from 'fast-check';
import {
  type Finished,
  type FlowError,
  FlowWalk,
  type RecordedStep,
  type ResultShape,
  type Todo,
} from './flow-walk.ts';
import { dottedPath, isWithin, readPath, type StepPath } from './step-path.ts';
import { type ContainerStep, isContainer, listsOf } from './step-types.ts';
import { nextStep, type Step } from './steps.ts';

/** What each step of a flow would do, by its path. */
interface Oracle {
  fails(path: StepPath): boolean;
  holds(path: StepPath): boolean;
  items(path: StepPath): number;
}

const errorAt = (path: StepPath): FlowError => ({
  stepId: String(path.at(-1)),
  code: 'internal_error',
  message: dottedPath(path),
});

interface ListOutcome {
  status: 'completed' | 'failed';
  output: StepPath | null;
  first: StepPath | null;
  last: StepPath | null;
  /** What the containers of the list give when each of their children is executed to its end. */
  containers: Map<string, { status: 'completed' | 'failed'; results: (ListOutcome & { key: string | number })[] }>;
}

const childrenOf = (step: ContainerStep, path: StepPath, oracle: Oracle) =>
  step.type === 'map'
    ? Array.from({ length: oracle.items(path) }, (_, index) => ({ key: index, steps: step.steps }))
    : step.branches.map(({ id, steps }) => ({ key: id, steps }));

/** Executes a list as if nothing could stop it: the definition read literally. */
function interpret(steps: readonly Step[], path: StepPath, oracle: Oracle): ListOutcome {
  const outcome: ListOutcome = { status: 'completed', output: null, first: null, last: null, containers: new Map() };
  for (let position = 0; position < steps.length; ) {
    const step = steps[position]!;
    const at = [...path, step.id];
    outcome.first ??= at;
    outcome.last = at;
    let fails = false;
    if (isContainer(step)) {
      const results = childrenOf(step, at, oracle).map(({ key, steps: list }) => ({
        key,
        ...interpret(list, [...at, key], oracle),
      }));
      for (const result of results) {
        for (const [name, container] of result.containers) outcome.containers.set(name, container);
      }
      fails = step.mode !== 'settled' && results.some(({ status }) => status === 'failed');
      outcome.containers.set(dottedPath(at), { status: fails ? 'failed' : 'completed', results });
    } else fails = step.type !== 'condition' && oracle.fails(at);
    if (fails) return { ...outcome, status: 'failed', output: null };
    if (step.type !== 'condition') outcome.output = at;
    position = nextStep(steps, position, oracle.holds(at));
  }
  return outcome;
}

/** A number that depends on the seed and the path alone. */
function hash(seed: number, path: StepPath): number {
  let value = seed | 0;
  for (const character of dottedPath(path)) value = Math.imul(value ^ character.charCodeAt(0), 0x01000193);
  value ^= value >>> 15;
  value = Math.imul(value, 0x2c1b3c6d);
  value ^= value >>> 12;
  return value >>> 0;
}

const oracleOf = (seed: number, failPercent: number): Oracle => ({
  fails: (path) => hash(seed, path) % 100 < failPercent,
  holds: (path) => hash(seed + 1, path) % 2 === 0,
  items: (path) => hash(seed + 2, path) % 7,
});

const stepOf = (depth: number): fc.Arbitrary<Step> => {
  const leaf = fc.constantFrom<Step>(
    { id: '', type: 'transform', expression: '1' },
    { id: '', type: 'prompt' },
    { id: '', type: 'wait', for: 1 },
  );
  const condition = fc.record({ then: fc.nat(5), else: fc.nat(5) }).map(
    (jumps): Step => ({
      id: '',
      type: 'condition',
      expression: 'true',
      // Targets are named once the list is known.
      then: `+${jumps.then}`,
      else: `+${jumps.else}`,
    }),
  );
  if (depth === 0) return fc.oneof({ weight: 3, arbitrary: leaf }, condition);
  const settings = {
    mode: fc.constantFrom('fail_fast', 'settled', undefined),
    concurrency: fc.integer({ min: 1, max: 6 }),
  } as const;
  const steps = fc.array(stepOf(depth - 1), { minLength: 1, maxLength: 3 });
  const map = fc.record({ ...settings, steps }).map((own): Step => ({ id: '', type: 'map', items: 'input', ...own }));
  const branches = fc.array(steps, { minLength: 2, maxLength: 4 });
  const parallel = fc.record({ ...settings, branches }).map(
    ({ branches: lists, ...own }): Step => ({
      id: '',
      type: 'parallel',
      ...own,
      branches: lists.map((list, index) => ({ id: `b${index}`, steps: list })),
    }),
  );
  return fc.oneof(
    { weight: 4, arbitrary: leaf },
    condition,
    { weight: 2, arbitrary: map },
    { weight: 2, arbitrary: parallel },
  );
};

/** Gives each step an id of its own, and conditions targets that exist. */
function named(steps: readonly Step[], next = { id: 0 }): Step[] {
  const withIds = steps.map((step): Step => {
    const id = `s${next.id++}`;
    if (step.type === 'map') return { ...step, id, steps: named(step.steps, next) };
    if (step.type !== 'parallel') return { ...step, id };
    return { ...step, id, branches: step.branches.map((branch) => ({ ...branch, steps: named(branch.steps, next) })) };
  });
  const target = (jump: string | undefined, index: number) => withIds[index + 1 + Number(jump)]?.id ?? 'end';
  return withIds.map((step, index) =>
    step.type === 'condition' ? { ...step, then: target(step.then, index), else: target(step.else, index) } : step,
  );
}

const definition = fc.array(stepOf(3), { minLength: 1, maxLength: 5 }).map((steps) => named(steps));

type Close = Extract<Todo, { kind: 'close' }>;

/** Drives a walk as the engine does, with any order of finishing, and checks what must hold at every moment. */
class Driver {
  readonly records = new Map<string, RecordedStep>();
  readonly inFlight = new Map<string, { path: StepPath; step: Step }>();
  readonly closes = new Map<string, Close>();
  readonly executed = new Set<string>();
  readonly firstFailures = new Map<string, FlowError>();
  readonly #steps: readonly Step[];
  readonly #oracle: Oracle;
  readonly #random: () => number;
  walk: FlowWalk;
  end: Todo | undefined;

  constructor(steps: readonly Step[], oracle: Oracle, random: () => number) {
    this.#steps = steps;
    this.#oracle = oracle;
    this.#random = random;
    this.walk = FlowWalk.of(steps);
  }

  /** Records in the order in which the steps ended. */
  #finish(path: StepPath, result: Finished): void {
    const key = dottedPath(path);
    const total = this.records.get(key)?.total;
    this.records.delete(key);
    this.records.set(key, { path, ...(total !== undefined && { total }), ...result });
    if (result.status !== 'failed') return;
    const container = dottedPath(path.slice(0, -2));
    if (!this.firstFailures.has(container)) this.firstFailures.set(container, result.error!);
  }

  perform(todo: Todo): void {
    if (todo.kind === 'end') {
      expect(this.end).toBeUndefined();
      expect(this.inFlight.size).toBe(0);
      this.end = todo;
    } else if (todo.kind === 'leaf') {
      const { path, step, scopes } = todo.leaf;
      const key = dottedPath(path);
      expect(this.records.get(key)?.status ?? 'running').toBe('running');
      expect(scopes.map((scope) => [dottedPath(scope.path), scope.index])).toEqual(
        path.flatMap((part, at) => (typeof part === 'number' ? [[dottedPath(path.slice(0, at)), part]] : [])),
      );
      this.inFlight.set(key, { path, step });
      this.executed.add(key);
      if (this.#random() < 0.7) this.records.set(key, { path, status: 'running' });
    } else if (todo.kind === 'cancel') {
      for (const path of todo.paths) {
        const key = dottedPath(path);
        expect(this.walk.open.has(key)).toBe(true);
        // Some end before they can be cancelled.
        if (this.#random() < 0.8) this.finishLeaf(path, { status: 'cancelled' });
        else this.inFlight.set(key, { path, step: this.#stepAt(path) });
      }
    } else if (todo.kind === 'open') {
      const total = childrenOf(todo.step, todo.path, this.#oracle).length;
      this.executed.add(dottedPath(todo.path));
      this.records.set(dottedPath(todo.path), { path: todo.path, status: 'running', total });
      expect(this.walk.opened(todo.path, total)).toBe(true);
    } else {
      const { path, status, error } = todo;
      const key = dottedPath(path);
      for (const one of this.inFlight.keys()) expect(isWithin(one, key)).toBe(false);
      this.closes.set(key, todo);
      if (status === 'failed') expect(error).toEqual(this.firstFailures.get(key));
      this.#finish(path, { status, ...(error && { error }) });
      expect(this.walk.closed(path)).toBe(true);
    }
  }

  finishLeaf(path: StepPath, result?: Finished): void {
    const key = dottedPath(path);
    const step = this.inFlight.get(key)?.step;
    this.inFlight.delete(key);
    const fails = step?.type !== 'condition' && this.#oracle.fails(path);
    const own: Finished = fails
      ? { status: 'failed', error: errorAt(path) }
      : { status: 'completed', ...(step?.type === 'condition' && { took: this.#oracle.holds(path) }) };
    const ended = result ?? own;
    this.#finish(path, ended);
    expect(this.walk.finished(path, ended)).toBe(true);
    expect(this.walk.finished(path, ended)).toBe(false);
  }

  /** The process ends and another one goes on with what is recorded. */
  restart(): void {
    for (const key of this.inFlight.keys()) if (!this.records.has(key)) this.executed.delete(key);
    this.inFlight.clear();
    // Some wait: they are not handed out again.
    for (const [key, record] of this.records) {
      if (record.status === 'running' && record.total === undefined && this.#random() < 0.3) {
        this.records.set(key, { path: record.path, status: 'waiting' });
      }
    }
    this.walk = FlowWalk.of(this.#steps, this.records.values());
    for (const [key, record] of this.records) {
      if (record.status !== 'waiting') continue;
      expect(this.walk.open.has(key)).toBe(true);
      this.inFlight.set(key, { path: record.path, step: this.#stepAt(record.path) });
    }
  }

  checkConcurrency(): void {
    const running = new Map<string, Set<string | number>>();
    for (const { path } of this.inFlight.values()) {
      for (let at = 1; at < path.length; at += 2) {
        const key = dottedPath(path.slice(0, at));
        running.set(key, (running.get(key) ?? new Set()).add(path[at]!));
      }
    }
    for (const [key, children] of running) {
      const { concurrency } = this.#stepAt(readPath(key)) as ContainerStep;
      expect(children.size).toBeLessThanOrEqual(concurrency!);
    }
  }

  #stepAt(path: StepPath): Step {
    const find = (steps: readonly Step[]): Step | undefined => {
      for (const step of steps) {
        if (step.id === path.at(-1)) return step;
        for (const list of isContainer(step) ? listsOf(step) : []) {
          const found = find(list);
          if (found) return found;
        }
      }
      return undefined;
    };
    return find(this.#steps)!;
  }

  run(restartPercent: number): void {
    for (let moves = 0; !this.end; moves++) {
      expect(moves).toBeLessThan(100_000);
      if (this.#random() * 100 < restartPercent) this.restart();
      const before = this.walk.progress;
      const todos = this.walk.take(1 + Math.floor(this.#random() * 10));
      for (const todo of todos) this.perform(todo);
      this.checkConcurrency();
      const open = [...this.inFlight.values()];
      if (open.length > 0 && (todos.length === 0 || this.#random() < 0.5)) {
        this.finishLeaf(open[Math.floor(this.#random() * open.length)]!.path);
      } else expect(todos.length + open.length > 0 || this.end !== undefined).toBe(true);
      expect(this.walk.progress.finished).toBeGreaterThanOrEqual(before.finished);
    }
    expect(this.walk.take(10)).toEqual([]);
    expect(this.walk.open.size).toBe(0);
    expect(this.walk.progress.finished).toBe(this.walk.progress.known);
  }
}

const seeded = (seed: number) => {
  let at = 0;
  return () => hash(seed, [at++]) / 2 ** 32;
};

/** A child that was executed to its end is as the definition says; others were stopped. */
function expectResult(
  result: ResultShape,
  expected: ListOutcome & { key: string | number },
  driver: Driver,
  prefix: string,
) {
  expect(result.key).toBe(expected.key);
  const ran = [...driver.executed].some((key) => key.startsWith(`${prefix}.${result.key}.`));
  if (result.status === 'completed') {
    expect(expected.status).toBe('completed');
    expect(result).toMatchObject({ output: expected.output, first: expected.first, last: expected.last, error: null });
  } else if (result.status === 'failed') {
    expect(expected.status).toBe('failed');
    expect(result.output).toBeNull();
    expect(result.error).not.toBeNull();
  } else {
    expect(result).toMatchObject({ output: null, error: null });
    if (result.status === 'cancelled') expect(ran).toBe(true);
    else expect(result).toMatchObject({ first: null, last: null });
  }
}

describe('a walk of any definition, in any order of finishing, with restarts', () => {
  const check = (steps: Step[], seed: number, failPercent: number, restartPercent: number) => {
    const oracle = oracleOf(seed, failPercent);
    const expected = interpret(steps, [], oracle);
    const driver = new Driver(steps, oracle, seeded(seed + 3));
    driver.run(restartPercent);
    expect(driver.end).toMatchObject({ status: expected.status });
    if (expected.status === 'completed') expect(driver.end).toMatchObject({ result: expected.output });
    for (const [key, { status, results }] of driver.closes) {
      const wanted = expected.containers.get(key)!;
      expect(results.map((result) => result.key)).toEqual(wanted.results.map((result) => result.key));
      results.forEach((result, index) => {
        expectResult(result, wanted.results[index]!, driver, key);
      });
      if (status === 'cancelled') continue;
      expect(status).toBe(wanted.status);
      const stopped = results.filter((result) => result.status === 'skipped' || result.status === 'cancelled');
      if (status === 'completed') expect(stopped).toEqual([]);
    }
    return driver;
  };

  test('gives what the definition says', () => {
    fc.assert(
      fc.property(
        definition,
        fc.nat(),
        fc.constantFrom(0, 10, 40),
        fc.constantFrom(0, 5, 30),
        (steps, seed, failPercent, restarts) => {
          check(steps, seed, failPercent, restarts);
        },
      ),
      { numRuns: 250 },
    );
  });
});

const transform = (id: string): Step => ({ id, type: 'transform', expression: '1' });

describe('a map', () => {
  const map = (own: Partial<ContainerStep> = {}): Step =>
    ({
      id: 'each',
      type: 'map',
      items: 'input',
      steps: [transform('a')],
      ...own,
    }) as Step;

  test('of nothing completes', () => {
    const walk = FlowWalk.of([map()]);
    expect(walk.take(9)).toMatchObject([{ kind: 'open', path: ['each'] }]);
    walk.opened(['each'], 0);
    expect(walk.take(9)).toMatchObject([{ kind: 'close', status: 'completed', results: [] }]);
    walk.closed(['each']);
    expect(walk.take(9)).toEqual([{ kind: 'end', status: 'completed', result: ['each'] }]);
  });

  test('that cannot be opened fails its list', () => {
    const walk = FlowWalk.of([map(), transform('b')]);
    walk.take(9);
    const error: FlowError = { stepId: 'each', code: 'expression_error', message: 'no list' };
    walk.finished(['each'], { status: 'failed', error });
    expect(walk.take(9)).toEqual([{ kind: 'end', status: 'failed', error }]);
  });

  test('whose item fails cancels what runs, skips the rest and fails with the first error', () => {
    const walk = FlowWalk.of([map({ concurrency: 2 })]);
    walk.take(9);
    walk.opened(['each'], 4);
    expect(walk.take(9)).toHaveLength(2);
    const error = errorAt(['each', 1, 'a']);
    walk.finished(['each', 1, 'a'], { status: 'failed', error });
    expect(walk.take(9)).toEqual([{ kind: 'cancel', paths: [['each', 0, 'a']] }]);
    expect([...walk.open]).toEqual(['each.0.a']);
    walk.finished(['each', 0, 'a'], { status: 'cancelled' });
    expect(walk.take(9)).toMatchObject([
      {
        kind: 'close',
        status: 'failed',
        error,
        results: [{ status: 'cancelled' }, { status: 'failed', error }, { status: 'skipped' }, { status: 'skipped' }],
      },
    ]);
    walk.closed(['each']);
    expect(walk.take(9)).toEqual([{ kind: 'end', status: 'failed', error }]);
  });

  test('that is settled goes on', () => {
    const walk = FlowWalk.of([map({ mode: 'settled', concurrency: 1 }), transform('b')]);
    walk.take(9);
    walk.opened(['each'], 2);
    walk.take(9);
    walk.finished(['each', 0, 'a'], { status: 'failed', error: errorAt(['each', 0, 'a']) });
    expect(walk.take(9)).toMatchObject([
      { kind: 'leaf', leaf: { path: ['each', 1, 'a'], scopes: [{ index: 1, total: 2 }] } },
    ]);
    walk.finished(['each', 1, 'a'], { status: 'completed' });
    expect(walk.take(9)).toMatchObject([
      {
        kind: 'close',
        status: 'completed',
        results: [{ status: 'failed' }, { status: 'completed', output: ['each', 1, 'a'] }],
      },
    ]);
    walk.closed(['each']);
    expect(walk.take(9)).toMatchObject([{ kind: 'leaf', leaf: { path: ['b'] } }]);
  });

  test('of many items costs the same for each of them', () => {
    const count = 100_000;
    const walk = FlowWalk.of([map({ concurrency: 20 })]);
    walk.take(1);
    walk.opened(['each'], count);
    for (let done = 0; done < count; ) {
      for (const todo of walk.take(100)) {
        if (todo.kind !== 'leaf') throw new Error(todo.kind);
        walk.finished(todo.leaf.path, { status: 'completed' });
        done++;
      }
    }
    expect(walk.progress).toEqual({ finished: count, known: count });
  });
});
