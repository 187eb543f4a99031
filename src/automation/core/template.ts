/** The values that a template can refer to. */
export interface TemplateValues {
  input: unknown;
  variables: Record<string, unknown>;
  /** Output of each finished step by its id. */
  steps: Record<string, unknown>;
}

/** Something that did not work as requested but did not fail the step. `name` is that of the variable or the setting. */
export interface Warning {
  code: 'unknown_variable' | 'setting_ignored' | 'answer_truncated';
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

const stepOutput = /^steps\.([A-Za-z_][A-Za-z0-9_-]*)\.output$/;

const own = (record: Record<string, unknown>, name: string): { value: unknown } | undefined =>
  Object.hasOwn(record, name) ? { value: record[name] } : undefined;

/** @returns undefined for a name that is unknown */
export function lookUp(name: string, values: TemplateValues): { value: unknown } | undefined {
  if (name === 'input') return { value: values.input };
  const step = stepOutput.exec(name);
  if (step) return own(values.steps, step[1]!);
  return own(values.variables, name);
}

/** Ids of the steps whose outputs a template refers to. */
export const templateNames = (template: string): string[] =>
  [...template.matchAll(/steps\.([A-Za-z_][A-Za-z0-9_-]*)\.output/g)].map((match) => match[1]!);

/** A value inside a text: strings as they are, null and undefined as an empty text, anything else as JSON. */
export function asText(value: unknown): string {
  if (typeof value === 'string') return value;
  return value === undefined || value === null ? '' : JSON.stringify(value);
}

/**
 * Replaces `{{input}}`, `{{name}}` and `{{steps.<id>.output}}` in one pass; inserted values are not rendered again. An
 * unknown name becomes an empty text and adds a warning. Takes time linear in the sizes of the template and its values.
 * @throws TemplateTooLong
 */
export function renderTemplate(template: string, values: TemplateValues): Rendered {
  const parts: string[] = [];
  let length = 0;
  const add = (part: string) => {
    length += part.length;
    if (length > maxRenderedLength) {
      throw new TemplateTooLong(`With its names filled in, the text is longer than ${maxRenderedLength} characters.`);
    }
    parts.push(part);
  };
  const unknown = new Set<string>();
  let from = 0;
  for (;;) {
    const close = template.indexOf('}}', from);
    if (close < 0) break;
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
    if (!found) unknown.add(name);
    add(before.slice(0, open));
    add(asText(found?.value));
  }
  add(template.slice(from));
  return { text: parts.join(''), warnings: [...unknown].map((name) => ({ code: 'unknown_variable', name })) };
}
