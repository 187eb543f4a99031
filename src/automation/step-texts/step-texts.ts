import { randomBytes } from 'node:crypto';
import { type Delta, TextRelay } from '../../platform/concurrency/text-relay.ts';
import type { Database } from '../../platform/database/database.ts';
import type { Notifications } from '../../platform/database/notifications.ts';
import type { Sealer } from '../../platform/security/crypto.ts';
import type { Environment, Tenant } from '../../platform/tenant.ts';
import { maxKept, StepText } from './step-text.ts';

/** On which processes say which runs they read. */
const readersChannel = 'step_text_readers';
/** How often readers register again: a process may have started since, and a notification can be lost. */
const renewEveryMs = 5_000;
/** How long it holds. */
const interestMs = 16_000;
/** How long a text is kept after its end, for readers that have not seen the result of the step yet. */
const keptAfterEndMs = 10_000;
/** The shortest time between two requests for the lost text of a run. */
const askAgainMs = 1_000;
/** Texts of one run that are kept at the same time. */
const maxTexts = 200;
/** Runs that a process knows readers of. */
const maxKnown = 20_000;
/** Runs in one notification, for which PostgreSQL allows 8,000 bytes. */
const runsPerNotice = 60;
/** Marks the end of a text. It belongs to no attempt, and a text without characters would not be sent. */
const end: Delta = { attempt: 0, at: 0, text: '.' };
/** Texts of one attempt of a step: each model begins a new one. */
const textsPerAttempt = 1_000;

interface FollowedRun {
  tenant: Tenant;
  texts: Map<string, StepText>;
  /** The texts that are written in this process. */
  own: Set<StepText>;
  /** The readers in this process, and how to wake them. */
  wakes: Set<() => void>;
  /** Processes with readers, and until when. */
  channels: Map<string, number>;
  askedAt: number;
}

/** Gets the texts of a step as its models write them. */
interface StepTextWriter {
  /** Begins a text anew. @returns what takes its parts */
  begin(): (text: string) => void;
  /** To be called once, when the attempt has ended. @param isOver whether the step has its result */
  end(isOver: boolean): void;
}

/** The texts of a run for one reader. */
export interface RunTexts {
  readonly texts: ReadonlyMap<string, StepText>;
  close(): void;
}

const tenantOf = ({ organizationId, environment }: Tenant) => `${organizationId} ${environment}`;

/** Adds an entry to a map that forgets the oldest ones. */
function keepNewest<Key, Value>(map: Map<Key, Value>, key: Key, value: Value, max: number): void {
  map.delete(key);
  if (map.size >= max) map.delete(map.keys().next().value!);
  map.set(key, value);
}

/**
 * Texts that models write in steps of runs, for readers in any process. They are only in memory: in the process that
 * asks the model, and in those that read the run. Readers register, so that without readers nothing is sent.
 */
export class StepTexts {
  readonly channel = `step_texts_${randomBytes(8).toString('hex')}`;
  readonly #relay: TextRelay;
  readonly #notifications: Notifications;
  readonly #runs = new Map<string, FollowedRun>();
  #timer: NodeJS.Timeout | undefined;

  constructor(database: Database, sealer: Sealer, notifications: Notifications) {
    this.#relay = new TextRelay(database, sealer, { table: 'run_step', maxWaiting: maxKept });
    this.#notifications = notifications;
    notifications.on(this.channel, (payload) => this.#receive(payload));
    notifications.on(readersChannel, (payload) => this.#receiveReaders(payload));
  }

  /** @param key the dotted path of the step. @param attempt from 1, grows with each attempt */
  write(tenant: Tenant, runId: string, key: string, attempt: number): StepTextWriter {
    const run = this.#run(runId, tenant);
    const text = run.texts.get(key) ?? new StepText();
    keepNewest(run.texts, key, text, maxTexts);
    run.own.add(text);
    let number = attempt * textsPerAttempt;
    return {
      begin: () => {
        const current = ++number;
        let at = 0;
        return (part) => {
          this.#add(runId, run, key, text, { attempt: current, at, text: part });
          at += part.length;
        };
      },
      end: (isOver) => {
        run.own.delete(text);
        if (!isOver) return;
        text.endedAt = performance.now();
        this.#sendAll(runId, run, key, end);
        if (run.wakes.size === 0) run.texts.delete(key);
      },
    };
  }

  /** Follows the texts of a run. @param wake called when there may be more to read */
  follow(tenant: Tenant, runId: string, wake: () => void): RunTexts {
    const run = this.#run(runId, tenant);
    run.wakes.add(wake);
    this.#announce([[runId, run]]);
    return {
      texts: run.texts,
      close: () => {
        run.wakes.delete(wake);
      },
    };
  }

  #run(runId: string, tenant: Tenant): FollowedRun {
    let run = this.#runs.get(runId);
    if (!run) {
      run = { tenant, texts: new Map(), own: new Set(), wakes: new Set(), channels: new Map(), askedAt: 0 };
      this.#runs.set(runId, run);
      this.#timer ??= setInterval(() => this.#renew(), renewEveryMs).unref();
    }
    return run;
  }

  #add(runId: string, run: FollowedRun, key: string, text: StepText, delta: Delta): void {
    if (delta.at < maxKept) this.#sendAll(runId, run, key, delta);
    if (text.accept(delta) === 'accepted') for (const wake of run.wakes) wake();
  }

