import { isLargerThan } from '../../platform/core/json-size.ts';
import {
  lookUp,
  maxRenderedLength,
  renderTemplate,
  TemplateTooLong,
  type TemplateValues,
  type Warning,
} from './template.ts';

/** The name in a text that is exactly one placeholder. */
function onlyPlaceholder(text: string): string | undefined {
  if (!text.startsWith('{{') || !text.endsWith('}}')) return undefined;
  const inner = text.slice(2, -2);
  return inner.includes('{{') || inner.includes('}}') ? undefined : inner.trim();
}

/**
 * Fills in the templates of one step. In a value, a string that is exactly one placeholder is replaced by the value itself
 * with its type. What all of them render to is limited together, because a short template can repeat a long value.
 */
export class ValueRenderer {
  readonly #values: TemplateValues;
  readonly #unknown = new Map<string, Warning>();
  #length = 0;
  /** Lengths of the JSON of values that stand whole, which may stand many times. */
  readonly #lengths = new Map<unknown, number>();

  constructor(values: TemplateValues) {
    this.#values = values;
  }

  get warnings(): Warning[] {
    return [...this.#unknown.values()];
  }

  /** @throws TemplateTooLong */
  text(template: string): string {
    const { text, warnings } = renderTemplate(template, this.#values);
    for (const warning of warnings) this.#unknown.set(warning.name, warning);
    this.#add(text.length);
    return text;
  }

  /** A name that is unknown becomes null in the place of a whole string. @throws TemplateTooLong */
  value(value: unknown): unknown {
    if (typeof value === 'string') return this.#string(value);
    if (Array.isArray(value)) return value.map((item) => this.value(item));
    if (typeof value !== 'object' || value === null) return value;
    return Object.fromEntries(Object.entries(value).map(([name, item]) => [name, this.value(item)]));
  }

  #string(template: string): unknown {
    const name = onlyPlaceholder(template);
    if (name === undefined) return this.text(template);
    const found = lookUp(name, this.#values);
    if (!found) {
      this.#unknown.set(name, { code: 'unknown_variable', name });
      return null;
    }
    const { value = null } = found;
    this.#add(this.#lengthOf(value));
    return value;
  }

  #lengthOf(value: unknown): number {
    const left = maxRenderedLength - this.#length;
    if (isLargerThan(value, left)) return left + 1;
    const known = this.#lengths.get(value);
    if (known !== undefined) return known;
    const length = JSON.stringify(value).length;
    this.#lengths.set(value, length);
    return length;
  }

  #add(length: number): void {
    this.#length += length;
    if (this.#length <= maxRenderedLength) return;
    throw new TemplateTooLong(
      `With their names filled in, the values are longer than ${maxRenderedLength} characters.`,
    );
  }
}
