import { appendFileSync } from 'node:fs';
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

/** An input that costs too much is sent again: what is compiled or collected by chance is not its own cost. */
const attempts = 4;

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

  async #measure(allowance: Allowance, send: () => Promise<Outcome>, { settles, end }: Sending) {
    await this.#meter.ask('begin');
    const outcome = await send();
    let used = await this.#meter.ask(settles ? 'settle' : 'read');
    // Without a collection of garbage most of what is held is garbage, and a collection takes its time.
    if (used.heldMb > allowance.heldMb) {
      const { heldMb } = await this.#meter.ask('collect');
      used = Object.assign(used, { heldMb });
    }
    await this.#meter.ask('end');
    await end?.();
    const rows = await this.#rows();
    if (used.stretchMs > allowance.stretchMs || used.cpuMs > allowance.cpuMs) {
      const slowness = Math.max(1, (await this.#meter.ask('reference')).cpuMs / referenceMs);
      used.stretchMs /= slowness;
      used.cpuMs /= slowness;
    }
    const cost: Cost = Object.assign(used, { rows: rows - this.#rowsBefore, answerBytes: outcome.answerBytes ?? 0 });
    this.#rowsBefore = rows;
    return { cost, outcome };
  }

  /** @param send sends the input and waits until it was dealt with */
  async send(input: Input, send: () => Promise<Outcome>, sending: Sending = {}): Promise<Outcome> {
    const allowance = allowanceOf(`${input.door}: ${input.name}`);
    let { cost, outcome } = await this.#measure(allowance, send, sending);
    for (let attempt = 1; attempt < attempts && excessOf(cost, allowance).length > 0; attempt++) {
      const again = await this.#measure(allowance, send, sending);
      cost = leastOf(cost, again.cost);
      outcome = again.outcome;
    }
    this.#report(input, cost, outcome.status);
    const excess = excessOf(cost, allowance);
    if (excess.length > 0) this.#excesses.push(`${input.door}: ${input.name}: ${excess.join(', ')}`);
    // A run that failed is a 500 too, and what a service answers may let it fail.
    const isOurFault = outcome.status === 500 && /^[A-Z]+ \//.test(input.door);
    if (isOurFault) this.#excesses.push(`${input.door}: ${input.name}: answered 500`);
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