  #sendAll(runId: string, run: FollowedRun, key: string, delta: Delta): void {
    const now = performance.now();
    for (const [channel, until] of run.channels) {
      if (until > now) this.#relay.send({ channel, subject: `${runId}/${key}`, tenant: run.tenant }, delta);
    }
  }

  #renew(): void {
    const now = performance.now();
    const followed: [string, FollowedRun][] = [];
    for (const [runId, run] of this.#runs) {
      for (const [channel, until] of run.channels) if (until <= now) run.channels.delete(channel);
      for (const [key, { endedAt }] of run.texts) {
        if (endedAt !== undefined && endedAt + keptAfterEndMs < now) run.texts.delete(key);
      }
      if (run.wakes.size > 0) followed.push([runId, run]);
      else if (run.own.size === 0 && run.channels.size === 0) this.#runs.delete(runId);
    }
    this.#announce(followed);
    if (this.#runs.size > 0) return;
    clearInterval(this.#timer);
    this.#timer = undefined;
  }

  /** @param again `again` when something was lost: then all is sent once more */
  #announce(runs: readonly [string, Pick<FollowedRun, 'tenant'>][], again: 'again' | 'on' = 'on'): void {
    for (let at = 0; at < runs.length; at += runsPerNotice) {
      const entries = runs.slice(at, at + runsPerNotice).map(([runId, { tenant }]) => `${runId} ${tenantOf(tenant)}`);
      this.#notifications.send(readersChannel, [`${this.channel} ${again}`, ...entries].join('\n')).catch(() => {});
    }
  }

  #receiveReaders(payload: string): void {
    const [head = '', ...entries] = payload.split('\n');
    const [channel = '', again] = head.split(' ');
    const now = performance.now();
    for (const entry of entries) {
      const [runId = '', organizationId = '', environment] = entry.split(' ');
      const tenant = { organizationId, environment: environment as Environment };
      if (channel === this.channel) continue;
      if (!this.#runs.has(runId) && this.#runs.size >= maxKnown) continue;
      const run = this.#run(runId, tenant);
      const isNew = (run.channels.get(channel) ?? 0) <= now || again === 'again';
      run.channels.set(channel, now + interestMs);
      if (!isNew) continue;
      for (const [key, text] of run.texts) {
        const { whole } = text;
        const reader = { channel, subject: `${runId}/${key}`, tenant: run.tenant };
        this.#relay.forget(reader);
        if (run.own.has(text) && whole.text !== '') this.#relay.send(reader, whole);
      }
    }
  }

  #receive(payload: string): void {
    const [subject = '', sealed = ''] = payload.split(' ');
    const slash = subject.indexOf('/');
    const runId = subject.slice(0, slash);
    const key = subject.slice(slash + 1);
    const run = this.#runs.get(runId);
    if (!run || run.wakes.size === 0) return;
    const delta = this.#relay.open({ subject, tenant: run.tenant }, sealed);
    if (!delta) return;
    let text = run.texts.get(key);
    if (delta.attempt === end.attempt) {
      if (text) text.endedAt = performance.now();
      return;
    }
    if (!text) {
      text = new StepText();
      keepNewest(run.texts, key, text, maxTexts);
    }
    const became = text.accept(delta);
    if (became === 'accepted') for (const wake of run.wakes) wake();
    if (became !== 'gap' || run.askedAt + askAgainMs > performance.now()) return;
    run.askedAt = performance.now();
    this.#announce([[runId, run]], 'again');
  }
}
