import { clock } from '../../platform/clock.ts';
import { WakeSignal } from '../../platform/concurrency/wake-signal.ts';
import type { Tenant } from '../../platform/tenant.ts';
import type { SeenEvent } from '../runs/follow-run.ts';
import type { StepText } from './step-text.ts';
import type { RunTexts, StepTexts } from './step-texts.ts';

/** A part of the text of a step, for a reader. */
export interface StepDelta {
  name: 'step.delta';
  runId: string;
  stepId: string;
  /** Null for a step of the run's own list. */
  path: string | null;
  /** Characters of the text before it. 0 begins the text anew. */
  offset: number;
  text: string;
}

/** Deltas within a second, for a reader. */
const perSecond = 20;
/** The wait between two deltas. Text that arrives during it joins the waiting text. */
const spacingMs = 1_000 / perSecond;
/** How long a text waits for the event that its step has started. */
const startedWithinMs = 1_000;

interface Sent {
  text: StepText;
  generation: number;
  count: number;
  firstSeenAt: number;
  servedAt: number;
  hasStarted: boolean;
}

const keyOf = ({ path, stepId }: { path: string | null; stepId: string }) => path ?? stepId;

/**
 * The deltas of one reader, of all the runs that it follows. No queue grows in memory: a slow reader gets one delta
 * with all the text since its last read, or the result of the step.
 */
export class DeltaReader {
  readonly wake = new WakeSignal();
  readonly #stepTexts: StepTexts;
  readonly #tenant: Tenant;
  readonly #runs = new Map<string, RunTexts>();
  readonly #sent = new Map<string, Sent>();
  readonly #over = new WeakSet<StepText>();
  /** Steps whose start was sent before their text arrived. */
  readonly #early = new Set<string>();
  readonly #replaysFrom: Date | undefined;
  /** When the latest deltas were sent, on the clock of `performance`; the oldest first. */
  readonly #times: number[] = [];

  /** @param isResumed whether the stream goes on after an earlier one: results of earlier steps come without deltas */
  constructor(stepTexts: StepTexts, tenant: Tenant, isResumed: boolean) {
    this.#stepTexts = stepTexts;
    this.#tenant = tenant;
    this.#replaysFrom = isResumed ? clock.date() : undefined;
  }

  follow(runId: string): void {
    if (this.#runs.has(runId)) return;
    this.#runs.set(
      runId,
      this.#stepTexts.follow(this.#tenant, runId, () => this.wake.set()),
    );
  }

