import { connectionHeaders, headerNamePattern, headerValuePattern } from '../../platform/core/http-headers.ts';
import type { Parts } from '../../platform/core/parts.ts';
import { ValueRenderer } from './render-value.ts';
import { secretNamePattern } from './secret-names.ts';
import type { HttpMethod, HttpStep } from './step-types.ts';
import type { StepProblem } from './steps.ts';
import type { TemplateValues } from './template.ts';
import { asText, type Warning } from './template.ts';

export type { HttpMethod } from './step-types.ts';

/** The fields of a step of type `http`. */
export type HttpFields = Omit<HttpStep, 'id' | 'type' | 'name'>;

export const defaultTimeoutSeconds = 30;
const defaultAttempts = 3;
const maxHeaders = 50;
const maxSecretHeaders = 10;

const repeatable: ReadonlySet<string> = new Set(['GET', 'HEAD', 'PUT', 'DELETE', 'OPTIONS']);

/**
 * Whether a request whose answer was lost can be sent again: because of its method, or because its step asks for
 * retries.
 */
export const mayRepeat = ({ method = 'GET', retry }: HttpFields): boolean =>
  retry !== undefined || repeatable.has(method);

/** Attempts of a step in all. */
export const httpAttempts = (step: HttpFields): number =>
  step.retry?.maxAttempts ?? (mayRepeat(step) ? defaultAttempts : 1);

/** Whether another attempt may get another answer. */
export const isTemporary = (status: number): boolean => status === 429 || status >= 500;

const statusClass = /^([1-5])xx$/i;

export const isSuccess = ({ successStatus = ['2xx'] }: HttpFields, status: number): boolean =>
  successStatus.some((one) => {
    const digit = statusClass.exec(String(one))?.[1];
    return digit === undefined ? Number(one) === status : Math.floor(status / 100) === Number(digit);
  });

function headerProblem(name: string): string | undefined {
  if (!headerNamePattern.test(name)) return 'Expected the name of an HTTP header.';
  const lower = name.toLowerCase();
  return connectionHeaders.has(lower) || lower.startsWith('proxy-') ? `The header ${name} cannot be set.` : undefined;
}

