import { appendFileSync } from 'node:fs';
import { inspect } from 'node:util';
import type { Aim, Finding, Item, Row, Verdict } from './item.ts';
import type { Outcome } from './run-items.ts';
import { median } from './statistics.ts';

const number = (value: number): string =>
  value.toLocaleString('en-US', { maximumFractionDigits: value >= 1000 ? 0 : value >= 100 ? 1 : 2 });

const range = (values: number[]) =>
  values.length > 1 ? `(${number(Math.min(...values))} to ${number(Math.max(...values))})` : '';

const aimText = ({ atLeast, atMost }: Aim) =>
  atLeast !== undefined ? `at least ${number(atLeast)}` : `at most ${number(atMost ?? 0)}`;

const isReached = ({ atLeast = -Infinity, atMost = Infinity }: Aim, value: number) =>
  value >= atLeast && value <= atMost;

/** A process with less CPU time per operation is considered idle and omitted. */
const leastCpuMs = 0.005;

function cpuText(cpuMs: Row['cpuMs']): string {
  const parts = Object.entries(cpuMs ?? {}).filter(([, ms]) => ms >= leastCpuMs);
  return parts.map(([name, ms]) => `${name} ${ms < 0.1 ? ms.toFixed(3) : number(ms)}`).join(', ');
}

function verdictLine({ name, values, aim }: Verdict): string {
  const value = median(values);
  const held = aim ? `   aim ${aimText(aim)}: ${isReached(aim, value) ? 'reached' : 'MISSED'}` : '';
  return `  => ${name}: ${number(value)} ${range(values)}${held}`;
}

function describeFindings(item: Item, findings: Finding[]): string[] {
  const rows = findings.flatMap((finding) => finding.rows);
  const width = Math.max(...rows.map((row) => row.name.length));
  const lines = findings.flatMap((finding) => [
    ...finding.rows.map(({ name, unit, values, cpuMs }) => {
      const cpu = cpuText(cpuMs);
      const figures = `${number(median(values)).padStart(9)} ${unit.padEnd(7)} ${range(values).padEnd(20)}`;
      return `  ${name.padEnd(width)} ${figures}${cpu && ` CPU ms each: ${cpu}`}`.trimEnd();
    }),
    ...finding.verdicts.map(verdictLine),
    ...(finding.otherCores === undefined ? [] : [`  (others used ${number(finding.otherCores)} cores meanwhile)`]),
  ]);
  return [`${item.name}  ${item.title}`, ...lines, ''];
}

const rounded = (value: number) => Number(value.toPrecision(4));
const figuresOf = (values: number[]) => ({
  median: rounded(median(values)),
  min: rounded(Math.min(...values)),
  max: rounded(Math.max(...values)),
  rounds: values.length,
});

function resultOf(findings: Finding[]): object {
  return {
    verdicts: findings.flatMap(({ verdicts }) =>
      verdicts.map(({ name, values, aim }) => ({
        name,
        ...figuresOf(values),
        ...(aim && { aim, reached: isReached(aim, median(values)) }),
      })),
    ),
    rows: findings.flatMap(({ rows, otherCores }) =>
      rows.map(({ name, unit, values, cpuMs }) => ({
        name,
        unit,
        ...figuresOf(values),
        ...(cpuMs && { cpuMs: Object.fromEntries(Object.entries(cpuMs).map(([key, ms]) => [key, rounded(ms)])) }),
        ...(otherCores !== undefined && { otherCores: rounded(otherCores) }),
      })),
    ),
  };
}

/** The result as text lines, or why there is none. */
export function describeOutcome(outcome: Outcome): string[] {
  const { item } = outcome;
  if ('findings' in outcome) return describeFindings(item, outcome.findings);
  return [`${item.name}  ${item.title}`, `  FAILED: ${inspect(outcome.error)}`, ''];
}

/**
 * Appends the result, or the reason why there is none, to a file of JSON Lines, so that a later failure loses no
 * result.
 */
export function appendResult(file: string, outcome: Outcome): void {
  const { name, title } = outcome.item;
  const result = 'findings' in outcome ? resultOf(outcome.findings) : { error: String(outcome.error) };
  appendFileSync(file, `${JSON.stringify({ item: name, title, at: new Date(), ...result })}\n`);
}
