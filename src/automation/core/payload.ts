import {
  maxRenderedLength,
  placeholderValue,
  renderTemplate,
  TemplateTooLong,
  type TemplateValues,
  type Warning,
} from './template.ts';

type Payload = Record<string, unknown>;

const isObject = (value: unknown): value is object => typeof value === 'object' && value !== null;

/** A value with each string in it replaced. Members keep their names, which may be any. */
function withStrings(value: unknown, replace: (text: string) => unknown): unknown {
  if (typeof value === 'string') return replace(value);
  if (Array.isArray(value)) return value.map((item) => withStrings(item, replace));
  if (!isObject(value)) return value;
  return Object.fromEntries(Object.entries(value).map(([name, item]) => [name, withStrings(item, replace)]));
}

/** The strings of a value, all of which are templates. */
export function templatesIn(payload: unknown): string[] {
  const found: string[] = [];
  withStrings(payload, (text) => {
    found.push(text);
    return text;
  });
  return found;
}

/** Counts what the templates of one value render to, together. */
class Rendering {
  readonly #values: TemplateValues;
  readonly #unknown = new Map<string, Warning>();
  #length = 0;

  constructor(values: TemplateValues) {
    this.#values = values;
  }

  get warnings(): Warning[] {
    return [...this.#unknown.values()];
  }

  text(template: string): string {
    const { text, warnings } = renderTemplate(template, this.#values);
    for (const warning of warnings) this.#unknown.set(warning.name, warning);
    this.#add(text.length);
    return text;
  }

  /** The value itself where a text is exactly one placeholder. */
  value(template: string): unknown {
    const found = placeholderValue(template, this.#values);
    if (!found) return this.text(template);
    const { value, unknown: name } = found;
    if (name !== undefined) this.#unknown.set(name, { code: 'unknown_variable', name });
    this.#add(typeof value === 'string' ? value.length : (JSON.stringify(value)?.length ?? 0));
    return value;
  }

  #add(length: number): void {
    this.#length += length;
    if (this.#length <= maxRenderedLength) return;
    throw new TemplateTooLong(`With its names filled in, the payload is longer than ${maxRenderedLength} characters.`);
  }
}

/**
 * Fills in the templates in the strings of a payload, each to a text. Its other values stay as they are, and names of members too.
 * @throws TemplateTooLong when the strings are longer than one template may be, together
 */
export function renderPayload(payload: Payload, values: TemplateValues): { payload: Payload; warnings: Warning[] } {
  const rendering = new Rendering(values);
  const rendered = withStrings(payload, (template) => rendering.text(template));
  return { payload: rendered as Payload, warnings: rendering.warnings };
}

/**
 * As `renderPayload`, but a string that is exactly one placeholder becomes the value itself with its type.
 * @throws TemplateTooLong when the values are longer than one template may be, together
 */
export function renderValue(value: unknown, values: TemplateValues): { value: unknown; warnings: Warning[] } {
  const rendering = new Rendering(values);
  const rendered = withStrings(value, (template) => rendering.value(template));
  return { value: rendered, warnings: rendering.warnings };
}

/** The value at a dotted path, as problems of payloads have it; undefined where there is none. */
function valueAt(payload: unknown, path: readonly string[]): unknown {
  let value = payload;
  for (const name of path) {
    if (!isObject(value) || !Object.hasOwn(value, name)) return undefined;
    value = (value as Payload)[name];
  }
  return value;
}

/** Whether what is at a path depends on the values of a run, so that nothing can be said of it before. */
export function isTemplated(payload: Payload, path: string): boolean {
  const value = valueAt(payload, path === '' ? [] : path.split('.'));
  return value !== undefined && templatesIn({ value }).some((text) => text.includes('{{'));
}
