import { runIds, workflowIds } from '../../src/automation/core/ids.ts';
import { invalid } from '../../src/platform/errors.ts';
import type { Variant } from '../../src/tenancy/caller.ts';
import { variantA } from './automation/variant-a.ts';
import { variantB } from './automation/variant-b.ts';
import type { Dialect } from './dialect.ts';

const dialects: Record<Variant, Dialect> = { A: variantA, B: variantB };

/** Everything that a request says about its dialect, as far as it has been read. */
export interface DialectSigns {
  /** Header X-API-Variant. */
  header?: string | undefined;
  path: string;
  /** The body of `execute`, once it was read. */
  executeBody?: unknown;
  /** The setting of the caller's key, once it is known. */
  keyVariant?: Variant | undefined;
}

const isVariant = (text: string): text is Variant => text === 'A' || text === 'B';

function fromBody(body: unknown): Variant | undefined {
  if (typeof body !== 'object' || body === null) return undefined;
  if ('inputs' in body || 'async' in body) return 'B';
  return 'input' in body || 'variables' in body ? 'A' : undefined;
}

const pathSaysB = (path: string) =>
  path.split('/').some((part) => workflowIds.matchesPrefix(part) || runIds.matchesPrefix(part));

/** First hit wins: header, then a prefixed id in the path, then the body of `execute`, then the key's own setting. */
export function chooseDialect({ header, path, executeBody, keyVariant }: DialectSigns): Dialect {
  if (header !== undefined && isVariant(header)) return dialects[header];
  if (pathSaysB(path)) return dialects.B;
  return dialects[fromBody(executeBody) ?? keyVariant ?? 'A'];
}

/** Dialects exist in the versioned API alone. */
export const hasDialects = (path: string): boolean => /^(\/api)?\/v1(\/|$)/.test(path);

/** @throws AppError validation_error where there are dialects and the header names none */
export function checkVariantHeader({ header, path }: DialectSigns): void {
  if (header === undefined || isVariant(header) || !hasDialects(path)) return;
  throw invalid([{ path: 'X-API-Variant', message: 'Expected A or B.' }]);
}
