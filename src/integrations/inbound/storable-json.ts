import { cleanJson } from '../../platform/core/clean-text.ts';

/** JSON that PostgreSQL can store: NUL and lone surrogates, which it cannot, each become U+FFFD. */
export const storableJson = (value: unknown): string => cleanJson(JSON.stringify(value));
