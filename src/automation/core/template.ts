import { type Parts, wholeOf } from '../../platform/core/parts.ts';

/** The position of a step in the innermost map around it. */
export interface ItemValues {
  item: unknown;
  index: number;
  total: number;
}

/** The values that a template can refer to. */
export interface TemplateValues {
  input: unknown;
  variables: Record<string, unknown>;
  /** Output of each finished step by its id, as far as the step may see it. */
  steps: Record<string, unknown>;
  /** Present within a map. */
  scope?: ItemValues | undefined;
}

/** Something that did not work as requested but did not fail the step. `name` is that of the variable or the setting. */
export interface Warning {
  code: 'unknown_variable' | 'setting_ignored' | 'answer_truncated' | 'mail_limit';
  name: string;
}

/** Warnings of one step that are kept. Templates can name thousands of variables that do not exist. */
export const maxWarnings = 20;
const maxNameLength = 200;

/** The warnings of a step as they are kept, and how many there were. */
export function limitWarnings(warnings: readonly Warning[]): { warnings: Warning[]; warningsTotal: number } {
  const kept = warnings.slice(0, maxWarnings);
  const shorten = (name: string) => (name.length > maxNameLength ? `${name.slice(0, maxNameLength - 1)}…` : name);
  return { warnings: kept.map(({ code, name }) => ({ code, name: shorten(name) })), warningsTotal: warnings.length };
}

export interface Rendered {
  text: string;
  warnings: Warning[];
}

/** The longest text that a template may render to: even a short template can repeat a long value. */
export const maxRenderedLength = 2 * 1024 * 1024;

/** Its message may be shown to callers. */
export class TemplateTooLong extends Error {
  override name = 'TemplateTooLong';
}

const stepOutput = /^steps\.([A-Za-z_][A-Za-z0-9_-]*)\.output(?:\.(.*))?$/s;

interface Found {
  value: unknown;
}

const own = (record: Record<string, unknown>, name: string): Found | undefined =>
  Object.hasOwn(record, name) ? { value: record[name] } : undefined;

/** The value of a name in an object, or of an index in a list. */
function memberOf(value: unknown, name: string): Found | undefined {
  if (Array.isArray(value)) {
    const index = /^(0|[1-9]\d{0,8})$/.test(name) ? Number(name) : value.length;
    return index < value.length ? { value: value[index] } : undefined;
  }
  return typeof value === 'object' && value !== null ? own(value as Record<string, unknown>, name) : undefined;
}

/** @param path dotted; undefined for the value itself */
function follow(from: Found | undefined, path: string | undefined): Found | undefined {
  let found = from;
  for (let rest = path; found && rest !== undefined; ) {
    const dot = rest.indexOf('.');
    found = memberOf(found.value, dot < 0 ? rest : rest.slice(0, dot));
    rest = dot < 0 ? undefined : rest.slice(dot + 1);
  }
  return found;
}

const isOfScope = (name: string): name is keyof ItemValues => name === 'item' || name === 'index' || name === 'total';

/** A variable whose name has dots is found before what its parts would lead to, but the names of a map are the map's. @returns undefined for a name that is unknown */
export function lookUp(name: string, values: TemplateValues): Found | undefined {
  const dot = name.indexOf('.');
  const root = dot < 0 ? name : name.slice(0, dot);
  const path = dot < 0 ? undefined : name.slice(dot + 1);
  if (name === 'input') return { value: values.input };
  if (values.scope && isOfScope(root)) return follow({ value: values.scope[root] }, path);
  const step = root === 'steps' ? stepOutput.exec(name) : null;
  if (step && step[2] === undefined) return own(values.steps, step[1]!);
  const literal = own(values.variables, name);
  if (literal) return literal;
  if (step) return follow(own(values.steps, step[1]!), step[2]);
  if (root === 'input') return follow({ value: values.input }, path);
  return path === undefined ? undefined : follow(own(values.variables, root), path);
}

/** Ids of the steps whose outputs a template refers to. */
export const templateNames = (template: string): string[] =>
  [...template.matchAll(/steps\.([A-Za-z_][A-Za-z0-9_-]*)\.output/g)].map((match) => match[1]!);

/** A value inside a text: strings as they are, null and undefined as an empty text, anything else as JSON. */
export function asText(value: unknown): string {
  if (typeof value === 'string') return value;
  return value === undefined || value === null ? '' : JSON.stringify(value);
}

/** Names that are filled in at a time, which takes less than a millisecond. */
const namesPerPart = 1_000;

/**
 * Replaces `{{input}}`, `{{name}}`, `{{steps.<id>.output}}`, in a map `{{item}}`, `{{index}}` and `{{total}}`, and dotted
 * paths into each in one pass; inserted values are not rendered again. An unknown name becomes an empty text and adds a
 * warning. Takes time linear in the sizes of the template and its values, and yields after each part of it.
 * @throws TemplateTooLong
 */
export function* renderInParts(template: string, values: TemplateValues): Parts<Rendered> {
  const parts: string[] = [];
  let length = 0;
  const add = (part: string) => {
    if (part === '') return;
    length += part.length;
    if (length > maxRenderedLength) {
      throw new TemplateTooLong(`With its names filled in, the text is longer than ${maxRenderedLength} characters.`);
    }
    parts.push(part);
  };
  const unknown = new Set<string>();
  const warnings: Warning[] = [];
  let from = 0;
  for (let count = 1; ; count++) {
    const close = template.indexOf('}}', from);
    if (close < 0) break;
    if (count % namesPerPart === 0) yield;
    const before = template.slice(from, close);
    from = close + 2;
    // The closing braces belong to the innermost opening ones: in `{{ {{name}}` the first two braces are text.
    const open = before.lastIndexOf('{{');
    if (open < 0) {
      add(`${before}}}`);
      continue;
    }
    const name = before.slice(open + 2).trim();
    const found = lookUp(name, values);
    if (!found && !unknown.has(name)) {
      unknown.add(name);
      warnings.push({ code: 'unknown_variable', name });
    }
    add(before.slice(0, open));
    add(asText(found?.value));
  }
  add(template.slice(from));
  return { text: parts.join(''), warnings };
}

/** The same in one go, for a short template. @throws TemplateTooLong */
export const renderTemplate = (template: string, values: TemplateValues): Rendered =>
  wholeOf(renderInParts(template, values));
