import { isLargerThan } from '../../platform/core/json-size.ts';
import type { Parts } from '../../platform/core/parts.ts';
import {
  lookUp,
  maxRenderedLength,
  renderInParts,
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

/** Strings that are filled in at a time, which takes less than a millisecond. */
const stringsPerPart = 500;

/**
 * Fills in the templates of one step. In a value, a string that is exactly one placeholder is replaced by the value itself
 * with its type, unless all are to be texts. What all of them render to is limited together, because a short template can
 * repeat a long value.
 */
export class ValueRenderer {
  readonly #values: TemplateValues;
  readonly #onlyTexts: boolean;
  #strings = 0;
  readonly #unknown = new Map<string, Warning>();
  #length = 0;
  /** Lengths of the JSON of values that replace a whole string. A template can use one value many times. */
  readonly #lengths = new Map<unknown, number>();

  constructor(values: TemplateValues, { onlyTexts = false }: { onlyTexts?: boolean } = {}) {
    this.#values = values;
    this.#onlyTexts = onlyTexts;
  }

  get warnings(): Warning[] {
    return [...this.#unknown.values()];
  }

  /** @throws TemplateTooLong */
  *text(template: string): Parts<string> {
    const { text, warnings } = yield* renderInParts(template, this.#values);
    for (const warning of warnings) this.#unknown.set(warning.name, warning);
    this.#add(text.length);
    return text;
  }

  /**
   * The strings of a value at any depth. Members keep their names, which may be any. A name that is unknown becomes null in
   * the place of a whole string. @throws TemplateTooLong
   */
  *value(value: unknown): Parts<unknown> {
    if (typeof value === 'string') return yield* this.#string(value);
    if (typeof value !== 'object' || value === null) return value;
    if (Array.isArray(value)) {
      const items: unknown[] = [];
      for (const item of value) items.push(yield* this.value(item));
      return items;
    }
    const members: [string, unknown][] = [];
    for (const [name, member] of Object.entries(value)) members.push([name, yield* this.value(member)]);
    return Object.fromEntries(members);
  }

  *#string(template: string): Parts<unknown> {
    if (++this.#strings % stringsPerPart === 0) yield;
    const name = this.#onlyTexts ? undefined : onlyPlaceholder(template);
    if (name === undefined) return yield* this.text(template);
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
