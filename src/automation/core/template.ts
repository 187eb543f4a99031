/** What a template may name. */
export interface TemplateValues {
  input: unknown;
  variables: Record<string, unknown>;
  /** Output of each finished step by its id. */
  steps: Record<string, unknown>;
}

/** What went well enough and yet not as asked; `name` is the variable's or the setting's. */
export interface Warning {
  code: 'unknown_variable' | 'setting_ignored' | 'answer_truncated';
  name: string;
}

export interface Rendered {
  text: string;
  warnings: Warning[];
}

/** The most characters that a template may render to. A short one can name a long value any number of times. */
export const maxRenderedLength = 2 * 1024 * 1024;

/** Its message may be shown to anyone. */
export class TemplateTooLong extends Error {
  override name = 'TemplateTooLong';
}

const stepOutput = /^steps\.([A-Za-z_][A-Za-z0-9_-]*)\.output$/;

const own = (record: Record<string, unknown>, name: string): { value: unknown } | undefined =>
  Object.hasOwn(record, name) ? { value: record[name] } : undefined;

function lookUp(name: string, values: TemplateValues): { value: unknown } | undefined {
  if (name === 'input') return { value: values.input };
  const step = stepOutput.exec(name);
  if (step) return own(values.steps, step[1]!);
  return own(values.variables, name);
}

/** Ids of the steps whose outputs a template may name. */
export const templateNames = (template: string): string[] =>
  [...template.matchAll(/steps\.([A-Za-z_][A-Za-z0-9_-]*)\.output/g)].map((match) => match[1]!);

/** How a value reads inside a text: a string as it is, nothing as nothing, anything else as JSON. */
export function asText(value: unknown): string {
  if (typeof value === 'string') return value;
  return value === undefined || value === null ? '' : JSON.stringify(value);
}

/**
 * Fills `{{input}}`, `{{name}}` and `{{steps.<id>.output}}` in one pass from left to right: what is filled in is never
 * looked at again. A name that means nothing becomes empty and leaves a warning. Runs in time linear in its sizes.
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
    // The innermost opening belongs to this closing: in `{{ {{name}}` the first two braces are text.
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
