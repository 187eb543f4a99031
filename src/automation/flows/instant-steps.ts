import { shortened } from '../../platform/core/shortened.ts';
import type { Scope } from '../../platform/database/scope.ts';
import type { ReadyLeaf, Todo } from '../core/flow-walk.ts';
import type { RunErrorCode } from '../core/run-status.ts';
import { dottedPath } from '../core/step-path.ts';
import { type FailStep, isOfFeature } from '../core/step-types.ts';
import { isCalling, type Step } from '../core/steps.ts';
import { renderTemplate, templateNames } from '../core/template.ts';
import { callInstantly } from '../steps/ask-model.ts';
import { evaluateStep, isExpressionFault } from '../steps/evaluate-step.ts';
import { simulateStep } from '../steps/perform-step.ts';
import type { StepContext, StepEnd, StepFault } from '../steps/step-context.ts';
import { valuesOfOutputs } from '../steps/step-outputs.ts';
import { maxOutputBytes, storable } from '../steps/storable.ts';
import { endInTest } from '../test-runs/mocked-step.ts';
import { type Beginning, beginToWait } from './begin-waits.ts';
import { type FlowServices, isLeaving, type LeavingStep } from './call-leaf.ts';
import { beginChild } from './child-runs.ts';
import { outputsNamed, summarize } from './container-output.ts';
import type { FlowExecution } from './flow-execution.ts';
import type { FlowItems } from './flow-items.ts';
import type { FlowWrite } from './record-flow.ts';

export type CallingLeaf = ReadyLeaf & { step: LeavingStep };

/** What instant steps are written in. The limits bound memory and the work that a crash repeats. */
const together = { bytes: 1024 * 1024, ms: 250 };
/** After so long the work pauses for others on the main thread. */
const sliceMs = 4;

interface Others {
  /** A step takes time. */
  calls(leaf: CallingLeaf): void;
  /** A step is to be stopped. */
  cancel(path: ReadyLeaf['path']): void;
}

const messageOf = (error: Error): StepFault => ({ status: 'failed', code: 'expression_error', message: error.message });

/** A run may have thousands of such steps, and each keeps its message. */
const maxFailMessage = 2_000;

async function failOf({ message, code }: FailStep, context: StepContext): Promise<StepEnd> {
  const { text, warnings } = renderTemplate(message, await context.values(new Set(templateNames(message))));
  const cut = shortened(text, maxFailMessage);
  return { status: 'failed', code: (code ?? 'failed_by_step') as RunErrorCode, message: cut, warnings };
}

/** Executes what finishes at once: expressions, models that answer in the process, containers, and the beginning of waits. */
export class InstantSteps {
  /** How the run ends, once it does. */
  end: FlowWrite['end'];
  readonly #services: FlowServices;
  readonly #scope: Scope;
  readonly #run: FlowExecution;
  readonly #items: FlowItems;
  readonly #others: Others;

  constructor(services: FlowServices, scope: Scope, run: FlowExecution, items: FlowItems, others: Others) {
    this.#services = services;
    this.#scope = scope;
    this.#run = run;
    this.#items = items;
    this.#others = others;
  }

  /**
   * Continues until no step is left that finishes at once, or until there is enough to write. @returns whether more is
   * left
   */
  async proceed(): Promise<boolean> {
    const until = performance.now() + together.ms;
    let sliceEnd = performance.now() + sliceMs;
    for (;;) {
      const todos = this.#run.walk.take(20);
      if (todos.length === 0) return false;
      for (const todo of todos) {
        await this.#do(todo);
        if (performance.now() < sliceEnd) continue;
        await this.#services.boundedWork.nextRound();
        sliceEnd = performance.now() + sliceMs;
      }
      if (this.end) return false;
      if (performance.now() > until || this.#run.unrecordedBytes > together.bytes) return true;
    }
  }

  async #do(todo: Todo): Promise<void> {
    if (todo.kind === 'leaf') await this.#execute(todo.leaf);
    else if (todo.kind === 'open') await this.#open(todo);
    else if (todo.kind === 'close') await this.#close(todo);
    else if (todo.kind === 'cancel') for (const path of todo.paths) this.#others.cancel(path);
    else if (todo.status === 'failed') this.end = { status: 'failed', error: todo.error };
    else this.end = { status: 'completed', result: todo.result && String(todo.result[0]) };
  }

