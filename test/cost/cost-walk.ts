import { appendFileSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import type pg from 'pg';
import { readLocalSettings } from '../../src/platform/env.ts';
import { type Allowance, allowanceOf, referenceMs } from './allowances.ts';
import type { Meter } from './meter.ts';

/** What an input is sent to, and which of the worst inputs it is. */
export interface Input {
  door: string;
  name: string;
}

/** What an input cost. */
export type Cost = Allowance;

/** What came back, as far as it is counted. */
export interface Outcome {
  status?: number;
  answerBytes?: number;
}

/** Where each input and its cost are written, as a line of JSON, when the variable names a file. */
const reportFile = readLocalSettings().parentEnvironment.COST_WALK_REPORT;

/** How often an input that costs too much is sent alone: what is compiled or collected by chance is not its own cost. */
const attempts = 8;

const kinds = ['stretchMs', 'cpuMs', 'heldMb', 'peakMb', 'rows', 'answerBytes'] as const;

const leastOf = (one: Cost, other: Cost): Cost =>
  Object.fromEntries(kinds.map((kind) => [kind, Math.min(one[kind], other[kind])])) as unknown as Cost;

const excessOf = (cost: Cost, allowance: Allowance): string[] =>
  kinds
    .filter((kind) => cost[kind] > allowance[kind])
    .map((kind) => `${kind} ${Math.round(cost[kind])} of ${allowance[kind]}`);

export interface Sending {
  /** Whether to wait until the process has little to do: work that goes on after the answer belongs to the input. */
  settles?: boolean;
  /** Whether what stays open is measured while it is open: called afterwards. */
  end?: () => Promise<void> | void;
}

/** An input, and what sends it and waits until it was dealt with. */
export interface Probe extends Sending {
  input: Input;
  send: () => Promise<Outcome>;
}

interface Measured {
  probe: Probe;
  allowance: Allowance;
  cost: Cost;
  seconds: number;
  outcome: Outcome;
}

const nameOf = ({ door, name }: Input) => `${door}: ${name}`;

const smallestHeld = (measured: Measured[]) => Math.min(...measured.map(({ allowance }) => allowance.heldMb));

/** Inputs to send together, this many at most. */
export const batchesOf = <One>(all: readonly One[], size: number): One[][] =>
  Array.from({ length: Math.ceil(all.length / size) }, (_, index) => all.slice(index * size, (index + 1) * size));

/**
 * What the process does by itself in a second at least: its sweeps and the polls of its workers. An input that waits long is
 * not charged for it. In its first minute a process does several times as much, which is measured where it matters.
 */
const leastRestMs = 15;

/** Sends inputs to a measured process, one at a time, and collects what costs more than the table allows. */
export class CostWalk {
  readonly #meter: Meter;
  readonly #database: pg.Client;
  #countRows = '';
  #rowsBefore = 0;
  #excesses: string[] = [];
  constructor(meter: Meter, database: pg.Client) {
    this.#meter = meter;
    this.#database = database;
  }

  async begin(): Promise<void> {
    const { rows } = await this.#database.query<{ counts: string }>(
      `select string_agg(format('(select count(*) from %I.%I)', schemaname, tablename), ' + ') counts
         from pg_tables where schemaname not in ('pg_catalog', 'information_schema')`,
    );
    this.#countRows = `select ${rows[0]!.counts} as rows`;
    this.#rowsBefore = await this.#rows();
  }

  async #rows(): Promise<number> {
    return Number((await this.#database.query<{ rows: string }>(this.#countRows)).rows[0]!.rows);
  }

  /**
   * Sends them one after the other. Each has a lap of its own, and is taken to hold what all of them hold: a collection
   * of garbage takes longer than most inputs.
   */
  async #measure(probes: readonly Probe[]): Promise<Measured[]> {
    await this.#meter.ask('begin');
    const measured: Measured[] = [];
    for (const probe of probes) {
      const sentAt = performance.now();
      const outcome = await probe.send();
      const used = await this.#meter.ask(probe.settles ? 'settle' : 'lap');
      const seconds = (performance.now() - sentAt) / 1_000;
      used.cpuMs = Math.max(0, used.cpuMs - seconds * leastRestMs);
      const rows = await this.#rows();
      const cost: Cost = Object.assign(used, {
        rows: rows - this.#rowsBefore,
        answerBytes: outcome.answerBytes ?? 0,
      });
      this.#rowsBefore = rows;
      measured.push({ probe, allowance: allowanceOf(nameOf(probe.input)), cost, seconds, outcome });
    }
    const heldMb = await this.#held(smallestHeld(measured));
    await this.#meter.ask('end');
    for (const { end } of probes) await end?.();
    for (const { cost } of measured) cost.heldMb = heldMb;
    await this.#allowForRest(measured);
    await this.#allowForSlowness(measured);
    return measured;
  }

  /** Without a collection of garbage most of what is held is garbage. What one releases, the next collects. */
  async #held(allowedMb: number): Promise<number> {
    let { heldMb } = await this.#meter.ask('lap');
    for (let collection = 0; collection < 2 && heldMb > allowedMb; collection++) {
      ({ heldMb } = await this.#meter.ask('collect'));
    }
    return heldMb;
  }

  async #allowForRest(measured: Measured[]): Promise<void> {
    const long = measured.filter(({ cost, allowance, seconds }) => seconds > 1 && cost.cpuMs > allowance.cpuMs);
    if (long.length === 0) return;
    await this.#meter.ask('begin');
    await sleep(1_000);
    const { cpuMs: restMs } = await this.#meter.ask('lap');
    await this.#meter.ask('end');
    for (const { cost, seconds } of long) cost.cpuMs -= seconds * Math.max(0, restMs - leastRestMs);
  }

  async #allowForSlowness(measured: Measured[]): Promise<void> {
    const slow = measured.filter(
      ({ cost, allowance }) => cost.stretchMs > allowance.stretchMs || cost.cpuMs > allowance.cpuMs,
    );
    if (slow.length === 0) return;
    const slowness = Math.max(1, (await this.#meter.ask('reference')).cpuMs / referenceMs);
    for (const { cost } of slow) {
      cost.stretchMs /= slowness;
      cost.cpuMs /= slowness;
    }
  }

  /**
   * Sends inputs, those of a door together. When they hold no more than one may, none of them holds too much; otherwise
   * each half of them is sent again. What costs too much in another way is sent again alone.
   */
  async sendAll(probes: readonly Probe[]): Promise<Outcome[]> {
    if (probes.length === 0) return [];
    const all = await this.#measure(probes);
    if (probes.length > 1 && all[0]!.cost.heldMb > smallestHeld(all)) {
      const half = Math.ceil(probes.length / 2);
      return [...(await this.sendAll(probes.slice(0, half))), ...(await this.sendAll(probes.slice(half)))];
    }
    const outcomes: Outcome[] = [];
    for (const measured of all) outcomes.push(await this.#confirm(measured, probes.length === 1));
    return outcomes;
  }

  /** Sends one input. */
  async send(input: Input, send: () => Promise<Outcome>, sending: Sending = {}): Promise<Outcome> {
    const [outcome] = await this.sendAll([Object.assign({ input, send }, sending)]);
    return outcome!;
  }

  /** Sends an input that seems to cost too much again, and notes it if it always does. */
  async #confirm(first: Measured, wasAlone: boolean): Promise<Outcome> {
    const { probe, allowance } = first;
    let { cost, outcome } = first;
    for (let alone = wasAlone ? 1 : 0; alone < attempts && excessOf(cost, allowance).length > 0; alone++) {
      const [again] = await this.#measure([probe]);
      cost = leastOf(cost, again!.cost);
      outcome = again!.outcome;
    }
    this.#report(probe.input, cost, outcome.status);
    const excess = excessOf(cost, allowance);
    if (excess.length > 0) this.#excesses.push(`${nameOf(probe.input)}: ${excess.join(', ')}`);
    // A run that failed is a 500 too, and what a service answers may let it fail.
    const isOurFault = outcome.status === 500 && /^[A-Z]+ \//.test(probe.input.door);
    if (isOurFault) this.#excesses.push(`${nameOf(probe.input)}: answered 500`);
    return outcome;
  }

  /** What cost too much since the last time, in words. */
  takeExcesses(): string[] {
    const found = this.#excesses;
    this.#excesses = [];
    return found;
  }

  #report(input: Input, cost: Cost, status: number | undefined): void {
    if (!reportFile) return;
    const rounded = Object.fromEntries(kinds.map((kind) => [kind, Math.round(cost[kind])]));
    appendFileSync(reportFile, `${JSON.stringify(Object.assign({}, input, { status }, rounded))}\n`);
  }
}
