import type { JsonObject } from '../tool.ts';

/** A property of an input schema. */
export const text = (description?: string) => ({ type: 'string', ...(description && { description }) }) as const;

export const textOf = (args: JsonObject, name: string): string => String(args[name] ?? '');

/** The results of a search in the sandbox. */
export const found = (args: JsonObject, query: string, title: string, titles: readonly string[]): string =>
  JSON.stringify({
    query: textOf(args, query),
    results: titles.map((one, index) => ({ [title]: one, url: `https://sandbox.example/${index + 1}` })),
  });

/** The content of a document of the sandbox. */
export const page = (of: string): string => `The sandbox has this text in place of ${of}.`;