  /** To be called for a run that has ended or was deleted. */
  leave(runId: string): void {
    this.#runs.get(runId)?.close();
    this.#runs.delete(runId);
    for (const id of this.#sent.keys()) if (id.startsWith(`${runId}/`)) this.#sent.delete(id);
  }

  close(): void {
    for (const runId of [...this.#runs.keys()]) this.leave(runId);
  }

  /** Milliseconds until there may be another delta. */
  get #pauseMs(): number {
    const oldest = this.#times.length < perSecond ? undefined : this.#times[0];
    return oldest === undefined ? 0 : Math.max(0, oldest + 1_000 - performance.now());
  }

  /** The next delta, if one may be sent now; or in how many milliseconds to ask again. */
  take(): StepDelta | number {
    const now = performance.now();
    const pauseMs = Math.max(this.#pauseMs, (this.#times.at(-1) ?? -spacingMs) + spacingMs - now);
    if (pauseMs > 0) return pauseMs;
    let waitMs = Number.POSITIVE_INFINITY;
    let next: { runId: string; key: string; sent: Sent } | undefined;
    for (const [runId, { texts }] of this.#runs) {
      for (const [key, text] of texts) {
        const sent = this.#of(runId, key, text);
        // The result of the step is about to come.
        if (text.endedAt !== undefined && sent.count === 0) continue;
        if (this.#over.has(text) || (sent.count === text.text.length && sent.generation === text.generation)) continue;
        const heldMs = sent.hasStarted ? 0 : sent.firstSeenAt + startedWithinMs - now;
        if (heldMs > 0) waitMs = Math.min(waitMs, heldMs);
        else if (!next || sent.servedAt < next.sent.servedAt) next = { runId, key, sent };
      }
    }
    if (!next) return waitMs;
    next.sent.servedAt = now;
    return this.#next(next.runId, next.key, next.sent);
  }

  /** The text to send before an event. */
  before({ name, run, step }: SeenEvent): StepDelta | undefined {
    if (!step || (name !== 'step.completed' && name !== 'step.failed')) return undefined;
    const key = keyOf(step);
    const id = `${run.id}/${key}`;
    const sent = this.#sent.get(id);
    const text = this.#runs.get(run.id)?.texts.get(key);
    if (text) this.#over.add(text);
    this.#sent.delete(id);
    const { output } = step;
    if (name === 'step.failed' || step.model === null || typeof output !== 'string' || output === '') return undefined;
    const isReplayed = this.#replaysFrom && step.finishedAt && step.finishedAt < this.#replaysFrom;
    if (isReplayed && !sent?.count) return undefined;
    if (!sent || sent.count === 0) return this.#pauseMs > 0 ? undefined : this.#delta(run.id, key, 0, output);
    const isSame = sent.generation === sent.text.generation && output.startsWith(sent.text.text.slice(0, sent.count));
    const offset = isSame ? sent.count : 0;
    return offset === output.length ? undefined : this.#delta(run.id, key, offset, output.slice(offset));
  }

  after({ name, run, step }: SeenEvent): void {
    if (step && name === 'step.started') {
      const text = this.#runs.get(run.id)?.texts.get(keyOf(step));
      if (text) this.#of(run.id, keyOf(step), text).hasStarted = true;
      else this.#started(run.id, keyOf(step));
    }
    if (!step && name !== 'run.started') this.leave(run.id);
  }

  #started(runId: string, key: string): void {
    if (this.#early.size >= 1_000) this.#early.clear();
    this.#early.add(`${runId}/${key}`);
  }

  #of(runId: string, key: string, text: StepText): Sent {
    const id = `${runId}/${key}`;
    let sent = this.#sent.get(id);
    if (sent?.text !== text) {
      const hasStarted = this.#early.delete(id) || sent !== undefined;
      const firstSeenAt = performance.now();
      sent = { text, generation: text.generation, count: 0, firstSeenAt, servedAt: 0, hasStarted };
      this.#sent.set(id, sent);
    }
    return sent;
  }

  #next(runId: string, key: string, sent: Sent): StepDelta {
    const { text } = sent;
    const offset = sent.generation === text.generation ? sent.count : 0;
    sent.generation = text.generation;
    sent.count = text.text.length;
    return this.#delta(runId, key, offset, text.text.slice(offset));
  }

  #delta(runId: string, key: string, offset: number, text: string): StepDelta {
    this.#times.push(performance.now());
    if (this.#times.length > perSecond) this.#times.shift();
    const stepId = key.slice(key.lastIndexOf('.') + 1);
    return { name: 'step.delta', runId, stepId, path: key === stepId ? null : key, offset, text };
  }
}

/**
 * The events of a stream with what models write in between. A step's deltas come between its beginning and its end, and
 * joined they are its output, where that is a text.
 * @param runId the run to follow from the beginning; others are followed from their first event on
 */
export async function* withDeltas<Event extends SeenEvent>(
  reader: DeltaReader,
  events: AsyncGenerator<Event>,
  runId?: string,
): AsyncGenerator<Event | StepDelta> {
  if (runId) reader.follow(runId);
  let arrived: { result: IteratorResult<Event, void> } | { error: unknown } | undefined;
  const ask = () => {
    events.next().then(
      (result) => {
        arrived = { result };
        reader.wake.set();
      },
      (error: unknown) => {
        arrived = { error };
        reader.wake.set();
      },
    );
  };
  try {
    ask();
    for (;;) {
      if (arrived) {
        const current = arrived;
        arrived = undefined;
        if ('error' in current) throw current.error;
        if (current.result.done) return;
        const event = current.result.value;
        if (event.step || event.name === 'run.started') reader.follow(event.run.id);
        const rest = reader.before(event);
        if (rest) yield rest;
        yield event;
        reader.after(event);
        ask();
        continue;
      }
      const next = reader.take();
      if (typeof next === 'number') await reader.wake.wait(Math.min(next, 60_000));
      else yield next;
    }
  } finally {
    reader.close();
    void events.return(undefined);
  }
}