  async #execute(leaf: ReadyLeaf): Promise<void> {
    const { path, step } = leaf;
    const run = this.#run;
    const fault = run.faultOf(path) ?? run.storageFault;
    if (fault) {
      run.finish(path, step, fault);
      return;
    }
    const ended = this.#endInTest(step);
    if (ended) {
      run.finish(path, step, await run.keep(ended));
      return;
    }
    const context = run.contextOf(leaf, this.#items.of);
    if (isLeaving(step) && !(run.work.mocks && isOfFeature(step))) {
      const end = isCalling(step) && (await callInstantly(this.#services, this.#scope, context, step));
      if (!end) {
        this.#others.calls({ ...leaf, step });
        return;
      }
      const { asked, ...ending } = end;
      run.finish(path, step, await run.keep(ending), asked);
      return;
    }
    const end = await this.#endOf(leaf, context);
    if (end) run.finish(path, step, await run.keep(end));
  }

  /** How a step of a test run ends that is not executed. */
  #endInTest(step: Step): StepEnd | undefined {
    const { mocks } = this.#run.work;
    return mocks ? endInTest(step, Object.hasOwn(mocks, step.id) ? mocks[step.id] : undefined) : undefined;
  }

  /** @returns undefined when the step begins to wait */
  async #endOf({ path, step }: ReadyLeaf, context: StepContext): Promise<StepEnd | undefined> {
    try {
      if (step.type === 'transform' || step.type === 'condition') {
        return await evaluateStep(this.#services.boundedWork, this.#scope.tenantKey, context, step);
      }
      if (step.type === 'fail') return await failOf(step, context);
      // Only in a test run: in others such a step calls out.
      if (isOfFeature(step)) {
        const kind = this.#services.stepKinds.get(step.type);
        return await simulateStep(this.#services, kind, this.#scope, context, step);
      }
      const beginning = await this.#beginToWait(path, step, context);
      if (!beginning) throw new Error(`Steps of the type ${step.type} are not executed.`);
      if ('end' in beginning) return beginning.end;
      const { waitFault } = this.#run;
      if (waitFault) return waitFault;
      this.#run.beginWaiting(path, step, beginning.wait, beginning.open);
      return undefined;
    } catch (error) {
      if (isExpressionFault(error)) return messageOf(error);
      throw error;
    }
  }

  async #beginToWait(
    path: ReadyLeaf['path'],
    step: ReadyLeaf['step'],
    context: StepContext,
  ): Promise<Beginning | undefined> {
    if (step.type !== 'workflow') {
      const run = this.#run;
      const place = {
        path: dottedPath(path),
        unwrittenApprovals: run.unwrittenApprovals.length,
        outputBytes: (steps: ReadonlySet<string> | 'all') => run.outputBytes(path, steps),
      };
      return beginToWait(this.#services, this.#scope, step, place, context);
    }
    const { runId, work, waitFault } = this.#run;
    // Before the other run is started.
    if (waitFault && step.mode !== 'detach') return { end: waitFault };
    return beginChild(this.#services, this.#scope, { runId, work, path }, step, context);
  }

  async #open({ path, step, scopes }: Todo & { kind: 'open' }): Promise<void> {
    const run = this.#run;
    const fault = run.faultOf(path) ?? run.storageFault;
    const ended = this.#endInTest(step);
    if (fault) run.finish(path, step, fault);
    else if (ended) run.finish(path, step, await run.keep(ended));
    else if (step.type === 'parallel') run.openContainer(path, step, step.branches.length);
    else {
      const found = await this.#items.evaluate({ path, scopes }, step);
      if ('fault' in found) run.finish(path, step, found.fault);
      else run.openContainer(path, step, found.items.length);
    }
  }

  async #close({ path, step, status, results, error }: Todo & { kind: 'close' }): Promise<void> {
    const run = this.#run;
    const summary = async () =>
      summarize(step.type, results, valuesOfOutputs(await run.outputs.of(outputsNamed(results))), (of) =>
        run.timesOf(of),
      );
    let end: StepEnd;
    let counts = { total: results.length, succeeded: 0, failed: 0 };
    const tooLarge: StepEnd = {
      status: 'failed',
      code: 'output_too_large',
      message: 'The results are too large together.',
    };
    // The output of a map has each of them twice. Values that are too large are not read.
    const isTooLarge = run.outputs.bytesOf(outputsNamed(results)) * (step.type === 'map' ? 2 : 1) > maxOutputBytes;
    try {
      const made = isTooLarge ? summarize(step.type, results, {}, (of) => run.timesOf(of)) : await summary();
      counts = made.counts;
      const output = isTooLarge ? undefined : storable(made.output);
      end = output ? { status: 'completed', output } : tooLarge;
    } catch (failure) {
      if (!isExpressionFault(failure)) throw failure;
      end = { status: 'failed', code: 'output_too_large', message: failure.message };
    }
    const failure = status === 'cancelled' ? status : error;
    run.closeContainer(path, step, await run.keep(end), counts, failure);
  }
}
