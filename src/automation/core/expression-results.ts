// What an expression gives, as JSON. Pure library: an interpreter without clock, chance or input and output.
import { Duration, UnsignedInt } from '@marcbachmann/cel-js/evaluator';
import { ExpressionError } from './expression-nodes.ts';

/** Characters of a result. */
const maxResultLength = 4 * 1024 * 1024;
const nanosInSecond = 1_000_000_000n;

const notJson = () =>
  new ExpressionError('The result is not JSON: it is a type or an optional value. Use orValue() for the latter.');

/** Types whose values have no form in JSON, anywhere in a type. */
const withoutJson: ReadonlySet<string> = new Set(['type', 'optional']);

/** @param type of a checked expression, like `map<string, optional<int>>` @throws ExpressionError when it cannot be JSON */
export function requireJsonType(type: string): void {
  if (type.split(/[<>, ]+/).some((word) => withoutJson.has(word))) throw notJson();
}

/** Digits behind the point: none, three, six or nine, as in JSON of Protocol Buffers. */
function fractionOf(nanos: bigint): string {
  if (nanos === 0n) return '';
  const digits = nanos.toString().padStart(9, '0');
  return `.${digits.endsWith('000000') ? digits.slice(0, 3) : digits.endsWith('000') ? digits.slice(0, 6) : digits}`;
}

function durationText(duration: Duration): string {
  const total = duration.seconds * nanosInSecond + BigInt(Math.trunc(duration.nanos));
  const size = total < 0n ? -total : total;
  return `${total < 0n ? '-' : ''}${size / nanosInSecond}${fractionOf(size % nanosInSecond)}s`;
}

function timestampText(time: Date): string {
  const year = time.getUTCFullYear();
  if (!(year >= 1 && year <= 9_999)) throw new ExpressionError('The result is a time beyond the years 1 to 9999.');
  return time.toISOString().replace('.000Z', 'Z');
}

function numberOf(value: bigint): number {
  if (!Number.isSafeInteger(Number(value))) throw new ExpressionError('The result is a number beyond JSON.');
  return Number(value);
}

/** A value that JSON has in the form of a text or a number; undefined for every other object. */
function scalarOf(value: object): string | number | undefined {
  if (value instanceof Date) return timestampText(value);
  if (value instanceof Duration) return durationText(value);
  if (value instanceof UnsignedInt) return numberOf(value.value);
  if (value instanceof Uint8Array) {
    return Buffer.from(value.buffer, value.byteOffset, value.byteLength).toString('base64');
  }
  return undefined;
}

/**
 * The result as CEL maps it to JSON: timestamps by RFC 3339, durations as seconds (`"5400s"`), bytes in base64, integers as
 * numbers, maps as objects.
 * @throws ExpressionError
 */
export const toJson = (result: unknown): unknown => convert(result, { left: maxResultLength });

function convert(value: unknown, budget: { left: number }): unknown {
  budget.left -= typeof value === 'string' ? value.length : value instanceof Uint8Array ? 2 * value.length : 1;
  if (budget.left < 0) throw new ExpressionError('The result is too large.');
  if (typeof value === 'bigint') return numberOf(value);
  if (typeof value === 'number' && !Number.isFinite(value)) {
    throw new ExpressionError('The result is a number beyond JSON.');
  }
  if (typeof value !== 'object' || value === null) {
    if (typeof value === 'function' || typeof value === 'symbol') throw notJson();
    return value ?? null;
  }
  if (Array.isArray(value)) return value.map((one) => convert(one, budget));
  const scalar = scalarOf(value);
  if (scalar !== undefined) return scalar;
  const entries = value instanceof Map ? [...value] : Object.entries(value);
  const prototype = Object.getPrototypeOf(value);
  if (!(value instanceof Map) && prototype !== Object.prototype && prototype !== null) throw notJson();
  return Object.fromEntries(entries.map(([key, one]) => [String(key), convert(one, budget)]));
}