/** Scheme, host and port, and their end: later text cannot change them. */
const literalOrigin = /^https?:\/\/[^/?#\\{}\s]+(?:[/?#]|$)/i;

/** The scheme, host and port of a URL, where no placeholder has a part in them. */
export function originOf(url: string): string | undefined {
  const [literal] = literalOrigin.exec(url) ?? [];
  return literal === undefined ? undefined : URL.parse(literal)?.origin;
}

const membersOf = <Value>(record: Record<string, Value> = {}) => Object.entries(record);

/**
 * Problems of a step that do not depend on the values of its runs. Paths are those of its fields, as `headers.Host`.
 */
export function findHttpProblems(step: HttpFields): StepProblem[] {
  const problems: StepProblem[] = [];
  const add = (path: string, message: string | undefined) => message !== undefined && problems.push({ path, message });
  const [headers, secrets] = [membersOf(step.headers), membersOf(step.secretHeaders)];
  if (headers.length > maxHeaders) add('headers', `Expected at most ${maxHeaders} headers.`);
  if (secrets.length > maxSecretHeaders) add('secretHeaders', `Expected at most ${maxSecretHeaders} headers.`);
  const seen = new Set<string>();
  for (const [field, names] of [
    ['headers', headers],
    ['secretHeaders', secrets],
  ] as const) {
    for (const [name] of names.slice(0, maxHeaders)) {
      add(`${field}.${name}`, headerProblem(name));
      if (seen.has(name.toLowerCase())) add(`${field}.${name}`, `The header ${name} is given twice.`);
      seen.add(name.toLowerCase());
    }
  }
  for (const [name, value] of headers.slice(0, maxHeaders)) {
    if (typeof value === 'string' && !value.includes('{{') && !headerValuePattern.test(value)) {
      add(`headers.${name}`, 'Expected no control characters, and none outside ISO 8859-1.');
    }
  }
  for (const [name, secret] of secrets.slice(0, maxSecretHeaders)) {
    if (!secretNamePattern.test(secret)) add(`secretHeaders.${name}`, 'Expected the name of a secret, as CRM_TOKEN.');
  }
  if (secrets.length > 0 && originOf(step.url) === undefined) {
    add('url', 'With secretHeaders, scheme, host and port must be written out, without placeholders.');
  }
  for (const [index, one] of (step.successStatus ?? []).entries()) {
    const isCode = typeof one === 'number' && Number.isInteger(one) && one >= 100 && one <= 599;
    const isText = typeof one === 'string' && (statusClass.test(one) || /^[1-5]\d\d$/.test(one));
    if (!isCode && !isText) add(`successStatus.${index}`, 'Expected a status such as 201, or a class such as "2xx".');
  }
  return problems;
}

/** A request as it is sent, but for its secrets. */
export interface RenderedRequest {
  method: HttpMethod;
  url: string;
  /** Without the headers that hold secrets. */
  headers: Record<string, string>;
  body: string | undefined;
  warnings: Warning[];
}

/** The problem of a step that cannot be sent with the values of a run. Callers can see the message. */
export class InvalidRequest extends Error {
  override name = 'InvalidRequest';
  readonly warnings: Warning[];

  constructor(message: string, warnings: Warning[]) {
    super(message);
    this.warnings = warnings;
  }
}

/** Adds parameters and keeps those of the URL unchanged. */
function withQuery(url: URL, query: Record<string, unknown>): void {
  const pairs = Object.entries(query).flatMap(([name, value]) =>
    (Array.isArray(value) ? value : [value])
      .filter((one) => one !== null && one !== undefined)
      .map((one): [string, string] => [name, asText(one)]),
  );
  if (pairs.length === 0) return;
  const added = new URLSearchParams(pairs).toString();
  url.search = url.search.length > 1 ? `${url.search}&${added}` : added;
}

const hasControl = (text: string): boolean => {
  for (let at = 0; at < text.length; at++) if (text.charCodeAt(at) < 0x20 || text.charCodeAt(at) === 0x7f) return true;
  return false;
};

/**
 * Fills in the templates of a step.
 * @param key the value of Idempotency-Key, unless the step gives one
 * @throws InvalidRequest; TemplateTooLong
 */
export function* renderRequest(step: HttpFields, values: TemplateValues, key: string): Parts<RenderedRequest> {
  const renderer = new ValueRenderer(values);
  const refuse = (message: string): never => {
    throw new InvalidRequest(message, renderer.warnings);
  };
  const text = yield* renderer.text(step.url);
  if (hasControl(text)) refuse('The url has control characters.');
  const url = URL.parse(text) ?? refuse('The url is not a valid URL.');
  if (step.secretHeaders && Object.keys(step.secretHeaders).length > 0 && url.origin !== originOf(step.url)) {
    refuse('The url leads to another host than the step names.');
  }
  withQuery(url, ((yield* renderer.value(step.query ?? {})) ?? {}) as Record<string, unknown>);

  const entries: [string, string][] = [];
  for (const [name, given] of Object.entries(step.headers ?? {})) {
    const value = yield* renderer.value(given);
    if (value === null || value === undefined) continue;
    const rendered = asText(value);
    if (!headerValuePattern.test(rendered)) refuse(`The header ${name} has characters that no header may have.`);
    entries.push([name, rendered]);
  }
  // A header can be named `__proto__`.
  const headers: Record<string, string> = Object.fromEntries(entries);
  const names = new Set(Object.keys({ ...step.secretHeaders, ...headers }).map((name) => name.toLowerCase()));
  if (!names.has('idempotency-key')) headers['Idempotency-Key'] = key;
  if (!names.has('user-agent')) headers['User-Agent'] = 'Atelier';
  const body = step.body === undefined ? undefined : yield* renderer.value(step.body);
  const isAbsent = body === undefined || body === null;
  if (!isAbsent && !names.has('content-type')) {
    headers['Content-Type'] = typeof body === 'string' ? 'text/plain; charset=utf-8' : 'application/json';
  }
  return {
    method: step.method ?? 'GET',
    url: url.href,
    headers,
    body: isAbsent ? undefined : asText(body),
    warnings: renderer.warnings,
  };
}
