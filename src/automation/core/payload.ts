import { maxRenderedLength, renderTemplate, TemplateTooLong, type TemplateValues, type Warning } from './template.ts';

type Payload = Record<string, unknown>;

const isObject = (value: unknown): value is object => typeof value === 'object' && value !== null;

/** A value with each string in it replaced. Members keep their names, which may be any. */
function withStrings(value: unknown, replace: (text: string) => string): unknown {
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

/**
 * Fills in the templates in the strings of a payload. Its other values stay as they are, and names of members too.
 * @throws TemplateTooLong when the strings are longer than one template may be, together
 */
export function renderPayload(payload: Payload, values: TemplateValues): { payload: Payload; warnings: Warning[] } {
  const unknown = new Map<string, Warning>();
  let length = 0;
  const rendered = withStrings(payload, (template) => {
    const { text, warnings } = renderTemplate(template, values);
    for (const warning of warnings) unknown.set(warning.name, warning);
    length += text.length;
    if (length > maxRenderedLength) {
      throw new TemplateTooLong(
        `With its names filled in, the payload is longer than ${maxRenderedLength} characters.`,
      );
    }
    return text;
  });
  return { payload: rendered as Payload, warnings: [...unknown.values()] };
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
